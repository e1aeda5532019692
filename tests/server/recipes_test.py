"""The files for other search engines in docs/examples/serving: the requests that OpenSearch and Elasticsearch make of
them are answered, and their paths into the answer find every text's score; the searcher for Vespa runs, with the few
classes of Vespa that it uses replaced by those of tests/server/vespa."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from serve_support import DEVICE, ROOT, Server, program_path, run_tests

EXAMPLES = ROOT / "docs" / "examples" / "serving"
TOKEN = "a-token-of-this-test"
QUERY = 'what does "mise en place" mean?\nand \\ why'
TEXTS = ["Mise en place means everything in its place.", "Paris is in France.", 'A "quoted" line,\nand one more.']


def filled(template, values):
    """The template with all values in their places."""
    rest = dict(values)
    text = re.sub(r"\$\{([\w.]+)\}", lambda name: rest.pop(name[1]), template)
    assert not rest, f"without a place: {rest}"
    return text


def at(path, value):
    """The values at a path like $.results[*].index."""
    values = [value]
    for key, each in re.findall(r"\.(\w+)(\[\*\])?", path):
        values = [one[key] for one in values]
        if each:
            values = [item for one in values for item in one]
    return values


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(program_path(), *DEVICE, environment={"RELUCENT_TOKEN": TOKEN})
        cls.addClassCleanup(cls.server.__exit__)

    def post(self, url, headers, body, secret):
        headers = {**headers, "Authorization": filled(headers["Authorization"], secret)}
        answer = self.server.request("POST", urlsplit(url).path, body, **headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def expected(self):
        answer = self.server.post("/rerank", {"query": QUERY, "texts": TEXTS}, Authorization=f"Bearer {TOKEN}")
        self.assertEqual(answer.status, 200, answer)
        return {one["index"]: one["score"] for one in answer.json}

    def test_the_connector_for_opensearch(self):
        connector = json.loads((EXAMPLES / "opensearch-connector.json").read_text(encoding="utf-8"))
        action, = connector["actions"]
        # OpenSearch's two functions for Cohere: the first makes these parameters, the second reads these keys.
        self.assertEqual(action["pre_process_function"], "connector.pre_process.cohere.rerank")
        self.assertEqual(action["post_process_function"], "connector.post_process.cohere.rerank")
        body = filled(action["request_body"],
                      {"parameters.documents": json.dumps(TEXTS), "parameters.query": json.dumps(QUERY)[1:-1],
                       "parameters.model": connector["parameters"]["model"], "parameters.top_n": str(len(TEXTS))})
        answer = self.post(action["url"], action["headers"], body, {"credential.token": TOKEN})
        self.assertEqual({one["index"]: one["relevance_score"] for one in answer["results"]}, self.expected())

    def test_the_endpoint_for_elasticsearch(self):
        endpoint = json.loads((EXAMPLES / "elasticsearch-endpoint.json").read_text(encoding="utf-8"))
        settings = endpoint["service_settings"]
        body = filled(settings["request"], {"query": json.dumps(QUERY), "input": json.dumps(TEXTS)})
        answer = self.post(settings["url"], settings["headers"], body, {"token": TOKEN})
        paths = settings["response"]["json_parser"]
        places, scores = at(paths["reranked_index"], answer), at(paths["relevance_score"], answer)
        self.assertEqual(dict(zip(places, scores, strict=True)), self.expected())


class Vespa(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jars = [Path("/usr/share/java") / f"jackson-{part}.jar" for part in ("annotations", "core", "databind")]
        if not shutil.which("javac") or not all(jar.exists() for jar in jars):
            raise unittest.SkipTest("javac (default-jdk-headless) or Jackson (libjackson2-databind-java) is missing")
        cls.server = Server(program_path(), *DEVICE, environment={"RELUCENT_TOKEN": TOKEN})
        cls.addClassCleanup(cls.server.__exit__)
        classes = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.path = ":".join(map(str, [classes, *jars]))
        sources = [EXAMPLES / "RelucentSearcher.java", *(ROOT / "tests" / "server" / "vespa").rglob("*.java")]
        subprocess.run(["javac", "-Xlint:all", "-Werror", "-cp", cls.path, "-d", classes, *sources], check=True)

    def search(self, offset, hits, texts, *, token=TOKEN, timeout=60000):
        """The ids and the relevance of the hits, and the output's rest. The searcher leaves the query as it was."""
        lines = subprocess.run(["java", "-cp", self.path, "com.example.TrySearcher",
                                f"http://127.0.0.1:{self.server.port}", token, QUERY, str(offset), str(hits),
                                str(timeout), *texts], check=True, capture_output=True, encoding="utf-8",
                               timeout=120).stdout.splitlines()
        self.assertEqual(lines[-1], f"asked {offset} {hits}")
        found = [line.split() for line in lines if line.startswith("hit ")]
        return [int(one[1]) for one in found], [float(one[2]) for one in found], lines

    def test_its_hits_are_in_the_order_of_the_raw_scores(self):
        texts = [TEXTS[1], "", TEXTS[0], TEXTS[2]]
        body = {"query": QUERY, "texts": [text for text in texts if text], "raw_scores": True}
        expected = self.server.post("/rerank", body, Authorization=f"Bearer {TOKEN}").json
        order, relevance, _ = self.search(0, 10, texts)
        self.assertEqual(order, [(0, 2, 3)[one["index"]] for one in expected] + [1])
        self.assertEqual(relevance[:3], [one["score"] for one in expected])
        self.assertEqual(self.search(1, 2, texts)[0], order[1:3])

    def test_pages_beyond_the_window_stay_as_they_are(self):
        texts = [f"text {i}" for i in range(120)]
        self.assertEqual(self.search(95, 10, texts)[0], list(range(95, 105)))

    def test_without_an_answer_the_hits_stay_as_they_are(self):
        for trouble in ({"token": "wrong"}, {"timeout": 1}):
            order, relevance, lines = self.search(0, 2, TEXTS, **trouble)
            self.assertEqual((order, relevance), ([0, 1], [1000.0, 999.0]))
            self.assertRegex(lines[0], "^trace 1 Relucent: java.*(status 401|Http\w*TimeoutException)")


if __name__ == "__main__":
    run_tests()
