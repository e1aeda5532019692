"""Three replicas behind nginx and behind HAProxy, with the files of docs/examples/serving: while replicas are killed,
no request fails and no score changes."""

import contextlib
import http.client
import json
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from serve_support import DEVICE, ROOT, Server, bits, passages, program_path, queries, run_tests

PROGRAM = program_path()
EXAMPLES = ROOT / "docs" / "examples" / "serving"
KILLS = 6
CLIENTS = 4


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def with_ports(example, front, replicas):
    """The example's text with other ports; each must occur once."""
    text = (EXAMPLES / example).read_text(encoding="utf-8")
    for old, new in zip((8080, 8081, 8082, 8083), (front, *replicas)):
        text, count = re.subn(rf"127\.0\.0\.1:{old}\b", f"127.0.0.1:{new}", text)
        assert count == 1, f"{example}: port {old} occurs {count} times"
    return text


def nginx(folder, front, replicas):
    (folder / "relucent.conf").write_text(with_ports("nginx.conf", front, replicas))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "main.conf").write_text(
        f"pid {folder}/pid; daemon off; worker_processes 1; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {temporary} include {folder}/relucent.conf; }}\n")
    return ["nginx", "-p", folder, "-e", folder / "error.log", "-c", folder / "main.conf"]


def haproxy(folder, front, replicas):
    (folder / "haproxy.cfg").write_text(with_ports("haproxy.cfg", front, replicas))
    return ["haproxy", "-db", "-f", folder / "haproxy.cfg"]


class Replica:
    """A server that can be killed and started again on its port."""

    def __init__(self, port):
        self.port = port
        self.start()

    def start(self):
        self.server = Server(PROGRAM, *DEVICE, "--threads", 1, port=self.port)

    def kill(self):
        self.server.process.kill()
        self.server.process.wait()


class Replicas(unittest.TestCase):
    def send_until(self, stop, front, expected, failures, answered):
        connection = None
        for number in range(1_000_000):
            if stop.is_set():
                return
            body, scores = expected[number % len(expected)]
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", front, timeout=60)
                connection.request("POST", "/rerank", json.dumps(body), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200:
                    failures.append(f"{answer.status} {text[:200]}")
                elif {one["index"]: bits(one["score"]) for one in json.loads(text)} != scores:
                    failures.append(f"other scores: {text[:200]}")
                answered.append(1)
            except (OSError, http.client.HTTPException) as problem:
                failures.append(repr(problem))
                connection = None

    def expected_of(self, replica):
        texts = [text for _, text in passages()]
        expected = []
        for i, query in enumerate(queries()[:8]):
            body = {"query": query, "texts": texts[5 * i:5 * i + 5], "raw_scores": True}
            answer = replica.server.post("/rerank", body)
            self.assertEqual(answer.status, 200, answer)
            expected.append((body, {one["index"]: bits(one["score"]) for one in answer.json}))
        return expected

    def wait_for(self, proxy, front, output):
        for _ in range(400):
            self.assertIsNone(proxy.poll(), output.read_text())
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", front, timeout=5)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.05)
        self.fail("the proxy does not answer")

    def check(self, command_of):
        name = command_of.__name__
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        front, *ports = free_ports(4)
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"relucent-{name}-")))
            replicas = []
            stack.callback(lambda: [one.kill() for one in replicas])
            replicas += [Replica(port) for port in ports]
            output = folder / "output"
            proxy = subprocess.Popen([str(part) for part in command_of(folder, front, ports)],
                                     stdout=open(output, "wb"), stderr=subprocess.STDOUT)
            stack.callback(proxy.wait)
            stack.callback(proxy.terminate)
            expected = self.expected_of(replicas[0])
            self.wait_for(proxy, front, output)
            stop, failures, answered = threading.Event(), [], []
            clients = [threading.Thread(target=self.send_until, args=(stop, front, expected, failures, answered))
                       for _ in range(CLIENTS)]
            for client in clients:
                client.start()
            for kill in range(KILLS):
                time.sleep(0.7)
                replicas[kill % len(replicas)].kill()
                time.sleep(0.7)
                replicas[kill % len(replicas)].start()
            stop.set()
            for client in clients:
                client.join()
            self.assertEqual(failures, [], f"{len(failures)} of {len(answered)} requests")
            self.assertGreater(len(answered), 10 * KILLS)
            print(f"{name}: {KILLS} kills, {len(answered)} requests, none failed")

    def test_nginx_sends_requests_of_a_killed_replica_to_another(self):
        self.check(nginx)

    def test_haproxy_sends_requests_of_a_killed_replica_to_another(self):
        self.check(haproxy)


if __name__ == "__main__":
    run_tests()
