"""Reranking with Ray Data: runs of any size, from Parquet or JSON lines (docs/scale.md).

Needs the extra `ray`.
"""
from __future__ import annotations

import argparse
import os
import shutil
import tomllib
import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import ray
import ray.data

from relucent_search.candidate_rows import (
    check_columns,
    hit_rows,
    key_and_value,
    rerank_rows,
    stated_failures,
    strict_profile,
)
from relucent_search.errors import FileError, UsageError
from relucent_search.reranker import Reranker
from relucent_search.search import Searcher
from relucent_search.settings import Config, as_toml

if TYPE_CHECKING:
    from ray.data import Dataset

Actors = int | tuple[int, int] | None
"""How many processes with a model: a number, the least and the greatest, or None for one and as many as there are
cores for."""


class QueryReranker:
    """What an actor keeps: a model, which it loads once, for the candidates of one query after another."""

    def __init__(self, toml: str, strict: bool, threads: int) -> None:
        self._reranker = Reranker(_with_threads(toml, threads))
        self._strict = strict

    def __call__(self, rows: pa.Table) -> pa.Table:
        check_columns(rows.column_names)
        order = [(name, way) for name, way in (("rank", "ascending"), ("score", "descending"))
                 if name in rows.column_names]
        rows = rows.sort_by([*order, ("docno", "ascending")])
        read = [name for name in ("qid", "query", "docno", "text", "score") if name in rows.column_names]
        ranked = rerank_rows(self._reranker, rows.select(read).to_pandas(), self._strict)
        rows = rows.take(pa.array(ranked.index.to_numpy()))
        rows = rows.select([name for name in rows.column_names if name not in ("rank", "score", "logit")])
        logits = ranked["logit"].to_numpy()
        return rows.append_column("rank", pa.array(ranked["rank"].to_numpy())) \
            .append_column("score", pa.array(ranked["score"].to_numpy())) \
            .append_column("logit", pa.array(logits, mask=logits != logits))


class QuerySearcher:
    """What an actor keeps to search: an index that is open, and a model."""

    def __init__(self, index: str, toml: str, strict: bool, threads: int, hits: int) -> None:
        self._searcher = Searcher(index, _with_threads(toml, threads))
        self._strict, self._hits = strict, hits

    def __call__(self, topics: pd.DataFrame) -> pa.Table:
        found = pd.concat([hit_rows(self._searcher, qid, query, self._hits, self._strict)
                           for qid, query in zip(topics["qid"], topics["query"], strict=True)])
        return pa.Table.from_pandas(found, preserve_index=False)


def _with_threads(toml: str, threads: int) -> dict[str, Any]:
    """The profile with the cores of an actor, so that the actors of a node do not take each other's."""
    sections = tomllib.loads(toml)
    rescorer = sections.setdefault("rescorer", {})
    if not rescorer.get("threads"):
        rescorer["threads"] = threads
    return sections


def _pool(actors: Actors) -> ray.data.ActorPoolStrategy:
    if actors is None:
        return ray.data.ActorPoolStrategy(min_size=1, max_size=None)
    if isinstance(actors, int):
        return ray.data.ActorPoolStrategy(size=actors)
    return ray.data.ActorPoolStrategy(min_size=actors[0], max_size=actors[1])


def _warn_if_full(actors: Actors, num_cpus: int, cores: int) -> None:
    least = (actors if isinstance(actors, int) else actors[0] if actors else 1) * num_cpus
    if least >= cores:
        warnings.warn(f"actors: they take {least} of the cluster's {cores} cores, and with none left to read the "
                      "candidates the job makes no progress; ask for fewer actors, or add nodes", stacklevel=3)


def rerank(candidates: Dataset, config: Config = None, *, actors: Actors = None, num_cpus: int = 1,
           num_gpus: float | None = None, partitions: int | None = None, **settings: Any) -> Dataset:
    """Reorders each query's candidates: qid, query, docno, text and, if there are, rank and score of the first stage.

    The result has every column of the input, the new rank (from 1) and score, and the column `logit`: the model's raw
    score, null for a candidate without text. A query's rows follow each other by rank. config, settings: as for
    relucent_search.Reranker, but a failing device or query ends the job, unless the profile asks otherwise. Models must
    be in the same place on every node. num_cpus, num_gpus: of one actor, which has as many threads. partitions: of the
    candidates, by default four per core of the cluster.
    """
    known = candidates.columns(fetch_if_missing=False)  # otherwise the actors look: no second pass over the input
    if known is not None:
        check_columns(known)
    toml, strict = strict_profile(config, settings)
    cores = round(ray.cluster_resources().get("CPU", 1))
    _warn_if_full(actors, num_cpus, cores)
    parts = partitions or max(1, cores) * 4
    return candidates.groupby("qid", num_partitions=parts).map_groups(
        QueryReranker, fn_constructor_args=(toml, strict, num_cpus), batch_format="pyarrow", compute=_pool(actors),
        num_cpus=num_cpus, num_gpus=num_gpus)


def search(topics: Dataset, index: str | os.PathLike[str], config: Config = None, *, hits: int = 100,
           actors: Actors = None, num_cpus: int = 1, num_gpus: float | None = None) -> Dataset:
    """Searches an index for every topic (qid, query): qid, docno, rank, score, logit, first_stage_rank and
    first_stage_score of the best hits. The index, like the models, must be in the same place on every node. Actors and
    failures are as for rerank()."""
    arguments = (os.path.abspath(index), as_toml(config)[0], not stated_failures(config), num_cpus, hits)
    return topics.map_batches(QuerySearcher, fn_constructor_args=arguments, batch_format="pandas", batch_size=16,
                              compute=_pool(actors), num_cpus=num_cpus, num_gpus=num_gpus)


def _absolute(path: str) -> str:
    """What a worker understands, whose working directory is another one."""
    return path if "://" in path else os.path.abspath(path)


def read(paths: list[str]) -> Dataset:
    """Parquet files or folders, or JSON lines (names ending in .json or .jsonl, also compressed with gzip)."""
    is_json = {path.removesuffix(".gz").endswith((".json", ".jsonl")) for path in paths}
    if len(is_json) != 1:
        raise UsageError("--input", "mixes Parquet and JSON lines", "pass files of one kind")
    whole = [_absolute(path) for path in paths]
    return ray.data.read_json(whole) if is_json.pop() else ray.data.read_parquet(whole)


def _actors(text: str) -> Actors:
    least, colon, most = text.partition(":")
    if not least.isdigit() or (colon and not most.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor MIN:MAX")
    return (int(least), int(most)) if colon else int(least)


def _write(result: Dataset, output: str, form: str) -> None:
    """Writes next to the folder and gives it its name once it is whole. Ray Data names a file by its task, so a
    repeated task replaces its own file."""
    if os.path.lexists(output):
        raise FileError(output, "already exists", "name a new folder")
    part = f"{output.rstrip('/')}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        getattr(result, f"write_{form}")(part)
        os.rename(part, output)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def main(arguments: list[str] | None = None) -> None:
    """The program `relucent-ray`."""
    parser = argparse.ArgumentParser(prog="relucent-ray", description="Reranks candidates with Ray Data.")
    parser.add_argument("--input", nargs="+", required=True, metavar="PATH",
                        help="candidates (qid, query, docno, text, rank, score) as Parquet or JSON lines")
    parser.add_argument("--index", metavar="FOLDER", help="search this index for the topics of --input (qid, query)")
    parser.add_argument("--hits", type=int, default=100, metavar="N", help="per topic of a search (default: 100)")
    parser.add_argument("--output", required=True, metavar="FOLDER", help="a new folder, which all nodes can write to")
    parser.add_argument("--format", choices=("parquet", "json"), default="parquet")
    parser.add_argument("--config", metavar="FILE", help="profile (TOML)")
    parser.add_argument("--set", action="append", default=[], type=key_and_value, metavar="KEY=VALUE",
                        help="a key of [rescorer], e.g. precision=bf16")
    parser.add_argument("--actors", type=_actors, metavar="N|MIN:MAX",
                        help="processes with a model (default: as many as there are cores for)")
    parser.add_argument("--cpus", type=int, default=1, metavar="N", help="cores and threads of an actor (default: 1)")
    parser.add_argument("--partitions", type=int, metavar="N", help="of the candidates (default: 4 per core)")
    parser.add_argument("--address", metavar="ADDRESS",
                        help="of a cluster; default: RAY_ADDRESS, a cluster of this machine, or a new one")
    options = parser.parse_args(arguments)
    if options.index is not None and (options.set or options.partitions):
        parser.error("--index goes without --set and --partitions")
    ray.init(address=options.address)
    rows = read(options.input)
    pool = {"actors": options.actors, "num_cpus": options.cpus}
    if options.index is not None:
        result = search(rows, options.index, options.config, hits=options.hits, **pool)
    else:
        result = rerank(rows, options.config, partitions=options.partitions, **pool, **dict(options.set))
    _write(result, os.path.abspath(options.output), options.format)


if __name__ == "__main__":
    import relucent_search.ray_data

    relucent_search.ray_data.main()
