"""The application for Ray Serve: Reranker's and Searcher's scores over HTTP and by handles, from as many replicas as
the requests need, also when one dies."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest

import relucent_search

ray = pytest.importorskip("ray", reason="Ray is not installed")
serve = pytest.importorskip("ray.serve", reason="Ray Serve is not installed (ray[serve])")

from relucent_search import ray_serve  # noqa: E402

QUERY = "is it safe to eat rice that was left out overnight"
PROFILE = '[rescorer]\ndevice = "cpu"\n'
DEVICE = {"rescorer": {"device": "cpu"}}


class Application:
    def __init__(self, port, handle):
        self.url, self.handle = f"http://127.0.0.1:{port}", handle

    def post(self, path, body, method="POST"):
        """(status, answer)"""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, None if error.code == 500 else json.load(error)


def replicas():
    """Process ids of the replicas."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended
            if b"ServeReplica:relucent-test" in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def wait_for_replicas(count, seconds=240):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = serve.status().applications["relucent-test"].deployments["Relucent"].replica_states.get("RUNNING", 0)
        if found == count:
            return
        time.sleep(0.5)
    raise AssertionError(f"{found} replicas run, not {count}")


@pytest.fixture(scope="module")
def application(index, tmp_path_factory):
    profile = tmp_path_factory.mktemp("serve") / "profile.toml"
    profile.write_text(PROFILE)
    os.environ.update({"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0",
                       "RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "0.5",
                       "RAY_SERVE_REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "0.5"})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray.init(num_cpus=4, object_store_memory=150_000_000, include_dashboard=False, log_to_driver=False)
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        arguments = ray_serve.Arguments(index=str(index), config=str(profile), max_replicas=2,
                                        target_ongoing_requests=1, upscale_delay_s=0.5, downscale_delay_s=5)
        handle = serve.run(ray_serve.application(arguments), name="relucent-test")
        yield Application(port, handle)
    finally:
        serve.shutdown()
        ray.shutdown()


def test_documents_are_reranked(application, documents):
    texts = list(documents.values())[:30]
    expected = relucent_search.Reranker(device="cpu").rerank(QUERY, texts)
    ranked = list(zip(expected.order.tolist(), expected.scores.tolist(), strict=True))
    status, answer = application.post("/rerank", {"query": QUERY, "documents": texts})
    assert status == 200 and not answer["degraded"] and answer["status"] == "rescored"
    assert [(result["index"], result["relevance_score"]) for result in answer["results"]] == ranked
    status, answer = application.post("/rerank", {"query": QUERY, "documents": texts, "top_n": 3, "model": "any",
                                                  "return_documents": True})
    assert status == 200
    assert [(result["index"], result["document"]["text"]) for result in answer["results"]] \
        == [(place, texts[place]) for place, _ in ranked[:3]]
    answer = application.handle.rerank.remote(QUERY, texts).result()
    assert [(result["index"], result["relevance_score"]) for result in answer["results"]] == ranked


def test_the_index_is_searched(application, index):
    expected = [(hit.rank, hit.id, hit.score, hit.logit, hit.first_stage_rank, hit.first_stage_score, hit.text)
                for hit in relucent_search.Searcher(index, DEVICE).search(QUERY, 5, texts=True)]
    status, answer = application.post("/search", {"query": QUERY, "k": 5, "texts": True})
    assert status == 200 and [tuple(hit.values()) for hit in answer["hits"]] == expected
    answer = application.handle.search.remote(QUERY, 5).result()
    assert [tuple(hit.values()) for hit in answer["hits"]] == [hit[:-1] for hit in expected]


def test_mistakes_have_their_status(application):
    texts = ["Boil the rice."]
    for path, body, status, problem in [
            ("/rerank", {"documents": texts}, 422, "query: is missing"),
            ("/rerank", {"query": QUERY}, 422, "documents: is missing"),
            ("/rerank", {"query": QUERY, "documents": [1]}, 422, "documents: has something other than strings"),
            ("/rerank", {"query": QUERY, "documents": texts * 1001}, 422, "documents: has 1001 texts"),
            ("/rerank", {"query": QUERY, "documents": texts, "top_n": -1}, 422, "top_n: is -1"),
            ("/rerank", {"query": QUERY, "documents": texts, "top_n": True}, 422, "top_n"),
            ("/rerank", {"query": 5, "documents": texts}, 422, "query: is not text"),
            ("/rerank", [QUERY], 422, "body: is not an object"),
            ("/rerank", b"{", 400, "not JSON"), ("/rerank", b'"\xff"', 400, "not JSON"),
            ("/search", {"query": QUERY, "k": 0}, 422, "k: is 0"), ("/search", {"query": QUERY, "k": "5"}, 422, "k"),
            ("/other", {}, 404, "there are /rerank and /search")]:
        found, answer = application.post(path, body)
        assert (found, problem in answer["error"]) == (status, True), (path, body, found, answer)
    assert application.post("/rerank", {}, method="PUT")[0] == 405


def test_replicas_come_and_go_and_a_killed_one_fails_only_its_own_requests(application, documents):
    texts = list(documents.values())[:40]
    request = ("/rerank", {"query": QUERY, "documents": texts})
    expected = application.post(*request)
    wait_for_replicas(1)
    end, killed, failed, answered = time.monotonic() + 300, [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(6) as clients:
        pending = {clients.submit(application.post, *request) for _ in range(6)}
        while pending:
            assert time.monotonic() < end, (killed, answered)
            done, pending = concurrent.futures.wait(pending, 1, concurrent.futures.FIRST_COMPLETED)
            for future in done:
                status, answer = future.result()
                if status == 500:  # Serve does not repeat what a replica was computing
                    assert killed
                    failed += 1
                else:
                    assert (status, answer) == expected
                    answered += bool(killed)
                if answered < 20:
                    pending.add(clients.submit(application.post, *request))
            running = replicas()
            if len(running) == 2 and not killed:
                killed.append(running[0])
                os.kill(running[0], signal.SIGKILL)
    assert failed <= 6
    wait_for_replicas(1)


@pytest.mark.parametrize("fault", [{"idnex": "x"}, {"max_replicas": "many"}])
def test_arguments_are_checked(fault):
    with pytest.raises(ValueError, match=next(iter(fault))):
        ray_serve.Arguments(**fault)
