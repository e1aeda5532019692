"""Reranking with Spark: the program's bits, also when an executor dies."""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import relucent_search

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Java is not installed (apt-get install default-jre-headless)", allow_module_level=True)

HERE = pathlib.Path(__file__).parent
os.environ["PYSPARK_PYTHON"] = sys.executable  # of the workers


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false") \
        .config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def expected(program, candidates_file, tmp_path_factory):
    """{(qid, docno): (rank, score)} of `relucent rerank`."""
    file = tmp_path_factory.mktemp("expected") / "out.jsonl"
    program("rerank", "--input", candidates_file, "--output", file, "--quiet")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {(row["qid"], row["docno"]): (row["rank"], row["score"]) for row in rows}


def as_answers(rows):
    answers = {(row["qid"], row["docno"]): (row["rank"], row["score"]) for row in rows}
    assert len(answers) == len(rows), "rows are duplicated"
    return answers


def test_the_result_is_that_of_relucent_rerank(spark, candidates_file, expected, logits):
    import relucent_search.spark as engine

    candidates = engine.read(spark, [str(candidates_file)])
    rows = engine.rerank(candidates.repartition(3), partitions=5, device="cpu").collect()
    assert as_answers(rows) == expected
    assert {(row["qid"], row["docno"]): row["logit"] for row in rows} == logits
    assert rows[0].asDict().keys() == {"qid", "query", "docno", "text", "rank", "score", "logit"}


def test_where_rows_are_depends_on_qid_and_partitions_alone(spark, candidates_file):
    import relucent_search.spark as engine

    candidates = engine.read(spark, [str(candidates_file)])
    first, second = ([[(row["qid"], row["rank"], row["docno"]) for row in part] for part in
                      engine.rerank(candidates.repartition(parts), partitions=4, device="cpu").rdd.glom().collect()]
                     for parts in (1, 7))
    assert first == second and len(first) == 4
    for part in first:
        assert [row[:2] for row in part] == sorted(row[:2] for row in part)


def test_pairs_keep_their_rows(spark, candidates_file, candidates, logits):
    import relucent_search.spark as engine

    pairs = engine.read(spark, [str(candidates_file)]).repartition(3)
    rows = engine.score_pairs(pairs, device="cpu").collect()
    assert {(row["qid"], row["docno"]): row["logit"] for row in rows} == logits
    missing = spark.createDataFrame([("rice", None), ("rice", "rice"), (None, "rice")], "query string, text string")
    assert [row["logit"] is None for row in engine.score_pairs(missing, device="cpu").collect()] == [True, False, True]


def test_a_profile_with_fusion_and_documents_without_text(spark, program, candidates, root, tmp_path):
    import relucent_search.spark as engine

    some = [dict(row, text="" if place % 7 == 3 else row["text"]) for place, row in enumerate(candidates[:100])]
    file = tmp_path / "rerank.jsonl.gz"
    with gzip.open(file, "wt") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in some)
    profile = root / "config/fusion.toml"
    program("rerank", "--input", file, "--output", tmp_path / "out.jsonl", "--quiet", "--config", profile)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    rows = engine.rerank(engine.read(spark, [str(file)]), profile, device="cpu").collect()
    assert as_answers(rows) == as_answers(list(map(json.loads, lines)))
    assert {row["docno"] for row in rows if row["logit"] is None} == {row["docno"] for row in some if not row["text"]}


def test_a_run_is_joined_with_its_topics_and_documents(spark, candidates, topics, documents, expected, tmp_path):
    run = pd.DataFrame(candidates)[["qid", "docno", "rank", "score"]]
    run.to_parquet(tmp_path / "run.parquet")
    pd.DataFrame(topics.items(), columns=["qid", "query"]).to_json(tmp_path / "topics.jsonl", orient="records",
                                                                   lines=True)
    pd.DataFrame(documents.items(), columns=["docno", "text"]).to_parquet(tmp_path / "documents.parquet")
    command = [sys.executable, "-m", "relucent_search.spark", "--master", "local[2]", "--partitions", "3",
               "--format", "json", "--input", tmp_path / "run.parquet", "--topics", tmp_path / "topics.jsonl",
               "--documents", tmp_path / "documents.parquet", "--output", tmp_path / "out", "--set", "device=cpu"]
    subprocess.run(command, check=True, capture_output=True)
    files = sorted((tmp_path / "out").glob("part-*.json"))
    assert (tmp_path / "out/_SUCCESS").exists() and len(files) == 3
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert as_answers(rows) == expected
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode != 0 and "already exists" in again.stderr


def test_topics_are_searched(spark, index, topics):
    import relucent_search.spark as engine

    frame = spark.createDataFrame(list(topics.items())[:6], "qid string, query string")
    config = {"rescorer": {"device": "cpu"}}
    rows = engine.search(frame, index, config, hits=5, partitions=2).collect()
    searcher = relucent_search.Searcher(index, config)
    expected = [(qid, hit.id, hit.rank, hit.score, hit.logit, hit.first_stage_rank, hit.first_stage_score)
                for qid, query in list(topics.items())[:6] for hit in searcher.search(query, 5)]
    assert sorted(map(tuple, rows)) == sorted(expected)


def test_mistakes_are_named(spark, candidates):
    import relucent_search.spark as engine

    frame = spark.createDataFrame(pd.DataFrame(candidates[:5]))
    with pytest.raises(relucent_search.UsageError, match="no column text"):
        engine.rerank(frame.drop("text"))
    with pytest.raises(relucent_search.UsageError, match="mixes"):
        engine.read(spark, ["a.jsonl", "b.parquet"])
    with pytest.raises(Exception, match="a second time"):
        engine.rerank(frame.union(frame), device="cpu").collect()
    with pytest.raises(Exception, match="ran out of time"):
        engine.rerank(frame, device="ref", timeout_ms=1).collect()
    kept = engine.rerank(frame, device="ref", timeout_ms=1, on_error="first_stage").collect()
    assert [(row["rank"], row["docno"], row["logit"]) for row in kept] \
        == [(row["rank"], row["docno"], None) for row in candidates[:5]]
    with pytest.raises(Exception, match="precisoin"):
        engine.rerank(frame, precisoin="fp32").collect()


def test_a_killed_executor_changes_nothing(candidates_file, candidates, expected, tmp_path):
    more = tmp_path / "more.jsonl"  # 5 copies of each query: long enough to be interrupted
    with open(more, "w") as lines:
        for copy in range(5):
            lines.writelines(json.dumps(dict(row, qid=f"{row['qid']}-{copy}")) + "\n" for row in candidates)
    outputs = {}
    for kill in ("kill", "no"):
        job = subprocess.run([sys.executable, HERE / "spark_job.py", "local-cluster[2,1,1024]", more, tmp_path / kill,
                              "16", kill], capture_output=True, text=True, timeout=600)
        assert job.returncode == 0, job.stderr[-3000:]
        report = json.loads(job.stdout.splitlines()[-1])
        assert bool(report["killed"]) == (kill == "kill"), report
        assert report["models"] and max(report["models"]) == 1
        files = sorted((tmp_path / kill).glob("part-*.parquet"))
        assert len(files) == 16 and not (tmp_path / kill / "_temporary").exists()
        outputs[kill] = [pd.read_parquet(file) for file in files]
    for killed, undisturbed in zip(outputs["kill"], outputs["no"], strict=True):
        pd.testing.assert_frame_equal(killed, undisturbed, check_exact=True)
    rows = pd.concat(outputs["kill"]).to_dict("records")
    assert as_answers(rows) == {(f"{qid}-{copy}", docno): answer for (qid, docno), answer in expected.items()
                                for copy in range(5)}
