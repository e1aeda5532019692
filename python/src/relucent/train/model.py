"""A cross-encoder that computes what the engine computes."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from relucent.train.attention import DocumentAttention, SparseAttention, shares_queries
from relucent.train.batch import Batch
from relucent.train.bert import Bert, modules, read_config
from relucent.train.pattern import FLAGS, AttentionPattern
from relucent.train.tokenizer import PairTokenizer


class CrossEncoder(Bert):
    """Logits of pairs."""

    head = ("bert.pooler.", "classifier.")
    kind = "cross-encoder"
    score = "the raw logit"
    longer = "lengthen the base with `relucent model extend`"

    def __init__(self, config: dict[str, Any], pattern: AttentionPattern):
        super().__init__(config)
        self.pattern = pattern
        self.bert["pooler"] = modules(dense=nn.Linear(config["hidden_size"], config["hidden_size"]))
        self.classifier = nn.Linear(config["hidden_size"], 1)
        self._initialise()
        self.document_type = int(config.get("token_type_embedding", True))
        self.document_attention: DocumentAttention | None = None

    @classmethod
    def load(cls, folder: Path, pattern: AttentionPattern | None = None) -> CrossEncoder:
        """pattern: None: what config.json says. Raises TrainingError."""
        config = read_config(folder)
        return cls(config, pattern or AttentionPattern.from_config(config, folder / "config.json"))._read(folder)

    def batch(self, tokenizer: PairTokenizer, pairs: Sequence[tuple[str, str]], max_length: int) -> Batch:
        return tokenizer.batch(pairs, max_length, self.document_type, shares_queries(self.pattern),
                               self.pattern.sentences)

    def engine_length(self, tokenizer: PairTokenizer) -> int:
        """Tokens of an input that the engine reads."""
        positions = self.config["max_position_embeddings"]
        return min(positions, tokenizer.max_length or positions)

    def forward(self, batch: Batch) -> Tensor:
        """[B] logits, fp32."""
        attention = SparseAttention(batch, self.pattern, self.document_attention)
        words = self.bert["embeddings"]["word_embeddings"](batch.ids)
        states = self._embedded(words, batch.positions, batch.types)
        layers = self.bert["encoder"]["layer"]
        for i, layer in enumerate(layers):
            # Only [CLS] is needed of the last layer.
            states = self._layer(layer, states, batch.pairs if i + 1 == len(layers) else len(states), attention)
        return self.classifier(self._drop(torch.tanh(self.bert["pooler"]["dense"](states)))).squeeze(1).float()

    def engine_flags(self) -> list[str]:
        return ["--pattern", "qds"] if self.pattern.sentences else []

    def _config_to_save(self) -> dict[str, Any]:
        full = self.pattern == AttentionPattern()  # qds has a window
        return {"architectures": ["BertForSequenceClassification" if full else
                                  "ListformerModelForSequenceClassification"],
                "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, **self.pattern.to_config()}

    def __str__(self) -> str:
        hidden = [key.removesuffix("_attention").replace("_", " -> ")
                  for key in FLAGS if not getattr(self.pattern, key)]
        window = "unlimited" if self.pattern.window is None else str(self.pattern.window)
        sentences = "; a token before each sentence (pattern = \"qds\")" if self.pattern.sentences else ""
        return f"window {window}; not seen: {', '.join(hidden) or 'none'}{sentences}"
