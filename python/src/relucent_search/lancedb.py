"""LanceDB: a reranker for its vector, full-text and hybrid searches. Needs the extra `lancedb`."""
from __future__ import annotations

import numpy as np
import pyarrow as pa
from lancedb.rerankers import Reranker as LanceReranker

from relucent_search.errors import UsageError
from relucent_search.reranker import Reranker

_SCORE = "_relevance_score"  # the column that LanceDB looks for


class RelucentReranker(LanceReranker):
    """All rows of a search, best first, with `_relevance_score`: the score of Reranker.rerank().

    reranker: what scores, by default the bundled model. column: the texts to read; a row without one comes last.
    return_score: "relevance", or "all" to keep LanceDB's `_distance` and `_score` as well. Equal scores keep LanceDB's
    order. A score_mode that reads the first stage's score gets `_score`, or the negative `_distance` of a vector
    search; a hybrid search has no score of its own.
    """

    def __init__(self, reranker: Reranker | None = None, column: str = "text", return_score: str = "relevance") -> None:
        super().__init__(return_score)
        self.reranker = reranker if reranker is not None else Reranker()
        self.column = column

    def rerank_vector(self, query: str, vector_results: pa.Table) -> pa.Table:
        return self._rerank(query, vector_results, "_distance", -1.0)

    def rerank_fts(self, query: str, fts_results: pa.Table) -> pa.Table:
        return self._rerank(query, fts_results, "_score", 1.0)

    def rerank_hybrid(self, query: str, vector_results: pa.Table, fts_results: pa.Table) -> pa.Table:
        if self.score == "all" and len(vector_results) + len(fts_results) > 0:
            merged = self._merge_and_keep_scores(vector_results, fts_results)
        else:
            merged = self.merge_results(vector_results, fts_results)
        return self._rerank(query, merged)

    def _rerank(self, query: str, found: pa.Table, score: str = "", sign: float = 1.0) -> pa.Table:
        if not isinstance(query, str):
            raise UsageError("query", f"is a {type(query).__name__}, not text",
                             "search by text, or name it: .rerank(reranker, query_string=...) after a vector")
        if self.column not in found.column_names:
            raise UsageError("column", f"the result has no column {self.column!r}",
                             "name the column of the texts, and select it in the search")
        if len(found) == 0:
            return self._keep_relevance_score(self._handle_empty_results(found))
        first_stage = None
        if score in found.column_names and found[score].null_count == 0:
            first_stage = sign * np.asarray(found[score], np.float64)
        reranked = self.reranker.rerank(query, [text or "" for text in found[self.column].to_pylist()], first_stage)
        ordered = found.take(pa.array(reranked.order)).append_column(_SCORE, pa.array(reranked.scores))
        return self._keep_relevance_score(ordered)
