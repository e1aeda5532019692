"""Filters, facets, fields and documents by id in `relucent serve`, of one index and over shards of it: the answers are
those that the documents' own JSON gives."""

import contextlib
import json
import random
import subprocess
import tempfile
import unittest
import urllib.parse
from pathlib import Path

from serve_support import Server, program_path, run_tests

PROGRAM = program_path()
BM25 = "[rescorer]\nenabled = false\n"
LONG_NUMBER = 2**60 + 1


def make_documents(count):
    rng = random.Random(5)
    documents = []
    for i in range(count):
        # Each is a word longer than the one before. Up to 40 words no two of them have the same score.
        document = {"id": f"d/{i}%é", "title": f"title {i}", "text": "rice" + " more" * i, "big": LONG_NUMBER,
                    "lang": rng.choice(["de", "en", "fr"]), "year": rng.randrange(2000, 2030)}
        if rng.random() < 0.5:
            document["source"] = rng.sample(["a", "b", "c"], rng.randrange(3))
        documents.append(document)
    return documents


def index(folder, documents):
    source = Path(f"{folder}.jsonl")
    source.write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
    subprocess.run([PROGRAM, "index", "--corpus", "jsonl", "--input", source, "--index", folder, "--keyword", "lang",
                    "--keyword", "source", "--number", "year", "--text", "title"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def metadata(document):
    return {key: value for key, value in document.items() if key not in ("id", "text")}


class Fields(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        folder = Path(cls.stack.enter_context(tempfile.TemporaryDirectory(prefix="relucent-fields-")))
        cls.folder = folder
        cls.documents = make_documents(36)
        enter = cls.stack.enter_context
        cls.server = enter(Server(PROGRAM, "--index", index(folder / "all", cls.documents), profile=BM25))
        shards = [enter(Server(PROGRAM, "--index", index(folder / f"part{i}", cls.documents[i::3]), profile=BM25))
                  for i in range(3)]
        urls = [f"http://127.0.0.1:{shard.port}" for shard in shards]
        cls.front = enter(Server(PROGRAM, "--shards", *urls, profile=BM25))

    def each_server(self):
        for name, server in (("index", self.server), ("shards", self.front)):
            with self.subTest(name):
                yield server

    def search(self, server, **more):
        answer = server.post("/search", {"query": "rice", "k": 100, "texts": "none", **more})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_filters_facets_and_fields(self):
        filters = [({"lang": "de"}, lambda d: d["lang"] == "de"),
                   ({"lang": ["de", "fr"], "year": {"gte": 2010, "lt": 2020}},
                    lambda d: d["lang"] != "en" and 2010 <= d["year"] < 2020),
                   ({"source": ["a", "b"]}, lambda d: {"a", "b"} & set(d.get("source", []))),
                   ({"year": [2001, 2002, 2003.0]}, lambda d: d["year"] in (2001, 2002, 2003)),
                   ({"source": "nowhere"}, lambda d: False), ({}, lambda d: True)]
        for server in self.each_server():
            for chosen, meets in filters:
                expected = [d for d in self.documents if meets(d)]
                found = self.search(server, filter=chosen, facets=["lang"], fields=["year", "big"])
                self.assertEqual([hit["id"] for hit in found["hits"]], [d["id"] for d in expected], chosen)
                self.assertEqual(found["total_hits"], len(expected))
                for hit, document in zip(found["hits"], expected):
                    self.assertEqual(hit["fields"], {"year": document["year"], "big": LONG_NUMBER})
                languages = [d["lang"] for d in expected]
                counts = sorted(((languages.count(one), one) for one in set(languages)), key=lambda x: (-x[0], x[1]))
                self.assertEqual(found["facets"], {"lang": {
                    "distinct": len(counts), "counts": [{"value": v, "count": n} for n, v in counts]}})

    def test_all_fields_and_none(self):
        for server in self.each_server():
            for hit, document in zip(self.search(server, fields="all")["hits"], self.documents):
                self.assertEqual(hit["fields"], metadata(document))
            plain = self.search(server)
            self.assertNotIn("fields", plain["hits"][0])
            self.assertNotIn("facets", plain)
            self.assertEqual(self.search(server, fields=["absent"])["hits"][0]["fields"], {})

    def test_several_fields_are_searched_with_weights(self):
        def hits(server, query, *fields):
            found = self.search(server, query=query, **({"search_fields": fields} if fields else {}))
            return found["total_hits"], {hit["id"]: hit["score"] for hit in found["hits"]}

        # A title's word and number are in the contents as well.
        for query in ("title 7", "rice 7 11", "more title"):
            with self.subTest(query):
                contents, title = hits(self.server, query), hits(self.server, query, "title")
                both = hits(self.server, query, "contents", "title^2.5")
                self.assertEqual(hits(self.server, query, "contents"), contents)
                self.assertEqual(both[1].keys(), contents[1].keys() | title[1].keys())
                for one, score in both[1].items():
                    self.assertAlmostEqual(score, contents[1].get(one, 0) + 2.5 * title[1].get(one, 0), places=5)
                for fields in ((), ("title",), ("contents", "title^2.5")):
                    self.assertEqual(hits(self.front, query, *fields), hits(self.server, query, *fields))
        self.assertEqual(hits(self.server, "more", "title"), (0, {}))
        statistics = self.server.post("/statistics", {"query": "title", "search_fields": ["title"]})
        self.assertEqual(list(statistics.json["fields"]), ["title"])

    def test_fields_of_the_profile_are_searched_by_default(self):
        profile = BM25 + '[first_stage]\nfields = ["contents", "title^2.5"]\n'
        with Server(PROGRAM, "--index", self.folder / "all", profile=profile) as server:
            expected = self.search(self.server, query="title 7", search_fields=["contents", "title^2.5"])["hits"]
            self.assertEqual(self.search(server, query="title 7")["hits"], expected)

    def test_documents_by_id(self):
        for server in self.each_server():
            for document in self.documents[:7]:
                path = "/doc/" + urllib.parse.quote(document["id"], safe="")
                found = server.get(path)
                self.assertEqual(found.status, 200, found)
                self.assertEqual(found.json, {"id": document["id"], "metadata": metadata(document),
                                              "text": f"{document['title']} {document['text']}"})
            self.assertEqual(server.get("/doc/" + urllib.parse.quote("d/0%é")).status, 200)  # "/" as it is
            for path, status in (("/doc/absent", 404), ("/doc/", 404), ("/doc/%FF", 422), ("/doc/%2", 422),
                                 ("/doc/%zz", 422), ("/doc", 404)):
                self.assertEqual(server.get(path).status, status, path)
            self.assertEqual(server.post("/doc/d", {}).status, 405)
            self.assertEqual(server.metric('requests_total{path="/doc/{id}",status="200"}'), 8)

    def test_bad_requests_name_what_is_wrong(self):
        cases = [({"filter": {"colour": "red"}}, "colour"), ({"filter": {"lang": 3}}, "lang"),
                 ({"filter": {"year": {"lt": 2**53 + 2}}}, "2^53"), ({"filter": []}, "object"),
                 ({"filter": {"year": {"before": 3}}}, "before"), ({"facets": ["year"]}, "keywords"),
                 ({"facets": ["nothing"]}, "nothing"), ({"facets": "lang"}, "facets"), ({"fields": "lang"}, "fields"),
                 ({"fields": [1]}, "fields"), ({"facets": ["lang", "lang"]}, "twice"),
                 ({"filter": {"title": "x"}}, "text"), ({"facets": ["title"]}, "text"),
                 ({"search_fields": ["nowhere"]}, "contents, title"),
                 ({"search_fields": ["lang"]}, "contents, title"), ({"search_fields": ["title^0"]}, "weight"),
                 ({"search_fields": ["title^x"]}, "weight"), ({"search_fields": ["title", "title^2"]}, "twice"),
                 ({"search_fields": "title"}, "search_fields"), ({"search_fields": [1]}, "search_fields")]
        for server in self.each_server():
            for more, part in cases:
                answer = server.post("/search", {"query": "rice", **more})
                self.assertEqual(answer.status, 422, (more, answer))
                self.assertIn(part, answer.json["error"], more)
            self.assertEqual(server.post("/search", {"query": "rice", "facets": ["x"] * 101}).status, 413)


if __name__ == "__main__":
    run_tests()
