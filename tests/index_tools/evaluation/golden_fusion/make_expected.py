"""Makes the inputs and answers of tests/index_tools/evaluation/fusion_golden.cpp.

    python3 -m venv VENV
    VENV/bin/pip install ranx==0.3.21 trectools==0.0.50
    VENV/bin/python tests/index_tools/evaluation/golden_fusion/make_expected.py

Everything is written beside this file: three runs made from a fixed seed and expected.json with the fused scores of

- ranx: reciprocal rank fusion and weighted sums after each of its normalizations. It wants the same queries in all runs, and
  its order of ties is that of its dictionaries, so that the runs have no two equal scores in a query;
- trectools: reciprocal rank fusion of the first ten hits of each run.
"""

import json
import random
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
VERSIONS = {"ranx": "0.3.21", "trectools": "0.0.50"}
for package, wanted in VERSIONS.items():
    assert version(package) == wanted, f"{package} is {version(package)}, not {wanted}"

import pandas  # noqa: E402
import ranx  # noqa: E402
from trectools import TrecRun, fusion  # noqa: E402


def make_runs():
    """Runs of different depths and scales, one with negative scores; documents that one, two or all of them have."""
    chance = random.Random(13)
    runs = []
    for scale, origin, depth in ((30, 5, 40), (14, -9, 25), (1, 0, 60)):
        run = {}
        for query in ("1", "2", "17", "1030303"):
            documents = [f"D{i}" for i in chance.sample(range(90), depth)]
            scores = chance.sample(range(1, 10000), depth)
            run[query] = {d: origin + scale * s / 10000 for d, s in zip(documents, scores)}
        runs.append(run)
    runs[1]["17"] = {"D5": -3.25}  # a single hit
    return runs


def main():
    runs = make_runs()
    for name, run in zip("abc", runs):
        lines = [f"{q} Q0 {d} {rank + 1} {s!r} {name}\n" for q, docs in run.items()
                 for rank, (d, s) in enumerate(sorted(docs.items(), key=lambda hit: -hit[1]))]
        (HERE / f"{name}.run").write_text("".join(lines))
    read = [ranx.Run.from_file(str(HERE / f"{name}.run"), kind="trec") for name in "abc"]
    cases = []

    def add(fused, **options):
        scores = fused if isinstance(fused, dict) else fused.to_dict()
        cases.append({**options, "scores": {q: {d: float(s) for d, s in docs.items()} for q, docs in scores.items()}})

    for k in (1, 60):
        add(ranx.fuse(read, norm=None, method="rrf", params={"k": k}), method="rrf", k=k, files="abc")
    add(ranx.fuse(read[:2], norm=None, method="rrf", params={"k": 60}), method="rrf", k=60, files="ab")
    for theirs, ours, used in (("min-max", "min-max", 3), ("sum", "sum", 3), ("zmuv", "z-score", 3), ("rank", "rank", 3),
                               (None, "none", 3), ("min-max", "min-max", 2)):
        for weights in ([1.0, 1.0, 1.0], [0.3, 0.6, 1.7]):
            add(ranx.fuse(read[:used], norm=theirs, method="wsum", params={"weights": weights[:used]}),
                method="sum", normalization=ours, weights=weights[:used], files="abc"[:used])
    positive = [read[0], read[2]]
    add(ranx.fuse(positive, norm="max", method="wsum", params={"weights": [0.25, 0.75]}),
        method="sum", normalization="max", weights=[0.25, 0.75], files="ac")

    depth = 10
    cut = []
    for run in runs:
        kept = TrecRun()
        rows = [(q, "Q0", d, rank + 1, s, "t") for q, docs in run.items()
                for rank, (d, s) in enumerate(sorted(docs.items(), key=lambda hit: -hit[1])[:depth])]
        kept.load_run_from_dataframe(pandas.DataFrame(rows, columns=["query", "q0", "docid", "rank", "score", "system"]))
        cut.append(kept)
    result = fusion.reciprocal_rank_fusion(cut, k=60).run_data
    scores = {}
    for query, docno, score in zip(result["query"], result["docid"], result["score"]):
        scores.setdefault(str(query), {})[docno] = score
    add(scores, method="rrf", k=60, files="abc", depth=depth)
    expected = {"versions": VERSIONS, "cases": cases}
    (HERE / "expected.json").write_text(json.dumps(expected, indent=0, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
