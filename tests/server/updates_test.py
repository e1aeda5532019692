"""`relucent serve --writable`: documents replaced, added and deleted over HTTP during searches."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from urllib.parse import quote

from serve_support import Server, build_index, program_path

PROGRAM = program_path()
BM25 = "[rescorer]\nenabled = false\n"


class UpdatesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="relucent-serve-updates-")
        self.addCleanup(folder.cleanup)
        self.index = Path(folder.name) / "a.index"
        build_index(PROGRAM, self.index, [("a", "common apple"), ("b", "common berry"), ("c", "common cherry")])

    def server(self, *flags, profile=BM25, **more):
        return Server(PROGRAM, "--index", self.index, *flags, profile=profile, **more)

    def found(self, server, query="common"):
        answer = server.post("/search", {"query": query, "k": 1000, "texts": "full"})
        self.assertEqual(answer.status, 200, answer)
        return {hit["id"]: hit["text"] for hit in answer.json["hits"]}

    def verify(self):
        result = subprocess.run([PROGRAM, "verify", "--index", self.index, "--json", "--quiet"], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def test_other_members_are_metadata_and_can_be_filtered_by(self):
        documents = self.index.parent / "documents.jsonl"
        documents.write_text('{"id": "a", "text": "common apple", "lang": "en"}\n', encoding="utf-8")
        index = self.index.parent / "fields.index"
        subprocess.run([PROGRAM, "index", "--corpus", "jsonl", "--input", documents, "--keyword", "lang", "--index",
                        index], check=True, capture_output=True)
        with Server(PROGRAM, "--index", index, "--writable", profile=BM25) as server:
            answer = server.post("/documents", {"id": "b", "text": "common berry", "lang": "de", "year": 2020})
            self.assertEqual((answer.status, answer.json["added"]), (200, 1))
            answer = server.post("/search", {"query": "common", "filter": {"lang": "de"}, "fields": "all"})
            self.assertEqual([(hit["id"], hit["fields"]) for hit in answer.json["hits"]],
                             [("b", {"lang": "de", "year": 2020})])
            self.assertEqual(server.get("/doc/b").json["metadata"], {"lang": "de", "year": 2020})
            answer = server.post("/documents", {"id": "c", "text": "common cherry", "lang": 3})
            self.assertEqual(answer.status, 422, answer)
            self.assertIn("lang", answer.json["error"])
            answer = server.post("/documents", {"id": "c", "text": "common cherry", "more": "x" * 70_000})
            self.assertEqual(answer.status, 413, answer)
            answer = server.post("/documents", {"id": "c", "text": "common cherry", "lang": "fr"})
            self.assertEqual((answer.status, answer.json["documents"]), (200, 3))

    def test_one_of_several_indexes_cannot_be_changed(self):
        result = subprocess.run([PROGRAM, "serve", "--index", f"a={self.index}", "--index", f"b={self.index}",
                                 "--writable", "--port", "0"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("--writable", result.stderr)

    def test_changes_are_visible_when_they_are_answered(self):
        with self.server("--writable") as server:
            answer = server.post("/documents", {"documents": [{"id": "b", "text": "common blackberry"},
                                                              {"id": "d", "text": "common date"}]})
            self.assertEqual((answer.status, answer.json),
                             (200, {"replaced": 1, "added": 1, "documents": 4, "searchable": True}))
            self.assertEqual(self.found(server), {"a": "common apple", "b": "common blackberry", "c": "common cherry",
                                                  "d": "common date"})
            answer = server.post("/documents", {"id": "a/b ü", "text": "common odd"})
            self.assertEqual(answer.json, {"replaced": 0, "added": 1, "documents": 5, "searchable": True})
            answer = server.request("DELETE", "/documents/" + quote("a/b ü", safe=""))
            self.assertEqual((answer.status, answer.json), (200, {"deleted": 1, "documents": 4, "searchable": True}))
            self.assertEqual(server.request("DELETE", "/documents/a/b").status, 404)
            self.assertEqual(server.request("DELETE", "/documents/a").status, 200)
            self.assertEqual(set(self.found(server)), {"b", "c", "d"})
            self.assertEqual(server.request("DELETE", "/documents/a").status, 404)
            self.assertIn('path="/documents/{id}"', server.get("/metrics").body.decode())
        self.assertEqual(self.verify()["documents"], 3)

    def test_what_is_not_a_change_is_refused(self):
        limits = "[server]\ntexts = 3\ntext_bytes = 100\nbody_bytes = 2000\n"
        with self.server("--writable", profile=BM25 + limits) as server:
            for body, status, message in (
                    ("{", 400, "JSON"), ("[]", 422, "object"), ({}, 422, "id"), ({"id": "", "text": "x"}, 422, "empty"),
                    ({"id": 3, "text": "x"}, 422, "id"), ({"id": "x"}, 422, "text"), ({"documents": []}, 422, "array"),
                    ({"documents": ["x"]}, 422, "object"),
                    ({"documents": [{"id": "x", "text": "1"}, {"id": "x", "text": "2"}]}, 422, "twice"),
                    ({"documents": [{"id": str(i), "text": "1"} for i in range(4)]}, 413, "more than 3"),
                    ({"id": "x", "text": "long " * 30}, 413, "text"), ({"id": "x", "text": "long " * 1000}, 413, "")):
                answer = server.post("/documents", body)
                self.assertEqual(answer.status, status, (body, answer))
                self.assertIn(message, answer.json["error"])
            longest = "x" * 100
            self.assertEqual(server.post("/documents", {"id": "longest", "text": longest + "x"}).status, 413)
            self.assertEqual(server.get("/doc/longest").status, 404)
            self.assertEqual(server.post("/documents", {"id": "longest", "text": longest}).status, 200)
            self.assertEqual(server.get("/doc/longest").json["text"], longest)
            self.assertEqual(server.request("DELETE", "/documents/longest").status, 200)
            self.assertEqual(server.request("DELETE", "/documents/%zz").status, 422)
            self.assertEqual(server.request("DELETE", "/documents/%ff").status, 422)
            self.assertEqual(server.request("DELETE", "/documents/").status, 404)
            self.assertEqual(server.get("/documents").headers["allow"], "POST")
            self.assertEqual(server.get("/documents/a").headers["allow"], "DELETE")
            self.assertEqual(server.request("POST", "/documents", "x", Content_Type="text/plain").status, 415)
            self.assertEqual(len(self.found(server)), 3)
            paths = server.get("/openapi.json").json["paths"]
            self.assertIn("delete", paths["/documents/{id}"])
            self.assertIn("post", paths["/documents"])

    def test_only_a_writable_server_with_the_token_changes_anything(self):
        with self.server() as server:
            answer = server.post("/documents", {"id": "d", "text": "common date"})
            self.assertEqual(answer.status, 403)
            self.assertIn("--writable", answer.json["error"])
            self.assertEqual(server.request("DELETE", "/documents/a").status, 403)
            self.assertNotIn("/documents", server.get("/openapi.json").json["paths"])
        with self.server("--writable", environment={"RELUCENT_TOKEN": "secret"}) as server:
            self.assertEqual(server.post("/documents", {"id": "d", "text": "x"}).status, 401)
            self.assertEqual(server.request("DELETE", "/documents/a").status, 401)
            answer = server.request("DELETE", "/documents/a", Authorization="Bearer secret")
            self.assertEqual(answer.status, 200)
        self.assertEqual(self.verify()["documents"], 2)

    def test_the_server_is_the_only_writer(self):
        with self.server("--writable") as server:
            result = subprocess.run([PROGRAM, "delete", "--index", self.index, "a"], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"is being written by process {server.process.pid}", result.stderr)
            second = subprocess.run([PROGRAM, "serve", "--index", self.index, "--writable", "--port", "0"],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(second.returncode, 1)
            self.assertIn("is being written by", second.stderr)
        for flags, message in ((("--writable", "--shards", "http://localhost:1"), "--writable"),
                               (("--writable",), "no index to write")):
            result = subprocess.run([PROGRAM, "serve", *flags], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(message, result.stderr)

    def test_searches_go_on_and_see_whole_commits(self):
        with self.server("--writable") as server:
            stop, problems, searches = threading.Event(), [], [0]

            def search():
                while not stop.is_set():
                    texts = set(self.found(server).values()) - {"common apple", "common berry", "common cherry"}
                    if len(texts) > 1:
                        problems.append(texts)
                    searches[0] += 1
            readers = [threading.Thread(target=search) for _ in range(2)]
            for reader in readers:
                reader.start()
            try:
                for version in range(40):
                    documents = [{"id": f"v{i}", "text": f"common version{version}"} for i in range(20)]
                    answer = server.post("/documents", {"documents": documents})
                    self.assertEqual((answer.status, answer.json["documents"]), (200, 23), answer)
            finally:
                stop.set()
                for reader in readers:
                    reader.join()
            self.assertEqual(problems, [])
            self.assertGreater(searches[0], 5)
            self.assertEqual(set(self.found(server).values()), {"common apple", "common berry", "common cherry",
                                                                "common version39"})
        self.assertEqual(self.verify()["documents"], 23)

    def test_what_was_answered_survives_a_kill(self):
        expected = {"a": "common apple", "b": "common berry", "c": "common cherry"}
        for attempt in range(3):
            server = self.server("--writable")
            answered, asked = dict(expected), dict(expected)

            def write(server=server, attempt=attempt, answered=answered, asked=asked):
                for number in range(10000):
                    asked[f"k{number % 7}"] = f"common kill{attempt} {number}"
                    try:
                        answer = server.post("/documents", {"id": f"k{number % 7}",
                                                            "text": f"common kill{attempt} {number}"})
                    except OSError:
                        return
                    except Exception:  # noqa: BLE001  an answer that was cut off
                        return
                    if answer.status == 200:
                        answered.update(asked)
            writer = threading.Thread(target=write)
            writer.start()
            time.sleep(0.5 + 0.3 * attempt)
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
            writer.join()
            server.folder.cleanup()
            self.verify()
            with self.server() as again:
                found = self.found(again)
            self.assertIn(found, (answered, asked))
            self.assertGreater(len(found), 3)
            expected = found


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
