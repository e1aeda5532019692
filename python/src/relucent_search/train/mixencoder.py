"""A MixEncoder (docs/mixencoder.md) that computes what the engine computes."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from relucent_search.train.bert import bert_layer, modules
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import label_names, labels_to_save, read_config
from relucent_search.train.texts import Texts, attend
from relucent_search.train.two_towers import FEWEST_TOKENS, TwoTowers

CHOICES = {"mix_strategy": ("special_tokens", "context_codes"), "candidate_pooling": ("mean", "split"),
           "mix_score": ("dot", "classification"), "mix_query_state": ("gated", "cls"),
           "mix_candidate_state": ("interacted", "stored")}


class MixEncoder(TwoTowers):
    """Scores of pairs: each candidate is encoded alone into k context embeddings E, which then see their query's keys
    and values in the interaction layers; h gathers what they find there. The letters are those of the paper."""

    kind = "MixEncoder"
    score = "the raw dot product"
    of_head = ("mixencoder.classifier.",)

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        hidden = config["hidden_size"]
        self.special = config["mix_strategy"] == "special_tokens"
        self.split = config.get("candidate_pooling", "mean") == "split"
        self.mixencoder = modules(gate=nn.Linear(3 * hidden, hidden))
        self.mixencoder["special_tokens" if self.special else "context_codes"] = nn.Embedding(
            config["num_context_embeddings"], hidden)
        self.labels = label_names(config) if config.get("mix_score") == "classification" else []
        if self.labels:
            self.mixencoder["classifier"] = modules(dense=nn.Linear(3 * hidden, 3 * hidden),
                                                    out_proj=nn.Linear(3 * hidden, len(self.labels)))
        interaction = {}
        for i in config["interaction_layers"]:
            interaction[str(i)] = layer = bert_layer(config)
            layer["attention"]["self"]["compress_query"] = nn.Linear(hidden, hidden)
        self.mixencoder["layer"] = nn.ModuleDict(interaction)
        self._initialise()

    @classmethod
    def load(cls, folder: Path) -> MixEncoder:
        """Raises TrainingError."""
        config = read_config(folder)
        _check(folder / "config.json", config)
        return cls(config)._read(folder)

    def _candidates_of(self, ids: Sequence[Sequence[int]]) -> Texts:
        """Special tokens take the place of [CLS]."""
        if not self.special:
            return Texts.of(ids)
        return Texts.of([of_one[1:] for of_one in ids], self.config["num_context_embeddings"])

    def scores(self, contexts: Tensor, queries: Texts, query_of: Tensor) -> Tensor:
        """[candidates] scores, or [candidates, labels] logits."""
        stored = contexts
        seen, first_tokens = self._keys_and_values(queries)
        valid = queries.valid[query_of]
        h = torch.zeros_like(contexts[:, 0])
        for i, layer in self.mixencoder["layer"].items():
            keys, values = (rows[query_of] for rows in seen[int(i)])
            contexts, h = self._interact(layer, contexts, h, keys, values, valid)
        if self.config.get("mix_query_state") == "cls":
            h = first_tokens[query_of]
        if self.config.get("mix_candidate_state") == "stored":
            contexts = stored
        pooled = (contexts[:, :-1] if self.split and contexts.shape[1] > 1 else contexts).float().mean(1)
        if not self.labels:
            return (pooled * h.float()).sum(1)
        head = self.mixencoder["classifier"]
        features = torch.cat([h, pooled.to(h), (h - pooled.to(h)).abs()], dim=1)
        return head["out_proj"](self._drop(F.relu(head["dense"](features)))).float()

    def contexts(self, texts: Texts) -> Tensor:
        """[B, k, hidden]: what an index of candidates would keep."""
        words = self.body["embeddings"]["word_embeddings"](texts.ids[texts.front_rows :])
        if self.special:
            words = torch.cat([self.mixencoder["special_tokens"](texts.ids[: texts.front_rows]), words])
        states = self._embedded(words, texts.positions, torch.zeros_like(texts.positions))
        layers = self.body["encoder"]["layer"]
        for i, layer in enumerate(layers):
            # Only special tokens are needed of the last layer.
            rows = texts.front_rows if self.special and i + 1 == len(layers) else len(states)
            states = self._layer(layer, states, rows, texts.attention)
        if self.special:
            return states.view(-1, texts.fronts, states.shape[1])
        padded = texts.padded(states)
        likeness = self.mixencoder["context_codes"].weight @ padded.transpose(1, 2)  # [B, k, L]
        lowest = torch.finfo(likeness.dtype).min
        return likeness.masked_fill(~texts.valid[:, None, :], lowest).softmax(2) @ padded

    def _keys_and_values(self, texts: Texts) -> tuple[dict[int, tuple[Tensor, Tensor]], Tensor]:
        """For each interaction layer, [queries, Lq, hidden]: the encoder layer's own projections of its input. And
        [queries, hidden]: of the last one's input, the first token."""
        words = self.body["embeddings"]["word_embeddings"](texts.ids)
        states = self._embedded(words, texts.positions, torch.zeros_like(texts.positions))
        wanted, found = self.config["interaction_layers"], {}
        for i, layer in enumerate(self.body["encoder"]["layer"][: wanted[-1] + 1]):
            if i in wanted:
                own = layer["attention"]["self"]
                found[i] = (texts.padded(own["key"](states)), texts.padded(own["value"](states)))
            if i < wanted[-1]:
                states = self._layer(layer, states, len(states), texts.attention)
        return found, texts.padded(states)[:, 0]

    def _interact(self, layer: nn.ModuleDict, contexts: Tensor, h: Tensor, keys: Tensor, values: Tensor,
                  valid: Tensor) -> tuple[Tensor, Tensor]:
        """E [B, k, hidden] and h [B, hidden] of the next layer; keys and values: those of each candidate's query."""
        heads = self.config["num_attention_heads"]
        own, output = layer["attention"]["self"], layer["attention"]["output"]
        hint = contexts[:, -1] if self.split else contexts.mean(1)
        # E sees the query and itself.
        all_keys = torch.cat([keys, own["key"](contexts)], dim=1)
        all_values = torch.cat([values, own["value"](contexts)], dim=1)
        all_valid = torch.cat([valid, valid.new_ones(contexts.shape[:2])], dim=1)
        mixed = output["dense"](attend(own["query"](contexts), all_keys, all_values, all_valid[:, None], heads))
        updated = self._feed_forward(layer, output["LayerNorm"](contexts + self._drop(mixed)))
        # The hint sees the query alone; a gate takes the residual's place.
        found = attend(own["compress_query"](hint)[:, None], keys, values, valid[:, None], heads).squeeze(1)
        found = self._drop(output["dense"](found))
        gate = torch.sigmoid(self.mixencoder["gate"](torch.cat([hint, found, h], dim=1)))
        return updated, self._feed_forward(layer, output["LayerNorm"](gate * found + (1 - gate) * h))

    def _config_to_save(self) -> dict[str, Any]:
        return {"architectures": ["MixEncoder"], **labels_to_save(self.labels)}

    def __str__(self) -> str:
        config = self.config
        layers = ", ".join(map(str, config["interaction_layers"]))
        return (f"vectors per candidate {config['num_context_embeddings']} ({config['mix_strategy']}); "
                f"interaction layers {layers}; pooling {config.get('candidate_pooling', 'mean')}"
                + ("; without H" if config.get("mix_query_state") == "cls" else "")
                + ("; without E" if config.get("mix_candidate_state") == "stored" else ""))


def _check(path: Path, config: dict[str, Any]) -> None:
    def require(condition: bool, key: str, problem: str) -> None:
        if not condition:
            raise TrainingError(f"{path}, key {key}", problem,
                                "`relucent model init --as mixencoder` makes such folders")

    if config.get("model_type") != "mixencoder":
        raise TrainingError(f"{path}, key model_type", "is not mixencoder")
    for key, known in CHOICES.items():
        found = config.get(key, None if key == "mix_strategy" else known[0])
        require(found in known, key, f"is {found!r}, not {' or '.join(known)}")
    for key, least in (("num_context_embeddings", 1), ("query_max_length", FEWEST_TOKENS),
                       ("candidate_max_length", FEWEST_TOKENS)):
        require(isinstance(config.get(key), int) and config[key] >= least, key, f"is not an integer from {least}")
    layers = config.get("interaction_layers")
    require(isinstance(layers, list) and bool(layers) and all(isinstance(i, int) for i in layers)
            and layers == sorted(set(layers)) and layers[0] >= 0 and layers[-1] < config["num_hidden_layers"],
            "interaction_layers", "is not an ascending list of the encoder's layers")
    fronts = config["num_context_embeddings"] - 1 if config["mix_strategy"] == "special_tokens" else 0
    for key, more in (("query_max_length", 0), ("candidate_max_length", fronts)):
        require(config[key] + more <= config["max_position_embeddings"], key,
                f"asks for {config[key] + more} positions of {config['max_position_embeddings']}")
