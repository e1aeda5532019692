"""What the modules for clusters share: one query's candidates as rows of a data frame, and profiles. Needs pandas."""
from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relucent_search.errors import DeviceError, InvalidDataError, UsageError
from relucent_search.reranker import Reranker, with_whole_window
from relucent_search.settings import Config, to_toml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from relucent_search.search import Searcher

_FAILURES = ("on_error", "fallback_device")

HIT_COLUMNS = {"qid": "object", "docno": "object", "rank": "int32", "score": "float64", "logit": "float32",
               "first_stage_rank": "int32", "first_stage_score": "float64"}
"""The columns of a search's hits, with their types in pandas."""


def stated_failures(config: Config) -> dict[str, Any]:
    """The keys of the profile's [rescorer] that decide what a failure does."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        rescorer = config.get("rescorer", {})
    else:
        with open(os.fspath(config), "rb") as file:
            rescorer = tomllib.load(file).get("rescorer", {})
    return {key: rescorer[key] for key in _FAILURES if key in rescorer}


def strict_profile(config: Config, settings: Mapping[str, Any]) -> tuple[str, bool]:
    """The profile with the settings as TOML, and whether a result that is not as configured is an error: it is, unless
    the profile or the settings state what a failure does."""
    failures = {**stated_failures(config), **{key: settings[key] for key in _FAILURES if key in settings}}
    return to_toml(with_whole_window(config, {"on_error": "fail", **failures, **settings})), not failures


def check_columns(names: Iterable[str]) -> None:
    """Raises an error if one of the columns that reranking needs is missing."""
    absent = {"qid", "query", "docno", "text"} - set(names)
    if absent:
        raise UsageError("candidates", f"has no column {', '.join(sorted(absent))}",
                         "name the columns qid, query, docno, text, rank and score")


def rerank_rows(reranker: Reranker, rows: pd.DataFrame, strict: bool) -> pd.DataFrame:
    """One query's rows in their new order, with the new rank and score and the column logit."""
    qid, query = rows["qid"].iloc[0], rows["query"].iloc[0]
    if not isinstance(query, str) or rows["query"].nunique(dropna=False) != 1:
        raise InvalidDataError(f"query {qid}", "has no text, or several", "give every row of a qid the same query")
    repeated = rows["docno"][rows["docno"].duplicated()]
    if len(repeated) > 0:
        raise InvalidDataError(f"query {qid}", f"lists document {repeated.iloc[0]} a second time",
                               "keep one of the rows")
    texts = [text if isinstance(text, str) else "" for text in rows["text"]]
    scores = rows["score"].to_numpy(np.float64) if "score" in rows.columns else None
    if scores is not None and np.isnan(scores).any():
        scores = None
    found = reranker.rerank(query, texts, scores)
    if strict and found.degraded:
        raise DeviceError(f"query {qid}", found.reason, "state fallback_device in the profile to accept such scores")
    ranked = rows.iloc[found.order].copy()
    ranked["rank"] = np.arange(1, len(ranked) + 1, dtype=np.int32)
    ranked["score"] = found.scores.astype(np.float64)
    ranked["logit"] = found.logits[found.order]
    return ranked


def hit_rows(searcher: Searcher, qid: Any, query: str, hits: int, strict: bool) -> pd.DataFrame:
    """One query's best hits: qid, docno, rank, score, logit, first_stage_rank and first_stage_score."""
    found = searcher.search(query, hits)
    if found.degraded and strict:
        raise DeviceError(f"query {qid}", found.reason, "state on_error in the profile to accept such hits")
    rows = [(qid, hit.id, hit.rank, hit.score, hit.logit, hit.first_stage_rank, hit.first_stage_score) for hit in found]
    return pd.DataFrame(rows, columns=list(HIT_COLUMNS)).astype(
        {name: kind for name, kind in HIT_COLUMNS.items() if kind != "object"})


def key_and_value(text: str) -> tuple[str, Any]:
    """A flag's KEY=VALUE, for argparse."""
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value
