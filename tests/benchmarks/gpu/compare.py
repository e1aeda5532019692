"""Times Relucent's CUDA backend against PyTorch on one GPU: the same checkpoint, texts and run, in turns.

Every contender starts from text and ends at logits on the host. The libraries compute the checkpoint as the dense
cross-encoder that they can load; so does Relucent in the rows "dense". PyTorch also computes it as it is, with its
mask. Device time is what passes between CUDA events
around ids and logits. Memory is what a search takes beyond the weights. Peers run in their fastest setting that fits.
"""
import argparse
import importlib.metadata
import json
import multiprocessing
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "peers")]  # this folder's worker.py before the other one's

import worker  # noqa: E402
from contenders import PEERS, SPARSE  # noqa: E402
from task import Task, dense_copy  # noqa: E402

BASE = "sentence-transformers bf16"
POSITIONS = 4096
SKIPPED = 77
LARGEST_DIFFERENCE = 0.2  # of 16-bit logits from fp32's


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def names(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = HERE.parents[2]
    parser.add_argument("--program", default=str(root / "build/release/bin/relucent"))
    parser.add_argument("--model", type=pathlib.Path, default=root / "model/relucent-minilm-l6-w4")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--tokens", type=numbers, default=[16, 64, 174, 512, 1024, 4096], help="by commas")
    parser.add_argument("--windows", type=numbers, default=[-1, 64, 16, 4, 1, 0],
                        help="Relucent's, by commas; -1: none")
    parser.add_argument("--precisions", type=names, default=["fp16", "bf16"], help="Relucent's, by commas")
    parser.add_argument("--peers", type=names, default=list(PEERS), help="by commas; default: " + ",".join(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=11,
                        help="timed runs of each contender a round, after one to warm up")
    parser.add_argument("--check", action="store_true", help="only say whether there is a GPU; 77: there is none")
    options = parser.parse_args(arguments)
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"no peer is called {name}; known are {', '.join(PEERS)}")
    if not options.device.startswith("cuda:"):
        parser.error(f"--device is {options.device}, not cuda:N")
    if min(options.tokens) < 16 or max(options.tokens) > POSITIONS:
        parser.error(f"--tokens must be 16 to {POSITIONS}")
    if min(options.candidates, options.rounds, options.runs) < 1:
        parser.error("--candidates, --rounds and --runs must be 1 or more")
    return options


def gpu(options) -> dict:
    """The entry of `relucent model info --device` for the wanted GPU, or one with the reason why there is none."""
    listed = json.loads(subprocess.run([options.program, "model", "info", "--device", "--json"], check=True,
                                       capture_output=True, text=True).stdout)
    gpus = [device for device in listed if device["name"] != "cpu"]
    found = [device for device in gpus if device["name"] == options.device]
    if found:
        return found[0]
    other = gpus[0]
    problem = other["problem"] or f"there is {other['name']}, but no {options.device}"
    return {**other, "usable": False, "problem": problem}


class Relucent:
    def __init__(self, options, precision: str, model: pathlib.Path, tokens: int, window: int | None):
        self.command = [options.program, "bench", "model", "--json", "--model", str(model), "--device", options.device,
                        "--precision", precision, "--candidates", str(options.candidates), "--tokens", str(tokens),
                        "--query-tokens", str(min(10, tokens - 6))]
        if window is not None:
            self.command.append(f"--attention-window={window}")

    def rows(self, runs: int, *more: str) -> list[dict]:
        result = subprocess.run([*self.command, "--runs", str(runs), *more], check=True, capture_output=True, text=True)
        return json.loads(result.stdout)

    def turn(self, runs: int) -> dict:
        rows = self.rows(runs)
        device = next(row for row in rows if row["name"].strip() == "device")
        return {"wall": rows[0]["median_ms"], "device": device["median_ms"], "tflops": device["gflop_per_s"] / 1e3,
                "peak": device["peak_gflop_per_s"] / 1e3, "kb": device["kb_per_candidate"]}

    def end(self) -> None:
        pass


class Peer:
    def __init__(self, name: str, task: Task, candidates: int):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=worker.serve, args=(theirs, name, task), daemon=True)
        self.process.start()
        theirs.close()
        self.candidates = candidates
        try:
            self.state, *self.answer = self.connection.recv()
        except EOFError:
            self.state, self.answer = "failed", ["the process ended without a word"]

    def turn(self, runs: int) -> dict:
        self.connection.send(runs)
        times = self.connection.recv()
        wall, device = (statistics.median(column) for column in zip(*times))
        return {"wall": wall, "device": device, "kb": self.answer[2] / 1e3 / self.candidates}

    def end(self) -> None:
        if self.process.is_alive():
            self.connection.send(0)
        self.process.join()


def logits(options, precision: str, model: pathlib.Path, task: Task) -> list[float]:
    """Relucent's logits on the GPU, in the order of the texts."""
    source, scores = task.scratch / "pairs.jsonl", task.scratch / "logits.tsv"
    source.write_text("".join(json.dumps({"qid": "1", "query": task.query, "docno": str(i), "text": text}) + "\n"
                              for i, text in enumerate(task.documents)))
    subprocess.run([options.program, "rerank", "--input", source, "--output", scores, "--model", model, "--device",
                    options.device, "--precision", precision], check=True, capture_output=True)
    rows = (line.split() for line in scores.read_text().splitlines())
    found = {int(docno): float(logit) for _, docno, logit in rows}
    return [found[i] for i in range(len(task.documents))]


def furthest(some: list[float], others: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(some, others, strict=True))


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def median(turns: list[dict], key: str) -> float | None:
    values = [turn[key] for turn in turns if turn.get(key)]
    return statistics.median(values) if values else None


def cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def table_rows(tokens: int, turns: dict[str, list[dict]], settings: dict[str, str],
               differences: dict[str, float]) -> list[str]:
    """One line per contender; `turns` has the dictionaries of its rounds."""
    walls = {name: median(of, "wall") for name, of in turns.items()}
    base = walls.get(BASE)
    lines = []
    for name, of in turns.items():
        rate, peak = median(of, "tflops"), median(of, "peak")
        cells = [f"{tokens:,}", name, cell(walls[name], 2), cell(median(of, "device"), 3), cell(rate, 1),
                 f"{rate / peak:.0%}" if rate and peak else "", cell(median(of, "kb"), 1),
                 cell(base / walls[name], 1) if base else "",
                 f"{differences[name]:.1e}" if name in differences else "", settings.get(name, "")]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def compare(options, tokens: int, model: pathlib.Path, scratch: pathlib.Path, notes: list[str]) -> list[str]:
    dense = dense_copy(model, scratch / f"dense-{tokens}")
    contenders = {}
    for precision in options.precisions:
        for window in options.windows:
            name = f"Relucent {precision}, " + ("no window" if window < 0 else f"w = {window}")
            contenders[name] = Relucent(options, precision, model, tokens, window)
        contenders[f"Relucent {precision}, dense"] = Relucent(options, precision, dense, tokens, None)
    texts = scratch / f"texts-{tokens}.jsonl"
    next(iter(contenders.values())).rows(1, "--write-pairs", str(texts))
    pairs = [json.loads(line) for line in texts.read_text().splitlines()]
    task = Task(dense, model, scratch, pairs[0]["query"], [pair["text"] for pair in pairs], 0)
    truth = {of: logits(options, "fp32", of, task) for of in (dense, model)}
    differences = {f"Relucent {precision}, dense": furthest(logits(options, precision, dense, task), truth[dense])
                   for precision in options.precisions}
    settings = {}
    for name in options.peers:
        print(f"{tokens} tokens, {name}: trying settings", file=sys.stderr, flush=True)
        peer = Peer(name, task, options.candidates)
        if peer.state == "ready":
            contenders[name], settings[name] = peer, peer.answer[0]
            differences[name] = furthest(peer.answer[1], truth[model if name in SPARSE else dense])
            continue
        why = peer.answer[0].strip().splitlines()[-1]
        notes.append(f"{'SKIPPED' if peer.state == 'missing' else 'FAILED'} {name} at {tokens} tokens: {why}")
    notes += [f"FAILED {name} at {tokens} tokens: logits differ by {difference:.1e}: not the same function"
              for name, difference in differences.items() if not difference <= LARGEST_DIFFERENCE]
    turns = {name: [] for name in contenders}
    for number in range(options.rounds):
        order = list(contenders)
        for name in order if number % 2 == 0 else reversed(order):
            turns[name].append(contenders[name].turn(options.runs))
        print(f"{tokens} tokens: round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    for contender in contenders.values():
        contender.end()
    return table_rows(tokens, turns, settings, differences)


def main() -> int:
    options = parse()
    device = gpu(options)
    if not device["usable"]:
        print(f"SKIPPED: no GPU: {device['problem']}; {device['remedy']}")
        return SKIPPED
    if options.check:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folder goes, and the peers
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        longer = scratch / "longer"
        if max(options.tokens) > 512:
            subprocess.run([options.program, "model", "extend", options.model, longer, "--positions", str(POSITIONS)],
                           check=True, capture_output=True)
        print(f"{options.candidates} candidates a query on {device['description']}; "
              f"torch {version('torch')}, transformers {version('transformers')}, "
              f"sentence-transformers {version('sentence-transformers')}. "
              f"Medians of {options.rounds} rounds of {options.runs} runs in turns.\n")
        print(f"| tokens | contender | text to logits, ms | device, ms | TFLOP/s | of the peak | KB a candidate "
              f"| times {BASE} | logits differ from fp32's by | setting |\n" + "|---" * 10 + "|")
        for tokens in options.tokens:
            model = options.model if tokens <= 512 else longer
            for line in compare(options, tokens, model, scratch, notes):
                print(line, flush=True)
    for note in notes:
        print(f"\n{note}")
    return 1 if any(note.startswith("FAILED") for note in notes) else 0


if __name__ == "__main__":
    sys.exit(main())
