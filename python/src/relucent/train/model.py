"""A BERT cross-encoder that computes what the engine computes, from and to Hugging Face folders."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from relucent.train import tokenizer
from relucent.train.attention import DocumentAttention, SparseAttention
from relucent.train.batch import Batch
from relucent.train.errors import TrainingError
from relucent.train.pattern import AttentionPattern

ACTIVATIONS = {"gelu": nn.GELU(), "gelu_new": nn.GELU("tanh"), "gelu_pytorch_tanh": nn.GELU("tanh"),
               "relu": nn.ReLU(), "silu": nn.SiLU(), "swish": nn.SiLU()}
SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
         "max_position_embeddings")
# Keys of a base that say nothing about its cross-encoder; others are kept.
DROPPED = ("_name_or_path", "auto_map", "dtype", "torch_dtype", "gradient_checkpointing", "problem_type")
# What a base without a head lacks; it is initialised.
HEAD = ("bert.pooler.", "classifier.")


def _modules(**modules: nn.Module) -> nn.ModuleDict:
    return nn.ModuleDict(modules)


def _layer(hidden: int, inner: int, epsilon: float) -> nn.ModuleDict:
    def output(width: int) -> nn.ModuleDict:
        return _modules(dense=nn.Linear(width, hidden), LayerNorm=nn.LayerNorm(hidden, epsilon))

    own = _modules(query=nn.Linear(hidden, hidden), key=nn.Linear(hidden, hidden), value=nn.Linear(hidden, hidden))
    return _modules(attention=_modules(self=own, output=output(hidden)),
                    intermediate=_modules(dense=nn.Linear(hidden, inner)), output=output(inner))


class CrossEncoder(nn.Module):
    """Logits of pairs. The parameters have BERT's names. Dropout (hidden_dropout_prob) follows the embeddings and the
    sub-blocks; attention weights are not dropped."""

    def __init__(self, config: dict[str, Any], pattern: AttentionPattern):
        """config: config.json's, complete (see read_config)."""
        super().__init__()
        self.config = config
        self.pattern = pattern
        hidden, epsilon = config["hidden_size"], config.get("layer_norm_eps", 1e-12)
        embeddings = _modules(
            word_embeddings=nn.Embedding(config["vocab_size"], hidden),
            position_embeddings=nn.Embedding(config["max_position_embeddings"], hidden),
            token_type_embeddings=nn.Embedding(config.get("type_vocab_size", 2), hidden),
            LayerNorm=nn.LayerNorm(hidden, epsilon))
        layers = nn.ModuleList(_layer(hidden, config["intermediate_size"], epsilon)
                               for _ in range(config["num_hidden_layers"]))
        self.bert = _modules(embeddings=embeddings, encoder=_modules(layer=layers),
                             pooler=_modules(dense=nn.Linear(hidden, hidden)))
        self.classifier = nn.Linear(hidden, 1)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, 0, config.get("initializer_range", 0.02))
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        self.activation = ACTIVATIONS[config.get("hidden_act", "gelu")]
        self.document_type = int(config.get("token_type_embedding", True))
        self.dropout: float = config.get("hidden_dropout_prob", 0.1)
        self.gradient_checkpointing = False
        self.document_attention: DocumentAttention | None = None
        self.new_parameters: list[str] = []

    @classmethod
    def load(cls, folder: Path, pattern: AttentionPattern | None = None) -> CrossEncoder:
        """pattern: None: what config.json says. Weights become fp32; `new_parameters` lists those that the folder
        lacks, which only the head's may. Raises TrainingError."""
        config = read_config(folder)
        model = cls(config, pattern or AttentionPattern.from_config(config, folder / "config.json"))
        tensors = _read_tensors(folder)
        wanted = model.state_dict()
        for name, tensor in wanted.items():
            if name not in tensors:
                if not name.startswith(HEAD):
                    raise TrainingError(folder, f"lacks the tensor {name}", "download the folder again")
                model.new_parameters.append(name)
            elif tensors[name].shape != tensor.shape:
                raise TrainingError(folder, f"the tensor {name} has shape {list(tensors[name].shape)}",
                                    f"config.json and a single label ask for {list(tensor.shape)}")
        model.load_state_dict({name: tensors.get(name, tensor) for name, tensor in wanted.items()})
        return model

    def forward(self, batch: Batch) -> Tensor:
        """[B] logits, fp32."""
        attention = SparseAttention(batch, self.pattern, self.document_attention)
        embeddings = self.bert["embeddings"]
        states = embeddings["word_embeddings"](batch.ids) + embeddings["position_embeddings"](batch.positions)
        states = self._drop(embeddings["LayerNorm"](states + embeddings["token_type_embeddings"](batch.types)))
        layers = self.bert["encoder"]["layer"]
        for i, layer in enumerate(layers):
            # Only [CLS] is needed of the last layer.
            rows = batch.pairs if i + 1 == len(layers) else len(states)
            if self.gradient_checkpointing and self.training:
                states = checkpoint(self._layer, layer, states, rows, attention, use_reentrant=False)
            else:
                states = self._layer(layer, states, rows, attention)
        return self.classifier(self._drop(torch.tanh(self.bert["pooler"]["dense"](states)))).squeeze(1).float()

    def _layer(self, layer: nn.ModuleDict, states: Tensor, rows: int, attention: SparseAttention) -> Tensor:
        own, output = layer["attention"]["self"], layer["attention"]["output"]
        kept = states[:rows]
        mixed = attention(own["query"](kept), own["key"](states), own["value"](states),
                          self.config["num_attention_heads"])
        kept = output["LayerNorm"](kept + self._drop(output["dense"](mixed)))
        inner = self.activation(layer["intermediate"]["dense"](kept))
        return layer["output"]["LayerNorm"](kept + self._drop(layer["output"]["dense"](inner)))

    def _drop(self, states: Tensor) -> Tensor:
        return F.dropout(states, self.dropout, self.training)

    def save(self, folder: Path, tokenizer_from: Path) -> None:
        """A folder that the engine reads: config.json, model.safetensors (fp32) and the tokenizer's files."""
        folder.mkdir(parents=True, exist_ok=True)
        full = self.pattern == AttentionPattern()
        config = {key: value for key, value in self.config.items() if key not in DROPPED}
        config["architectures"] = ["BertForSequenceClassification" if full else
                                   "ListformerModelForSequenceClassification"]
        config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "torch_dtype": "float32"}
        config |= self.pattern.to_config()
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        tensors = {name: tensor.detach().float().cpu().contiguous() for name, tensor in self.state_dict().items()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        for name in tokenizer.FILES:
            if (tokenizer_from / name).exists() and folder.resolve() != tokenizer_from.resolve():
                shutil.copyfile(tokenizer_from / name, folder / name)


def read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainingError(path, error.strerror or str(error), "name a Hugging Face folder on disk") from None
    except ValueError as error:
        raise TrainingError(path, f"is not JSON ({error})", "download it again") from None
    if not isinstance(config, dict) or config.get("model_type") != "bert":
        found = config.get("model_type") if isinstance(config, dict) else None
        raise TrainingError(f"{path}, key model_type", f"is {found!r}", "only models of type bert are trained")
    for key in SIZES:
        if not isinstance(config.get(key), int) or config[key] < 1:
            raise TrainingError(f"{path}, key {key}", "is not a positive integer", "download it again")
    if config["hidden_size"] % config["num_attention_heads"]:
        raise TrainingError(f"{path}, key num_attention_heads", "does not divide hidden_size", "download it again")
    if config.get("hidden_act", "gelu") not in ACTIVATIONS:
        raise TrainingError(f"{path}, key hidden_act", f"is {config['hidden_act']!r}",
                            f"known are {', '.join(ACTIVATIONS)}")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise TrainingError(f"{path}, key position_embedding_type", "is not absolute", "use another base")
    return config


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    """By the names of a BertForSequenceClassification, as fp32; BertModel's lack the prefix."""
    path = folder / "model.safetensors"
    try:
        if path.exists():
            tensors = load_file(path)
        else:
            path = folder / "pytorch_model.bin"
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise TrainingError(folder, "has neither model.safetensors nor pytorch_model.bin",
                            "`relucent model convert` joins shards") from None
    except Exception as error:  # each of the libraries has exceptions of its own
        raise TrainingError(path, f"cannot be read ({error})", "download it again") from None
    renamed = {}
    for name, tensor in tensors.items():
        if name.startswith(("embeddings.", "encoder.", "pooler.")):
            name = f"bert.{name}"
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        renamed[name] = tensor.float() if tensor.is_floating_point() else tensor
    return renamed
