"""`relucent serve` where its surroundings fail: little memory, few descriptors, a clock that jumps, standard error and
answers that nobody reads. It answers with an error or waits, and then serves as before."""

import contextlib
import fcntl
import json
import os
import resource
import select
import shutil
import socket
import tempfile
import time
import unittest
from pathlib import Path

from serve_support import DEVICE, Server, build_index, program_path, queries, run_tests

PROGRAM = program_path()
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-surroundings-")
INDEX = Path(SCRATCH.name) / "demo.index"
BODY = {"query": "how to boil an egg", "texts": ["Boil the egg for seven minutes.", "Paris."]}
ONE = [*DEVICE, "--threads", 1]


def answers_until(server, wanted, seconds=20):
    """Asks again until the answer has this status; the last one."""
    end = time.monotonic() + seconds
    answer = None
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            answer = server.post("/rerank", BODY)
            if answer.status == wanted:
                return answer
        time.sleep(0.05)
    raise AssertionError(f"no {wanted} within {seconds} s, but {answer}: {server.said()}")


def cpu_seconds(server):
    fields = Path(f"/proc/{server.process.pid}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class LittleMemory(unittest.TestCase):
    """RLIMIT_AS; serve_attacks_test.py has crowds that meet it, and memory_fault.cpp lets each allocation of an answer
    fail."""

    def test_a_request_without_memory_gets_an_error_and_the_next_one_its_answer(self):
        with Server(PROGRAM, "--index", INDEX, *ONE) as server:
            if server.sanitized():
                self.skipTest("AddressSanitizer needs the address space")
            expected = server.post("/rerank", BODY).json
            usual = resource.prlimit(server.process.pid, resource.RLIMIT_AS)
            statuses = set()
            for room in (0, 64 << 10, 1 << 20, 4 << 20, 16 << 20):
                limit = (server.memory_kib("VmSize") << 10) + room
                resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, usual[1]))
                for path, body in (("/rerank", {"query": "q", "texts": ["x" * 200_000] * 15, "return_text": True}),
                                   ("/rerank", {"query": "q", "texts": ["word " * 50_000] * 2}),
                                   ("/search", {"query": queries()[0], "k": 100, "texts": "full", "fields": "all"}),
                                   ("/search", {"query": queries()[1], "explain": True, "rescore": False,
                                                "filter": {"x": [[{"y": [1]}]] * 5000}})):
                    with contextlib.suppress(OSError):  # its connection may be cut for lack of memory
                        statuses.add(server.post(path, body).status)
                server.process.send_signal(1)  # a reload fails or succeeds
                self.assertIsNone(server.process.poll(), server.said())
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, usual)
            self.assertEqual(answers_until(server, 200).json, expected)
            self.assertEqual(server.post("/search", {"query": queries()[0]}).json["status"], "rescored")
            self.assertLessEqual(statuses, {200, 413, 422, 424, 429, 500, 503})
            self.assertEqual(server.stop(), 0, server.said())


class FewDescriptors(unittest.TestCase):
    def setUp(self):
        self.server = Server(PROGRAM, "--index", INDEX, *ONE)
        self.addCleanup(self.server.__exit__)
        self.expected = self.server.post("/rerank", BODY).json
        used = len(os.listdir(f"/proc/{self.server.process.pid}/fd"))
        limit = resource.prlimit(self.server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.server.process.pid, resource.RLIMIT_NOFILE, (used + 8, limit[1]))
        self.connections = []
        self.addCleanup(lambda: [one.close() for one in self.connections])

    def crowd(self, data):
        for _ in range(40):
            one = self.server.socket()
            one.sendall(data)
            self.connections.append(one)
        time.sleep(0.3)

    def test_idle_connections_give_way(self):
        """As they do where [server] connections is reached."""
        for data in (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            self.crowd(data)
            start = time.monotonic()
            self.assertEqual(self.server.post("/rerank", BODY).json, self.expected)
            self.assertLess(time.monotonic() - start, 20)  # idle connections stay for 60 s
        self.assertEqual(self.server.stop(), 0)

    def test_without_any_the_server_waits_and_recovers(self):
        """Connections with a request under way stay; the server neither ends nor spins."""
        self.crowd(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        before = cpu_seconds(self.server)
        time.sleep(1)
        self.assertLess(cpu_seconds(self.server) - before, 0.3)
        self.server.process.send_signal(1)
        self.server.wait_for(r"not reloaded, and serving as before: .*|reloaded in")
        for one in self.connections:
            one.close()
        self.assertEqual(answers_until(self.server, 200).json, self.expected)
        self.assertEqual(self.server.stop(), 0)


class StandardError(unittest.TestCase):
    def test_a_pipe_that_nobody_reads_delays_neither_reload_nor_end(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with Server(PROGRAM, *ONE, port=port, errors=writer) as server:
            self.assertTrue(select.select([reader], [], [], 60)[0])
            os.read(reader, size)
            os.write(writer, b"x" * size)
            for reloads in range(1, 4):
                server.process.send_signal(1)
                end = time.monotonic() + 20
                while server.metric("reloads_total") < reloads:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
            self.assertEqual(server.stop(seconds=20), 0)


class Clock(unittest.TestCase):
    def test_jumps_of_the_wall_clock_move_no_deadline(self):
        """A library in front of libc's clock_gettime() and time() shifts the wall clock; the steady clock stays."""
        library = shutil.which("faketime") and next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
        if not library:
            self.skipTest("faketime is not installed")
        shift = Path(SCRATCH.name) / "shift"
        shift.write_text("+0\n", encoding="ascii")
        environment = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(shift), "FAKETIME_NO_CACHE": "1",
                       "DONT_FAKE_MONOTONIC": "1"}
        with Server(PROGRAM, "--index", INDEX, *ONE, environment=environment) as server:
            if server.sanitized():
                self.skipTest("AddressSanitizer must be the first library")
            expected = server.post("/rerank", BODY).json
            connection = server.connect()
            years = set()
            for jump in ("+400d", "-400d", "-40y", "+10y", "+0"):
                with server.socket() as begun:  # its request begins before the jump and ends after it
                    body = json.dumps(BODY).encode()
                    whole = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
                            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
                    begun.sendall(whole[:-5])
                    time.sleep(0.05)
                    shift.write_text(jump + "\n", encoding="ascii")
                    answer = server.post("/rerank", {**BODY, "timeout_ms": 60000}, connection=connection)
                    self.assertEqual((answer.status, answer.json), (200, expected), jump)
                    begun.sendall(whole[-5:])
                    self.assertTrue(begun.recv(100).startswith(b"HTTP/1.1 200 "), jump)
                    self.assertEqual(server.post("/search", {"query": queries()[0]}).json["degraded"], False)
                    years.add(server.logged(path="/search")["time"][:4])
            connection.close()
            self.assertGreater(len(years), 2)  # the wall clock did jump
            for line in server.access_log():
                self.assertGreaterEqual(line["milliseconds"], 0)
                self.assertLess(line["milliseconds"], 3_600_000)  # not a day, on a machine that is busy
            self.assertEqual(server.stop(), 0)


class SlowReaders(unittest.TestCase):
    def test_clients_that_take_large_answers_slowly_delay_nobody(self):
        profile = "[server]\nwrite_timeout_ms = 1500\nbody_bytes = 16000000\n"
        body = json.dumps({"query": "q", "texts": ["x" * 900_000] * 8, "return_text": True}).encode()
        whole = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        with Server(PROGRAM, *ONE, profile=profile) as server, contextlib.ExitStack() as stack:
            expected = server.post("/rerank", BODY).json
            slow = []
            for _ in range(6):
                one = stack.enter_context(socket.socket())
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.connect(("127.0.0.1", server.port))
                one.sendall(whole)
                slow.append(one)
            end, longest = time.monotonic() + 30, 0
            while server.metric("cut_total") < len(slow):
                self.assertLess(time.monotonic(), end)
                for one in slow:
                    with contextlib.suppress(OSError):
                        one.recv(256, socket.MSG_DONTWAIT)
                start = time.monotonic()
                self.assertEqual(server.post("/rerank", BODY).json, expected)
                longest = max(longest, time.monotonic() - start)
                time.sleep(0.02)
            self.assertLess(longest, 20)
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    build_index(PROGRAM, INDEX)
    run_tests()
