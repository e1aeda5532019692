"""A server of the Model Context Protocol over standard input and output, with an index behind it:

    python -m relucent_search.mcp INDEX [--config FILE]

Its tools are `search` and `fetch`, in the form that ChatGPT's connectors expect. Needs the extra `mcp`.
"""
from __future__ import annotations

import argparse
import sys
from typing import Any

from relucent_search.errors import Error
from relucent_search.programs import missing
from relucent_search.search import Searcher

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations
except ImportError:  # mcp 1 has no MCPServer
    sys.exit(missing("mcp>=2", "mcp"))

MAX_HITS = 100


def make_server(searcher: Searcher) -> MCPServer:
    """A server over an index that is open."""
    server = MCPServer(
        "relucent",
        instructions="Search the documents of an index. `search` returns the best passages with the ids of their "
                     "documents; `fetch` returns a document's whole text.")
    read_only = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

    @server.tool(annotations=read_only)
    def search(query: str, k: int = 10) -> dict[str, Any]:
        """The k best documents for a question in plain words, best first, each with its id and its best passage."""
        if not query.strip():
            raise ToolError("query is empty: write a question or some words")
        if not 1 <= k <= MAX_HITS:
            raise ToolError(f"k is {k}: ask for 1 to {MAX_HITS} documents")
        try:
            found = searcher.search(query, k, texts=True)
        except Error as error:  # the client is told of no other kind
            raise ToolError(str(error)) from error
        results = []
        for hit in found:
            text = hit.text or ""
            passage = hit.passage.text if hit.passage is not None and hit.passage.text else text
            results.append({"id": hit.id, "title": _title(text), "url": hit.id, "text": passage, "score": hit.score})
        answer: dict[str, Any] = {"results": results, "total": found.total_hits,
                                  "total_is_exact": found.total_is_exact}
        if found.degraded:
            answer["degraded"] = found.reason
        return answer

    @server.tool(annotations=read_only)
    def fetch(id: str) -> dict[str, Any]:
        """The whole text of the document with this id, as `search` returns it."""
        texts = searcher.texts([id])
        if id not in texts:
            raise ToolError(f"the index has no document {id!r}: take an id that search returned")
        return {"id": id, "title": _title(texts[id]), "text": texts[id], "url": id, "metadata": {}}

    return server


def _title(text: str) -> str:
    """The beginning of a text, for lists."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:80].rsplit(" ", 1)[0] + "…"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m relucent_search.mcp",
                                     description="Serve an index to language models over standard input and output")
    parser.add_argument("index", metavar="INDEX", help="the index folder")
    parser.add_argument("--config", metavar="FILE", help="a profile (default: the defaults)")
    options = parser.parse_args(arguments)
    try:
        searcher = Searcher(options.index, options.config)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for notice in searcher.notices():
        print(notice, file=sys.stderr)
    make_server(searcher).run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main())
