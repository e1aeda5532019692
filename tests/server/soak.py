"""Replicas of `relucent serve` under a long load: no wrong answer, no failed request but those in flight, memory flat.

    soak.py PROGRAM [--minutes 60] [--seed N] [--state FILE] [--load 0.9] [--replicas 3]

Requests arrive at random times at 90 % of the capacity, which is measured first and again every ten minutes. Each goes
to the replica with the fewest requests and, if the connection fails, to another one, as a proxy does. Every answer is
compared with the one that an idle server gave before, number by number as written. One request of a hundred is
hostile (hostile_clients.py). Every minute all replicas reload: the profile names another index, another copy of the
checkpoint, or both. Every five minutes a replica is killed and started again. The first replica is never killed: its
memory is judged.

A request that fails while its replica is killed or starts was in flight; any other failure ends in exit status 1, as do
a wrong answer, an answer of an index that the replica did not have at that time, a hostile request that is neither
answered nor cut, and memory or descriptors that grow. With --state FILE the counts are added to those of earlier runs.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import queue
import random
import select
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import hostile_clients
from request_generator import Generator
from serve_support import DEVICE, ROOT, Server, build_index, passages, queries

CHECKPOINT = "relucent-minilm-l6-w4"
# Times with which a busy machine does not look like a failure.
PROFILE = """[index]
path = "{index}"
[rescorer]
model = "{model}"
window = 10
cache_mb = 1
[server]
request_timeout_ms = 600000
read_timeout_ms = 60000
write_timeout_ms = 10000
"""
VOLATILE = ("milliseconds", "cached")  # keys of an answer that tell of this computation alone
MAX_OUTSTANDING = 64  # requests; while so many wait, arrivals wait as well
HOSTILE_CLIENTS = 160  # most wait until the server's limits cut them, 5 s on average
STALL = 3.0  # seconds: then the machine stood still, and time limits may have passed


def canonical(body):
    """The answer with its numbers as they are written."""
    answer = json.loads(body, parse_float=str)
    if isinstance(answer, dict):
        for key in VOLATILE:
            answer.pop(key, None)
    return answer


def make_requests(generator, count):
    """(method, path, body) of searches, rerankings and documents, which are repeated during the load."""
    texts = [text for _, text in passages()]
    requests = []
    for query in queries()[:count]:
        some = generator.sample(texts, 5)
        requests += [("POST", "/rerank", {"query": query, "texts": some, "raw_scores": True}),
                     ("POST", "/v2/rerank", {"query": query, "documents": some[:3], "top_n": 2}),
                     ("POST", "/search", {"query": query, "k": 10}),
                     ("POST", "/search", {"query": query, "k": 10, "offset": 5, "texts": "full"}),
                     *[("POST", "/search", {"query": query, "k": k, "rescore": False}) for k in (1, 5, 10, 20)],
                     ("POST", "/search", {"query": query, "k": 300, "rescore": False, "texts": "full"}),
                     ("POST", "/search", {"query": query, "k": 3, "rescore": False, "explain": True}),
                     *[("GET", "/doc/" + generator.choice(passages())[0], None) for _ in range(2)]]
    return [(method, path, None if body is None else json.dumps(body).encode()) for method, path, body in requests]


class Stalls:
    """When the whole machine, or this program, stood still."""

    def __init__(self):
        self.found = []
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        before = time.monotonic()
        while True:
            time.sleep(0.2)
            now = time.monotonic()
            if now - before > STALL:
                self.found.append((before, now))
            before = now

    def overlap(self, begin, end):
        return any(a <= end and begin <= b for a, b in self.found)


class Replica:
    """A server on a port of its own, which indexes it may have answered from, and when it was down."""

    def __init__(self, program, port, profile, version):
        self.program, self.port, self.up, self.outstanding = program, port, False, 0
        self.downs, self.history, self.samples, self.lives, self.reloads = [], [], [], 0, 0
        self.server = None
        self.start(profile, version)

    def start(self, profile, version):
        self.server = Server(self.program, *DEVICE, "--threads", 1, port=self.port, profile=profile)
        self.history.append((time.monotonic(), {version}))
        self.samples, self.reloads = [], 0
        self.lives += 1
        if self.downs:
            self.downs[-1][1] = time.monotonic()
        self.up = True

    def kill(self):
        self.downs.append([time.monotonic(), float("inf")])
        self.server.__exit__()

    def reload(self, profile, version):
        """Waits until the replica has reloaded; what arrives in the meantime may get either index."""
        self.history.append((time.monotonic(), self.history[-1][1] | {version}))
        fresh = self.server.profile.with_suffix(".new")
        fresh.write_text(profile, encoding="utf-8")
        os.replace(fresh, self.server.profile)
        self.server.process.send_signal(signal.SIGHUP)
        self.reloads += 1
        self.server.wait_for(r"reloaded in|not reloaded", 600, self.reloads)
        assert "not reloaded" not in self.server.said(), self.server.said()
        self.history.append((time.monotonic(), {version}))

    def was_down(self, begin, end):
        return any(a <= end and begin <= b for a, b in self.downs)

    def versions(self, begin, end):
        """Which indexes an answer may come from."""
        ends = [at for at, _ in self.history[1:]] + [float("inf")]
        return set().union(*(versions for (at, versions), until in zip(self.history, ends)
                             if at <= end and begin <= until))

    def sample(self):
        folder = Path(f"/proc/{self.server.process.pid}")
        with contextlib.suppress(OSError):
            self.samples.append((time.monotonic(), self.server.memory_mb(), len(os.listdir(folder / "fd"))))


class Soak:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.random = random.Random(options.seed)
        self.requests = make_requests(self.random, options.queries)
        self.counts, self.problems, self.lock = Counter(), [], threading.Lock()
        self.stop, self.stalls = threading.Event(), Stalls()
        self.rates, self.latencies, self.arrivals = [], [], itertools.count()
        self.due, self.attacks = queue.Queue(), queue.Queue(HOSTILE_CLIENTS)
        for number, name in enumerate("ab"):
            index = folder / name / "index"
            index.parent.mkdir()
            build_index(options.program, index, [(i, text) for i, text in passages() if number == 0 or int(i) % 3])
            shutil.copytree(ROOT / "model" / CHECKPOINT, folder / name / CHECKPOINT)
        self.combination, self.end = 0, float("inf")
        self.expected = [self.answers_of(number) for number in range(2)]
        self.replicas = []

    # Indexes and checkpoints take turns, so that each reload changes one, the other or both.
    def profile(self):
        version, model = ((0, 0), (1, 0), (1, 1), (0, 1), (1, 0), (0, 1))[self.combination % 6]
        return PROFILE.format(index=self.folder / "ab"[version] / "index",
                              model=self.folder / "ab"[model] / CHECKPOINT), version

    def answers_of(self, version):
        self.combination = version
        with Server(self.options.program, *DEVICE, profile=self.profile()[0]) as server:
            self.combination = 0
            answers = []
            for method, path, body in self.requests:
                answer = server.request(method, path, body)
                assert answer.status == 200 or path.startswith("/doc/"), (path, answer)
                answers.append((answer.status, canonical(answer.body)))
            return answers

    def problem(self, text):
        with self.lock:
            self.counts["problems"] += 1
            if len(self.problems) < 20:
                self.problems.append(text)
                print("FAILED: " + text, flush=True)

    def choose(self, tried):
        with self.lock:
            choices = [one for one in self.replicas if one.up and one not in tried] or \
                      [one for one in self.replicas if one.up] or self.replicas
            least = min(one.outstanding for one in choices)
            chosen = self.random.choice([one for one in choices if one.outstanding == least])
            chosen.outstanding += 1
            return chosen

    def ask(self, number, connections):
        """Sends a request until it is answered, at most once to each replica."""
        method, path, body = self.requests[number]
        tried = []
        while len(tried) <= len(self.replicas):
            replica = self.choose(tried)
            tried.append(replica)
            begin = time.monotonic()
            try:
                status, text = self.send(replica, method, path, body, connections)
            except (OSError, http.client.HTTPException) as problem:
                connections.pop(replica.port, None)
                self.failed(replica, path, begin, repr(problem))
                continue
            finally:
                with self.lock:
                    replica.outstanding -= 1
            self.compare(number, replica, begin, status, text)
            return
        self.problem(f"{path}: no replica answered")

    def send(self, replica, method, path, body, connections):
        """On the thread's own connection to the replica, unless the server has closed it in the meantime."""
        connection = connections.get(replica.port)
        if connection and connection.sock and select.select([connection.sock], [], [], 0)[0]:
            connection.close()
        if not connection:
            connection = connections[replica.port] = http.client.HTTPConnection("127.0.0.1", replica.port, timeout=600)
        connection.request(method, path, body, {} if body is None else {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()

    def failed(self, replica, path, begin, problem):
        end = time.monotonic()
        if replica.was_down(begin - 0.1, end):
            self.count("in flight at a kill")
            replica.up = replica.up and not replica.was_down(end, end)
        elif self.stalls.overlap(begin, end + 0.5):
            self.count("in flight as the machine stood still")
        else:
            self.count("failed, not in flight")
            self.problem(f"{path}: {problem} after {end - begin:.1f} s")

    def count(self, name, number=1):
        with self.lock:
            self.counts[name] += number

    def compare(self, number, replica, begin, status, text):
        end = time.monotonic()
        self.latencies.append(end - begin)
        self.count("requests answered")
        path = self.requests[number][1]
        if status not in (200, 404):
            self.count("refused")
            self.problem(f"{path}: {status} {text[:300]!r}")
            return
        answer = (status, canonical(text))
        if not any(answer == self.expected[version][number] for version in replica.versions(begin, end)):
            self.count("wrong answers")
            self.problem(f"{path}: wrong answer {text[:300]!r}")

    def work(self):
        connections = {}
        while (number := self.due.get()) is not None:
            self.ask(number, connections)
            self.due.task_done()
        for connection in connections.values():
            connection.close()

    def attack(self):
        while (attack := self.attacks.get()) is not None:
            kind, seed = attack
            replica = self.choose([])
            with self.lock:
                replica.outstanding -= 1
            begin = time.monotonic()
            outcome = hostile_clients.attack(replica.port, kind, Generator(seed), self.end)
            end = time.monotonic()
            self.count("hostile requests")
            self.count(f"hostile: {outcome if outcome in ('cut', 'left') else 'answered'}")
            excused = replica.was_down(begin, end) or (outcome == "unanswered" and self.stalls.overlap(begin, end))
            if outcome in ("unanswered", 424, 500) and not excused:
                self.problem(f"hostile {kind.__name__}, seed {seed}: {outcome}")
            self.attacks.task_done()

    def calibrate(self, seconds):
        """Requests per second of as many clients as keep all replicas busy."""
        done, end = [], time.monotonic() + seconds

        def ask(seed):
            generator, connections = random.Random(seed), {}
            while time.monotonic() < end:
                self.ask(generator.randrange(len(self.requests)), connections)
                done.append(time.monotonic())
            for connection in connections.values():
                connection.close()

        begin = time.monotonic()
        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4 * len(self.replicas))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.rates.append(len(done) / (time.monotonic() - begin))

    def arrive(self, seconds):
        """Requests at random times, whether or not the earlier ones are answered."""
        due = begin = time.monotonic()
        while due - begin < seconds and not self.stop.is_set():
            time.sleep(max(0.0, due - time.monotonic()))
            while self.due.unfinished_tasks >= MAX_OUTSTANDING and not self.stop.is_set():
                time.sleep(0.005)
            late = time.monotonic() - due
            if late > 0.1:  # the machine is slower than it was: the load stays what it can take
                self.count("seconds held back", late)
                due += late
            if next(self.arrivals) % self.options.hostile_every == 0:
                try:
                    self.attacks.put_nowait((self.random.choice(hostile_clients.KINDS), self.random.randrange(1 << 30)))
                except queue.Full:
                    self.count("hostile requests that found no client")
            else:
                self.due.put(self.random.randrange(len(self.requests)))
            due += self.random.expovariate(self.options.load * self.rates[-1])

    def conduct(self):
        """Reloads, kills and looks at the memory until told to stop; each at least once."""
        options = self.options
        next_reload, next_kill = (time.monotonic() + every for every in (options.reload_every, options.kill_every))
        while not self.stop.wait(min(2.0, options.reload_every / 4)):
            for replica in self.replicas:
                replica.sample()
            if time.monotonic() >= next_reload:
                self.reload_all()
                next_reload = time.monotonic() + options.reload_every
            if time.monotonic() >= next_kill:
                self.kill_next()
                next_kill = time.monotonic() + options.kill_every
        if not self.problems and not self.counts["reloads"]:
            self.reload_all()
        if not self.problems and not self.counts["kills"]:
            self.kill_next()

    def reload_all(self):
        self.combination += 1
        profile, version = self.profile()
        for replica in self.replicas:
            replica.reload(profile, version)
            self.count("reloads")

    def kill_next(self):
        replica = self.replicas[1 + int(self.counts["kills"]) % (len(self.replicas) - 1)]
        replica.kill()
        time.sleep(1)
        replica.start(*self.profile())
        self.count("kills")

    def guarded(self, work):
        try:
            work()
        except Exception as problem:  # noqa: BLE001  a thread's end must not go unnoticed
            self.problem(f"{work.__name__}: {problem!r}")
            self.stop.set()

    def run(self):
        options = self.options
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: [one.server.__exit__() for one in self.replicas])
            for _ in range(options.replicas):
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                self.replicas.append(Replica(options.program, port, *self.profile()))
            workers = [threading.Thread(target=self.guarded, args=(self.work,)) for _ in range(MAX_OUTSTANDING)]
            attackers = [threading.Thread(target=self.guarded, args=(self.attack,)) for _ in range(HOSTILE_CLIENTS)]
            begin = time.monotonic()
            conductor = threading.Thread(target=self.guarded, args=(self.conduct,))
            self.calibrate(options.calibration)
            self.end = time.monotonic() + 60 * options.minutes
            for thread in [*workers, *attackers, conductor]:
                thread.start()
            while (left := self.end - time.monotonic()) > 0 and not self.stop.is_set():
                self.arrive(min(left, options.calibrate_every))
                self.due.join()
                if self.end - time.monotonic() > 2 * options.calibration:
                    self.calibrate(options.calibration)
            self.stop.set()
            conductor.join()
            for _ in workers:
                self.due.put(None)
            for _ in attackers:
                self.attacks.put(None)
            for thread in workers + attackers:
                thread.join()
            self.counts["seconds"] = time.monotonic() - begin
            self.counts["seconds the machine stood still"] = sum(
                b - max(a, begin) for a, b in self.stalls.found if b > begin)
            for number, replica in enumerate(self.replicas):
                said = replica.server.said()
                if "unexpected" in said or "Sanitizer" in said:
                    self.problem(f"replica {number}: {said[-1000:]}")
                if (code := replica.server.stop()) != 0:
                    self.problem(f"replica {number} ended with {code}: {said[-1000:]}")

    def judge_memory(self):
        """Compares the last quarter of the first replica's life with the second."""
        samples = self.replicas[0].samples
        if self.counts["seconds"] < 300 or len(samples) < 40:
            return f"{len(samples)} samples in {self.counts['seconds']:.0f} s: too few to judge"
        quarter = len(samples) // 4
        early, late = samples[quarter:2 * quarter], samples[-quarter:]
        memory = [statistics.median(mb for _, mb, _ in part) for part in (early, late)]
        files = [max(count for _, _, count in part) for part in (early, late)]
        half = samples[len(samples) // 2:]
        slope = statistics.linear_regression([at for at, _, _ in half], [mb for _, mb, _ in half]).slope * 3600
        if memory[1] - memory[0] > max(8, 0.05 * memory[0]):
            self.problem(f"memory grew from {memory[0]:.1f} to {memory[1]:.1f} MB")
        if files[1] > files[0] + 2 * MAX_OUTSTANDING:
            self.problem(f"descriptors grew from {files[0]} to {files[1]}")
        return f"median {memory[0]:.1f} MB in the second quarter, {memory[1]:.1f} MB in the last; " \
               f"second half {slope:+.1f} MB/h; descriptors at most {files[0]} and {files[1]}"

    def report(self):
        memory = self.judge_memory()
        for name, number in sorted(self.counts.items()):
            print(f"  {name:40} {number:.0f}")
        rates = sorted(self.rates)
        times = sorted(self.latencies) or [float("nan")]
        print(f"  capacity {rates[0]:.0f} to {rates[-1]:.0f} requests/s ({len(rates)} measurements); latency p50 "
              f"{1000 * times[len(times) // 2]:.0f}, p99 {1000 * times[int(0.99 * len(times))]:.0f}, at most "
              f"{1000 * times[-1]:.0f} ms")
        print(f"  memory of the first replica: {memory}")
        for number, replica in enumerate(self.replicas[1:], 1):
            if replica.samples:
                print(f"  memory of replica {number}, life {replica.lives}: "
                      f"{statistics.median(mb for _, mb, _ in replica.samples):.1f} MB")


def add_state(file, counts):
    """Appends the counts of this run; prints the sum of all."""
    with open(file, "a", encoding="utf-8") as out:
        out.write(json.dumps(counts) + "\n")
    runs = [Counter(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    total = sum(runs, Counter())
    print(f"{len(runs)} runs together: " + ", ".join(f"{name} {number:.0f}" for name, number in sorted(total.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--state", type=Path)
    parser.add_argument("--load", type=float, default=0.9, help="share of the capacity")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--hostile-every", type=int, default=100, metavar="REQUESTS")
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--reload-every", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--kill-every", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--calibration", type=float, default=10, metavar="SECONDS")
    parser.add_argument("--calibrate-every", type=float, default=600, metavar="SECONDS")
    options = parser.parse_args()
    if options.replicas < 2:
        parser.error("--replicas: at least 2, because one of them is killed")
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="relucent-soak-") as folder:
        soak = Soak(options, Path(folder))
        signal.signal(signal.SIGTERM, lambda *_: soak.stop.set())
        signal.signal(signal.SIGINT, lambda *_: soak.stop.set())
        soak.run()
    soak.report()
    if options.state:
        options.state.parent.mkdir(parents=True, exist_ok=True)
        add_state(options.state, soak.counts)
    for name in ("requests answered", "hostile requests", "reloads", "kills"):
        if soak.counts[name] == 0:
            soak.problem(f"no {name}")
    sys.exit(1 if soak.problems else 0)


if __name__ == "__main__":
    main()
