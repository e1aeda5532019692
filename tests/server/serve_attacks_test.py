"""Clients of `relucent serve` that want its memory, its time or another's request, at the default settings: what they
send raises its memory by at most 64 MiB, and the others are answered. Memory is the peak during the attack."""

import contextlib
import functools
import json
import os
import re
import resource
import select
import signal
import socket
import sys
import tempfile
import time
import unittest
from pathlib import Path

from serve_support import DEVICE, Server, build_index, passages, program_path, queries

PROGRAM = program_path()
MODULES = Path(PROGRAM).resolve().parents[1] / "tests" / "modules"
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-serve-attacks-")
INDEX = Path(SCRATCH.name) / "demo.index"
TOKEN = "a-token-of-this-test"
MAX_GROWTH_MIB = 64
HEAD = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BODY = b'{"query":"q","texts":["a"]}'
SMALL = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


@contextlib.contextmanager
def memory_of(test, server, limit=MAX_GROWTH_MIB):
    """Fails if the server's peak within the block is more than `limit` MiB above what it had before."""
    growth = server.growth()
    try:
        yield
    finally:
        test.assertIsNone(server.process.poll(), server.said())
        grown = growth()
        print(f"{test.id().split('.')[-1]}: +{grown:.1f} MiB", file=sys.stderr)
    if not server.sanitized():
        test.assertLess(grown, limit)


def send(connection, data):
    """Returns False once the server takes no more."""
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


def flood(connection, part, max_bytes, seconds=4):
    """Sends `part` again and again until the server closes the connection; the bytes sent."""
    sent, end = 0, time.monotonic() + seconds
    while sent < max_bytes and time.monotonic() < end and send(connection, part):
        sent += len(part)
    return sent


def answer_of(connection, seconds=10):
    """Returns everything until the server closes, or everything that comes within `seconds`."""
    connection.settimeout(0.2)
    data, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            part = connection.recv(65536)
        except TimeoutError:
            continue
        except OSError:
            break
        if not part:
            break
        data += part
    return data


def answers_of(connections, seconds):
    """What each connection gets: from the first answer to any of them until nothing more comes for `seconds`."""
    data = dict.fromkeys(connections, b"")
    still_open, end = set(connections), time.monotonic() + 30
    while still_open and time.monotonic() < end:
        readable, _, _ = select.select(list(still_open), [], [], seconds)
        if not readable and any(data.values()):
            break
        for one in readable:
            try:
                part = one.recv(65536)
            except OSError:
                part = b""
            data[one] += part
            if not part:
                still_open.remove(one)
    return list(data.values())


def statuses(data):
    return [int(code) for code in re.findall(rb"HTTP/1\.[01] (\d{3}) ", data)]


class Crowd:
    """Many connections that send all of their bytes as fast as the server takes them."""

    def __init__(self, server, count, data):
        """`data` is the bytes of each connection, or a function of its number."""
        self.connections = {}
        for number in range(count):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            one.setblocking(False)
            self.connections[one] = memoryview(data(number) if callable(data) else data)

    def send(self, seconds):
        """Waits until all is sent or refused; the connections stay open."""
        waiting, end = dict(self.connections), time.monotonic() + seconds
        while waiting and time.monotonic() < end:
            _, writable, _ = select.select([], list(waiting), [], 0.1)
            for one in writable:
                try:
                    waiting[one] = waiting[one][one.send(waiting[one][:1 << 18]):]
                except OSError:
                    waiting[one] = b""
                if not waiting[one]:
                    del waiting[one]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.connections:
            one.close()


@functools.cache
def servers():
    """A server with a token and one without, both at the default settings."""
    guarded = Server(PROGRAM, *DEVICE, environment={"RELUCENT_TOKEN": TOKEN})
    unittest.addModuleCleanup(guarded.__exit__)
    free = Server(PROGRAM, "--index", INDEX, *DEVICE)
    unittest.addModuleCleanup(free.__exit__)
    texts = [text for _, text in passages()][:30]
    for _ in range(3):  # what the first requests load
        free.post("/rerank", {"query": "q", "texts": texts})
        free.post("/search", {"query": queries()[0]})
        guarded.post("/rerank", {"query": "q", "texts": texts}, Authorization="Bearer " + TOKEN)
    return guarded, free


class WithServers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.guarded, cls.open = servers()

    def is_well(self, server, seconds=5):
        """Other clients are answered, at the latest when the attacker's last connections are cut."""
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                if server.get("/health").status == 200:
                    return
            self.assertLess(time.monotonic(), end, "no answer for others")
            time.sleep(0.05)


class Memory(WithServers):
    def test_a_chunk_extension_without_end(self):
        for server in (self.guarded, self.open):
            with memory_of(self, server), server.socket() as one:
                send(one, CHUNKED + b"5;x=")
                self.assertLess(flood(one, b"y" * 65536, 1 << 30), 100 << 20)
                self.is_well(server)

    def test_trailers_without_end(self):
        for server in (self.guarded, self.open):
            with memory_of(self, server), server.socket() as one:
                send(one, CHUNKED + b"1\r\n{\r\n0\r\n")
                self.assertLess(flood(one, b"a: b\r\n" * 10000, 1 << 30), 100 << 20)
                self.is_well(server)

    def test_small_chunks_with_long_extensions(self):
        with memory_of(self, self.open), self.open.socket() as one:
            send(one, CHUNKED)
            self.assertLess(flood(one, (b"1;" + b"x" * 10000 + b"\r\n \r\n") * 10, 1 << 30), 100 << 20)
            self.is_well(self.open)

    def test_headers_in_segments_that_end_inside_a_field(self):
        with memory_of(self, self.guarded):
            connections = [self.guarded.socket() for _ in range(100)]
            for one in connections:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                send(one, b"GET /health HTTP/1.1\r\nHost: localhost\r\nX")
            end, number = time.monotonic() + 6, 0
            while time.monotonic() < end and number < 150:
                number += 1
                for one in connections:
                    send(one, b"-%d: " % number + b"y" * 12000 + b"\r\nX")
                time.sleep(0.03)
            self.is_well(self.guarded)
            for one in connections:
                one.close()

    def test_a_crowd_with_as_many_headers_as_fit(self):
        for part in (b"a:\r\n", b"b%d: c\r\n", b"c: " + b"d" * 150 + b"\r\n"):
            fields = b"".join(part.replace(b"%d", b"%d" % i) for i in range(16300 // len(part)))[:16300]
            # Without its end, and with a body that is waited for.
            for end in (b"", b"\r\nContent-Length: 1000\r\n\r\n"):
                data = HEAD + fields[:16300 - len(end)].rsplit(b"\r\n", 1)[0] + end
                with memory_of(self, self.open), Crowd(self.open, 500, data) as crowd:
                    crowd.send(3)
                    self.is_well(self.open)

    def test_a_crowd_with_pipelined_requests(self):
        data = SMALL + b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4000
        with memory_of(self, self.open), Crowd(self.open, 500, data) as crowd:
            crowd.send(3)
            self.is_well(self.open, 20)

    def test_a_crowd_with_long_bodies_and_no_token(self):
        body = HEAD + b"Content-Length: 4000000\r\n\r\n" + b" " * 4000000
        with memory_of(self, self.guarded), Crowd(self.guarded, 512, body) as crowd:
            crowd.send(5)
            self.is_well(self.guarded)
            self.assertEqual(self.guarded.get("/health").status, 200)
            self.assertEqual(statuses(answer_of(next(iter(crowd.connections))))[:1], [401])

    def test_a_crowd_with_long_bodies_where_no_token_is_needed(self):
        incomplete = HEAD + b"Content-Length: 4000000\r\n\r\n" + b" " * 3999999
        chunks = CHUNKED + (b"8000\r\n" + b" " * 0x8000 + b"\r\n") * 120
        for body in (incomplete, chunks):
            with memory_of(self, self.open), Crowd(self.open, 500, body) as crowd:
                crowd.send(6)
                self.is_well(self.open)
                refused = [code for data in answers_of(list(crowd.connections)[:50], 0.2) for code in statuses(data)]
                self.assertIn(429, refused)
            end = time.monotonic() + 20  # the bytes are given back
            while self.open.post("/rerank", {"query": "q", "texts": ["a" * 500000] * 2}).status != 200:
                self.assertLess(time.monotonic(), end)

    def test_a_crowd_with_long_valid_bodies(self):
        body = json.dumps({"query": "q", "texts": ["x" * 4000] * 1000, "return_text": True}).encode()
        data = HEAD + b"X-Request-Timeout-Ms: 3000\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        with memory_of(self, self.open), Crowd(self.open, 100, data) as crowd:
            crowd.send(6)
            self.is_well(self.open)

    def test_a_crowd_with_many_values(self):
        """Values take three bytes and up in a body, and about a hundred in memory."""
        for value in (b"0,", b"[],", b"{},", b'{"a":0},', b'"",'):
            body = b'{"query":"q","texts":["a"],"x":[' + value * (4190000 // len(value)) + b"0]}"
            with self.subTest(value=value):
                self.send_bodies(body, [413])
        # As many as are allowed: 16 for each text.
        values = 1000 * 16 - 100
        for value in (b"0,", b"[],", b"{},", b'{"a":0},', b'"",'):
            each = sum(value.count(character) for character in b"[{,:")
            count = max(50000, values) // each - 10
            for body in (b'{"query":"q","texts":["a"],"x":[' + value * count + b"0]}",
                         b'{"query":"q","texts":[' + value * count + b'"a"]}'):
                with self.subTest(value=value, allowed=True):
                    self.send_bodies(body, [200, 413, 422, 429])

    def send_bodies(self, body, expected):
        """Eight clients send it, three times."""
        data = (HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body) * 3
        with memory_of(self, self.open), Crowd(self.open, 8, data) as crowd:
            crowd.send(6)
            self.is_well(self.open)
            codes = [code for data in answers_of(crowd.connections, 0.3) for code in statuses(data)]
        self.assertTrue(codes)
        self.assertLessEqual(set(codes), set(expected) | {429})

    def test_clients_that_take_no_answer(self):
        texts = ["x" * 1000] * 900
        body = json.dumps({"query": "q", "texts": texts, "return_text": True}).encode()
        data = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body

        def deaf():
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", self.open.port))
            return one

        with memory_of(self, self.open), contextlib.ExitStack() as stack:
            for _ in range(60):
                send(stack.enter_context(deaf()), data)
            time.sleep(3)
            self.is_well(self.open)


class Crowds(WithServers):
    def test_idle_connections_keep_nobody_out(self):
        """Connections that never sent a request, or wait between two, make room; those with a request stay."""
        head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
        with self.open.socket() as slow:
            send(slow, SMALL[:-5])
            for first in (b"", head + b"\r\n"):
                with Crowd(self.open, 600, first) as crowd:
                    crowd.send(5)
                    for _ in range(5):
                        start = time.monotonic()
                        self.assertEqual(self.open.get("/health").status, 200)
                        self.assertLess(time.monotonic() - start, 1)
                    newest = list(crowd.connections)[-1]
                    answer_of(newest, 0.1)
                    send(newest, head + b"Connection: close\r\n\r\n")
                    self.assertEqual(statuses(answer_of(newest, 5)), [200])  # the oldest went
            send(slow, SMALL[-5:])
            self.assertEqual(statuses(answer_of(slow, 3)), [200])

    def test_busy_connections_are_not_closed_for_others(self):
        with Crowd(self.open, 511, SMALL[:-5]) as crowd, self.open.socket() as last:
            crowd.send(5)
            send(last, SMALL[:-5])
            time.sleep(0.2)
            with self.open.socket() as further:
                send(further, SMALL)
                self.assertEqual(statuses(answer_of(further, 3)), [503])
            send(last, SMALL[-5:])
            self.assertEqual(statuses(answer_of(last, 5)), [200])


class LittleMemory(unittest.TestCase):
    def test_a_server_without_memory_keeps_running(self):
        """Connections are cut for lack of memory, but the server keeps running."""
        with Server(PROGRAM, "--index", INDEX, *DEVICE, "--threads", 1) as server:
            if server.sanitized():
                self.skipTest("AddressSanitizer needs the address space")
            server.post("/rerank", {"query": "q", "texts": ["a"]})
            usual = resource.prlimit(server.process.pid, resource.RLIMIT_AS)
            room = (server.memory_kib("VmSize") << 10) + (1 << 20)
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (room, usual[1]))
            large = b'{"query":"q","texts":[' + b",".join([b'"' + b"x" * 3000 + b'"'] * 1000) + b"]}"
            attacks = [CHUNKED + b"5;x=" + b"y" * 500000, CHUNKED + b"1\r\n{\r\n0\r\n" + b"a: b\r\n" * 50000,
                       HEAD + b"X: " + b"y" * 15000, SMALL,
                       HEAD + b"Content-Length: %d\r\n\r\n" % len(large) + large]
            with Crowd(server, 300, lambda number: attacks[number % len(attacks)]) as crowd:
                crowd.send(5)
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, usual)
            end = time.monotonic() + 10
            while True:
                self.assertIsNone(server.process.poll(), server.said())
                with contextlib.suppress(OSError):
                    if server.post("/rerank", {"query": "q", "texts": ["a"]}).status == 200:
                        break
                self.assertLess(time.monotonic(), end, server.said())
            self.assertEqual(server.stop(), 0)


class Smuggling(WithServers):
    def answers(self, raw):
        with self.open.socket() as one:
            send(one, raw)
            return statuses(answer_of(one, 3))

    def test_a_body_is_never_the_next_request(self):
        hidden = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for coding in (b"gzip", b"identity", b"xchunked", b'"chunked"', b"gzip, chunked", b"chunked, gzip",
                       b"CHUNKED, ", b"chunked, identity", b"\x0bchunked", b"chunked\t;q=1", b"",
                       b"Identity", b"chunked chunked"):
            self.assertEqual(self.answers(HEAD + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + hidden), [400], coding)
        for fields in (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                       b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                       b"Transfer-Encoding:\r\n chunked\r\n", b"Transfer-Encoding : chunked\r\n",
                       b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                       b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                       b"Content-Length: 0\r\nContent-Length: 5\r\n", b"Content-Length: 5, 5\r\n",
                       b"Content-Length: +5\r\n", b"Content-Length: 0x5\r\n", b"Content-Length: 5 5\r\n",
                       b"Content-Length:\r\n", b"Host: other\r\n", b"X: a\nY: b\r\n", b"X: a\rY: b\r\n", b"X: \x00\r\n",
                       b" X: folded\r\n", b"X\r\n", b": x\r\n", b"Authorization: a\r\nAuthorization: b\r\n"):
            self.assertEqual(self.answers(HEAD + fields + b"\r\n" + hidden), [400], fields)

    def test_versions_and_hosts(self):
        self.assertEqual(self.answers(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n"), [400])
        self.assertEqual(self.answers(b"GET /health HTTP/1.0\r\n\r\n"), [200])
        self.assertEqual(self.answers((CHUNKED + b"0\r\n\r\n").replace(b"HTTP/1.1", b"HTTP/1.0")), [400])
        for line in (b"GET /health", b"GET  /health HTTP/1.1", b"GET /health HTTP/1.1 ", b"GET /health HTTP/2.0",
                     b"GET /he\xc3\xa9 HTTP/1.1", b"G(T /health HTTP/1.1", b"get\t/health HTTP/1.1"):
            self.assertEqual(self.answers(line + b"\r\nHost: localhost\r\n\r\n"), [400], line)
        self.assertEqual(self.answers(b"GET /health HTTP/1.1\nHost: localhost\n\n"), [400])

    def test_chunks_are_read_exactly(self):
        hidden = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for body in (b"%x\r\n%s0\r\n\r\n" % (len(BODY), BODY), b"0x5\r\nhello\r\n0\r\n\r\n",
                     b"-5\r\nhello\r\n0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n",
                     b"\r\nhello\r\n0\r\n\r\n",
                     b"5;a\x00\r\nhello\r\n0\r\n\r\n", b"5;a\nb\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n",
                     b"0\r\nA: b\nC: d\r\n\r\n", b"0000000000000005\r\nhello\r\n0\r\n\r\n"):
            self.assertEqual(self.answers(CHUNKED + body + hidden), [400], body)
        for size in (b"fffffff", b"ffffffff", b"400001"):
            self.assertEqual(self.answers(CHUNKED + size + b"\r\n"), [413], size)
        right = b"5;name=value\r\n" + BODY[:5] + b"\r\n%X\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (len(BODY) - 5, BODY[5:])
        self.assertEqual(self.answers(CHUNKED + right + hidden), [200, 200])

    def test_a_trailer_is_no_header(self):
        body = b"%x\r\n%s\r\n0\r\nAuthorization: Bearer %s\r\n\r\n" % (len(BODY), BODY, TOKEN.encode())
        with self.guarded.socket() as one:
            send(one, CHUNKED + body)
            self.assertEqual(statuses(answer_of(one, 3)), [401])

    def test_no_token_no_interim_answer(self):
        with self.guarded.socket() as one:
            send(one, HEAD + b"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n")
            self.assertEqual(statuses(answer_of(one, 3)), [401])


class Hosts(WithServers):
    PATHS = ("/health", "/ready", "/info", "/metrics", "/", "/page.js", "/rerank", "/nothing")

    def statuses_for(self, server, host):
        return {server.request("POST" if path == "/rerank" else "GET", path,
                               {"query": "q", "texts": ["a"]} if path == "/rerank" else None, Host=host).status
                for path in self.PATHS}

    def test_a_name_that_resolves_to_this_machine_reads_nothing(self):
        for host in ("evil.example", "127.evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.1",
                     "1270.0.0.1", "", "[::1].evil.example", "[::2]", "[evil]", "192.0.2.1", "x", "127.0.0.1:x"):
            self.assertEqual(self.statuses_for(self.open, host), {403}, host)
            self.assertEqual(self.statuses_for(self.open, host + ":8080") - {403}, set(), host)
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:99", "[::1]", "[::1]:80"):
            self.assertEqual(self.statuses_for(self.open, host), {200, 404}, host)
        # A page of another site does not know the token.
        self.assertEqual(self.guarded.get("/info", Host="search.example", Authorization="Bearer " + TOKEN).status, 200)

    def test_another_address_without_a_token(self):
        with Server(PROGRAM, "--host", "0.0.0.0", *DEVICE) as server:
            for host in ("evil.example", "127.evil.example", "x", ""):
                self.assertEqual(self.statuses_for(server, host), {403}, host)
            for host in ("localhost", "127.0.0.1", "192.0.2.1:80", "[2001:db8::1]:80", socket.gethostname()):
                self.assertEqual(self.statuses_for(server, host), {200, 404}, host)


class Clients(unittest.TestCase):
    """Clients that have left, and clients that have not."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, *DEVICE, profile="[server]\nconcurrency = 1\n")
        cls.addClassCleanup(cls.server.__exit__)

    def request(self, texts=400):
        some = [text for _, text in passages() * 4][:texts]
        body = json.dumps({"query": "how to boil an egg", "texts": some}).encode()
        return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body

    def test_a_half_closed_connection_gets_its_answer(self):
        with self.server.socket() as one:
            send(one, self.request(40))
            one.shutdown(socket.SHUT_WR)
            data = answer_of(one, 30)
        self.assertTrue(data.startswith(b"HTTP/1.1 200 OK\r\n"), data[:200])
        self.assertEqual(statuses(data), [200])
        self.assertEqual(len(json.loads(data.split(b"\r\n\r\n", 1)[1])), 40)

    def test_who_left_is_noticed_behind_pipelined_bytes(self):
        for more in (b"", b"G", SMALL):
            connections = [self.server.socket() for _ in range(6)]
            for one in connections:
                send(one, self.request() + more)
            end = time.monotonic() + 20
            while self.server.metric("queue_length") < 5:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.005)
            for one in connections:
                one.close()
            start = time.monotonic()
            self.assertEqual(self.server.post("/rerank", {"query": "q", "texts": ["a"]}).status, 200)
            self.assertLess(time.monotonic() - start, 3, more)


class Log(unittest.TestCase):
    def test_an_unread_log_delays_nobody(self):
        with Server(PROGRAM, *DEVICE, log="-") as server:
            connection = server.connect(10)
            for _ in range(1500):
                self.assertEqual(server.get("/health", connection=connection).status, 200)
            while server.metric("access_log_dropped_total") == 0:
                for _ in range(500):
                    server.get("/health", connection=connection, User_Agent="x" * 200)
            connection.close()
            start = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - start, 4)
            self.assertEqual(json.loads(server.process.stdout.readline())["path"], "/health")

    def test_a_log_that_is_read_again_tells_what_is_missing(self):
        with tempfile.TemporaryDirectory(dir=SCRATCH.name) as folder:
            fifo = Path(folder) / "fifo"
            os.mkfifo(fifo)
            reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            with Server(PROGRAM, *DEVICE, log=fifo) as server:
                connection = server.connect(10)
                while server.metric("access_log_dropped_total") < 10:
                    for _ in range(500):
                        server.get("/health", connection=connection, User_Agent="x" * 200)
                text, end = b"", time.monotonic() + 60
                while b'"dropped"' not in text[:text.rfind(b"\n") + 1] and time.monotonic() < end:
                    if select.select([reader], [], [], 1)[0]:
                        text += os.read(reader, 1 << 20)
                lines = [json.loads(line) for line in text[:text.rfind(b"\n") + 1].splitlines()]
                self.assertGreaterEqual(sum(line.get("dropped", 0) for line in lines), 10)
                connection.close()
            os.close(reader)


class Stuck(unittest.TestCase):
    def test_one_signal_ends_a_server_whose_worker_is_stuck(self):
        module = MODULES / "rescoring_module_hangs.so"
        with Server(PROGRAM, profile=f'[rescorer]\nmodule = "{module}"\n') as server:
            with server.socket() as one, server.socket() as trickling:
                send(one, SMALL)
                send(trickling, HEAD)
                while server.metric("computing") < 1:
                    time.sleep(0.01)
                start = time.monotonic()
                self.assertEqual(server.stop(seconds=20), 4)
                self.assertLess(time.monotonic() - start, 4)
                self.assertEqual(answer_of(one), b"")
            self.assertIn("did not end in time", server.said())

    def test_a_second_signal_too(self):
        module = MODULES / "rescoring_module_hangs.so"
        with Server(PROGRAM, profile=f'[rescorer]\nmodule = "{module}"\n') as server, server.socket() as one:
            send(one, SMALL)
            while server.metric("computing") < 1:
                time.sleep(0.03)
            server.process.send_signal(signal.SIGTERM)
            server.wait_for("finishing")
            start = time.monotonic()
            self.assertEqual(server.stop(seconds=20), 4)
            self.assertLess(time.monotonic() - start, 2)


if __name__ == "__main__":
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], 4096), files[1]))
    build_index(PROGRAM, INDEX)
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
