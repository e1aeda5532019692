"""Cross-encoders that compute what the engine computes."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from relucent_search.train.attention import DocumentAttention, attention_of, shares_queries
from relucent_search.train.batch import Batch
from relucent_search.train.bert import Bert, Encoder, modules
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import BERT, label_names, labels_to_save, read_config
from relucent_search.train.pattern import FLAGS, AttentionPattern
from relucent_search.train.tokenizer import PairTokenizer

SPARSE_BERT = "ListformerModelForSequenceClassification"
SPARSE_QUERY_PIECES = 30  # as the authors of the sparse checkpoints cut queries; also a Deformer's usual limit


class PairModel(Encoder):
    """Logits of pairs, by any attention pattern."""

    kind = "cross-encoder"
    score = "the raw logit"

    def __init__(self, config: dict[str, Any], pattern: AttentionPattern):
        super().__init__(config)
        self.pattern = pattern
        self.labels: list[str] = []  # of a classifier
        self.query_limit: int | None = None  # pieces; None: as many as fit
        self.document_type = self.family.document_type(config)
        self.document_attention: DocumentAttention | None = None

    @classmethod
    def load(cls, folder: Path, pattern: AttentionPattern | None = None, labels: Sequence[str] = ()) -> Self:
        """pattern: None: what config.json has; labels: those of a classifier whose head starts at random, unless
        config.json has the same. Raises TrainingError."""
        config, path = read_config(folder), folder / "config.json"
        if labels:
            config |= labels_to_save(labels)
        model = cls(config, pattern or AttentionPattern.from_config(config, path))
        model.query_limit = _query_limit(config, path)
        model._check(path)
        return model._read(folder, ("classifier.",) if labels else ())

    def _check(self, path: Path) -> None:
        """Raises TrainingError for a config.json that the engine refuses as well."""

    @property
    def shares_queries(self) -> bool:
        """Whether a query's states are computed once for all its documents."""
        return shares_queries(self.pattern)

    def batch(self, tokenizer: PairTokenizer, pairs: Sequence[tuple[str, str]], max_length: int) -> Batch:
        return tokenizer.batch(pairs, max_length, self.document_type, self.shares_queries, self.pattern.sentences,
                               self.query_limit)

    def engine_length(self, tokenizer: PairTokenizer) -> int:
        """Tokens of an input that the engine reads."""
        positions = self.config["max_position_embeddings"] - self.first_position
        return min(positions, tokenizer.max_length or positions)

    def engine_flags(self) -> list[str]:
        return ["--pattern", self.pattern.told] if self.pattern.told else []

    def _config_to_save(self) -> dict[str, Any]:
        return {"architectures": [self.family.architecture], **labels_to_save(self.labels or ["LABEL_0"]),
                "query_length": self.query_limit, **self.pattern.to_config()}

    def __str__(self) -> str:
        hidden = [key.removesuffix("_attention").replace("_", " -> ")
                  for key in FLAGS if not getattr(self.pattern, key)]
        window = "unlimited" if self.pattern.window is None else str(self.pattern.window)
        told = {"qds": "; a token before each sentence (pattern = \"qds\")",
                "local": " for all tokens (pattern = \"local\")"}.get(self.pattern.told, "")
        return f"window {window}; not seen: {', '.join(hidden) or 'none'}{told}"


class CrossEncoder(PairModel, Bert):
    """BERT and its relatives."""

    of_head = ("bert.pooler.", "classifier.")
    longer = "lengthen the base with `relucent model extend`"

    def __init__(self, config: dict[str, Any], pattern: AttentionPattern):
        super().__init__(config, pattern)
        hidden, labels = config["hidden_size"], label_names(config)
        if len(labels) > 2:
            self.labels = labels
        dense, output = nn.Linear(hidden, hidden), nn.Linear(hidden, len(self.labels) or 1)
        if self.family.pooler:
            self.body["pooler"] = modules(dense=dense)
            self.classifier: nn.Module = output
        else:
            self.classifier = modules(dense=dense, out_proj=output)
        self._initialise()

    def _check(self, path: Path) -> None:
        if self.document_type >= self.family.token_types(self.config):
            raise TrainingError(f"{path}, key type_vocab_size", "is 1, but documents have token type 1",
                                "set token_type_embedding to false if the model was trained without token types")

    def forward(self, batch: Batch) -> Tensor:
        """[B] logits, or [B, labels], fp32."""
        attention = attention_of(batch, self.pattern, self.document_attention)
        outputs = self._head(self._cls_states(batch, attention)).float()
        return outputs if self.labels else outputs.squeeze(1)

    def _head(self, states: Tensor) -> Tensor:
        """[B, outputs] of [CLS]'s states."""
        if self.family.pooler:
            dense, output = self.body["pooler"]["dense"], self.classifier
        else:
            dense, output = self.classifier["dense"], self.classifier["out_proj"]
            states = self._drop(states)
        return output(self._drop(self.family.head_activation(dense(states))))

    def _config_to_save(self) -> dict[str, Any]:
        config = super()._config_to_save()
        if self.family is BERT and self.pattern != AttentionPattern():  # qds and local have a window
            config["architectures"] = [SPARSE_BERT]
        return config


def _query_limit(config: dict[str, Any], path: Path) -> int | None:
    """The most pieces of a query, as model/families/config_reader.h has it; None: as many as fit."""
    if "query_length" in config:
        limit = config["query_length"]
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise TrainingError(f"{path}, key query_length", "is neither null nor a count of word pieces",
                                "correct it, or remove it")
        return limit
    is_sparse = AttentionPattern.from_config(config, path) != AttentionPattern()
    is_deformer = config["model_type"] == "deformer"
    is_cut = is_sparse or is_deformer or SPARSE_BERT in (config.get("architectures") or [])
    return SPARSE_QUERY_PIECES if is_cut else None
