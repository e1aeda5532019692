"""What trained models share: parameters from and to Hugging Face folders; the layers of BERT and its relatives."""
from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from relucent_search.train import tokenizer
from relucent_search.train.batch import Batch
from relucent_search.train.errors import TrainingError, writing
from relucent_search.train.families import ACTIVATIONS, FAMILIES, Family

# Keys of a base that do not describe the trained model; others are kept.
DROPPED = ("_name_or_path", "auto_map", "dtype", "torch_dtype", "gradient_checkpointing", "problem_type")

# (query [rows, hidden], keys and values [T, hidden], heads) -> [rows, hidden]
Attention = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def modules(**named: nn.Module) -> nn.ModuleDict:
    return nn.ModuleDict(named)


def bert_layer(config: dict[str, Any]) -> nn.ModuleDict:
    hidden, inner, epsilon = config["hidden_size"], config["intermediate_size"], config.get("layer_norm_eps", 1e-12)

    def output(width: int) -> nn.ModuleDict:
        return modules(dense=nn.Linear(width, hidden), LayerNorm=nn.LayerNorm(hidden, epsilon))

    own = modules(query=nn.Linear(hidden, hidden), key=nn.Linear(hidden, hidden), value=nn.Linear(hidden, hidden))
    return modules(attention=modules(self=own, output=output(hidden)),
                   intermediate=modules(dense=nn.Linear(hidden, inner)), output=output(inner))


def joint_linear(states: Tensor, *layers: nn.Linear) -> tuple[Tensor, ...]:
    """Each layer's result, by one product."""
    weight = torch.cat([layer.weight for layer in layers])
    joint = F.linear(states, weight, torch.cat([layer.bias for layer in layers]))
    return joint.split([layer.out_features for layer in layers], dim=1)


class Encoder(nn.Module):
    """Parameters with the family's names, from and to a Hugging Face folder. Dropout follows the embeddings and the
    sub-blocks; attention weights are not dropped."""

    kind: ClassVar[str]  # for people
    score: ClassVar[str]
    longer: ClassVar[str]  # the remedy for texts that are too long
    usual_length: ClassVar[int | None] = 512  # of training, in tokens; None: what the engine reads
    needs_graphs: ClassVar[bool] = False  # of its documents, before a batch can be made
    # Prefixes of what a base without a head lacks; it is initialised.
    of_head: ClassVar[tuple[str, ...]] = ()
    dropout_key: ClassVar[str] = "hidden_dropout_prob"
    usual_dropout: ClassVar[float] = 0.1

    def __init__(self, config: dict[str, Any]):
        """config: config.json's, complete (see read_config)."""
        super().__init__()
        self.config = config
        self.family: Family = FAMILIES[config["model_type"]]
        self.first_position = self.family.first_position(config)
        self.activation = ACTIVATIONS[config.get(self.family.activation_key, "gelu")]
        self.dropout: float = config.get(self.dropout_key, self.usual_dropout)
        self.gradient_checkpointing = False
        self.new_parameters: list[str] = []

    @property
    def body(self) -> nn.ModuleDict:
        """All but the head."""
        return getattr(self, self.family.prefix)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, 0, self.config.get("initializer_range", 0.02))
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def _read(self, folder: Path, new: tuple[str, ...] = ()) -> Self:
        """Weights become fp32; `new_parameters` lists those that the folder lacks, which only the head's may.
        new: prefixes of tensors that are not read if they have another shape."""
        tensors = _read_tensors(folder, self.family)
        wanted = self.state_dict()
        for name in [name for name in wanted if name in tensors and name.startswith(new) and new]:
            if tensors[name].shape != wanted[name].shape:
                del tensors[name]
        for name, tensor in wanted.items():
            if name not in tensors:
                if not name.startswith(self.of_head):
                    raise TrainingError(folder, f"lacks the tensor {name}", "download the folder again")
                self.new_parameters.append(name)
            elif tensors[name].shape != tensor.shape:
                raise TrainingError(folder, f"the tensor {name} has shape {list(tensors[name].shape)}",
                                    f"config.json asks for {list(tensor.shape)}")
        self.load_state_dict({name: tensors.get(name, tensor) for name, tensor in wanted.items()})
        return self

    def _checkpointed(self, compute: Callable[..., Tensor], *inputs: Any) -> Tensor:
        """compute(*inputs), again in the backward pass if memory is to be saved."""
        if self.gradient_checkpointing and self.training:
            return checkpoint(compute, *inputs, use_reentrant=False)
        return compute(*inputs)

    def _drop(self, states: Tensor) -> Tensor:
        return F.dropout(states, self.dropout, self.training)

    def _config_to_save(self) -> dict[str, Any]:
        raise NotImplementedError

    def engine_flags(self) -> list[str]:
        """Settings of `relucent rerank` that config.json lacks."""
        return []

    def save(self, folder: Path, tokenizer_from: Path) -> None:
        """A folder that the engine reads: config.json, model.safetensors (fp32) and the tokenizer's files."""
        with writing(folder):
            self._write(folder, tokenizer_from)

    def _write(self, folder: Path, tokenizer_from: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = {key: value for key, value in self.config.items() if key not in DROPPED}
        config |= {"torch_dtype": "float32", **self._config_to_save()}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        tensors = {name: tensor.detach().float().cpu().contiguous() for name, tensor in self.state_dict().items()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        for name in tokenizer.FILES:
            if (tokenizer_from / name).exists() and folder.resolve() != tokenizer_from.resolve():
                shutil.copyfile(tokenizer_from / name, folder / name)


class Bert(Encoder):
    """BERT and its relatives."""

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        hidden, width = config["hidden_size"], self.family.embedding_size(config)
        embeddings = modules(
            word_embeddings=nn.Embedding(config["vocab_size"], width),
            position_embeddings=nn.Embedding(config["max_position_embeddings"], width),
            token_type_embeddings=nn.Embedding(self.family.token_types(config), width),
            LayerNorm=nn.LayerNorm(width, config.get("layer_norm_eps", 1e-12)))
        layers = nn.ModuleList(bert_layer(config) for _ in range(config["num_hidden_layers"]))
        body = modules(embeddings=embeddings, encoder=modules(layer=layers))
        if width != hidden:
            body["embeddings_project"] = nn.Linear(width, hidden)
        self.add_module(self.family.prefix, body)

    def _embedded(self, words: Tensor, positions: Tensor, types: Tensor) -> Tensor:
        """[T, hidden]. words: the tokens' rows before position, type and norm; positions from 0."""
        embeddings = self.body["embeddings"]
        states = words + embeddings["position_embeddings"](positions + self.first_position)
        states = self._drop(embeddings["LayerNorm"](states + embeddings["token_type_embeddings"](types)))
        return self.body["embeddings_project"](states) if "embeddings_project" in self.body else states

    def _cls_states(self, batch: Batch, attention: Attention, lower: Attention | None = None,
                    lower_layers: int = 0) -> Tensor:
        """[B, hidden]: the last states of the pairs' [CLS]. lower: the attention of the first `lower_layers`."""
        words = self.body["embeddings"]["word_embeddings"](batch.ids)
        states = self._embedded(words, batch.positions, batch.types)
        layers = self.body["encoder"]["layer"]
        for i, layer in enumerate(layers):
            # Only [CLS] is needed of the last layer.
            rows = batch.pairs if i + 1 == len(layers) else len(states)
            states = self._layer(layer, states, rows, lower if lower and i < lower_layers else attention)
        return states

    def _layer(self, layer: nn.ModuleDict, states: Tensor, rows: int, attention: Attention) -> Tensor:
        """The first `rows` of the states."""
        return self._checkpointed(self._compute_layer, layer, states, rows, attention)

    def _compute_layer(self, layer: nn.ModuleDict, states: Tensor, rows: int, attention: Attention) -> Tensor:
        own, output = layer["attention"]["self"], layer["attention"]["output"]
        kept = states[:rows]
        if rows == len(states):
            query, key, value = joint_linear(states, own["query"], own["key"], own["value"])
        else:
            query, (key, value) = own["query"](kept), joint_linear(states, own["key"], own["value"])
        mixed = attention(query, key, value, self.config["num_attention_heads"])
        return self._feed_forward(layer, output["LayerNorm"](kept + self._drop(output["dense"](mixed))))

    def _feed_forward(self, layer: nn.ModuleDict, states: Tensor) -> Tensor:
        inner = self.activation(layer["intermediate"]["dense"](states))
        return layer["output"]["LayerNorm"](states + self._drop(layer["output"]["dense"](inner)))


def _read_tensors(folder: Path, family: Family) -> dict[str, Tensor]:
    """Tensors in fp32 by the names of a model with a head; those of a model without one lack the prefix."""
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
        if name.startswith(family.parts):
            name = f"{family.prefix}.{name}"
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        renamed[name] = tensor.float() if tensor.is_floating_point() else tensor
    return renamed
