"""BERT and its relatives: their config.json and what distinguishes them, as the engine has it
(model/families/bert.cpp)."""
from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from relucent_search.train.errors import TrainingError

ACTIVATIONS = {"gelu": nn.GELU(), "gelu_new": nn.GELU("tanh"), "gelu_pytorch_tanh": nn.GELU("tanh"),
               "relu": nn.ReLU(), "silu": nn.SiLU(), "swish": nn.SiLU()}
SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
         "max_position_embeddings")


@dataclasses.dataclass(frozen=True)
class Family:
    prefix: str
    """The prefix of the tensors' names, without its dot."""
    architecture: str
    """With a head for one label."""
    pooler: bool = False
    """The head is bert.pooler.dense and classifier; otherwise classifier.dense and classifier.out_proj."""
    head_activation: Callable[[Tensor], Tensor] = torch.tanh
    """It does not depend on hidden_act."""
    small_embeddings: bool = False
    """The tables have the width embedding_size, and are projected to hidden_size."""
    parts: tuple[str, ...] = ("embeddings.", "embeddings_project.", "encoder.", "pooler.")
    """Names of tensors that lack the prefix in an encoder without a head begin so."""
    activation_key: str = "hidden_act"
    after_padding: bool = False
    """Positions start at pad_token_id + 1, two separators follow the query, and all tokens have type 0."""

    def embedding_size(self, config: Mapping[str, Any]) -> int:
        return _stated(config, "embedding_size", 128) if self.small_embeddings else config["hidden_size"]

    def first_position(self, config: Mapping[str, Any]) -> int:
        return _stated(config, "pad_token_id", 1) + 1 if self.after_padding else 0

    def token_types(self, config: Mapping[str, Any]) -> int:
        return _stated(config, "type_vocab_size", 2)

    def document_type(self, config: Mapping[str, Any]) -> int:
        return int(not self.after_padding and config.get("token_type_embedding", True))


def _stated(config: Mapping[str, Any], key: str, usual: int) -> int:
    return usual if config.get(key) is None else config[key]


BERT = Family("bert", "BertForSequenceClassification", pooler=True)
FAMILIES = {
    "bert": BERT,
    "electra": Family("electra", "ElectraForSequenceClassification", head_activation=F.gelu, small_embeddings=True),
    "roberta": Family("roberta", "RobertaForSequenceClassification", after_padding=True),
    "xlm-roberta": Family("roberta", "XLMRobertaForSequenceClassification", after_padding=True),
    "modernbert": Family("model", "ModernBertForSequenceClassification",
                         parts=("embeddings.", "layers.", "final_norm."), activation_key="hidden_activation"),
    "deformer": BERT,
    "mir": BERT,
    "mixencoder": BERT,
    "parade": BERT,
    "polyencoder": BERT,
}
"""The families by config.json's model_type."""


def read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainingError(path, error.strerror or str(error), "name a Hugging Face folder on disk") from None
    except ValueError as error:
        raise TrainingError(path, f"is not JSON ({error})", "download it again") from None
    found = config.get("model_type") if isinstance(config, dict) else None
    if found not in FAMILIES:
        raise TrainingError(f"{path}, key model_type", f"is {found!r}",
                            f"only models of type {', '.join(FAMILIES)} are trained")
    if found != "deformer" and config.get("deformer_layers") is not None:
        raise TrainingError(f"{path}, key deformer_layers", f"is of a Deformer, and the model_type is {found}",
                            "set model_type to deformer, or remove the key")
    family = FAMILIES[found]
    with_defaults = ("type_vocab_size", "embedding_size", *(("pad_token_id",) if family.after_padding else ()))
    for key in (*SIZES, *(key for key in with_defaults if config.get(key) is not None)):
        if not isinstance(config.get(key), int) or config[key] < 1:
            raise TrainingError(f"{path}, key {key}", "is not a positive integer", "download it again")
    if config["max_position_embeddings"] <= family.first_position(config):
        raise TrainingError(f"{path}, key max_position_embeddings", "leaves no position after the padding's",
                            "download it again")
    if config["hidden_size"] % config["num_attention_heads"]:
        raise TrainingError(f"{path}, key num_attention_heads", "does not divide hidden_size", "download it again")
    for key in (family.activation_key, "classifier_activation"):
        if config.get(key, "gelu") not in ACTIVATIONS:
            raise TrainingError(f"{path}, key {key}", f"is {config[key]!r}", f"known are {', '.join(ACTIVATIONS)}")
    if found != "modernbert" and config.get("position_embedding_type", "absolute") != "absolute":
        raise TrainingError(f"{path}, key position_embedding_type", "is not absolute", "use another base")
    return config


def label_names(config: Mapping[str, Any]) -> list[str]:
    """The labels of a classifier, in the order of its outputs; none of a model with one or two outputs."""
    named = config.get("id2label") or {}
    count = len(named) or config.get("num_labels") or 0
    return [str(named.get(str(i), f"LABEL_{i}")) for i in range(count)]


def labels_to_save(labels: Sequence[str]) -> dict[str, Any]:
    """Keys of config.json. They replace a base's num_labels also, without which transformers refuses the head."""
    return {"num_labels": len(labels), "id2label": {str(i): name for i, name in enumerate(labels)},
            "label2id": {name: i for i, name in enumerate(labels)}} if labels else {}
