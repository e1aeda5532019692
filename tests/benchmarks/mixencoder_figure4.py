"""Figure 4 of MixEncoder's paper in small: in-batch negatives with 8, 16, 32 and 64 queries per step.

PYTHONPATH=python/src python tests/benchmarks/mixencoder_figure4.py FOLDER [--steps 300] [SECTION.KEY=VALUE ...]

Runs config/training/mixencoder-figure4.toml on the data for training in $RELUCENT_TEST_DATA (default: ../shared/data)
with a tiny base: one layer of 64 numbers per token, at random except for the words' embeddings, which are the bundled
checkpoint's, projected. The positive of a query is the teacher's best passage, its hard negatives are BM25's hits other
than the teacher's best four. Every row trains the same number of steps, so larger steps also see more queries. Measured
are queries that no row trains on, judged by the teacher's best passage, and TREC DL 2021, with BM25's candidates. The
same command resumes; everything is in FOLDER. Needs what training needs (docs/training.md).
"""
import argparse
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
from mixencoder_tables import BUNDLED, write_bert
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAN = ROOT / "config/training/mixencoder-figure4.toml"
EXPERIMENT = ROOT / "config/experiments/mixencoder-figure4.toml"
NEAR = 4  # the teacher's best: one is the positive, the others are neither positives nor negatives
HIDDEN, TOKENS = 64, 64  # of the base, and of a candidate
SETTINGS = (f"model.max_length={TOKENS}", "model.dropout=0", "training.learning_rate=2e-3", "training.bf16=false",
            "training.log_every=50", "training.save_every=50")
TASKS = """
[[tasks]]
name = "held-out queries"
candidates = "held-out.jsonl.gz"
qrels = "held-out.qrels"

[[tasks]]
name = "DL 2021"
candidates = "dl21.jsonl.gz"
qrels = "dl21.qrels"

[[rows]]
name = "BM25"
kind = "first stage"
"""


def lines_of(path: pathlib.Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().splitlines()


def write_base(folder: pathlib.Path, layers: int) -> None:
    """A tiny BERT: the layers are random; the words' embeddings are the bundled checkpoint's main components."""
    write_bert(folder, layers, HIDDEN)
    name = "bert.embeddings.word_embeddings.weight"
    words = load_file(BUNDLED / "model.safetensors")[name].astype(np.float32)
    words -= words.mean(0)
    _, components = np.linalg.eigh(words.T @ words)  # the greatest last
    projected = words @ components[:, -HIDDEN:]
    tensors = load_file(folder / "model.safetensors")
    tensors[name] = np.ascontiguousarray(projected * (0.5 / projected.std()), np.float32)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def prepare(data: pathlib.Path, work: pathlib.Path, queries: int, held_out: int, relucent: str) -> None:
    """Writes the files that the plan and the experiment name."""
    training = work / "training"
    training.mkdir(parents=True, exist_ok=True)
    (training / "collection.tsv").write_text("\n".join(lines_of(data / "training/passages.tsv.gz")) + "\n")
    texts = dict(line.split("\t", 1) for line in lines_of(data / "training/queries.tsv.gz"))
    best: dict[str, list[str]] = {}
    for line in lines_of(data / "training/teacher.tsv.gz"):  # the best first
        query, passage, _ = line.split("\t")
        if len(of := best.setdefault(query, [])) < NEAR:
            of.append(passage)
    # Every third query, as they come in blocks of one kind each; those of the other thirds that are needed train.
    ids = [query for query in texts if query in best]
    measured = ids[::3][:: max(1, len(ids) // 3 // held_out)][:held_out]
    others = [query for number, query in enumerate(ids) if number % 3]
    trained = others[:: max(1, len(others) // queries)][:queries]
    kinds = {"trained": (training / "queries.train.tsv", training / "qrels.train.tsv", trained),
             "held-out": (work / "held-out.tsv", work / "held-out.qrels", measured)}
    for queries_file, qrels, of_kind in kinds.values():
        queries_file.write_text("".join(f"{query}\t{texts[query]}\n" for query in of_kind))
        qrels.write_text("".join(f"{query} 0 {best[query][0]} 1\n" for query in of_kind))
    index = work / "index"
    shutil.rmtree(index, ignore_errors=True)
    for arguments in (
            ["index", "--quiet", "--corpus", "tsv", "--input", training / "collection.tsv", "--index", index],
            ["search", "--index", index, "--no-rescore", "--topics", kinds["trained"][0], "--hits", 50, "--run",
             work / "bm25.run"],
            ["search", "--index", index, "--topics", kinds["held-out"][0], "--rerank-file",
             work / "held-out.jsonl.gz"]):
        subprocess.run([relucent, *map(str, arguments)], check=True)
    with open(work / "bm25.run") as file, open(training / "msmarco-passage-train.bm25.run", "w") as kept:
        for line in file:
            query, _, passage, *_ = line.split()
            if passage not in best[query][1:]:
                kept.write(line)
    shutil.copyfile(data / "candidates/dl21-passage.bm25.rerank.jsonl.gz", work / "dl21.jsonl.gz")
    shutil.copyfile(data / "qrels/qrels.dl21-passage.txt", work / "dl21.qrels")
    shutil.rmtree(work / "base", ignore_errors=True)  # of a run that was interrupted here
    write_base(work / "base", 1)


def replaced(text: str, pattern: str, by: str) -> str:
    found, count = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE)
    assert count, f"{pattern} is missing"
    return found


def write_plan(work: pathlib.Path) -> None:
    """The plan and the experiment that come with Relucent, with this base and these tasks."""
    experiment = EXPERIMENT.read_text()
    tasks = re.search(r"^\[\[tasks\]\]\n(?:.+\n)+", experiment, re.MULTILINE)
    assert tasks, f"{EXPERIMENT} has no tasks"
    experiment = experiment.replace(tasks[0], TASKS.lstrip())
    experiment = replaced(experiment, r'^title = "MixEncoder, Figure 4"', 'title = "MixEncoder, Figure 4, in small"')
    (work / "experiment.toml").write_text(replaced(experiment, r"^measures = .*", 'measures = ["nDCG@10", "RR@10"]'))
    plan = replaced(PLAN.read_text(), r'^base = ".*"', 'base = "base"')
    plan = replaced(plan, r'^recipe = "mixencoder.toml"', f'recipe = "{PLAN.parent / "mixencoder.toml"}"')
    plan = replaced(plan, r'^init = .*', f'init = ["--as", "mixencoder", "--candidate-length", "{TOKENS}"]')
    (work / "plan.toml").write_text(replaced(plan, r"^experiments = .*", 'experiments = ["experiment.toml"]'))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300, help="of each row")
    parser.add_argument("--queries", type=int, default=20000, help="to train on")
    parser.add_argument("--held-out", type=int, default=500, help="queries to measure on")
    parser.add_argument("--relucent", default="relucent", help="the program")
    parser.add_argument("settings", nargs="*", help="of all rows, as relucent-train takes them")
    parsed = parser.parse_intermixed_args()
    data = pathlib.Path(os.environ.get("RELUCENT_TEST_DATA") or ROOT.parent / "shared/data")
    work, relucent = parsed.folder.resolve(), shutil.which(parsed.relucent) or parsed.relucent
    ready = work / "prepared"
    if not ready.exists():
        prepare(data, work, parsed.queries, parsed.held_out, relucent)
        ready.touch()
    write_plan(work)
    ended = subprocess.run([sys.executable, "-m", "relucent_search.train", "--plan", work / "plan.toml",
                            f"program={relucent}", f"training.steps={parsed.steps}", *SETTINGS, *parsed.settings])
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
