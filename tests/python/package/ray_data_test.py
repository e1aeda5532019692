"""Reranking with Ray Data: the program's bits, also when a node dies."""
import json
import os
import pathlib
import subprocess
import sys
import warnings

import pytest

import relucent_search

pytest.importorskip("ray", reason="Ray is not installed")
pytest.importorskip("ray.data", reason="Ray Data is not installed (ray[data])")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet  # noqa: E402

from relucent_search import ray_data  # noqa: E402
from relucent_search.candidate_rows import strict_profile  # noqa: E402
from relucent_search.settings import to_toml  # noqa: E402

HERE = pathlib.Path(__file__).parent
QUIET = {**os.environ, "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0",
         "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}


def answers(rows):
    found = {(row["qid"], row["docno"]): (row["rank"], row["score"]) for row in rows}
    assert len(found) == len(rows), "rows are duplicated"
    return found


@pytest.fixture(scope="module")
def expected(program, candidates_file, tmp_path_factory):
    """{(qid, docno): (rank, score)} of `relucent rerank`."""
    file = tmp_path_factory.mktemp("expected") / "out.jsonl"
    program("rerank", "--input", candidates_file, "--output", file, "--quiet")
    return answers([json.loads(line) for line in file.read_text().splitlines()])


def reranker(config=None, **settings):
    return ray_data.QueryReranker(*strict_profile(config, settings), 2)


def of_query(candidates, count=1):
    """The rows of the first queries, a table per query, in another order than the first stage's."""
    qids = list(dict.fromkeys(row["qid"] for row in candidates))[:count]
    return [pa.Table.from_pylist([row for row in candidates if row["qid"] == qid][::-1]) for qid in qids]


def test_an_actor_gives_what_relucent_rerank_gives(candidates, expected, logits):
    actor = reranker(device="cpu")
    for table in of_query(candidates, 5):
        rows = actor(table.append_column("kept", pa.array(range(len(table))))).to_pylist()
        assert answers(rows) == {pair: answer for pair, answer in expected.items() if pair[0] == rows[0]["qid"]}
        assert {(row["qid"], row["docno"]): row["logit"] for row in rows}.items() <= logits.items()
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        assert sorted(row["kept"] for row in rows) == list(range(len(rows))) and rows[0]["text"]


def test_documents_without_text_and_scores_of_the_first_stage(program, candidates, root, tmp_path):
    rows = [dict(row, text="" if place % 7 == 3 else row["text"]) for place, row in enumerate(candidates[:20])]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    profile = root / "config/fusion.toml"
    program("rerank", "--input", tmp_path / "in.jsonl", "--output", tmp_path / "out.jsonl", "--quiet", "--config",
            profile)
    found = reranker(profile, device="cpu")(of_query(rows)[0])
    assert answers(found.to_pylist()) \
        == answers([json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()])
    assert found["logit"].null_count == sum(not row["text"] for row in rows) > 0


def test_equal_scores_keep_the_order_of_the_first_stage():
    rows = [{"qid": 1, "query": "rice", "docno": docno, "text": "Boil the rice.", "score": score, "rank": rank}
            for docno, score, rank in (("b", 1.0, 2), ("a", 2.0, 3), ("c", 2.0, 1))]
    table = pa.Table.from_pylist(rows)
    actor = reranker(device="cpu")
    for dropped, order in (([], "cba"), (["rank"], "acb"), (["rank", "score"], "abc")):
        assert "".join(actor(table.drop_columns(dropped))["docno"].to_pylist()) == order


def test_an_actor_that_searches_gives_the_hits_of_a_searcher(index, topics):
    import pandas as pd

    some = dict(list(topics.items())[:3])
    config = {"rescorer": {"device": "cpu"}}
    frame = pd.DataFrame({"qid": list(some), "query": list(some.values())})
    toml = to_toml(config)
    rows = ray_data.QuerySearcher(str(index), toml, True, 2, 5)(frame).to_pylist()
    searcher = relucent_search.Searcher(index, config)
    assert [tuple(row.values()) for row in rows] \
        == [(qid, hit.id, hit.rank, hit.score, hit.logit, hit.first_stage_rank, hit.first_stage_score)
            for qid, query in some.items() for hit in searcher.search(query, 5)]


def test_mistakes_are_named(candidates, tmp_path):
    table = of_query(candidates)[0]
    actor = reranker(device="cpu")
    with pytest.raises(relucent_search.UsageError, match="no column text"):
        actor(table.drop_columns(["text"]))
    with pytest.raises(relucent_search.InvalidDataError, match="a second time"):
        actor(pa.concat_tables([table, table]))
    with pytest.raises(relucent_search.DeadlineError):
        reranker(device="ref", timeout_ms=1)(table)
    kept = reranker(device="ref", timeout_ms=1, on_error="first_stage")(table).to_pylist()
    assert [(row["docno"], row["logit"]) for row in kept] == [(row["docno"], None) for row in candidates[:len(kept)]]
    with pytest.raises(relucent_search.UsageError, match="mixes"):
        ray_data.read(["a.jsonl", "b.parquet"])
    with pytest.raises(relucent_search.FileError, match="already exists"):
        ray_data._write(None, str(tmp_path), "parquet")
    with pytest.raises(SystemExit):
        ray_data.main(["--input", "a.jsonl", "--output", "b", "--actors", "two"])


@pytest.mark.parametrize(("actors", "cpus", "full"), [(None, 1, False), (1, 1, False), (2, 1, True), ((1, 2), 1, False),
                                                      ((2, 4), 1, True), (1, 2, True)])
def test_actors_that_take_all_cores_cause_a_warning(actors, cpus, full):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ray_data._warn_if_full(actors, cpus, 2)
    assert ["take 2 of the cluster's 2 cores" in str(warning.message) for warning in caught] == [True] * full


def test_the_program_writes_a_folder_that_is_whole(candidates_file, expected, tmp_path):
    command = [sys.executable, "-m", "relucent_search.ray_data", "--input", candidates_file, "--output",
               tmp_path / "out", "--partitions", "4", "--set", "device=cpu", "--address", "local"]
    done = subprocess.run(command, env=QUIET, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert answers(pyarrow.parquet.read_table(tmp_path / "out").to_pylist()) == expected
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_a_killed_node_changes_nothing(candidates_file, expected, logits, tmp_path):
    job = subprocess.run([sys.executable, HERE / "ray_job.py", candidates_file, tmp_path / "out.parquet", "kill"],
                         env=QUIET, capture_output=True, text=True, timeout=900)
    assert job.returncode == 0, job.stderr[-3000:]
    report = json.loads(next(line for line in job.stdout.splitlines() if line.startswith('{"seconds"')))
    queries = len({qid for qid, _ in expected})
    assert report["killed"] and report["alive"] == 1 and report["nodes"] == 2, report
    assert set(report["loaded"]) == {1} and len(report["loaded"]) == 3, report  # one per actor, one after the kill
    assert report["queries"] >= queries, report
    rows = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert answers(rows) == expected
    assert {(row["qid"], row["docno"]): row["logit"] for row in rows} == logits
