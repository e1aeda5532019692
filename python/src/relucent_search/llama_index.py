"""LlamaIndex: a node postprocessor that reranks. Needs the extra `llama-index`."""
from __future__ import annotations

from llama_index.core.bridge.pydantic import Field
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from relucent_search.errors import UsageError
from relucent_search.reranker import Reranker


class RelucentRerank(BaseNodePostprocessor):
    """The top_n best nodes for the query, best first, with the model's scores. The model reads what an embedding model
    would: a node's content with the metadata that it does not hide."""

    reranker: Reranker = Field(default_factory=Reranker, exclude=True)
    top_n: int | None = None

    @classmethod
    def class_name(cls) -> str:
        return "RelucentRerank"

    def _postprocess_nodes(self, nodes: list[NodeWithScore],
                           query_bundle: QueryBundle | None = None) -> list[NodeWithScore]:
        if query_bundle is None:
            raise UsageError("query_bundle", "is missing", "pass query_bundle or query_str")
        if not nodes:
            return []
        texts = [node.node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes]
        first_stage = None if any(node.score is None for node in nodes) else [node.score or 0.0 for node in nodes]
        found = self.reranker.rerank(query_bundle.query_str, texts, first_stage)
        return [NodeWithScore(node=nodes[place].node, score=float(score))
                for place, score in zip(found.order[: self.top_n], found.scores[: self.top_n], strict=True)]
