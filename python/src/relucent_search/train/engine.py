"""The program `relucent`: measures checkpoints and checks what was trained."""
from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from relucent_search.train.errors import TrainingError, naming, writing


def _run(program: str, *arguments: object) -> str:
    command = [program, *map(str, arguments)]
    try:
        # In a session of its own, so that Ctrl-C ends the training after a step and not this.
        done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    except OSError as error:
        raise TrainingError(program, error.strerror or str(error),
                            'set program to the path of "relucent"') from None
    if done.returncode != 0:
        raise TrainingError(" ".join(command), f"exited with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _write_records(path: Path, records: Sequence[dict[str, object]]) -> None:
    with writing(path):
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def _lines(path: Path) -> list[str]:
    with naming(path):
        return path.read_text(encoding="utf-8").splitlines()


def check(program: str, model: Path) -> None:
    _run(program, "model", "check", model)


def make_model(program: str, arguments: Sequence[object]) -> None:
    """Runs `relucent model` with these arguments."""
    _run(program, "model", *arguments)


def make_graphs(program: str, model: Path, index: Path, documents: Path, output: Path,
                flags: Sequence[object] = ()) -> None:
    """flags: of weights and entities."""
    _run(program, "graphs", "--index", index, "--model", model, "--input", documents, "--output", output, "--quiet",
         *flags)


def evaluate(program: str, model: Path, candidates: Path, qrels: Path, measure: str, folder: Path,
             flags: Sequence[object] = ()) -> float:
    """The measure of the candidates as the engine orders them by this model; the run stays in folder/run.txt.
    flags: further ones of `relucent rerank`."""
    run = folder / "run.txt"
    _run(program, "rerank", "--input", candidates, "--output", run, "--model", model, "--quiet",
         *flags)
    lines = _run(program, "evaluate", "--qrels", qrels, "--run", run, "--measures", measure).splitlines()
    values = [line.split() for line in lines if line.split()[1:2] == ["all"]]
    if len(values) != 1:
        raise TrainingError(f"key evaluation.measure, {measure!r}", "is not one measure", "name one, such as nDCG@10")
    return float(values[0][2])


def logits(program: str, model: Path, pairs: Sequence[tuple[str, str]], folder: Path,
           flags: Sequence[object] = (), names: Sequence[str] = ()) -> list[float]:
    """Computes logits in fp32; the texts must not be empty. flags: further ones of `relucent rerank`. names: the
    documents' ids, if they matter."""
    _write_records(folder / "pairs.jsonl",
                   [{"qid": f"q{i}", "query": query, "docno": names[i] if names else f"d{i}", "text": document,
                     "rank": 1, "score": 0.0} for i, (query, document) in enumerate(pairs)])
    _run(program, "rerank", "--input", folder / "pairs.jsonl", "--output", folder / "pairs.tsv", "--model", model,
         "--precision", "fp32", "--quiet", *flags)
    scores = {}
    for line in _lines(folder / "pairs.tsv"):
        query, _, score = line.split("\t")
        scores[query] = float(score)
    return [scores[f"q{i}"] for i in range(len(pairs))]


def label_logits(program: str, model: Path, pairs: Sequence[tuple[str, str]], folder: Path,
                 flags: Sequence[object] = ()) -> list[float]:
    """A classifier's logits in fp32, pair by pair. flags: further ones of `relucent classify`."""
    _write_records(folder / "pairs.jsonl", [{"query": query, "document": document} for query, document in pairs])
    _run(program, "classify", "--input", folder / "pairs.jsonl", "--output", folder / "pairs.tsv", "--model", model,
         "--precision", "fp32", "--quiet", *flags)
    return [float(logit) for line in _lines(folder / "pairs.tsv") for logit in line.split("\t")[1:]]


def accuracy(program: str, model: Path, pairs: Path, folder: Path) -> float:
    """The share of the pairs to which the engine gives the label that the file has."""
    printed = _run(program, "classify", "--input", pairs, "--output", folder / "labels.tsv", "--model", model,
                   "--quiet", "--json")
    return json.loads(printed)["accuracy"]
