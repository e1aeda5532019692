"""`relucent serve` and clients that are slow, rude or hostile: answered or cut, never a crash, memory flat.

    serve_faults_test.py PROGRAM [--fuzz REQUESTS] [--seed N]
"""

import argparse
import json
import re
import signal
import socket
import sys
import tempfile
import time
import unittest
from pathlib import Path

from request_generator import Generator
from serve_support import DEVICE, Server, build_index, program_path, queries

PROGRAM = program_path()
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-serve-faults-")
INDEX = Path(SCRATCH.name) / "demo.index"
REQUESTS, SEED = 3000, 1


def read_all(connection, seconds=30):
    """Reads until the other end closes; None if it does not."""
    connection.settimeout(seconds)
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except TimeoutError:
        return None
    except ConnectionError:
        pass
    return data


class Slow(unittest.TestCase):
    PROFILE = "[server]\nread_timeout_ms = 700\nidle_timeout_ms = 900\nwrite_timeout_ms = 700\nconnections = 20\n" \
              "body_bytes = 64000000\n"

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, *DEVICE, profile=cls.PROFILE)
        cls.addClassCleanup(cls.server.__exit__)

    def seconds_until_cut(self, connection):
        start = time.monotonic()
        self.assertIsNotNone(read_all(connection, 10), "was not cut")
        return time.monotonic() - start

    def test_headers_and_bodies_that_trickle_in_are_cut(self):
        body = b'{"query":"q","texts":["a"]}'
        whole = (b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n"
                 % len(body)) + body
        for begin in (10, whole.index(b"\r\n\r\n") + 6):
            with self.server.socket() as slow:
                start = time.monotonic()
                slow.sendall(whole[:begin])
                with self.assertRaises(OSError):
                    for byte in whole[begin:]:
                        slow.sendall(bytes([byte]))
                        time.sleep(0.2)
                        slow.settimeout(0.01)
                        try:
                            if slow.recv(10) == b"":
                                raise ConnectionResetError
                        except TimeoutError:
                            pass
                self.assertLess(time.monotonic() - start, 2.5)
        self.assertGreaterEqual(self.server.metric("cut_total"), 2)
        self.server.logged(status=408)

    def test_connections_without_a_request_are_closed(self):
        with self.server.socket() as silent:
            self.assertLess(self.seconds_until_cut(silent), 3)
        with self.server.socket() as idle:
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertLess(self.seconds_until_cut(idle), 3)

    def test_too_many_connections_are_told_so_and_the_server_recovers(self):
        held = [self.server.socket() for _ in range(20)]
        for one in held:
            one.sendall(b"GET /health")  # those without a request would give way
        time.sleep(0.1)
        with self.server.socket() as extra:
            self.assertIn(b" 503 ", read_all(extra).split(b"\r\n")[0])
        for one in held:
            one.close()
        time.sleep(0.1)
        self.assertEqual(self.server.get("/health").status, 200)

    def test_a_client_that_takes_no_answer_is_cut(self):
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", self.server.port))
            text = "x" * 500_000
            body = json.dumps({"query": "q", "texts": [text] * 30, "return_text": True}).encode()
            deaf.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(body) + body)
            end = time.monotonic() + 30
            while not any(line.get("cut") and line["status"] == 200 for line in self.server.access_log()):
                self.assertLess(time.monotonic(), end, self.server.access_log()[-3:])
                time.sleep(0.1)
        self.assertEqual(self.server.get("/health").status, 200)


class Tricks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, *DEVICE)
        cls.addClassCleanup(cls.server.__exit__)

    def status_of(self, raw):
        with self.server.socket() as one:
            one.sendall(raw)
            one.shutdown(socket.SHUT_WR)
            data = read_all(one)
            found = re.match(rb"HTTP/1\.[01] (\d+)", data or b"")
            return int(found[1]) if found else None

    def test_malformed_requests_are_refused_or_cut(self):
        for raw in (b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
                    b"GET /health HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                    b"GET /health HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                    b"POST /rerank HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
                    b"POST /rerank HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                    b"POST /rerank HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                    b"GET /health HTTP/1.1\r\nA B: c\r\n\r\n", b"GET /health HTTP/1.1\r\nA\x00: c\r\n\r\n"):
            self.assertIn(self.status_of(raw), (400, 413, None), raw)
        self.assertEqual(self.status_of(b"GET /health HTTP/1.1\r\nX: " + b"y" * 20000 + b"\r\n\r\n"), 431)
        self.assertEqual(self.status_of(b"GET /" + b"y" * 20000 + b" HTTP/1.1\r\n\r\n"), 431)
        self.assertEqual(self.status_of(b"POST /rerank HTTP/1.1\r\nContent-Type: application/json\r\n"
                                        b"Content-Length: 999999999\r\n\r\n"), 413)
        self.assertEqual(self.server.get("/health").status, 200)

    def test_a_chunked_body_and_expect_continue_work(self):
        body = b'{"query":"q","texts":["a"]}'
        raw = (b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        with self.server.socket() as one:
            one.sendall(raw)
            self.assertIn(b" 200 ", read_all(one).split(b"\r\n")[0])
        with self.server.socket() as one:
            one.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.assertIn(b" 100 ", one.recv(1000).split(b"\r\n")[0])
            one.sendall(body)
            self.assertIn(b" 200 ", read_all(one).split(b"\r\n")[0])

    def test_kill_9_under_load_leaves_nothing_behind(self):
        with Server(PROGRAM, "--index", INDEX, *DEVICE) as server:
            with server.socket() as one:
                body = json.dumps({"query": queries()[0]}).encode()
                one.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                server.process.send_signal(signal.SIGKILL)
                server.process.wait(10)
                self.assertIsNotNone(read_all(one, 5))
        with Server(PROGRAM, "--index", INDEX, *DEVICE) as server:
            self.assertEqual(server.post("/search", {"query": queries()[0]}).status, 200)


class Hostile(unittest.TestCase):
    def test_generated_requests_are_answered_or_cut_and_memory_stays_flat(self):
        generator = Generator(SEED)
        profile = "[server]\nread_timeout_ms = 80\nidle_timeout_ms = 2000\nbody_bytes = 60000\n"
        statuses = {}
        with Server(PROGRAM, "--index", INDEX, *DEVICE, profile=profile) as server:
            after_start = None
            for number in range(REQUESTS):
                if number == REQUESTS // 4:
                    after_start = server.memory_mb()
                raw = generator.request()
                try:
                    with server.socket(90) as one:
                        one.sendall(raw)
                        if generator.random.random() < 0.03:
                            continue  # leaves without reading
                        one.shutdown(socket.SHUT_WR) if generator.random.random() < 0.3 else None
                        try:
                            data = one.recv(65536)
                            if len(data) < 12:  # the first bytes may come before the others
                                data += one.recv(65536)
                        except ConnectionError:
                            data = b""
                except TimeoutError:
                    self.fail(f"request {number} was neither answered nor cut: {raw[:300]!r}")
                except OSError:  # cut, also between two calls
                    data = b""
                found = re.match(rb"HTTP/1\.[01] (\d+)", data)
                self.assertTrue(found or data == b"", (number, raw[:300], data[:300]))
                status = int(found[1]) if found else 0
                statuses[status] = statuses.get(status, 0) + 1
                self.assertNotIn(status, (424, 500), (number, raw[:1000], data[:1000]))
                self.assertIsNone(server.process.poll(), (number, raw[:1000], server.said()))
            self.assertEqual(server.get("/health").status, 200)
            grown = server.memory_mb() - after_start
            print(f"{REQUESTS} requests, seed {SEED}: {dict(sorted(statuses.items()))}, "
                  f"memory {after_start:.0f} MB after a quarter, {grown:+.1f} MB since", file=sys.stderr)
            if not server.sanitized():  # AddressSanitizer keeps what was freed
                self.assertLess(grown, 30)
            end = time.monotonic() + 10  # for requests whose clients have left
            while server.metric("computing") > 0:
                self.assertLess(time.monotonic(), end)
            self.assertEqual(server.stop(), 0, server.said())
        # The generator reaches both sides.
        for wanted in (200, 400, 404, 405, 413, 415, 422):
            self.assertGreater(statuses.get(wanted, 0), 0, statuses)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--fuzz", type=int, default=REQUESTS)
    parser.add_argument("--seed", type=int, default=SEED)
    options, rest = parser.parse_known_args(sys.argv[2:])
    REQUESTS, SEED = options.fuzz, options.seed
    build_index(PROGRAM, INDEX)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
