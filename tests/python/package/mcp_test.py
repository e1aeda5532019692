"""The server of the Model Context Protocol, as a client of the official package finds it over standard input."""
import asyncio
import os
import subprocess
import sys

import pytest

import relucent_search

mcp = pytest.importorskip("mcp", reason="mcp is not installed")
if not hasattr(mcp, "Client"):
    pytest.skip("mcp is older than 2", allow_module_level=True)

QUERY = "is it safe to eat rice that was left out overnight"


def ask(index, *calls):
    """The tools, and the results of calls (name, arguments) of one client."""

    async def session():
        server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "relucent_search.mcp", str(index)],
                                           env=dict(os.environ))
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


def test_a_client_searches_and_fetches(index, documents):
    expected = relucent_search.Searcher(index).search(QUERY, 4, texts=True)
    tools, (found,) = ask(index, ("search", {"query": QUERY, "k": 4}))
    assert sorted(tool.name for tool in tools) == ["fetch", "search"]
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    assert not found.is_error
    results = found.structured_content["results"]
    assert [(result["id"], result["score"], result["text"]) for result in results] \
        == [(hit.id, hit.score, hit.passage.text) for hit in expected]
    _, (fetched,) = ask(index, ("fetch", {"id": results[0]["id"]}))
    assert fetched.structured_content["id"] == results[0]["id"]
    assert fetched.structured_content["text"] == documents[results[0]["id"]]


def test_wrong_calls_are_errors_that_say_what_to_do(index):
    _, results = ask(index, ("search", {"query": " "}), ("search", {"query": "rice", "k": 0}),
                     ("fetch", {"id": "nothing"}), ("search", {}))
    assert all(result.is_error for result in results)
    texts = [result.content[0].text for result in results]
    assert "write a question" in texts[0] and "ask for 1 to 100" in texts[1]
    assert "has no document 'nothing'" in texts[2] and "query" in texts[3]


def test_a_missing_index_ends_the_program(tmp_path):
    ended = subprocess.run([sys.executable, "-m", "relucent_search.mcp", str(tmp_path / "none")], capture_output=True,
                           text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ") and "none" in ended.stderr and ended.stdout == ""
