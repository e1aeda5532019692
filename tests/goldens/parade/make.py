"""Writes tiny PARADE checkpoints with random weights, and their scores, computed in float64 document by document from
the equations of arXiv 2008.09093 with transformers' BERT. Run from this folder, with the packages of requirements.txt:
python make.py
"""
import gzip
import json
import pathlib
import random
import shutil

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "s")]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, ".", ","]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 48, "vocab_size": len(VOCABULARY)}
# Keys of config.json; `aggregation_layers` 0: a maximum.
FORMS = {
    "max": {"passage_window": 12, "passage_stride": 9, "max_passages": 16, "max_query_tokens": 8},
    "transformer": {"passage_window": 12, "passage_stride": 9, "max_passages": 16, "max_query_tokens": 8},
    "few": {"passage_window": 7, "passage_stride": 7, "max_passages": 3, "max_query_tokens": 30,
            "aggregation_layers": 3},
    "one": {"passage_window": 40, "passage_stride": 1, "max_passages": 1, "max_query_tokens": 4,
            "aggregation_layers": 1},
}


def linear(weights: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def norm(weights: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    x = x - x.mean(-1, keepdim=True)
    return x / (x.pow(2).mean(-1, keepdim=True) + 1e-12).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def layer(weights: dict[str, torch.Tensor], prefix: str, x: torch.Tensor) -> torch.Tensor:
    """LayerNorm(h + FFN(h)) with h = LayerNorm(x + MultiHead(x)), in which all rows see all."""
    heads, size = SIZES["num_attention_heads"], SIZES["hidden_size"] // SIZES["num_attention_heads"]
    parts = [linear(weights, f"{prefix}attention.self.{name}", x) for name in ("query", "key", "value")]
    mixed = []
    for head in range(heads):
        query, key, value = (part[:, head * size : (head + 1) * size] for part in parts)
        mixed.append(torch.softmax(query @ key.T / size**0.5, 1) @ value)
    h = norm(weights, f"{prefix}attention.output.LayerNorm",
             x + linear(weights, f"{prefix}attention.output.dense", torch.cat(mixed, 1)))
    inner = linear(weights, f"{prefix}intermediate.dense", h)
    inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
    return norm(weights, f"{prefix}output.LayerNorm", h + linear(weights, f"{prefix}output.dense", inner))


def random_layer(prefix: str) -> dict[str, torch.Tensor]:
    hidden, inner = SIZES["hidden_size"], SIZES["intermediate_size"]
    shapes = {f"attention.self.{name}": (hidden, hidden) for name in ("query", "key", "value")}
    shapes |= {"attention.output.dense": (hidden, hidden), "intermediate.dense": (inner, hidden),
               "output.dense": (hidden, inner)}
    tensors = {}
    for name, shape in shapes.items():
        tensors[f"{prefix}{name}.weight"] = torch.randn(shape) * 0.2
        tensors[f"{prefix}{name}.bias"] = torch.randn(shape[0]) * 0.2
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        tensors[f"{prefix}{name}.weight"] = 1 + torch.randn(hidden) * 0.2
        tensors[f"{prefix}{name}.bias"] = torch.randn(hidden) * 0.2
    return tensors


def passages_of(pieces: list[int], config: dict) -> list[list[int]]:
    window, stride, most = (config[key] for key in ("passage_window", "passage_stride", "max_passages"))
    passages = [pieces[:window]]
    while window + (len(passages) - 1) * stride < len(pieces):
        begin = len(passages) * stride
        passages.append(pieces[begin : begin + window])
    if len(passages) <= most:
        return passages
    if most == 1:
        return passages[:1]
    return [passages[number * (len(passages) - 1) // (most - 1)] for number in range(most)]


def write(name: str, form: dict) -> None:
    torch.manual_seed(len(name))
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    hidden, layers = SIZES["hidden_size"], 0 if name == "max" else form.get("aggregation_layers", 2)
    bert = transformers.BertModel(transformers.BertConfig(**SIZES), add_pooling_layer=False).eval()
    with torch.no_grad():
        for parameter in bert.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    tensors = {f"bert.{key}": value for key, value in bert.state_dict().items()}
    tensors |= {"classifier.weight": torch.randn(1, hidden) * 0.3, "classifier.bias": torch.randn(1)}
    if layers:
        tensors["aggregation.cls_embedding"] = torch.randn(hidden)
        tensors["aggregation.position_embeddings.weight"] = torch.randn(form["max_passages"] + 1, hidden) * 0.5
    for number in range(layers):
        tensors |= random_layer(f"aggregation.layer.{number}.")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {"architectures": ["ParadeForSequenceClassification"], "model_type": "parade", **SIZES,
              "hidden_act": "gelu", "type_vocab_size": 2, "layer_norm_eps": 1e-12, "num_labels": 1,
              "parade_aggregation": "transformer" if layers else "max", **form}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    settings = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    bert, weights = bert.double(), {key: value.double() for key, value in tensors.items()}

    def pieces_of(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False)["input_ids"] if text else []

    def score(query: str, text: str) -> float:
        asked = [2, *pieces_of(query)[: form["max_query_tokens"]], 3]
        first = []
        for passage in passages_of(pieces_of(text), form):
            ids = torch.tensor([[*asked, *passage, 3]])
            types = torch.tensor([[0] * len(asked) + [1] * (len(passage) + 1)])
            first.append(bert(ids, token_type_ids=types).last_hidden_state[0, 0])
        states = torch.stack(first)
        if not layers:
            document = states.max(0).values
        else:
            rows = torch.cat([weights["aggregation.cls_embedding"][None], states])
            rows = rows + weights["aggregation.position_embeddings.weight"][: len(rows)]
            for number in range(layers):
                rows = layer(weights, f"aggregation.layer.{number}.", rows)
            document = rows[0]
        return linear(weights, "classifier", document[None]).item()

    generator = random.Random(1)
    with gzip.open(HERE / f"{name}.jsonl.gz", "wt") as out, torch.no_grad():
        for number in range(10):
            query = " ".join(generator.choices(WORDS, k=1 + 2 * number))
            lengths = [0, 1 + generator.randrange(12), 12 + generator.randrange(40), 40 + generator.randrange(150)]
            texts = [" ".join(generator.choices(WORDS, k=length)) for length in lengths]
            scores = [score(query, text) for text in texts]
            out.write(json.dumps({"query": query, "texts": texts, "scores": scores}) + "\n")


def main() -> None:
    for name, form in FORMS.items():
        write(name, form)
    print(transformers.__version__, torch.__version__)


if __name__ == "__main__":
    main()
