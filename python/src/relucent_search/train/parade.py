"""A PARADE (docs/parade.md) that computes what the engine computes."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from relucent_search.train import pooling
from relucent_search.train.attention import SparseAttention
from relucent_search.train.batch import Batch, Table
from relucent_search.train.bert import Bert, bert_layer, modules
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import read_config
from relucent_search.train.pattern import AttentionPattern
from relucent_search.train.tokenizer import PairTokenizer

AGGREGATIONS = ("transformer", "max")
USUAL = {"passage_window": 225, "passage_stride": 200, "max_passages": 16, "max_query_tokens": 30,
         "parade_aggregation": "transformer", "aggregation_layers": 2}
SPECIAL_TOKENS = 3  # [CLS], and [SEP] after the query and the passage


@dataclasses.dataclass
class ParadeBatch:
    passages: Batch
    documents: Table  # [D, n], of passages

    def to(self, device: torch.device) -> ParadeBatch:
        return ParadeBatch(self.passages.to(device), self.documents.to(device))


def passages_of(pieces: list[int], window: int, stride: int, most: int) -> list[list[int]]:
    """As model/input/joined_passages.h has it: of too many, the first, the last, and others evenly between."""
    count = 1 + max(0, -(-(len(pieces) - window) // stride))
    passages = [pieces[i * stride : i * stride + window] for i in range(count)]
    if count <= most:
        return passages
    return [passages[i * (count - 1) // max(1, most - 1)] for i in range(most)]


class Parade(Bert):
    """Scores of documents by the [CLS] of their passages, each with the query."""

    kind = "PARADE"
    score = "the raw logit"
    longer = "`relucent model init --as parade` makes a base that reads more"
    usual_length = None

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        hidden = config["hidden_size"]
        self.aggregation: nn.ModuleDict | None = None
        if config["parade_aggregation"] == "transformer":
            self.aggregation = modules(
                position_embeddings=nn.Embedding(config["max_passages"] + 1, hidden),
                layer=nn.ModuleList(bert_layer(config) for _ in range(config["aggregation_layers"])))
            self.aggregation.register_parameter("cls_embedding", nn.Parameter(torch.zeros(hidden)))
        self.classifier = nn.Linear(hidden, 1)
        self._initialise()

    @classmethod
    def load(cls, folder: Path) -> Parade:
        """Raises TrainingError."""
        config = {**USUAL, **read_config(folder)}
        _check(folder / "config.json", config)
        return cls(config)._read(folder)

    def batch(self, tokenizer: PairTokenizer, pairs: Sequence[tuple[str, str]], _max_length: int = 0) -> ParadeBatch:
        queries = tokenizer.pieces(query for query, _ in pairs)
        documents = tokenizer.pieces(document for _, document in pairs)
        window, stride, most, limit = (self.config[key] for key in ("passage_window", "passage_stride", "max_passages",
                                                                    "max_query_tokens"))
        parts, sizes = [], []
        for query, document in pairs:
            passages = passages_of(documents[document], window, stride, most)
            sizes.append(len(passages))
            asked = [*queries[query][:limit], *tokenizer.between]
            parts += [(asked, [*passage, *tokenizer.after]) for passage in passages]
        return ParadeBatch(Batch.of(parts, tokenizer.cls), Table.of(sizes))

    def engine_length(self, _tokenizer: PairTokenizer) -> int:
        """Tokens of an input that the engine reads: of a passage."""
        return SPECIAL_TOKENS + self.config["max_query_tokens"] + self.config["passage_window"]

    def forward(self, batch: ParadeBatch) -> Tensor:
        """[D] logits, fp32."""
        rows = self._cls_states(batch.passages, SparseAttention(batch.passages, AttentionPattern(), None))
        states, valid = batch.documents.padded(rows), batch.documents.valid
        if self.aggregation is None:
            document = pooling.maximum(states, valid)
        else:
            document = pooling.through_layers(
                states, valid, self.aggregation.cls_embedding, self.aggregation["position_embeddings"].weight,
                self.aggregation["layer"], lambda layer, x, attention: self._layer(layer, x, len(x), attention))
        return self.classifier(document).squeeze(1).float()

    def _config_to_save(self) -> dict[str, Any]:
        return {"architectures": ["ParadeForSequenceClassification"]}

    def __str__(self) -> str:
        config = self.config
        how = "their maximum" if self.aggregation is None else f"{config['aggregation_layers']} layers"
        return (f"passages of {config['passage_window']} word pieces, one per {config['passage_stride']}, at most "
                f"{config['max_passages']}, pooled by {how}")


def _check(path: Path, config: dict[str, Any]) -> None:
    def require(condition: bool, key: str, problem: str) -> None:
        if not condition:
            raise TrainingError(f"{path}, key {key}", problem, "`relucent model init --as parade` makes such folders")

    for key in ("passage_window", "passage_stride", "max_passages", "max_query_tokens", "aggregation_layers"):
        require(isinstance(config[key], int) and config[key] >= 1, key, "is not an integer from 1")
    require(config["parade_aggregation"] in AGGREGATIONS, "parade_aggregation", f"is none of {', '.join(AGGREGATIONS)}")
    require(config["passage_stride"] <= config["passage_window"], "passage_stride", "is more than passage_window")
    positions = SPECIAL_TOKENS + config["max_query_tokens"] + config["passage_window"]
    require(positions <= config["max_position_embeddings"], "passage_window",
            f"asks for {positions} positions of {config['max_position_embeddings']}")
