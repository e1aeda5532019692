"""What the tests of `relucent serve` share: the program, an index of the demo collection, a client on plain sockets."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "index_tools" / "demo"
DEVICE = ["--device", "cpu", "--precision", "fp32"]


def bits(score):
    """The 32 bits of a score."""
    return struct.pack("<f", score)


def passages():
    return [line.split("\t") for line in (DEMO / "collection.tsv").read_text(encoding="utf-8").splitlines()]


def queries():
    return [line.split("\t")[1] for line in (DEMO / "queries.tsv").read_text(encoding="utf-8").splitlines()]


def build_index(program, folder, documents=None):
    """An index of the demo collection, or of (id, text) pairs."""
    source = DEMO / "collection.tsv"
    if documents is not None:
        source = Path(str(folder) + ".tsv")
        source.write_text("".join(f"{i}\t{text}\n" for i, text in documents), encoding="utf-8")
    subprocess.run([program, "index", "--corpus", "tsv", "--input", source, "--index", folder, "--overwrite"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {k.lower(): v for k, v in headers}, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]}"


class Server:
    """A running server, on a free port unless told one. `profile`: the text of its TOML profile; `log`: where its
    access log goes, "-" to `process.stdout`; `prefix`: a command that starts the program; `errors`: a descriptor that
    gets standard error, which then nobody reads here."""

    def __init__(self, program, *flags, profile="", environment=None, port=0, log=None, prefix=(), errors=None):
        self.folder = tempfile.TemporaryDirectory(prefix="relucent-serve-")
        self.profile = Path(self.folder.name) / "profile.toml"
        self.profile.write_text(profile, encoding="utf-8")
        self.log = log or Path(self.folder.name) / "access.jsonl"
        self.errors = Path(self.folder.name) / "stderr"
        with open(self.errors, "wb") as file:
            self.process = subprocess.Popen(
                [*prefix, program, "serve", "--port", str(port), "--config", self.profile, "--access-log", self.log,
                 *map(str, flags)],
                stdout=subprocess.PIPE if log == "-" else subprocess.DEVNULL, stderr=file if errors is None else errors,
                env={**os.environ, **(environment or {})})
        self.port = port
        if errors is None:
            self.port = int(self.wait_for(r"serving http://\S*:(\d+) with", 120)[1])

    def said(self):
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, pattern, seconds=30, count=1):
        """Waits until standard error has `count` matches; returns the last one."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = list(re.finditer(pattern, self.said()))
            if len(found) >= count:
                return found[-1]
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.said()}")
            time.sleep(0.02)
        raise AssertionError(f"no {pattern!r} within {seconds} s: {self.said()}")

    def connect(self, timeout=120):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, connection=None, **headers):
        own = connection or self.connect()
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        own.request(method, path, body.encode() if isinstance(body, str) else body, headers)
        response = own.getresponse()
        answer = Answer(response.status, response.getheaders(), response.read())
        if connection is None:
            own.close()
        return answer

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    def socket(self, timeout=30):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def metric(self, name):
        text = self.get("/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith("relucent_" + name) and not line.startswith("#"))

    def sanitized(self):
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            return "/libasan" in maps.read()

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def growth(self):
        """A function that tells by how many MiB at most the memory has grown from now on."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")  # the peak starts again
        before = self.memory_kib("VmRSS")
        return lambda: (self.memory_kib("VmHWM") - before) / 1024

    def memory_kib(self, name):
        """A line of the process's status: VmRSS is in use, VmHWM was in use at most, VmSize is mapped."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)[1])

    def access_log(self):
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def logged(self, **wanted):
        """The newest line with these values; it is written after the answer."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for line in reversed(self.access_log()):
                if all(line.get(name) == value for name, value in wanted.items()):
                    return line
            time.sleep(0.02)
        raise AssertionError(f"no line with {wanted}: {self.access_log()[-3:]}")

    def stop(self, number=signal.SIGTERM, seconds=60):
        """Stops the server; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.folder.cleanup()


def run_tests():
    """Runs all tests of the program; exits with 77 if every one was skipped."""
    result = unittest.main(module="__main__", argv=[sys.argv[0]] + sys.argv[2:], verbosity=2, exit=False).result
    for test, reason in result.skipped:
        print(f"SKIPPED: {test}: {reason}")
    if result.wasSuccessful() and result.skipped and result.testsRun <= len(result.skipped):
        sys.exit(77)
    sys.exit(not result.wasSuccessful())


def program_path():
    return sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "release" / "bin" / "relucent")
