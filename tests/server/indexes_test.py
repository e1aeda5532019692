"""`relucent serve --index NAME=DIR`, several times: each request finds its index, each reloads by itself, and all share
the model."""

import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from serve_support import DEVICE, Server, build_index, passages, program_path, queries, run_tests

PROGRAM = program_path()
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-indexes-test-")
FIRST, SECOND = Path(SCRATCH.name) / "first.index", Path(SCRATCH.name) / "second.index"
BM25 = "[rescorer]\nenabled = false\n"


def without_times(answer):
    json = answer.json
    json.pop("milliseconds", None)
    return json


class Indexes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        documents = passages()
        build_index(PROGRAM, FIRST, documents[:90])
        build_index(PROGRAM, SECOND, documents[90:])

    def own_copies(self):
        folder = Path(tempfile.mkdtemp(dir=SCRATCH.name))
        shutil.copytree(FIRST, folder / "a")
        shutil.copytree(SECOND, folder / "b")
        return folder / "a", folder / "b"

    def found(self, server, query, index=None):
        body = {"query": query} | ({} if index is None else {"index": index})
        return [hit["id"] for hit in server.post("/search", body).json["hits"]]

    def test_a_request_gets_what_a_server_of_its_index_alone_gives(self):
        with (Server(PROGRAM, "--index", f"a={FIRST}", "--index", f"b={SECOND}", *DEVICE) as both,
              Server(PROGRAM, "--index", FIRST, *DEVICE) as first,
              Server(PROGRAM, "--index", SECOND, *DEVICE) as second):
            for query in queries()[::5]:
                for name, alone in (("a", first), ("b", second)):
                    for body in ({"query": query, "k": 20}, {"query": query, "k": 5, "offset": 5},
                                 {"query": query, "rescore": False}):
                        self.assertEqual(without_times(both.post("/search", {**body, "index": name})),
                                         without_times(alone.post("/search", body)))
                    self.assertEqual(both.post("/statistics", {"query": query, "index": name}).json,
                                     alone.post("/statistics", {"query": query}).json)
                for default in ({}, {"index": None}):
                    self.assertEqual(without_times(both.post("/search", {"query": query, **default})),
                                     without_times(first.post("/search", {"query": query})))
            for name, alone in (("a", first), ("b", second)):
                document = alone.post("/search", {"query": "rice", "k": 1}).json["hits"][0]["id"]
                self.assertEqual(both.get(f"/doc/{document}?index={name}").body, alone.get(f"/doc/{document}").body)
                other = "b" if name == "a" else "a"
                self.assertEqual(both.get(f"/doc/{document}?x=1&index={other}").status, 404)
            texts = {"query": "rice", "texts": ["rice in a pot", "tears"]}
            self.assertEqual(both.post("/rerank", texts).body, first.post("/rerank", texts).body)
            self.assertEqual(both.get("/info").json["indexes"], ["a", "b"])
            self.assertNotIn("indexes", first.get("/info").json)
            schema = both.get("/openapi.json").json["components"]["schemas"]["SearchRequest"]["properties"]
            self.assertEqual(schema["index"]["enum"], [None, "a", "b"])
            searches = len(queries()[::5])
            self.assertEqual(both.metric('index_searches_total{index="a"}'), 5 * searches)
            self.assertEqual(both.metric('index_searches_total{index="b"}'), 3 * searches)
            # The second index costs no second model.
            self.assertLess(both.memory_kib("VmRSS"), 1.5 * first.memory_kib("VmRSS"))

    def test_an_unknown_index_is_answered_with_the_names(self):
        with Server(PROGRAM, "--index", f"a={FIRST}", "--index", f"b={SECOND}", profile=BM25) as server:
            for path in ("/search", "/statistics"):
                answer = server.post(path, {"query": "rice", "index": "c"})
                self.assertEqual(answer.status, 404)
                self.assertIn("one of a, b", answer.json["error"])
                self.assertEqual(server.post(path, {"query": "rice", "index": 1}).status, 422)
                self.assertEqual(server.post(path, {"query": "rice", "index": ""}).status, 422)
                self.assertEqual(server.post(path, {"query": "rice", "index": "a" * 300}).status, 413)
        with Server(PROGRAM, "--index", FIRST, profile=BM25) as server:
            answer = server.post("/search", {"query": "rice", "index": "a"})
            self.assertEqual(answer.status, 404)
            self.assertIn("leave out `index`", answer.json["error"])

    def test_each_index_is_reopened_by_itself(self):
        a, b = self.own_copies()
        with Server(PROGRAM, "--index", f"a={a}", "--index", f"b={b}", "--reopen", "1", *DEVICE) as server:
            before = self.found(server, "rice", "a")
            build_index(PROGRAM, b, [("new", "rice in a bowl")])
            server.wait_for("reopened the index in", 30)
            self.assertEqual(self.found(server, "rice", "b"), ["new"])
            self.assertEqual(self.found(server, "rice", "a"), before)

    def test_a_reload_keeps_the_index_that_cannot_be_opened(self):
        a, b = self.own_copies()
        with Server(PROGRAM, "--index", f"a={a}", "--index", f"b={b}", *DEVICE) as server:
            before = self.found(server, "rice", "a")
            shutil.rmtree(a)
            build_index(PROGRAM, b, [("new", "rice in a bowl")])
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("reloaded in", 60)
            self.assertIn("index a was not reloaded, and is served as before", server.said())
            self.assertEqual(self.found(server, "rice", "b"), ["new"])
            self.assertEqual(self.found(server, "rice", "a"), before)
            shutil.rmtree(b)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("not reloaded, and serving as before: index a", 60)
            self.assertEqual(self.found(server, "rice", "b"), ["new"])

    def test_one_name_alone_is_the_default(self):
        with Server(PROGRAM, "--index", f"only={FIRST}", profile=BM25) as server:
            self.assertEqual(self.found(server, "rice"), self.found(server, "rice", "only"))

    def test_mistakes_end_the_program_with_a_message(self):
        def fails(code, *flags, message):
            result = subprocess.run([PROGRAM, "serve", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    encoding="utf-8", timeout=120)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(message, result.stderr)

        fails(2, "--index", f"a={FIRST}", "--index", f"a={SECOND}", message="two indexes of this name")
        fails(2, "--index", str(FIRST), "--index", f"b={SECOND}", message="--index NAME=DIR")
        fails(2, "--index", f"a b={FIRST}", "--index", f"b={SECOND}", message="--index NAME=DIR")
        fails(2, "--index", "a=", message="names no directory")
        fails(2, "--index", f"a={FIRST}", "--shards", "http://x", message="cannot be combined")
        fails(1, "--index", f"a={FIRST}", "--index", "b=/nonexistent-index", message="index b: /nonexistent-index")


if __name__ == "__main__":
    run_tests()
