"""Writes tiny models with random weights: classifiers of pairs, as transformers computes them; and MixEncoders with the
ablations of the paper's Table 3 and with its head of labels, as its equations have them, computed here in float64 pair
by pair. Run from this folder, with the packages of requirements.txt: python make.py
"""
import gzip
import json
import math
import pathlib
import random
import shutil

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "s")]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *(f"##{word}" for word in WORDS), ".", ","]
LAYERS, HIDDEN, HEADS, INNER = 3, 32, 4, 64
SIZES = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
         "max_position_embeddings": 64, "vocab_size": len(VOCABULARY)}
LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}
CLASSES = {"bert": transformers.BertForSequenceClassification, "electra": transformers.ElectraForSequenceClassification}
MIX = {
    "mix-without-h": {"mix_query_state": "cls", "interaction_layers": [1, 2]},
    "mix-without-e": {"mix_candidate_state": "stored", "interaction_layers": [1, 2], "num_context_embeddings": 2},
    "mix-without-both": {"mix_query_state": "cls", "mix_candidate_state": "stored", "mix_strategy": "context_codes",
                         "num_context_embeddings": 3, "candidate_pooling": "split"},
    "mix-labels": {"mix_score": "classification", "num_context_embeddings": 2, "interaction_layers": [0, 2]},
    "mix-labels-split": {"mix_score": "classification", "mix_query_state": "cls", "mix_strategy": "context_codes",
                         "num_context_embeddings": 3, "candidate_pooling": "split"},
}


def pairs(count: int) -> list[tuple[str, str]]:
    generator = random.Random(1)
    return [(" ".join(generator.choices(WORDS, k=1 + number % 5)), " ".join(generator.choices(WORDS, k=1 + 2 * number)))
            for number in range(count)]


def write_tokenizer(folder: pathlib.Path) -> transformers.BertTokenizer:
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    settings = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)


def write_cases(name: str, logits) -> None:
    with gzip.open(HERE / f"{name}.jsonl.gz", "wt") as out:
        for query, text in pairs(16):
            out.write(json.dumps({"query": query, "text": text, "logits": logits(query, text)}) + "\n")


def write_cross_encoder(name: str) -> None:
    torch.manual_seed(4)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    cls = CLASSES[name]
    config = cls.config_class(**SIZES, id2label=LABELS, label2id={label: i for i, label in LABELS.items()})
    model = cls(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    model.save_pretrained(folder)
    tokenizer, model = write_tokenizer(folder), model.double()

    def logits(query: str, text: str) -> list[float]:
        with torch.no_grad():
            return model(**tokenizer(query, text, return_tensors="pt")).logits[0].tolist()

    write_cases(name, logits)


class Mix:
    """The forward pass of one pair."""

    def __init__(self, config: dict, tensors: dict[str, torch.Tensor]):
        self.config = config
        self.tensors = {name: tensor.double() for name, tensor in tensors.items()}

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / torch.sqrt((centred ** 2).mean(-1, keepdim=True) + 1e-12)
        return scaled * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attention(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        size = HIDDEN // HEADS
        parts = []
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            shares = torch.softmax(q[:, own] @ k[:, own].T / math.sqrt(size), 1)
            parts.append(shares @ v[:, own])
        return torch.cat(parts, 1)

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))

    def tail(self, layer: str, x: torch.Tensor) -> torch.Tensor:
        inner = self.gelu(self.linear(layer + "intermediate.dense", x))
        return self.norm(layer + "output.LayerNorm", x + self.linear(layer + "output.dense", inner))

    def embed(self, rows: torch.Tensor) -> torch.Tensor:
        table = self.tensors["bert.embeddings.position_embeddings.weight"][: len(rows)]
        x = rows + table + self.tensors["bert.embeddings.token_type_embeddings.weight"][0]
        return self.norm("bert.embeddings.LayerNorm", x)

    def words(self, ids: list[int]) -> torch.Tensor:
        return self.tensors["bert.embeddings.word_embeddings.weight"][ids]

    def encoder_layer(self, i: int, x: torch.Tensor) -> torch.Tensor:
        layer = f"bert.encoder.layer.{i}."
        own = layer + "attention.self."
        mixed = self.attention(*(self.linear(own + part, x) for part in ("query", "key", "value")))
        mixed = self.linear(layer + "attention.output.dense", mixed)
        return self.tail(layer, self.norm(layer + "attention.output.LayerNorm", x + mixed))

    def stored(self, ids: list[int]) -> torch.Tensor:
        count = self.config["num_context_embeddings"]
        if self.config["mix_strategy"] == "special_tokens":
            special = self.tensors["mixencoder.special_tokens.weight"]
            x = self.embed(torch.cat([special, self.words(ids[1:])]))
        else:
            x = self.embed(self.words(ids))
        for i in range(LAYERS):
            x = self.encoder_layer(i, x)
        if self.config["mix_strategy"] == "special_tokens":
            return x[:count]
        return torch.softmax(self.tensors["mixencoder.context_codes.weight"] @ x.T, 1) @ x

    def outputs(self, query: list[int], candidate: list[int]) -> list[float]:
        split = self.config["candidate_pooling"] == "split"
        first = e = self.stored(candidate)
        h = torch.zeros(1, HIDDEN, dtype=torch.float64)
        x = self.embed(self.words(query))
        layers = self.config["interaction_layers"]
        for i in range(layers[-1] + 1):
            if i in layers:
                layer, of_query = f"mixencoder.layer.{i}.", f"bert.encoder.layer.{i}.attention.self."
                keys, values = self.linear(of_query + "key", x), self.linear(of_query + "value", x)
                own = layer + "attention.self."
                seen = self.attention(self.linear(own + "query", e), torch.cat([keys, self.linear(own + "key", e)]),
                                      torch.cat([values, self.linear(own + "value", e)]))
                dense = layer + "attention.output.dense"
                updated = self.tail(layer, self.norm(layer + "attention.output.LayerNorm", e + self.linear(dense, seen)))
                hint = e[-1:] if split else e.mean(0, keepdim=True)
                found = self.linear(dense, self.attention(self.linear(own + "compress_query", hint), keys, values))
                gate = torch.sigmoid(self.linear("mixencoder.gate", torch.cat([hint, found, h], 1)))
                h = gate * found + (1 - gate) * h
                h = self.tail(layer, self.norm(layer + "attention.output.LayerNorm", h))
                e = updated
            if i < layers[-1]:
                x = self.encoder_layer(i, x)
        if self.config.get("mix_query_state") == "cls":
            h = x[:1]
        if self.config.get("mix_candidate_state") == "stored":
            e = first
        pooled = (e[:-1] if split and len(e) > 1 else e).mean(0, keepdim=True)
        if self.config.get("mix_score") != "classification":
            return [(pooled * h).sum().item()]
        features = torch.relu(self.linear("mixencoder.classifier.dense", torch.cat([h, pooled, (h - pooled).abs()], 1)))
        return self.linear("mixencoder.classifier.out_proj", features)[0].tolist()


def write_mix(name: str, changes: dict) -> None:
    torch.manual_seed(5)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = {"architectures": ["MixEncoder"], "model_type": "mixencoder", **SIZES, "hidden_act": "gelu",
              "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0, "mix_strategy": "special_tokens",
              "num_context_embeddings": 1, "interaction_layers": [2], "candidate_pooling": "mean", "mix_score": "dot",
              "query_max_length": 32, "candidate_max_length": 48, **changes}
    if config["mix_score"] == "classification":
        config["id2label"] = {str(i): label for i, label in LABELS.items()}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tensors: dict[str, torch.Tensor] = {}

    def add(part: str, *shape: int) -> None:
        tensors[part] = torch.randn(*shape) * 0.25

    def linear(part: str, outputs: int, inputs: int) -> None:
        add(part + ".weight", outputs, inputs)
        add(part + ".bias", outputs)

    def norm(part: str) -> None:
        tensors[part + ".weight"], tensors[part + ".bias"] = 1 + torch.randn(HIDDEN) * 0.2, torch.randn(HIDDEN) * 0.2

    for table, rows in (("word", len(VOCABULARY)), ("position", SIZES["max_position_embeddings"]), ("token_type", 2)):
        add(f"bert.embeddings.{table}_embeddings.weight", rows, HIDDEN)
    norm("bert.embeddings.LayerNorm")
    names = [f"bert.encoder.layer.{i}." for i in range(LAYERS)]
    for layer in names + [f"mixencoder.layer.{i}." for i in config["interaction_layers"]]:
        parts = ("query", "key", "value") if layer in names else ("query", "key", "value", "compress_query")
        for part in parts:
            linear(layer + "attention.self." + part, HIDDEN, HIDDEN)
        linear(layer + "attention.output.dense", HIDDEN, HIDDEN)
        linear(layer + "intermediate.dense", INNER, HIDDEN)
        linear(layer + "output.dense", HIDDEN, INNER)
        norm(layer + "attention.output.LayerNorm")
        norm(layer + "output.LayerNorm")
    linear("mixencoder.gate", HIDDEN, 3 * HIDDEN)
    of = "special_tokens" if config["mix_strategy"] == "special_tokens" else "context_codes"
    add(f"mixencoder.{of}.weight", config["num_context_embeddings"], HIDDEN)
    if config["mix_score"] == "classification":
        linear("mixencoder.classifier.dense", 3 * HIDDEN, 3 * HIDDEN)
        linear("mixencoder.classifier.out_proj", len(LABELS), 3 * HIDDEN)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer, model = write_tokenizer(folder), Mix(config, tensors)
    write_cases(name, lambda query, text: model.outputs(
        tokenizer(query)["input_ids"], tokenizer(text)["input_ids"][:-1][: config["candidate_max_length"] - 1] + [3]))


def main() -> None:
    for name in CLASSES:
        write_cross_encoder(name)
    for name, changes in MIX.items():
        write_mix(name, changes)
    print(transformers.__version__, torch.__version__)


if __name__ == "__main__":
    main()
