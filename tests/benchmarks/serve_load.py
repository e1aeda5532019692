"""Throughput and latency of `relucent serve`, on loopback, against the rate of `relucent rerank` on the same pairs.

    python3 tests/benchmarks/serve_load.py PROGRAM [--texts 100] [--seconds 30] [--clients 4] [--concurrency N]
                                           [--requests N] [--device cpu] [--precision auto] [--json]

First as many requests as possible by --clients connections (the capacity), then 50, 80 and 120 % of it, with requests
that arrive at random times whether or not the earlier ones have been answered. With --requests N, only sends N small
requests to a server whose cache of scores is small, and reports how its memory has grown.
"""

import argparse
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))
from serve_support import Server, passages, queries  # noqa: E402


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def in_process_rate(program, bodies, flags):
    """Pairs per second of `relucent rerank`, without loading the model: from its own summary."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.jsonl"
        with open(source, "w", encoding="utf-8") as out:
            for number, body in enumerate(bodies):
                for i, text in enumerate(body["texts"]):
                    out.write(json.dumps({"qid": str(number), "query": body["query"], "docno": str(i), "text": text,
                                          "rank": i + 1, "score": -i}) + "\n")
        summary = subprocess.run([program, "rerank", "--input", source, "--output", f"{folder}/out.tsv", *flags],
                                 check=True, stderr=subprocess.PIPE, encoding="utf-8").stderr
    pairs = sum(len(body["texts"]) for body in bodies)
    seconds = float(summary.split(" in ")[1].split(" s ")[0])
    return pairs / seconds


class Client:
    """A connection that stays open."""

    def __init__(self, port):
        self.port, self.connection = port, http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def post(self, body):
        """(status, seconds)"""
        start = time.perf_counter()
        self.connection.request("POST", "/rerank", body, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        response.read()
        return response.status, time.perf_counter() - start


def closed_loop(port, bodies, clients, seconds):
    """Requests per second of `clients` that ask again as soon as they have their answer."""
    end = time.perf_counter() + seconds
    times, failures = [], []

    def ask(number):
        client, generator = Client(port), random.Random(number)
        while time.perf_counter() < end:
            status, took = client.post(generator.choice(bodies))
            (times if status == 200 else failures).append(took)

    start = time.perf_counter()
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, "a request failed"
    return len(times) / (time.perf_counter() - start), times


def open_loop(port, bodies, rate, seconds):
    """Requests that arrive at `rate` per second at random times; latencies of the answered and the refused."""
    generator, idle, lock, threads = random.Random(7), [], threading.Lock(), []
    served, refused, other = [], [], []

    def ask(body, due):
        with lock:
            client = idle.pop() if idle else None
        client = client or Client(port)
        status, _ = client.post(body)
        took = time.perf_counter() - due
        {200: served, 429: refused}.get(status, other).append(took)
        with lock:
            idle.append(client)

    start = due = time.perf_counter()
    while due - start < seconds:
        time.sleep(max(0.0, due - time.perf_counter()))
        thread = threading.Thread(target=ask, args=(generator.choice(bodies), due))
        thread.start()
        threads.append(thread)
        due += generator.expovariate(rate)
    for thread in threads:
        thread.join()
    assert not other, "a request failed"
    return served, refused


def soak(server, count, clients):
    """Small requests: of ten one is new, one is not JSON, and the others repeat earlier ones."""
    sizes = []
    numbers = iter(range(count))
    lock = threading.Lock()

    def ask():
        client = Client(server.port)
        generator = random.Random(1)
        while (number := next_number()) is not None:
            kind = number % 10
            query = f"how to boil {number if kind == 0 else generator.randrange(0, number + 1, 10)} eggs"
            body = json.dumps({"query": query, "texts": ["Boil them in water.", "Paris."]})
            status, _ = client.post(body[:-1] if kind == 1 else body)
            assert status == (400 if kind == 1 else 200), f"request {number}: {status}"

    def next_number():
        with lock:
            return next(numbers, None)

    start = time.perf_counter()
    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        sizes.append(server.memory_mb())
        time.sleep(1)
    sizes.append(server.memory_mb())
    if next_number() is not None:
        sys.exit("FAILED: clients ended early")
    quarter, cached = sizes[len(sizes) // 4], server.metric("cache_hits_total")
    print(f"{count} requests in {time.perf_counter() - start:.0f} s, {cached:.0f} scores from the cache; memory "
          f"{quarter:.1f} MB after a quarter, {sizes[-1]:.1f} MB at the end, {max(sizes):.1f} MB at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--concurrency", type=int, default=0)
    parser.add_argument("--queue", type=int, default=16)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    flags = ["--device", options.device, "--precision", options.precision]
    generator = random.Random(1)
    texts = [text for _, text in passages()]
    requests = [{"query": query, "texts": generator.sample(texts, options.texts)} for query in queries()]
    bodies = [json.dumps(request).encode() for request in requests]
    profile = f"[server]\nconcurrency = {options.concurrency}\nqueue = {options.queue}\n"
    if options.requests > 0:
        profile += "[rescorer]\ncache_mb = 1\n"
    with Server(options.program, *flags, profile=profile) as server:
        if options.requests > 0:
            return soak(server, options.requests, options.clients)
        closed_loop(server.port, bodies, options.clients, 2)
        capacity, times = closed_loop(server.port, bodies, options.clients, options.seconds)
        result = {"texts_per_request": options.texts, "clients": options.clients,
                  "requests_per_second": capacity, "texts_per_second": capacity * options.texts,
                  "p50_ms": percentile(times, 0.5) * 1000, "loads": []}
        if not options.json:
            print(f"{options.clients} clients, {options.texts} texts per request: {capacity:.1f} requests/s, "
                  f"{capacity * options.texts:.0f} texts/s, median {result['p50_ms']:.0f} ms", flush=True)
        for share in (0.5, 0.8, 1.2):
            served, refused = open_loop(server.port, bodies, share * capacity, options.seconds)
            load = {
                "load": share, "served": len(served), "refused": len(refused),
                **{f"p{p}_ms": percentile(served, p / 100) * 1000 for p in (50, 95, 99)},
                "refusal_p50_ms": percentile(refused, 0.5) * 1000, "refusal_max_ms": max(refused, default=0) * 1000}
            result["loads"].append(load)
            if options.json:
                continue
            print(f"{100 * share:4.0f} %: {load['served']} served, p50 {load['p50_ms']:.0f}, "
                  f"p95 {load['p95_ms']:.0f}, p99 {load['p99_ms']:.0f} ms; {load['refused']} refused, "
                  f"after {load['refusal_p50_ms']:.1f} ms, at most {load['refusal_max_ms']:.1f}", flush=True)
    rate = result["in_process_texts_per_second"] = in_process_rate(options.program, requests, flags)
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print(f"relucent rerank: {rate:.0f} texts/s, of which the server has "
              f"{100 * result['texts_per_second'] / rate:.0f} %")
    return None


if __name__ == "__main__":
    main()
