"""`relucent serve --otlp-endpoint`: the spans that a collector gets. A collector that is slow, refuses spans or is not
there delays no request and fails none."""

import http.server
import json
import re
import socket
import tempfile
import threading
import time
import unittest
from pathlib import Path

from serve_support import DEVICE, Server, build_index, program_path, run_tests

PROGRAM = program_path()
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-traces-test-")
INDEX = Path(SCRATCH.name) / "demo.index"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SERVER_SPAN, INTERNAL_SPAN = 2, 1


class Collector:
    """Keeps the requests for OTLP/HTTP that it gets, and answers them with `status`, after `wait()`."""

    def __init__(self, status=200, wait=lambda: None):
        collector = self
        self.requests = []  # (path, headers, JSON)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, self.headers, json.loads(body)))
                wait()
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def spans(self):
        return [span for _, _, body in self.requests for resource in body["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]

    def wait_for(self, wanted, seconds=30):
        """Waits until spans for which `wanted` holds have come; returns them."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := [span for span in self.spans() if wanted(span)]:
                return found
            time.sleep(0.02)
        raise AssertionError(f"no such span: {self.spans()[-3:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


def attributes(of):
    return {one["key"]: next(iter(one["value"].values())) for one in of["attributes"]}


def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Spans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.__exit__)
        cls.server = Server(PROGRAM, "--index", INDEX, "--otlp-endpoint", cls.collector.url, *DEVICE)
        cls.addClassCleanup(cls.server.__exit__)

    def trace_of(self, trace_id):
        request, = self.collector.wait_for(lambda span: span["traceId"] == trace_id and span["kind"] == SERVER_SPAN)
        return request, [span for span in self.collector.spans() if span.get("parentSpanId") == request["spanId"]]

    def test_a_search_is_a_span_with_its_steps_as_children(self):
        answer = self.server.post("/search", {"query": "how to boil an egg", "k": 5},
                                  traceparent=f"00-{TRACE}-{PARENT}-01", tracestate="a=1")
        self.assertEqual(answer.status, 200, answer)
        request, steps = self.trace_of(TRACE)
        self.assertEqual(request["name"], "POST /search")
        self.assertEqual(request["parentSpanId"], PARENT)
        self.assertEqual(request["traceState"], "a=1")
        self.assertEqual(request["spanId"], self.server.logged(trace_id=TRACE)["span_id"])
        self.assertNotIn("status", request)
        values = attributes(request)
        self.assertEqual(values["http.request.method"], "POST")
        self.assertEqual(values["http.response.status_code"], "200")
        self.assertEqual(values["relucent.hits"], "5")
        self.assertEqual([step["name"] for step in steps if step["name"] != "find passages"],
                         ["queue", "parse query", "first stage", "fetch texts", "tokenize", "encode", "combine"])
        self.assertEqual(len({span["spanId"] for span in [request, *steps]}), len(steps) + 1)
        start, end = int(request["startTimeUnixNano"]), int(request["endTimeUnixNano"])
        self.assertLess(abs(end / 1e9 - time.time()), 60)
        self.assertLess(start, end)
        for step in steps:
            self.assertEqual(step["kind"], INTERNAL_SPAN)
            self.assertEqual(step["traceId"], TRACE)
            self.assertEqual(int(step["startTimeUnixNano"]), start)
            start = int(step["endTimeUnixNano"])
        self.assertLessEqual(start, end)

    def test_the_body_is_what_otlp_asks_for(self):
        self.server.post("/rerank", {"query": "a", "texts": ["b"]}, traceparent=f"00-{'1' * 32}-{PARENT}-01")
        self.trace_of("1" * 32)
        path, headers, body = self.collector.requests[0]
        self.assertEqual(path, "/v1/traces")
        self.assertEqual(headers["Content-Type"], "application/json")
        resource, = body["resourceSpans"]
        self.assertEqual(attributes(resource["resource"])["service.name"], "relucent")
        self.assertEqual(resource["scopeSpans"][0]["scope"]["name"], "relucent")
        for span in self.collector.spans():
            self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
            self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")

    def test_a_request_without_a_trace_begins_one(self):
        self.server.post("/rerank", {"query": "a", "texts": ["b"]}, User_Agent="without a trace")
        line = self.server.logged(user_agent="without a trace")
        self.assertNotIn("parent_span_id", line)
        request, _ = self.trace_of(line["trace_id"])
        self.assertEqual(request["spanId"], line["span_id"])
        self.assertNotIn("parentSpanId", request)

    def test_requests_that_the_caller_does_not_record_are_not_exported(self):
        self.server.post("/rerank", {"query": "a", "texts": ["b"]}, traceparent=f"00-{'2' * 32}-{PARENT}-00")
        self.server.post("/rerank", {"query": "a", "texts": ["b"]}, traceparent=f"00-{'3' * 32}-{PARENT}-01")
        self.trace_of("3" * 32)
        self.assertFalse([span for span in self.collector.spans() if span["traceId"] == "2" * 32])

    def test_exported_spans_are_counted(self):
        self.server.post("/rerank", {"query": "a", "texts": ["b"]}, traceparent=f"00-{'4' * 32}-{PARENT}-01")
        self.trace_of("4" * 32)
        end = time.monotonic() + 10
        while self.server.metric("spans_exported_total") == 0 and time.monotonic() < end:
            time.sleep(0.02)
        self.assertGreater(self.server.metric("spans_exported_total"), 0)
        self.assertEqual(self.server.metric("spans_dropped_total"), 0)


class Collectors(unittest.TestCase):
    def assert_serves(self, server, requests=20):
        """All requests are answered; returns how long the slowest took."""
        slowest = 0
        for _ in range(requests):
            start = time.monotonic()
            self.assertEqual(server.post("/rerank", {"query": "a", "texts": ["b"]}).status, 200)
            slowest = max(slowest, time.monotonic() - start)
        return slowest

    def wait_for_drops(self, server, at_least):
        end = time.monotonic() + 30
        while server.metric("spans_dropped_total") < at_least and time.monotonic() < end:
            time.sleep(0.05)
        self.assertGreaterEqual(server.metric("spans_dropped_total"), at_least)

    def test_one_that_is_not_there_is_told_once_and_its_spans_counted(self):
        url = f"http://127.0.0.1:{unused_port()}"
        with Server(PROGRAM, "--otlp-endpoint", url, *DEVICE) as server:
            self.assert_serves(server)
            self.wait_for_drops(server, 20)
            self.assert_serves(server)
            self.wait_for_drops(server, 40)
            self.assertEqual(server.stop(), 0)
            self.assertEqual(len(re.findall("spans are dropped", server.said())), 1, server.said())
            self.assertIn(url, server.said())

    def test_one_that_refuses_is_told_with_its_status(self):
        with Collector(status=503) as collector, Server(PROGRAM, "--otlp-endpoint", collector.url, *DEVICE) as server:
            self.assert_serves(server)
            server.wait_for("spans are dropped.*answers with status 503")
            self.wait_for_drops(server, 20)

    def test_one_that_hangs_delays_no_request_and_no_end(self):
        hang = threading.Event()
        with Collector(wait=hang.wait) as collector, \
                Server(PROGRAM, "--otlp-endpoint", collector.url, *DEVICE) as server:
            self.assert_serves(server, 3)
            collector.wait_for(lambda span: True)
            self.assertLess(self.assert_serves(server), 5)
            start = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - start, 10)
            self.assertNotIn("did not end in time", server.said())
            hang.set()

    def test_a_full_queue_drops_spans(self):
        hang = threading.Event()
        profile = "[rescorer]\nenabled = false\n"
        with Collector(wait=hang.wait) as collector, \
                Server(PROGRAM, "--index", INDEX, "--otlp-endpoint", collector.url, profile=profile) as server:
            connection = server.connect()
            for _ in range(3000):  # one batch that hangs, and a queue of 2048
                server.post("/search", {"query": "egg", "k": 1}, connection=connection)
            connection.close()
            self.assertGreater(server.metric("spans_dropped_total"), 0)
            hang.set()

    def test_spans_that_wait_are_sent_at_the_end(self):
        with Collector() as collector, Server(PROGRAM, "--otlp-endpoint", collector.url, *DEVICE) as server:
            server.post("/rerank", {"query": "a", "texts": ["b"]}, traceparent=f"00-{TRACE}-{PARENT}-01")
            self.assertEqual(server.stop(), 0)
            self.assertTrue([span for span in collector.spans() if span["traceId"] == TRACE])


class Settings(unittest.TestCase):
    def test_the_environment_names_the_collector_its_headers_and_the_service(self):
        with Collector() as collector:
            environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/", "OTEL_SERVICE_NAME": "kitchen",
                           "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret, x-team=search"}
            with Server(PROGRAM, *DEVICE, environment=environment) as server:
                server.post("/rerank", {"query": "a", "texts": ["b"]})
                collector.wait_for(lambda span: span["name"] == "POST /rerank")
            path, headers, body = collector.requests[0]
            self.assertEqual((path, headers["api-key"], headers["x-team"]), ("/v1/traces", "secret", "search"))
            self.assertEqual(attributes(body["resourceSpans"][0]["resource"])["service.name"], "kitchen")

    def test_the_profile_names_the_collector(self):
        with Collector() as collector:
            profile = f'[server]\notlp_endpoint = "{collector.url}"\n'
            with Server(PROGRAM, *DEVICE, profile=profile) as server:
                server.post("/rerank", {"query": "a", "texts": ["b"]})
                collector.wait_for(lambda span: span["name"] == "POST /rerank")

    def test_without_one_libcurl_is_not_loaded(self):
        with Server(PROGRAM, *DEVICE, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": ""}) as server:
            server.post("/rerank", {"query": "a", "texts": ["b"]})
            self.assertNotIn("libcurl", Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8"))
            self.assertNotIn("trace_id", server.access_log()[-1] if server.access_log() else {})


if __name__ == "__main__":
    build_index(PROGRAM, INDEX)
    run_tests()
