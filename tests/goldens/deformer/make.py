"""Writes tiny Deformers (ACL 2020) with random weights, and their logits, computed in float64 pair by pair: the lower
layers of transformers' BERT run on [CLS] query [SEP] and on document [SEP], each by itself with positions from 0, and
the upper ones on both together, as the authors' code does (models/ebert.py of StonyBrookNLP/deformer). Run from this
folder, with the packages of requirements.txt: python make.py
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
CLS, SEP = VOCABULARY.index("[CLS]"), VOCABULARY.index("[SEP]")
SMALL = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": len(VOCABULARY)}
# Name: sizes, lower layers, the query's limit (None: that of a config.json that states none), labels.
FORMS = {
    "one": ({**SMALL, "num_hidden_layers": 3, "max_position_embeddings": 48}, 1, 8, 1),
    "most": ({**SMALL, "hidden_size": 64, "num_hidden_layers": 4, "max_position_embeddings": 128}, 3, None, 1),
    "labels": ({**SMALL, "num_hidden_layers": 2, "max_position_embeddings": 40}, 1, 12, 3),
}
USUAL_QUERY_LENGTH = 30


def through(layers, states: torch.Tensor) -> torch.Tensor:
    for layer in layers:
        states = layer(states)
        states = states[0] if isinstance(states, tuple) else states
    return states


def write(name: str, sizes: dict, lower: int, limit: int | None, labels: int) -> None:
    torch.manual_seed(len(name))
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    bert = transformers.BertModel(transformers.BertConfig(**sizes, attn_implementation="eager")).eval()
    classifier = torch.nn.Linear(sizes["hidden_size"], labels)
    with torch.no_grad():
        for parameter in bert.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
        classifier.weight.normal_(0, 0.35)
        classifier.bias.normal_()
    tensors = {f"bert.{key}": value for key, value in bert.state_dict().items()}
    tensors |= {f"classifier.{key}": value for key, value in classifier.state_dict().items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {"architectures": ["DeformerForSequenceClassification"], "model_type": "deformer", **sizes,
              "hidden_act": "gelu", "type_vocab_size": 2, "layer_norm_eps": 1e-12, "deformer_layers": lower,
              "id2label": {str(i): f"label {i}" for i in range(labels)}}
    if limit is not None:
        config["query_length"] = limit
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    settings = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    bert, classifier = bert.double(), classifier.double()
    query_limit = limit or USUAL_QUERY_LENGTH
    # However long the query is, so that nothing of a document depends on it.
    document_limit = sizes["max_position_embeddings"] - 3 - query_limit

    def pieces_of(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False)["input_ids"] if text else []

    def apart(ids: list[int], kind: int) -> torch.Tensor:
        table = torch.tensor([ids])
        embedded = bert.embeddings(input_ids=table, token_type_ids=torch.full_like(table, kind),
                                   position_ids=torch.arange(len(ids))[None])
        return through(bert.encoder.layer[:lower], embedded)

    def score(query: str, text: str) -> list[float]:
        first = apart([CLS, *pieces_of(query)[:query_limit], SEP], 0)
        second = apart([*pieces_of(text)[:document_limit], SEP], 1)
        both = through(bert.encoder.layer[lower:], torch.cat([first, second], dim=1))
        return classifier(bert.pooler(both))[0].tolist()

    generator = random.Random(1)
    with gzip.open(HERE / f"{name}.jsonl.gz", "wt") as out, torch.no_grad():
        for number in range(10):
            query = " ".join(generator.choices(WORDS, k=1 + 4 * number))
            lengths = [0, 1 + generator.randrange(12), 12 + generator.randrange(40), 40 + generator.randrange(150)]
            texts = [" ".join(generator.choices(WORDS, k=length)) for length in lengths]
            out.write(json.dumps({"query": query, "texts": texts, "scores": [score(query, text) for text in texts]})
                      + "\n")


def main() -> None:
    for name, (sizes, lower, limit, labels) in FORMS.items():
        write(name, sizes, lower, limit, labels)
    print(transformers.__version__, torch.__version__)


if __name__ == "__main__":
    main()
