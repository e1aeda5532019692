"""Times Relucent's CPU backend against other libraries on the same checkpoint, pairs and threads.

Every contender starts from text and ends at logits; the turn goes round in alternating order. The libraries compute
the checkpoint as the dense cross-encoder that they can load; so does Relucent in the rows named dense. PyTorch also
computes it as it is, with its mask. A peer runs with the batch size and the settings that were the fastest of those
tried; all inputs are equally long, so nobody pads.
"""
import argparse
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile

import settings
import worker
from peers import PEERS, SPARSE
from task import Task, dense_copy

BASE = "sentence-transformers fp32"


class Relucent:
    def __init__(self, options, precision: str, model: pathlib.Path):
        self.command = [options.program, "bench", "model", "--json", "--model", str(model), "--device", "cpu",
                        "--precision", precision, "--threads", str(options.threads),
                        "--candidates", str(options.candidates), "--tokens", str(options.tokens)]

    def run(self, runs: int, *more: str) -> dict:
        """The benchmark's report of the whole: it loads and warms up first, and times that apart."""
        result = subprocess.run([*self.command, "--runs", str(runs), *more], check=True, capture_output=True, text=True)
        return json.loads(result.stdout)[0]

    def turn(self, runs: int) -> tuple[float, float, float]:
        row = self.run(runs)
        return row["median_ms"], row["min_ms"], row["max_ms"]


class Peer:
    def __init__(self, name: str, task: Task, wanted: str | None):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=worker.serve, args=(theirs, *PEERS[name], task, wanted), daemon=True)
        self.process.start()
        theirs.close()
        self.state, *self.answer = self.connection.recv()

    def turn(self, runs: int) -> tuple[float, float, float]:
        self.connection.send(runs)
        times = self.connection.recv()
        return statistics.median(times), min(times), max(times)

    def end(self) -> None:
        if self.process.is_alive():
            self.connection.send(0)
        self.process.join()


def relucent_logits(options, precision: str, model: pathlib.Path, task: Task) -> list[float]:
    rows = "".join(json.dumps({"qid": "1", "query": task.query, "docno": str(i), "text": text}) + "\n"
                   for i, text in enumerate(task.documents))
    source, scores = task.scratch / "pairs.jsonl", task.scratch / "logits.tsv"
    source.write_text(rows)
    subprocess.run([options.program, "rerank", "--input", source, "--output", scores, "--model", model,
                    "--device", "cpu", "--precision", precision], check=True, capture_output=True)
    lines = (line.split() for line in scores.read_text().splitlines())
    logits = {int(docno): float(logit) for _, docno, logit in lines}
    return [logits[i] for i in range(len(task.documents))]


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        facts = {key.strip(): value.strip() for key, value in (line.split(":", 1) for line in lines if ":" in line)}
    flags = set(facts["flags"].split())
    known = ("amx_int8", "amx_bf16", "avx512_bf16", "avx512_vnni", "avx512f", "avx_vnni", "avx2")
    best = [name for name in known if name in flags]
    return f"{facts['model name']} (family {facts['cpu family']}, model {facts['model']}), {', '.join(best) or 'sse2'}"


def versions() -> str:
    def version(package: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return "missing"

    packages = ("sentence-transformers", "torch", "onnxruntime", "openvino", "nncf")
    return ", ".join([f"{package} {version(package)}" for package in packages] +
                     [f"Python {platform.python_version()}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=174)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3,
                        help="timed runs of each contender a round, after one to warm up")
    parser.add_argument("--precisions", default="fp32,int16,bf16,int8", help="of Relucent, by commas")
    parser.add_argument("--peers", default=",".join(PEERS), help="by commas; default: %(default)s")
    parser.add_argument("--settings", type=pathlib.Path, metavar="FILE",
                        help="settings of peers as --save-settings wrote them; the others' are searched for")
    parser.add_argument("--save-settings", type=pathlib.Path, metavar="FILE",
                        help="write the settings that peers ran with")
    options = parser.parse_args()
    precisions, names = options.precisions.split(","), options.peers.split(",")
    if unknown := [name for name in names if name not in PEERS]:
        parser.error(f"no peer is called {unknown[0]}; known are {', '.join(PEERS)}")
    try:
        fixed = settings.read(options.settings, PEERS) if options.settings else {}
    except ValueError as error:
        parser.error(str(error))
    worker.limit_threads(options.threads)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folder goes, and the peers

    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        dense = dense_copy(options.model, scratch / "dense")
        contenders = {f"Relucent {p}": Relucent(options, p, options.model) for p in precisions}
        contenders |= {f"Relucent {p}, dense": Relucent(options, p, dense) for p in precisions}
        contenders[f"Relucent {precisions[0]}"].run(1, "--write-pairs", str(scratch / "texts.jsonl"))
        texts = [json.loads(line) for line in (scratch / "texts.jsonl").read_text().splitlines()]
        task = Task(dense, options.model, scratch, texts[0]["query"], [row["text"] for row in texts], options.threads)

        truth = {model: relucent_logits(options, "fp32", model, task) for model in (dense, options.model)}

        def difference(logits, model: pathlib.Path) -> float:
            return max(abs(float(a) - b) for a, b in zip(logits, truth[model], strict=True))

        differences = {f"Relucent {p}{name}": difference(relucent_logits(options, p, model, task), model)
                       for p in precisions for name, model in (("", options.model), (", dense", dense))}
        chosen: dict[str, str] = {}
        left_out, failed = [], False
        for name in names:
            print(f"{name}: {'loading' if name in fixed else 'trying settings'}", file=sys.stderr, flush=True)
            peer = Peer(name, task, fixed.get(name))
            if peer.state == "ready":
                contenders[name] = peer
                chosen[name] = peer.answer[0]
                differences[name] = difference(peer.answer[1], options.model if name in SPARSE else dense)
            else:
                why = peer.answer[0].strip().splitlines()[-1]
                left_out.append(f"SKIPPED {name}: {why}" if peer.state == "missing" else f"FAILED {name}: {why}")
                if peer.state == "failed":
                    print(peer.answer[0], file=sys.stderr)
                    failed = True

        if options.save_settings:
            settings.write(options.save_settings, chosen)
        turns: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contenders}
        for number in range(options.rounds):
            order = list(contenders)
            for name in order if number % 2 == 0 else reversed(order):
                turns[name].append(contenders[name].turn(options.runs))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for contender in contenders.values():
            if isinstance(contender, Peer):
                contender.end()

    medians = {name: statistics.median(turn[0] for turn in of) for name, of in turns.items()}
    peers = {name: median for name, median in medians.items() if name in PEERS}
    base, best = peers.get(BASE), min(peers.values(), default=None)
    print(f"{options.candidates} candidates x {options.tokens} tokens, {options.threads} threads, {processor()}.")
    print(f"{versions()}. Medians of {options.rounds} rounds of {options.runs} runs in turns.\n")
    print("| contender | median ms | min | max | times sentence-transformers fp32 | times the fastest peer "
          "| logits differ by at most | setting |\n|---|---|---|---|---|---|---|---|")
    for name, of in turns.items():
        ratios = [f"{other / medians[name]:.2f}" if other else "" for other in (base, best)]
        largest = f"{differences[name]:.1e}" if name in differences else ""
        least, most = min(turn[1] for turn in of), max(turn[2] for turn in of)
        print(f"| {name} | {medians[name]:,.0f} | {least:,.0f} | {most:,.0f} "
              f"| {' | '.join(ratios)} | {largest} | {chosen.get(name, '')} |")
    for line in left_out:
        print(f"\n{line}")

    # Low precisions differ; in fp32 everybody must have computed the same thing.
    wrong = [name for name in differences if "fp32" in name and differences[name] > 1e-3]
    for name in wrong:
        print(f"{name}: logits differ from Relucent's by {differences[name]:.1e}: not the same function",
              file=sys.stderr)
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
