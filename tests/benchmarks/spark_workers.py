"""Time of `relucent-spark` with one worker and with several, next to `relucent rerank` with as many threads.

    python3 tests/benchmarks/spark_workers.py PROGRAM [--pairs 28800] [--workers 2] [--rounds 2]

Run it with the Python that has the package and PySpark. The pairs are the demo collection's queries with 20 candidates
each, repeated. Each worker has one core and one thread. Every other round has the four commands in reverse order.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "index_tools" / "demo"


def run(*command):
    """Runs the command; returns the seconds that it took."""
    start = time.perf_counter()
    done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
                          env={**os.environ, "PYSPARK_PYTHON": sys.executable})
    if done.returncode != 0:
        sys.exit(done.stderr[-3000:])
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--pairs", type=int, default=28800)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="relucent-spark-") as name:
        folder = Path(name)
        index = folder / "index"
        run(options.program, "index", "--corpus", "tsv", "--input", DEMO / "collection.tsv", "--index", index)
        run(options.program, "search", "--index", index, "--topics", DEMO / "queries.tsv", "--hits", 20,
            "--rerank-file", folder / "once.jsonl")
        once = [json.loads(line) for line in (folder / "once.jsonl").read_text(encoding="utf-8").splitlines()]
        with open(folder / "pairs.jsonl", "w", encoding="utf-8") as out:
            for i in range(options.pairs):
                pair = once[i % len(once)]
                out.write(json.dumps({**pair, "qid": f"{pair['qid']}-{i // len(once)}"}) + "\n")

        def spark(workers):
            shutil.rmtree(folder / "out", ignore_errors=True)
            return run(Path(sys.executable).parent / "relucent-spark", "--master", f"local-cluster[{workers},1,1024]",
                       "--input", folder / "pairs.jsonl", "--output", folder / "out", "--set", "device=cpu",
                       "--set", "threads=1")

        def rerank(threads):
            return run(options.program, "rerank", "--input", folder / "pairs.jsonl", "--output", folder / "out.run",
                       "--device", "cpu", "--threads", threads)

        jobs = [(job, count) for job in (spark, rerank) for count in (1, options.workers)]
        seconds = {job: [] for job in jobs}
        for i in range(options.rounds):
            for job, count in jobs if i % 2 == 0 else reversed(jobs):
                seconds[job, count].append(job(count))
        print(f"{options.pairs} pairs, seconds (median of {options.rounds})")
        for job, title, unit in ((spark, "relucent-spark", "workers"), (rerank, "relucent rerank", "threads")):
            one, many = (statistics.median(seconds[job, count]) for count in (1, options.workers))
            print(f"{title}: 1: {one:.1f}, {options.workers} {unit}: {many:.1f}, {one / many:.2f} times as fast")


if __name__ == "__main__":
    main()
