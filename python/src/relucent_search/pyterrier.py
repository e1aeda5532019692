"""PyTerrier transformers: a first and a second stage for its pipelines. Needs the extra `pyterrier`."""
from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from relucent_search.reranker import Reranker as _Reranker
from relucent_search.search import Searcher
from relucent_search.settings import Config


class Reranker(pt.Transformer):  # type: ignore[misc]
    """Reorders results that have a text: qid, query, docno, text → the same with a new score and rank.

    text_field: the column with the texts. The other arguments are those of relucent_search.Reranker. A score_mode other
    than "replace" reads the column `score`. Documents of equal rank keep the order of their old rank, or else of the
    rows.
    """

    def __init__(self, config: Config = None, *, text_field: str = "text", **settings: Any) -> None:
        self.reranker = _Reranker(config, **settings)
        self.text_field = text_field

    def __repr__(self) -> str:
        return f"relucent_search.pyterrier.Reranker({self.reranker.describe()})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=["qid", "query", "docno", self.text_field])
        parts = [self._rerank(part) for _, part in inp.groupby("qid", sort=False)]
        if not parts:
            return inp.assign(score=np.empty(0, np.float64), rank=np.empty(0, np.int64))
        return pd.concat(parts, ignore_index=True)

    def _rerank(self, results: pd.DataFrame) -> pd.DataFrame:
        if "rank" in results.columns:
            results = results.sort_values("rank", kind="stable")
        texts = [text if isinstance(text, str) else "" for text in results[self.text_field]]
        scores = results["score"].to_numpy(np.float64) if "score" in results.columns else None
        found = self.reranker.rerank(str(results["query"].iloc[0]), texts, scores)
        ranked = results.iloc[found.order].copy()
        ranked["score"] = found.scores.astype(np.float64)
        ranked["rank"] = np.arange(pt.model.FIRST_RANK, pt.model.FIRST_RANK + len(ranked))
        return ranked


class Retriever(pt.Transformer):  # type: ignore[misc]
    """Searches an index of Relucent: qid, query → qid, query, docno, score, rank, and with `texts` text.

    config: a profile; {"rescorer": {"enabled": False}} gives BM25 alone. num_results: hits per query. jobs: queries
    answered at a time.
    """

    def __init__(self, index: str | os.PathLike[str], config: Config = None, *, num_results: int = 100,
                 texts: bool = False, jobs: int = 4) -> None:
        self.searcher = Searcher(index, config)
        self.index = os.fspath(index)
        self.num_results, self.texts, self.jobs = num_results, texts, jobs

    def __repr__(self) -> str:
        return f"relucent_search.pyterrier.Retriever({self.index!r}, num_results={self.num_results})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        pt.validate.columns(inp, includes=["qid", "query"], excludes=["docno"])
        queries = inp.drop_duplicates("qid")
        results = self.searcher.search_batch([str(query) for query in queries["query"]], self.num_results,
                                             texts=self.texts, jobs=self.jobs)
        rows = [(place, hit) for place, result in enumerate(results) for hit in result]
        found = queries.iloc[[place for place, _ in rows]].reset_index(drop=True)
        found["docno"] = pd.Series([hit.id for _, hit in rows], dtype="str")
        found["score"] = np.array([hit.score for _, hit in rows], np.float64)
        found["rank"] = np.array([hit.rank - 1 + pt.model.FIRST_RANK for _, hit in rows], np.int64)
        if self.texts:
            found["text"] = pd.Series([hit.text for _, hit in rows], dtype="str")
        return found
