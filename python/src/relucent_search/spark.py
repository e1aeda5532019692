"""Reranking with Apache Spark: runs of any size, from Parquet or JSON lines (docs/scale.md).

Needs the extra `spark`.
"""
from __future__ import annotations

import argparse
import functools
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType, IntegerType, StringType, StructField, StructType

from relucent_search.candidate_rows import (
    check_columns,
    hit_rows,
    key_and_value,
    rerank_rows,
    stated_failures,
    strict_profile,
)
from relucent_search.cross_encoder import CrossEncoder
from relucent_search.errors import UsageError
from relucent_search.reranker import Reranker
from relucent_search.search import Searcher
from relucent_search.settings import Config, as_toml

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CANDIDATES = StructType([StructField("qid", StringType()), StructField("query", StringType()),
                         StructField("docno", StringType()), StructField("text", StringType()),
                         StructField("rank", IntegerType()), StructField("score", DoubleType())])
"""The columns of a TIREx rerank file."""

Settings = tuple[tuple[str, Any], ...]


def _threads() -> int:
    """The cores of a task, so that the tasks of a node do not take each other's."""
    context = TaskContext.get()
    return context.cpus() if context is not None else 0


# Spark keeps a worker process for the tasks that follow, so these load a model once per process.
@functools.lru_cache(maxsize=2)
def _encoder(settings: Settings) -> CrossEncoder:
    return CrossEncoder(**{"threads": _threads(), **dict(settings)})


@functools.lru_cache(maxsize=2)
def _reranker(config: str) -> Reranker:
    sections = tomllib.loads(config)
    if not sections["rescorer"].get("threads"):
        sections["rescorer"]["threads"] = _threads()
    return Reranker(sections)


@functools.lru_cache(maxsize=2)
def _searcher(index: str, config: str) -> Searcher:
    sections = tomllib.loads(config)
    rescorer = sections.setdefault("rescorer", {})
    if not rescorer.get("threads"):
        rescorer["threads"] = _threads()
    return Searcher(index, sections)


def loaded_models(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """For mapInPandas: the worker's process id and how many models it has loaded."""
    for batch in batches:
        loaded = sum(cache.cache_info().misses for cache in (_encoder, _reranker, _searcher))
        yield pd.DataFrame({"process": np.full(len(batch), os.getpid(), np.int32),
                            "models": np.full(len(batch), loaded, np.int32)})


def _with_null(frame: DataFrame, column: str) -> DataFrame:
    """Null in place of NaN, which pandas has for a missing float."""
    return frame.withColumn(column, F.when(F.isnan(column), None).otherwise(F.col(column)))


def score_pairs(pairs: DataFrame, *, query: str = "query", text: str = "text", output: str = "logit",
                **settings: Any) -> DataFrame:
    """Adds the model's raw score of each row's query and text as a column of floats. Rows stay where they are; a row
    without a query or a text gets null. settings: the arguments of CrossEncoder."""
    chosen: Settings = tuple(sorted({"fallback_device": "none", **settings}.items()))

    def score(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            present = (batch[query].notna() & batch[text].notna()).to_numpy(bool)
            scores = np.full(len(batch), np.nan, np.float32)
            rows = batch[present]
            if len(rows) > 0:
                scores[present] = _encoder(chosen).predict(list(zip(rows[query], rows[text], strict=True)))
            yield batch.assign(**{output: pd.Series(scores, index=batch.index)})

    schema = StructType([*(field for field in pairs.schema if field.name != output), StructField(output, FloatType())])
    names = [field.name for field in schema]
    scored = pairs.drop(output).mapInPandas(lambda batches: (part[names] for part in score(batches)), schema)
    return _with_null(scored, output)


def candidates_of(run: DataFrame, topics: DataFrame, documents: DataFrame) -> DataFrame:
    """Joins a run (qid, docno, rank, score) with its topics (qid, query) and documents (docno, text) to what rerank()
    takes. A hit whose document is missing has a null text, so it comes last; one whose topic is missing is an error
    when it is reranked."""
    return run.join(F.broadcast(topics.select("qid", "query")), "qid", "left") \
        .join(documents.select("docno", "text"), "docno", "left")


def rerank(candidates: DataFrame, config: Config = None, *, partitions: int | None = None,
           **settings: Any) -> DataFrame:
    """Reorders each query's candidates: qid, query, docno, text and, if there are, rank and score of the first stage.

    The result has every column of the input, the new rank (from 1) and score, and the column `logit`: the model's raw
    score, null for a candidate without text. Its rows are sorted by qid and rank within partitions; a query's rows are
    all in one, and which one depends on its qid and `partitions` alone. config, settings: as for
    relucent_search.Reranker, but a failing device or query fails the task, which Spark then repeats, unless the profile
    asks otherwise. Models must be in the same place on every node.
    """
    check_columns(candidates.columns)
    toml, strict = strict_profile(config, settings)
    kept = [field for field in candidates.schema if field.name not in ("rank", "score", "logit")]
    schema = StructType([*kept, StructField("rank", IntegerType()), StructField("score", DoubleType()),
                         StructField("logit", FloatType())])
    names = [field.name for field in schema]
    first_stage = [name for name in ("rank", "score") if name in candidates.columns]

    def order(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for query in _queries(batches):
            yield rerank_rows(_reranker(toml), query, strict)[names]

    sorting = [F.col("qid")]
    if "rank" in first_stage:
        sorting.append(F.col("rank").asc_nulls_last())
    if "score" in first_stage:
        sorting.append(F.col("score").desc_nulls_last())
    parts = partitions or candidates.sparkSession.sparkContext.defaultParallelism * 4
    # Null is not a number of pandas' column of whole numbers.
    numbers = candidates.drop("logit").withColumns({name: F.col(name).cast("double") for name in first_stage})
    spread = numbers.repartition(parts, "qid").sortWithinPartitions(*sorting, "docno")
    return _with_null(spread.mapInPandas(order, schema), "logit")


def search(topics: DataFrame, index: str | os.PathLike[str], config: Config = None, *, hits: int = 100,
           partitions: int | None = None) -> DataFrame:
    """Searches an index for every topic (qid, query): qid, docno, rank, score, logit, first_stage_rank and
    first_stage_score of the best hits. The index, like the models, must be in the same place on every node. Partitions
    and failures are as for rerank()."""
    strict = not stated_failures(config)
    toml, folder = as_toml(config)[0], os.fspath(index)

    def find(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            for qid, query in zip(batch["qid"], batch["query"], strict=True):
                yield hit_rows(_searcher(folder, toml), qid, query, hits, strict)

    schema = StructType([topics.schema["qid"], StructField("docno", StringType()), StructField("rank", IntegerType()),
                         StructField("score", DoubleType()), StructField("logit", FloatType()),
                         StructField("first_stage_rank", IntegerType()),
                         StructField("first_stage_score", DoubleType())])
    parts = partitions or topics.sparkSession.sparkContext.defaultParallelism * 4
    spread = topics.select("qid", "query").repartition(parts, "qid").sortWithinPartitions("qid")
    return _with_null(spread.mapInPandas(find, schema), "logit")


def _queries(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The rows of one query after another. Batches are sorted by qid; a query may continue in the next one."""
    open_parts: list[pd.DataFrame] = []
    for batch in batches:
        for _, part in batch.groupby("qid", sort=False, dropna=False):
            if open_parts and open_parts[0]["qid"].iloc[0] != part["qid"].iloc[0]:
                yield pd.concat(open_parts, ignore_index=True)
                open_parts = []
            open_parts.append(part)
    if open_parts:
        yield pd.concat(open_parts, ignore_index=True)


def read(spark: SparkSession, paths: list[str], schema: StructType = CANDIDATES) -> DataFrame:
    """Parquet files or folders, or JSON lines (names ending in .json or .jsonl, also compressed)."""
    is_json = {os.path.splitext(path.removesuffix(".gz").removesuffix(".bz2").removesuffix(".zst"))[1] in
               (".json", ".jsonl") for path in paths}
    if len(is_json) != 1:
        raise UsageError("--input", "mixes Parquet and JSON lines", "pass files of one kind")
    return spark.read.schema(schema).json(paths) if is_json.pop() else spark.read.parquet(*paths)


def main(arguments: list[str] | None = None) -> None:
    """The program `relucent-spark`."""
    parser = argparse.ArgumentParser(prog="relucent-spark", description="Reranks candidates with Apache Spark.")
    parser.add_argument("--input", nargs="+", required=True, metavar="PATH",
                        help="candidates (qid, query, docno, text, rank, score) as Parquet or JSON lines; with "
                             "--topics and --documents a run (qid, docno, rank, score)")
    parser.add_argument("--index", metavar="FOLDER", help="search this index for the topics of --input (qid, query)")
    parser.add_argument("--hits", type=int, default=100, metavar="N", help="per topic of a search (default: 100)")
    parser.add_argument("--topics", metavar="PATH", help="qid, query")
    parser.add_argument("--documents", nargs="+", metavar="PATH", help="docno, text")
    parser.add_argument("--output", required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument("--format", choices=("parquet", "json"), default="parquet")
    parser.add_argument("--config", metavar="FILE", help="profile (TOML)")
    parser.add_argument("--set", action="append", default=[], type=key_and_value, metavar="KEY=VALUE",
                        help="a key of [rescorer], e.g. precision=bf16")
    parser.add_argument("--partitions", type=int, metavar="N", help="files of the output (default: 4 per core)")
    parser.add_argument("--master", metavar="URL", help="of Spark, unless spark-submit states it")
    options = parser.parse_args(arguments)
    if (options.topics is None) != (options.documents is None):
        parser.error("--topics and --documents belong together")
    if options.index is not None and (options.topics is not None or options.set):
        parser.error("--index goes with --input, --config and --hits alone")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("relucent-spark")
    # Version 2 makes a task's files visible before the job has succeeded.
    builder = builder.config("spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version", "1")
    if options.master:
        builder = builder.master(options.master)
    spark = builder.getOrCreate()
    try:
        candidates = read(spark, options.input)
        if options.index is not None:
            result = search(candidates, options.index, options.config, hits=options.hits, partitions=options.partitions)
            getattr(result.write, options.format)(options.output)
            return
        if options.topics is not None:
            candidates = candidates_of(candidates.select("qid", "docno", "rank", "score"),
                                       read(spark, [options.topics]), read(spark, options.documents))
        result = rerank(candidates, options.config, partitions=options.partitions, **dict(options.set))
        getattr(result.drop("query", "text").write, options.format)(options.output)
    finally:
        spark.stop()


if __name__ == "__main__":  # the workers must find the functions in the module by its own name
    import relucent_search.spark

    relucent_search.spark.main()
