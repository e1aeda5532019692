"""Writes two tiny MIRs with random weights whose pivots are pooled by a maximum and by layers, and their scores for random
passages, pivots and links, computed in float64 document by document from the equations of the paper (WSDM 2022), with
masks and matrices of means. Run from this folder, with the packages of requirements.txt: python make.py
"""
import gzip
import json
import pathlib
import random
import shutil

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
VIEWS = ("passage", "sentence", "token")
PSG, SNT = 1, 2
CONFIG = {"architectures": ["MirForSequenceClassification"], "model_type": "mir", "vocab_size": 120, "hidden_size": 32,
          "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48, "hidden_act": "gelu",
          "max_position_embeddings": 96, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
          "num_labels": 1, "psg_token_id": PSG, "snt_token_id": SNT, "passage_window": 32, "passage_stride": 24,
          "max_document_tokens": 200, "max_query_tokens": 30}
FORMS = {"max": {"mir_pooling": "max"}, "transformer": {"mir_pooling": "transformer"},
         "two-views": {"mir_pooling": "transformer", "mir_pooling_layers": 1, "mir_views": ["passage", "token"]}}
Weights = dict[str, torch.Tensor]


def random_weights(config: dict) -> Weights:
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    views = config.get("mir_views", VIEWS)
    weights: Weights = {}

    def linear(name: str, out: int, size: int, bias: bool = True) -> None:
        weights[f"{name}.weight"] = torch.randn(out, size) * 0.25
        if bias:
            weights[f"{name}.bias"] = torch.randn(out) * 0.1

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = 1 + torch.randn(hidden) * 0.2
        weights[f"{name}.bias"] = torch.randn(hidden) * 0.2

    def layer(prefix: str) -> None:
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{prefix}attention.{name}", hidden, hidden)
        norm(f"{prefix}attention.output.LayerNorm")
        linear(f"{prefix}intermediate.dense", inner, hidden)
        linear(f"{prefix}output.dense", hidden, inner)
        norm(f"{prefix}output.LayerNorm")

    rows = {"word": config["vocab_size"], "position": config["max_position_embeddings"], "token_type": 2}
    for name, count in rows.items():
        weights[f"bert.embeddings.{name}_embeddings.weight"] = torch.randn(count, hidden)
    norm("bert.embeddings.LayerNorm")
    for number in range(config["num_hidden_layers"]):
        prefix = f"bert.encoder.layer.{number}."
        layer(prefix)
        layer(f"{prefix}inter.")
        if number + 1 < config["num_hidden_layers"]:
            linear(f"{prefix}combine", hidden, 2 * hidden, bias=False)
    for view in views:
        if config["mir_pooling"] == "transformer":
            weights[f"aggregation.{view}.pooling_vector"] = torch.randn(hidden)
            for number in range(config.get("mir_pooling_layers", 2)):
                layer(f"aggregation.{view}.layer.{number}.")
    linear("aggregation.combine", hidden, len(views) * hidden, bias=False)
    linear("classifier", 1, hidden, bias=False)
    return weights


class Dense:
    def __init__(self, config: dict, weights: Weights):
        self.config, self.weights = config, {name: value.double() for name, value in weights.items()}

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.pow(2).mean(-1, keepdim=True) + 1e-12).sqrt()
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def layer(self, prefix: str, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        heads = self.config["num_attention_heads"]
        size = x.shape[1] // heads
        parts = [self.linear(f"{prefix}attention.self.{name}", x) for name in ("query", "key", "value")]
        mixed = []
        for head in range(heads):
            query, key, value = (part[:, head * size : (head + 1) * size] for part in parts)
            products = (query @ key.T / size**0.5).masked_fill(~seen, float("-inf"))
            mixed.append(products.softmax(1) @ value)
        o = self.norm(f"{prefix}attention.output.LayerNorm",
                      x + self.linear(f"{prefix}attention.output.dense", torch.cat(mixed, 1)))
        inner = self.linear(f"{prefix}intermediate.dense", o)
        inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
        return self.norm(f"{prefix}output.LayerNorm", o + self.linear(f"{prefix}output.dense", inner))

    def pooled(self, view: str, states: torch.Tensor) -> torch.Tensor:
        if not len(states):
            return states.new_zeros(states.shape[1])
        if self.config["mir_pooling"] == "max":
            return states.max(0).values
        rows = torch.cat([self.weights[f"aggregation.{view}.pooling_vector"][None], states])
        for number in range(self.config.get("mir_pooling_layers", 2)):
            rows = self.layer(f"aggregation.{view}.layer.{number}.", rows, torch.ones(len(rows), len(rows)).bool())
        return rows[0]

    def score(self, case: dict) -> float:
        query, begins, tokens = case["query_ids"], [], []
        for ids in case["input_ids"]:
            begins.append(len(tokens))
            tokens += [(token, place, int(place > len(query))) for place, token in enumerate(ids)]
        ids, positions, types = torch.tensor(tokens).T
        table = "bert.embeddings.{}_embeddings.weight"
        x = sum(self.weights[table.format(name)][rows]
                for name, rows in (("word", ids), ("position", positions), ("token_type", types)))
        x = self.norm("bert.embeddings.LayerNorm", x)
        passage = torch.tensor([sum(begin <= i for begin in begins) for i in range(len(tokens))])
        pivots = {"passage": [[begin] for begin in begins],
                  "sentence": [[begins[i] + place] for i, place in case["s_nodes"]],
                  "token": [[begins[i] + place for place in places] for i, places in case["t_nodes"]]}
        links = {"passage": case["p2p"], "sentence": case["s2s"], "token": case["t2t"]}
        views = self.config.get("mir_views", VIEWS)
        layers, between = self.config["num_hidden_layers"], {}
        for number in range(layers):
            prefix = f"bert.encoder.layer.{number}."
            h = self.layer(prefix, x, passage[:, None] == passage[None, :])
            x = h.clone()
            for view in views:
                means = torch.zeros(len(pivots[view]), len(tokens), dtype=torch.double)
                seen = torch.zeros(len(pivots[view]), len(pivots[view])).bool()
                for i, (rows, others) in enumerate(zip(pivots[view], links[view], strict=True)):
                    means[i, rows] = 1 / len(rows)
                    seen[i, others] = True
                between[view] = self.layer(f"{prefix}inter.", means @ h, seen) if len(means) else means @ h
                if number + 1 < layers:
                    for i, rows in enumerate(pivots[view]):
                        for row in rows:
                            x[row] = self.linear(f"{prefix}combine", torch.cat([h[row], between[view][i]]))
        document = torch.cat([self.pooled(view, between[view]) for view in views])
        return self.linear("classifier", self.linear("aggregation.combine", document)).item()


def random_case(generator: random.Random, number: int) -> dict:
    query = [generator.randrange(3, 120) for _ in range(generator.choice([0, 1, 4, 9]))]
    passages, inputs, sentences, mentions = [], [], [], []
    for j in range(1 + number % 5):
        pieces = [generator.randrange(3, 120) for _ in range(generator.randrange(1, 25))]
        starts = [0] + [i for i in range(1, len(pieces)) if generator.random() < 0.2]
        tokens, places = [PSG, *query], []
        for i, piece in enumerate(pieces):
            if i in starts:
                if generator.random() < 0.8:
                    sentences.append([j, len(tokens)])
                tokens.append(SNT)
            places.append(len(tokens))
            tokens.append(piece)
        at = 0
        while number % 7 != 3 and at < len(pieces):
            size = generator.randrange(1, 4)
            if generator.random() < 0.3 and at + size <= len(pieces):
                mentions.append([j, places[at : at + size]])
            at += size
        passages.append({"ids": pieces, "sentence_starts": starts})
        inputs.append(tokens)

    def graph(nodes: int, share: float) -> list[list[int]]:
        pairs = {(i, j) for i in range(nodes) for j in range(i) if generator.random() < share}
        return [[j for j in range(nodes) if i == j or (i, j) in pairs or (j, i) in pairs] for i in range(nodes)]

    return {"query_ids": query, "passages": passages, "input_ids": inputs, "s_nodes": sentences, "t_nodes": mentions,
            "p2p": graph(len(passages), 0.5), "s2s": graph(len(sentences), 0.2), "t2t": graph(len(mentions), 0.3)}


def main() -> None:
    with gzip.open(HERE / "cases.jsonl.gz", "wt") as out, torch.no_grad():
        for name, form in FORMS.items():
            torch.manual_seed(len(name))
            folder = HERE / name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            config = {**CONFIG, **form}
            weights = random_weights(config)
            save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
            (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
            vocabulary = ["[PAD]", "[PSG]", "[SNT]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(114))]
            (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
            dense, generator = Dense(config, weights), random.Random(1)
            for number in range(15):
                case = random_case(generator, number)
                row = {"id": f"{name}-{number}", "model": name, **case, "score": dense.score(case)}
                out.write(json.dumps(row) + "\n")
    print(torch.__version__)


if __name__ == "__main__":
    main()
