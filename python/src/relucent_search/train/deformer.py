"""A Deformer (docs/deformer.md) that computes what the engine computes."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from relucent_search.train.attention import SparseAttention
from relucent_search.train.batch import Batch
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import labels_to_save
from relucent_search.train.model import CrossEncoder
from relucent_search.train.pattern import AttentionPattern
from relucent_search.train.tokenizer import PairTokenizer

APART = AttentionPattern(cls_doc_attention=False, query_doc_attention=False, doc_cls_attention=False,
                         doc_query_attention=False)


class Deformer(CrossEncoder):
    """A BERT whose lower layers compute [CLS] and the query apart from the document."""

    kind = "Deformer"

    @property
    def lower_layers(self) -> int:
        return self.config["deformer_layers"]

    def _check(self, path: Path) -> None:
        super()._check(path)
        if self.pattern != AttentionPattern():
            raise TrainingError(path, "has a sparse attention pattern, which a Deformer cannot have",
                                "remove the keys of the pattern")
        lower, layers = self.config.get("deformer_layers"), self.config["num_hidden_layers"]
        if isinstance(lower, bool) or not isinstance(lower, int) or not 1 <= lower < layers:
            raise TrainingError(f"{path}, key deformer_layers", f"is not an integer from 1 to {layers - 1}",
                                "`relucent model init --as deformer` makes such folders")
        if self.query_limit is None:
            raise TrainingError(f"{path}, key query_length", "is null, but a Deformer cuts documents by it",
                                "state the most word pieces of a query")

    def batch(self, tokenizer: PairTokenizer, pairs: Sequence[tuple[str, str]], max_length: int) -> Batch:
        """Documents are cut as if each query had as many pieces as one may have, so that none depends on a query."""
        around = 1 + len(tokenizer.between) + len(tokenizer.after)
        assert self.query_limit is not None
        places = max_length - around - self.query_limit
        if places < 1:
            raise TrainingError("key model.max_length", f"is {max_length}, which leaves no place for documents behind "
                                f"queries of {self.query_limit} word pieces", "choose more, or model.max_query_length")
        queries = tokenizer.pieces(query for query, _ in pairs)
        documents = tokenizer.pieces(document for _, document in pairs)
        parts = [([*queries[query][: self.query_limit], *tokenizer.between],
                  [*documents[document][:places], *tokenizer.after]) for query, document in pairs]
        return Batch.of(parts, tokenizer.cls, self.document_type, apart=True)

    def forward(self, batch: Batch) -> Tensor:
        """[B] logits, or [B, labels], fp32."""
        upper, lower = SparseAttention(batch, AttentionPattern()), SparseAttention(batch, APART)
        outputs = self._head(self._cls_states(batch, upper, lower, self.lower_layers)).float()
        return outputs if self.labels else outputs.squeeze(1)

    def _config_to_save(self) -> dict[str, Any]:
        return {"architectures": ["DeformerForSequenceClassification"], **labels_to_save(self.labels or ["LABEL_0"]),
                "query_length": self.query_limit}

    def __str__(self) -> str:
        lower, layers = self.lower_layers, self.config["num_hidden_layers"]
        return f"query and document apart in the first {lower} of {layers} layers"
