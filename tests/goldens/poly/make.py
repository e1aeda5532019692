"""Writes two tiny Poly-Encoders with random weights, and their scores, computed in float64 pair by pair from the
equations of arXiv 1905.01969 with transformers' BERT. Run from this folder, with the packages of requirements.txt:
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
FORMS = {"codes-4": (4, 12, 20), "codes-64": (64, 32, 48)}  # codes, tokens of a query and of a candidate


def cut(ids: list[int], length: int) -> torch.Tensor:
    return torch.tensor([[*ids[:-1][: length - 1], ids[-1]]])


def write(name: str, codes: int, query_length: int, candidate_length: int) -> None:
    torch.manual_seed(codes)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    bert = transformers.BertModel(transformers.BertConfig(**SIZES), add_pooling_layer=False).eval()
    with torch.no_grad():
        for parameter in bert.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    table = torch.randn(codes, SIZES["hidden_size"]) * 0.5
    tensors = {f"bert.{key}": value for key, value in bert.state_dict().items()}
    save_file({**tensors, "poly_code_embeddings.weight": table}, folder / "model.safetensors", metadata={"format": "pt"})
    config = {"architectures": ["PolyEncoder"], "model_type": "polyencoder", **SIZES, "hidden_act": "gelu",
              "type_vocab_size": 2, "layer_norm_eps": 1e-12, "poly_codes": codes, "query_max_length": query_length,
              "candidate_max_length": candidate_length}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    settings = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    bert, table = bert.double(), table.double()

    def states(text: str, length: int) -> torch.Tensor:
        with torch.no_grad():
            return bert(cut(tokenizer(text)["input_ids"], length)).last_hidden_state[0]

    generator = random.Random(1)
    with gzip.open(HERE / f"{name}.jsonl.gz", "wt") as out:
        for number in range(12):
            query = " ".join(generator.choices(WORDS, k=1 + 2 * number))
            texts = [" ".join(generator.choices(WORDS, k=1 + generator.randrange(40))) for _ in range(4)]
            of_query = states(query, query_length)
            contexts = torch.softmax(table @ of_query.T, 1) @ of_query
            vectors, scores = [], []
            for text in texts:
                candidate = states(text, candidate_length)[0]
                context = torch.softmax(contexts @ candidate, 0) @ contexts
                vectors.append(candidate.tolist())
                scores.append((context @ candidate).item())
            out.write(json.dumps({"query": query, "texts": texts, "vectors": vectors, "scores": scores}) + "\n")


def main() -> None:
    for name, form in FORMS.items():
        write(name, *form)
    print(transformers.__version__, torch.__version__)


if __name__ == "__main__":
    main()
