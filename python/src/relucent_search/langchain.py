"""LangChain: a document compressor that reranks, and a retriever. Needs the extra `langchain`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from relucent_search.reranker import Reranker
from relucent_search.search import Searcher


class RelucentReranker(BaseDocumentCompressor):
    """The top_n best documents for the query, best first, with `relevance_score` in their metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reranker: Reranker = Field(default_factory=Reranker)
    top_n: int | None = None

    def compress_documents(self, documents: Sequence[Document], query: str,
                           callbacks: Callbacks | None = None) -> Sequence[Document]:
        found = self.reranker.rerank(query, [document.page_content for document in documents])
        ranked = zip(found.order[: self.top_n], found.scores[: self.top_n], strict=True)
        return [document.model_copy(update={"metadata": {**document.metadata, "relevance_score": float(score)}})
                for document, score in ((documents[place], score) for place, score in ranked)]


class RelucentRetriever(BaseRetriever):
    """The k best hits of an index. Each document has its hit's id, and `score`, `first_stage_score` and `passage` (the
    part of the text that gave the score, if it is known) in its metadata."""

    searcher: Searcher
    k: int = 10

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        documents = []
        for hit in self.searcher.search(query, self.k, texts=True):
            metadata: dict[str, Any] = {"score": hit.score, "first_stage_score": hit.first_stage_score}
            if hit.passage is not None:
                metadata["passage"] = hit.passage.text
            documents.append(Document(id=hit.id, page_content=hit.text or "", metadata=metadata))
        return documents
