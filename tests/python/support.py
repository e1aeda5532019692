"""A tiny random base folder, and the engine."""
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
import torch
from relucent_search.train.model import CrossEncoder
from relucent_search.train.pattern import AttentionPattern

WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "u")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *WORDS, *(f"##{word}" for word in WORDS), ".", "ø"]
CLS, SEP = 2, 3
CONFIG = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(VOCABULARY), "hidden_size": 24,
          "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 40, "max_position_embeddings": 160,
          "hidden_dropout_prob": 0.0, "layer_norm_eps": 1e-12, "type_vocab_size": 2, "hidden_act": "gelu"}

torch.set_num_threads(1)


def random_model(seed: int, pattern: AttentionPattern, kind: type = CrossEncoder, **changes) -> CrossEncoder:
    """Weights large enough that the pattern changes logits visibly."""
    torch.manual_seed(seed)
    model = kind({**CONFIG, **changes}, pattern)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name.lower():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
            else:
                parameter.normal_(0, 0.3)
    return model


def write_base(folder: Path, seed: int = 1, **changes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    settings = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    random_model(seed, AttentionPattern(), **changes).save(folder, folder)
    return folder


def text(generator: random.Random, words: int) -> str:
    return " ".join(generator.choice(WORDS) + generator.choice(["", "", *WORDS]) for _ in range(words))


def sentences(generator: random.Random, words: int) -> str:
    return ". ".join(text(generator, min(7, words - i)).capitalize() for i in range(0, words, 7)) + "."


def write_teacher(tmp_path: Path) -> Path:
    """A recipe for the base in that folder; those candidates are relevant that contain the query's word."""
    generator = random.Random(5)
    with open(tmp_path / "teacher.jsonl", "w") as teacher, open(tmp_path / "qrels.txt", "w") as qrels:
        for query in range(20):
            word = generator.choice(WORDS)
            for rank in range(6):
                document = f"{text(generator, 5)} {word if rank < 2 else ''} {text(generator, 5)}"
                record = {"qid": f"q{query}", "query": word, "docno": f"q{query}d{rank}", "text": document,
                          "rank": rank + 1, "score": 2.0 - rank}
                teacher.write(json.dumps(record) + "\n")
                qrels.write(f"q{query} 0 q{query}d{rank} {int(rank < 2)}\n")
    (tmp_path / "recipe.toml").write_text(f"""
output = "out"
program = "{program()}"
[model]
base = "base"
max_length = 60
[data]
rerank = "teacher.jsonl"
bands = [[1, 2, 1], [3, 6, 3]]
[loss]
kl = 1.0
[training]
steps = 24
queries = 4
learning_rate = 1e-3
log_every = 4
save_every = 4
threads = 1
[evaluation]
candidates = "teacher.jsonl"
qrels = "qrels.txt"
every = 12
""")
    return tmp_path


def program() -> str:
    path = os.environ.get("RELUCENT_PROGRAM")
    if not path:
        pytest.skip("RELUCENT_PROGRAM does not name the program relucent")
    return path


def relucent(*arguments: object) -> str:
    done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def engine_logits(model: Path, pairs: list[tuple[str, str]], folder: Path, device: str = "cpu",
                  *more: object) -> list[float]:
    lines = [json.dumps({"qid": f"q{i}", "query": query, "docno": f"d{i}", "text": document, "rank": 1, "score": 1.0})
             for i, (query, document) in enumerate(pairs)]
    (folder / "rerank.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    relucent("rerank", "--input", folder / "rerank.jsonl", "--output", folder / "scores.tsv", "--model", model,
             "--device", device, "--precision", "fp32", "--threads", 1, "--quiet", *more)
    rows = [line.split("\t") for line in (folder / "scores.tsv").read_text().splitlines()]
    return [float(score) for _, _, score in rows]
