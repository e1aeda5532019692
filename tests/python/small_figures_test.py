"""The scripts of tests/benchmarks that repeat figures of MixEncoder's paper in small prepare what their plans read."""
import gzip
import json
import random
import sys
from pathlib import Path

import pytest
from relucent_search.train.data import read_judged
from relucent_search.train.plan import Plan
from support import program, text

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
import mixencoder_figure4 as figure4  # noqa: E402

QUERIES, PASSAGES = 30, 40


def write(path: Path, lines) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


@pytest.fixture
def data(tmp_path):
    """The teacher's best of query qI are the passages pI, pI+1, ..., all of which have the query's words."""
    generator = random.Random(5)
    folder = tmp_path / "data"
    passages = {f"p{i}": f"common {text(generator, 6)}" for i in range(PASSAGES)}
    write(folder / "training/passages.tsv.gz", (f"{key}\t{value}" for key, value in passages.items()))
    write(folder / "training/queries.tsv.gz", (f"q{i}\tcommon {text(generator, 2)}" for i in range(QUERIES)))
    write(folder / "training/teacher.tsv.gz", (f"q{i}\tp{i + rank}\t{1 - rank / 10}" for i in range(QUERIES)
                                               for rank in range(8)))
    write(folder / "candidates/dl21-passage.bm25.rerank.jsonl.gz", [])
    write(folder / "qrels/qrels.dl21-passage.txt", [])
    return folder


def test_figure_4_measures_queries_that_nothing_trains_on(data, tmp_path):
    work = tmp_path / "work"
    figure4.prepare(data, work, 12, 5, program())
    figure4.write_plan(work)
    plan = Plan.load(work / "plan.toml", work)
    assert [run.name for run in plan.runs] == ["batch-8", "batch-16", "batch-32", "batch-64"]
    assert plan.experiments == [work / "experiment.toml"]
    of_plan = plan.runs[0].settings.data
    lists = read_judged(of_plan.run, of_plan.qrels, of_plan.queries, of_plan.documents).lists
    assert len(lists) == 12
    texts = dict(line.split("\t") for line in of_plan.queries.read_text().splitlines())
    first_of = {query: f"p{name[1:]}" for name, query in texts.items()}
    for one in lists:
        assert one.candidates[0].document == first_of[one.query]
        first = int(one.candidates[0].document[1:])
        negatives = {candidate.document for candidate in one.candidates[1:]}
        assert negatives
        assert not negatives & {f"p{first + near}" for near in range(figure4.NEAR)}
    with gzip.open(work / "held-out.jsonl.gz", "rt") as file:
        measured = {json.loads(line)["qid"] for line in file}
    assert len(measured) == 5
    assert not measured & set(texts)
    judged = [line.split() for line in (work / "held-out.qrels").read_text().splitlines()]
    assert {query for query, *_ in judged} == measured
    assert all(passage == f"p{query[1:]}" for query, _, passage, _ in judged)


def test_generated_pairs_are_the_same_again_and_of_all_labels(tmp_path):
    pytest.importorskip("transformers")
    import mixencoder_mnli as mnli
    mnli.write_pairs(tmp_path / "dev.tsv", 300)
    first = (tmp_path / "dev.tsv").read_text()
    mnli.write_pairs(tmp_path / "dev.tsv", 300)
    assert (tmp_path / "dev.tsv").read_text() == first
    pairs = mnli.read_pairs(tmp_path / "dev.tsv")
    assert {label for *_, label in pairs} == {0, 1, 2}
    # A hypothesis alone does not tell its label: some stand with two.
    labels = {}
    for _, hypothesis, label in pairs:
        labels.setdefault(hypothesis, set()).add(label)
    assert any(len(of) > 1 for of in labels.values())
