"""Haystack: a ranker for its pipelines. Needs the extra `haystack`."""
from __future__ import annotations

import dataclasses
import os
from typing import Any

from haystack import Document, component

from relucent_search.errors import UsageError
from relucent_search.reranker import Reranker
from relucent_search.settings import Config


@component
class RelucentRanker:
    """The top_k best documents for the query, best first, with the model's scores.

    config, settings: those of relucent_search.Reranker, e.g. model="path"; they are written with a pipeline, so a
    config that is not a mapping is written as its path. meta_fields_to_embed: fields of `meta` that the model reads
    before a document's content, joined by embedding_separator. The model is loaded by warm_up(), or the first run.
    """

    def __init__(self, config: Config = None, top_k: int | None = None,
                 meta_fields_to_embed: list[str] | None = None, embedding_separator: str = "\n",
                 settings: dict[str, Any] | None = None) -> None:
        self.config = os.fspath(config) if isinstance(config, os.PathLike) else config
        self.top_k = _checked(top_k)
        self.meta_fields_to_embed = meta_fields_to_embed or []
        self.embedding_separator = embedding_separator
        self.settings = settings or {}
        self._reranker: Reranker | None = None

    def warm_up(self) -> None:
        """Loads the model."""
        if self._reranker is None:
            self._reranker = Reranker(self.config, **self.settings)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """`top_k` takes precedence over the constructor's. The first of several documents with one id counts."""
        count = self.top_k if top_k is None else _checked(top_k)
        unique = list({document.id: document for document in reversed(documents)}.values())[::-1]
        if not unique:
            return {"documents": []}
        self.warm_up()
        assert self._reranker is not None
        first_stage = None
        if all(document.score is not None for document in unique):
            first_stage = [document.score or 0.0 for document in unique]
        found = self._reranker.rerank(query, [self._text(document) for document in unique], first_stage)
        return {"documents": [dataclasses.replace(unique[place], score=float(score))
                              for place, score in zip(found.order[:count], found.scores[:count], strict=True)]}

    def _text(self, document: Document) -> str:
        fields = [document.meta.get(name) for name in self.meta_fields_to_embed]
        return self.embedding_separator.join([str(field) for field in fields if field] + [document.content or ""])


def _checked(top_k: int | None) -> int | None:
    if top_k is not None and top_k < 1:
        raise UsageError("top_k", f"is {top_k}", "ask for at least one document, or None for all")
    return top_k
