"""/openapi.json: it describes the paths that the server has, and, where schemathesis is installed, what they take and
answer: schemathesis sends what the schemas allow and what they forbid."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from serve_support import DEVICE, Server, build_index, passages, program_path, run_tests

PROGRAM = program_path()
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-openapi-test-")
INDEX = Path(SCRATCH.name) / "demo.index"
METHODS = ("get", "post", "put", "delete", "patch", "options")

# A deadline of a millisecond is valid and passes, before the body is read. Requests above a limit are answered with
# 413, as by text-embeddings-inference. No schema can state which ids there are, nor that `offset` and `k` of a search
# have a limit together.
SETTINGS = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 504]
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 504]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 413, 415, 422, 429, 504]
[[operations]]
include-path = "/doc/{id}"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 404, 504]
[[operations]]
include-path = "/search"
[operations.checks.positive_data_acceptance]
expected-statuses = ["2xx", 413, 504]
"""


def index_with_fields():
    folder = Path(SCRATCH.name) / "fields.index"
    if not folder.exists():
        documents = Path(SCRATCH.name) / "documents.jsonl"
        documents.write_text("".join(json.dumps({"id": str(i), "text": f"boil the egg {i}", "lang": ("de", "en")[i % 2],
                                                 "year": 2000 + i}) + "\n" for i in range(20)), encoding="utf-8")
        subprocess.run([PROGRAM, "index", "--corpus", "jsonl", "--input", documents, "--keyword", "lang", "--number",
                        "year", "--index", folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def references(value):
    if isinstance(value, dict):
        for name, item in value.items():
            yield from [item] if name == "$ref" else references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


class Description(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--index", INDEX, *DEVICE)
        cls.addClassCleanup(cls.server.__exit__)
        cls.api = cls.server.get("/openapi.json").json

    def test_it_is_of_openapi_3_1_and_whole(self):
        self.assertEqual(self.api["openapi"], "3.1.0")
        schemas = self.api["components"]["schemas"]
        used = set(references(self.api))
        self.assertEqual({"#/components/schemas/" + name for name in schemas}, used)
        operations = [operation for path in self.api["paths"].values() for operation in path.values()]
        names = [operation["operationId"] for operation in operations]
        self.assertEqual(len(set(names)), len(names))

    def test_the_server_answers_at_these_paths_and_methods_alone(self):
        for path, operations in self.api["paths"].items():
            path = path.replace("{id}", passages()[0][0])
            for method in METHODS:
                status = self.server.request(method.upper(), path, "{" if method == "post" else None).status
                if method in operations:
                    self.assertEqual(status, 400 if method == "post" else 200, (method, path))
                else:
                    self.assertEqual(status, 405, (method, path))

    def test_the_documentation_names_every_path(self):
        text = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
        files_of_the_page = {"/icon.svg", "/index.html", "/page.css", "/page.js"}
        for path in set(self.api["paths"]) - files_of_the_page:
            self.assertRegex(text, rf"`(GET|POST) {re.escape(path)}`")

    def test_examples_are_answered(self):
        for path, operations in self.api["paths"].items():
            if "post" not in operations:
                continue
            name = operations["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
            name = {"RerankRequest": "TextsRequest"}.get(name, name)
            answer = self.server.post(path, self.api["components"]["schemas"][name]["example"])
            self.assertEqual(answer.status, 200, (path, answer))

    def test_the_limits_are_those_of_the_profile(self):
        profile = "[server]\ntexts = 7\nhits = 5\nexplained_hits = 2\nrequest_timeout_ms = 1234\ntext_bytes = 99\n"
        with Server(PROGRAM, "--index", INDEX, *DEVICE, profile=profile) as server:
            schemas = server.get("/openapi.json").json["components"]["schemas"]
            self.assertEqual(schemas["TextsRequest"]["properties"]["texts"]["maxItems"], 7)
            self.assertEqual(schemas["DocumentsRequest"]["properties"]["documents"]["maxItems"], 7)
            self.assertEqual(schemas["SearchRequest"]["properties"]["k"]["maximum"], 5)
            self.assertEqual(schemas["Timeout"]["maximum"], 1234)
            self.assertEqual(schemas["Query"]["maxLength"], 99)
            self.assertEqual(server.post("/search", {"query": "rice", "explain": True}).status, 413)
            self.assertEqual(schemas["SearchRequest"]["anyOf"][1]["required"], ["k"])

    def test_the_fields_of_the_index_are_those_that_a_search_may_name(self):
        with Server(PROGRAM, "--index", index_with_fields(), *DEVICE) as server:
            search = server.get("/openapi.json").json["components"]["schemas"]["SearchRequest"]["properties"]
            self.assertEqual(set(search["filter"]["properties"]), {"lang", "year"})
            self.assertEqual(search["facets"]["items"]["enum"], ["lang"])
            fields = server.get("/openapi.json").json["components"]["schemas"]["SearchFields"]
            self.assertEqual(fields["maxItems"], 1)
            for allowed in ("contents", "contents^2", "contents^0.5"):
                self.assertRegex(allowed, fields["items"]["pattern"])
                answer = server.post("/search", {"query": "egg", "search_fields": [allowed]})
                self.assertEqual(answer.status, 200, answer)
            for forbidden in ("lang", "contents^", "contents^0", "contents\n", "xcontents"):
                self.assertNotRegex(forbidden, fields["items"]["pattern"])
                answer = server.post("/search", {"query": "egg", "search_fields": [forbidden]})
                self.assertEqual(answer.status, 422, answer)
        search = self.api["components"]["schemas"]["SearchRequest"]["properties"]
        self.assertEqual((search["filter"]["properties"], search["facets"]["maxItems"]), ({}, 0))

    def test_what_the_server_lacks_is_left_out(self):
        with Server(PROGRAM, *DEVICE) as server:
            paths = server.get("/openapi.json").json["paths"]
            self.assertIn("/rerank", paths)
            self.assertNotIn("/search", paths)

    def test_a_token_is_described_and_needed(self):
        with Server(PROGRAM, *DEVICE, environment={"RELUCENT_TOKEN": "secret"}) as server:
            self.assertEqual(server.get("/openapi.json").status, 401)
            api = server.get("/openapi.json", Authorization="Bearer secret").json
            self.assertEqual(api["components"]["securitySchemes"]["token"], {"type": "http", "scheme": "bearer"})
            self.assertEqual(api["security"], [{"token": []}])
            for path, operations in api["paths"].items():
                for method, operation in operations.items():
                    status = server.request(method.upper(), path, "{" if method == "post" else None).status
                    self.assertEqual(status == 401, "security" not in operation, (method, path))


@unittest.skipUnless(importlib.util.find_spec("schemathesis"), "schemathesis is not installed")
class Schemathesis(unittest.TestCase):

    def run_against(self, server, *flags):
        (Path(SCRATCH.name) / "schemathesis.toml").write_text(SETTINGS, encoding="utf-8")
        ended = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json",
             "--phases", "examples,coverage,fuzzing", "--max-examples", "60", "--seed", "1", *flags],
            cwd=SCRATCH.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
            env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertRegex(ended.stdout, r"\b\d{3,} generated")

    def test_finds_nothing(self):
        with Server(PROGRAM, "--index", INDEX, *DEVICE) as server:
            self.run_against(server)

    def test_finds_nothing_where_fields_are_declared(self):
        with Server(PROGRAM, "--index", index_with_fields(), *DEVICE) as server:
            self.run_against(server, "--include-path", "/search")

    def test_finds_nothing_with_a_token(self):
        with Server(PROGRAM, *DEVICE, environment={"RELUCENT_TOKEN": "secret"}) as server:
            self.run_against(server, "-H", "Authorization: Bearer secret", "--max-examples", "10")


if __name__ == "__main__":
    build_index(PROGRAM, INDEX)
    run_tests()
