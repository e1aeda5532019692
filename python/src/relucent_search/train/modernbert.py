"""ModernBERT as the engine computes it (model/families/modernbert.cpp), with any attention pattern but qds."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from relucent_search.train.attention import LocalAttention, attention_of
from relucent_search.train.batch import Batch, Inputs
from relucent_search.train.bert import Attention, modules
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import ACTIVATIONS
from relucent_search.train.model import PairModel
from relucent_search.train.pattern import AttentionPattern

POOLINGS = ("cls", "mean")
KINDS = ("full_attention", "sliding_attention")
THETAS = {"full_attention": ("global_rope_theta", 160000.0), "sliding_attention": ("local_rope_theta", 10000.0)}


class ModernBert(PairModel):
    """Norms come before the sub-blocks, positions are rotations, and every token of a local layer sees a window."""

    of_head = ("head.", "classifier.")
    longer = "choose a base with a greater max_position_embeddings"
    dropout_key = "mlp_dropout"
    usual_dropout = 0.0

    def __init__(self, config: dict[str, Any], pattern: AttentionPattern):
        super().__init__(config, pattern)
        hidden = config["hidden_size"]
        self.document_type = 0
        self.kinds = _kinds(config)
        self.thetas = {kind: _theta(config, kind) for kind in KINDS}
        self.reach = config.get("local_attention", 128) // 2
        self.mean = config.get("classifier_pooling", "cls") == "mean"
        self.head_activation: Callable[[Tensor], Tensor] = ACTIVATIONS[config.get("classifier_activation", "gelu")]
        body = modules(embeddings=modules(tok_embeddings=nn.Embedding(config["vocab_size"], hidden),
                                          norm=self._norm()),
                       layers=nn.ModuleList(self._make_layer(i) for i in range(config["num_hidden_layers"])),
                       final_norm=self._norm())
        self.add_module(self.family.prefix, body)
        self.head = modules(dense=nn.Linear(hidden, hidden, config.get("classifier_bias", False)), norm=self._norm())
        self.classifier = nn.Linear(hidden, 1)
        self._initialise()

    def _norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.config["hidden_size"], self.config.get("norm_eps", 1e-5),
                            bias=self.config.get("norm_bias", False))

    def _make_layer(self, number: int) -> nn.ModuleDict:
        hidden, inner = self.config["hidden_size"], self.config["intermediate_size"]
        of_attention, of_mlp = self.config.get("attention_bias", False), self.config.get("mlp_bias", False)
        layer = modules(attn=modules(Wqkv=nn.Linear(hidden, 3 * hidden, of_attention),
                                     Wo=nn.Linear(hidden, hidden, of_attention)),
                        mlp_norm=self._norm(),
                        mlp=modules(Wi=nn.Linear(hidden, 2 * inner, of_mlp), Wo=nn.Linear(inner, hidden, of_mlp)))
        if number > 0:  # the embeddings have just been normalized
            layer["attn_norm"] = self._norm()
        return layer

    def _check(self, path: Path) -> None:
        if self.pattern.sentences:
            raise TrainingError("key model.pattern", "is qds, which a ModernBERT is not trained with",
                                "name full, local, longformer or sparse")
        if self.config.get("classifier_pooling", "cls") not in POOLINGS:
            raise TrainingError(f"{path}, key classifier_pooling", "is unknown", f"known are {', '.join(POOLINGS)}")

    def forward(self, batch: Batch) -> Tensor:
        """[B] logits, fp32."""
        inputs = Inputs.of(batch)
        attentions = {"full_attention": attention_of(batch, self.pattern, self.document_attention),
                      "sliding_attention": LocalAttention(inputs, self.pattern, self.reach)}
        size = self.config["hidden_size"] // self.config["num_attention_heads"]
        turns = {kind: _turns(batch.positions, theta, size) for kind, theta in self.thetas.items()}
        embeddings = self.body["embeddings"]
        states = self._drop(embeddings["norm"](embeddings["tok_embeddings"](batch.ids)))
        for i, (layer, kind) in enumerate(zip(self.body["layers"], self.kinds, strict=True)):
            # Unless the head reads all of the last layer, only [CLS] is needed.
            short = i + 1 == len(self.kinds) and not self.mean
            states = self._checkpointed(self._compute_layer, layer, states, batch.pairs if short else len(states),
                                        attentions[kind], turns[kind])
        states = self.body["final_norm"](states)
        if self.mean:
            table = inputs.padded(states)
            states = (table * inputs.valid[:, :, None]).sum(1) / inputs.valid.sum(1, keepdim=True)
        states = self.head["norm"](self.head_activation(self.head["dense"](states)))
        return self.classifier(self._drop(states)).squeeze(1).float()

    def _compute_layer(self, layer: nn.ModuleDict, states: Tensor, rows: int, attention: Attention,
                       turns: Tensor) -> Tensor:
        """The first `rows` of the states."""
        own, mlp, heads = layer["attn"], layer["mlp"], self.config["num_attention_heads"]
        normed = layer["attn_norm"](states) if "attn_norm" in layer else states
        if rows == len(states):
            query, key, value = own["Wqkv"](normed).chunk(3, dim=1)
        else:
            hidden, bias = states.shape[1], own["Wqkv"].bias
            of_query, of_both = (None, None) if bias is None else bias.split([hidden, 2 * hidden])
            for_query, for_both = own["Wqkv"].weight.split([hidden, 2 * hidden])
            query = F.linear(normed[:rows], for_query, of_query)
            key, value = F.linear(normed, for_both, of_both).chunk(2, dim=1)
        mixed = attention(_turned(query, turns[:rows], heads), _turned(key, turns, heads), value, heads)
        states = states[:rows] + self._drop(own["Wo"](mixed))
        inner, gate = mlp["Wi"](layer["mlp_norm"](states)).chunk(2, dim=1)
        return states + self._drop(mlp["Wo"](self.activation(inner) * gate))


def _kinds(config: dict[str, Any]) -> list[str]:
    """The kind of each layer."""
    count, every = config["num_hidden_layers"], config.get("global_attn_every_n_layers", 3)
    kinds = config.get("layer_types") or [KINDS[int(i % every != 0)] for i in range(count)]
    if len(kinds) != count or not set(kinds) <= set(KINDS):
        raise TrainingError("config.json, key layer_types", f"is not a list of {count} {' or '.join(KINDS)}",
                            "download it again")
    return kinds


def _theta(config: dict[str, Any], kind: str) -> float:
    """The theta in rope_parameters (transformers 5), otherwise in a key of its own."""
    key, usual = THETAS[kind]
    stated = (config.get("rope_parameters") or {}).get(kind) or {}
    if stated.get("rope_type", "default") != "default":
        raise TrainingError("config.json, key rope_parameters", f"has the rope_type {stated['rope_type']!r}",
                            "use a base with the default one")
    return float(stated.get("rope_theta", config.get(key, usual)))


def _turns(positions: Tensor, theta: float, size: int) -> Tensor:
    """The rotations of pairs of features, as complex numbers: [T, size / 2]."""
    speeds = theta ** (-torch.arange(0, size, 2, device=positions.device, dtype=torch.float64) / size)
    angles = positions[:, None] * speeds
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)


def _turned(rows: Tensor, turns: Tensor, heads: int) -> Tensor:
    """Rotates the features i and i + size / 2 of each head: [rows, hidden], [rows, size / 2] -> [rows, hidden]."""
    first, second = rows.view(len(rows), heads, 2, -1).unbind(2)
    cosines, sines = turns.real[:, None], turns.imag[:, None]
    turned = torch.stack([first * cosines - second * sines, second * cosines + first * sines], dim=2)
    return turned.flatten(1).to(rows.dtype)
