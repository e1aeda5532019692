"""The files for OpenSearch and Elasticsearch in docs/examples/serving: the requests that these engines make of them are
answered, and their paths into the answer find every text's score."""

import json
import re
import unittest
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


if __name__ == "__main__":
    run_tests()
