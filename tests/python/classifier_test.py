"""Classifiers of pairs are trained on labels, measured by their accuracy, and end in folders that the engine reads."""
import json
import random

import pytest
import torch
from mixencoder_test import mix_base
from relucent_search.train import engine, settings
from relucent_search.train.cli import main
from relucent_search.train.data import Candidate, CandidateList, read_labelled
from relucent_search.train.errors import TrainingError
from relucent_search.train.trainer import Trainer
from support import program, text, write_base

LABELS = ["same", "other", "none"]


def write_pairs(path, count: int) -> None:
    """The label tells whether the document has the query's word, another one of two words, or none of them."""
    generator = random.Random(count)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            word, other = "ba", "du"
            label = LABELS[number % 3]
            has = {"same": word, "other": other, "none": "fo"}[label]
            file.write(f"{word}\t{has} {text(generator, 3)}\t{label if number % 2 else number % 3}\n")


@pytest.fixture
def folder(tmp_path):
    write_pairs(tmp_path / "train.tsv", 600)
    write_pairs(tmp_path / "dev.tsv", 30)
    (tmp_path / "recipe.toml").write_text(f"""
output = "out"
program = "{program()}"
[model]
base = "base"
dropout = 0.0
[data]
labelled = "train.tsv"
[loss]
cross_entropy = 1.0
[training]
steps = 60
queries = 16
learning_rate = 2e-3
threads = 1
[evaluation]
candidates = "dev.tsv"
measure = "accuracy"
every = 20
""")
    return tmp_path


def check(folder, capsys) -> None:
    out = folder / "out"
    config = json.loads((out / "config.json").read_text())
    assert config["id2label"] == {"0": "same", "1": "other", "2": "none"}
    card = (out / "README.md").read_text()
    assert float(card.split("differ from PyTorch's by at most ")[1].split()[0]) <= 1e-4
    assert engine.accuracy(program(), out, folder / "dev.tsv", folder) >= 0.8
    assert "accuracy" in capsys.readouterr().err


def test_a_cross_encoder_gets_a_head_of_labels(folder, capsys):
    write_base(folder / "base")
    labels = f"model.labels={json.dumps(LABELS)}"
    assert main([str(folder / "recipe.toml"), labels]) == 0
    check(folder, capsys)
    # The result is a base that already has them.
    assert main([str(folder / "recipe.toml"), f"model.base={folder / 'out'}", f"output={folder / 'more'}",
                 "training.steps=1"]) == 0


def test_transformers_reads_the_head(folder):
    """Also if the base's config.json states another number of labels."""
    transformers = pytest.importorskip("transformers")
    write_base(folder / "base")
    path = folder / "base/config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "num_labels": 1}))
    assert main([str(folder / "recipe.toml"), f"model.labels={json.dumps(LABELS)}", "model.pattern=full",
                 "training.steps=2", "evaluation.every=0"]) == 0
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "out")
    assert model.config.id2label == dict(enumerate(LABELS))
    pairs = [line.split("\t")[:2] for line in (folder / "dev.tsv").read_text().splitlines()]
    found = engine.label_logits(program(), folder / "out", pairs, folder)
    with torch.no_grad():
        expected = [model(**tokenizer(*pair, return_tensors="pt")).logits[0] for pair in pairs]
    assert found == pytest.approx(torch.cat(expected).tolist(), abs=1e-4)


def test_a_mixencoder_with_labels(folder, capsys):
    mix_base(folder, "--labels", ",".join(LABELS), "--layers", "1,2", scale=1.0)
    assert main([str(folder / "recipe.toml"), "training.steps=200", "training.learning_rate=1e-3"]) == 0
    check(folder, capsys)


def test_labels_are_names_or_numbers(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\tsame\nc\td\t2\n")
    lists = read_labelled(tmp_path / "pairs.tsv", LABELS).lists
    assert lists == [CandidateList("a", [Candidate("b", 0.0)]), CandidateList("c", [Candidate("d", 2.0)])]
    record = {"query": "a", "document": "b", "label": 1}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(record) + "\n")
    assert read_labelled(tmp_path / "pairs.jsonl", LABELS).lists == [CandidateList("a", [Candidate("b", 1.0)])]
    (tmp_path / "pairs.tsv").write_text("a\tb\tsame\na\tb\t3\n")
    with pytest.raises(TrainingError, match=r"pairs.tsv, line 2: 3 is not a label of the model; known are same, other"):
        read_labelled(tmp_path / "pairs.tsv", LABELS)


@pytest.mark.parametrize(("changes", "message"), [
    (["evaluation.measure=nDCG@10"], "key evaluation.measure: 'nDCG@10' does not apply to labels; write accuracy"),
    (["loss.kl=1"], "key loss: does not suit labels; write cross_entropy = 1.0"),
    (["data.triples=x", "data.labelled="], "key data: names"),
    ([], "key data.labelled: goes with a classifier, and the model has none; name the labels as model.labels"),
])
def test_mistakes_are_refused_by_name(folder, changes, message, capsys):
    write_base(folder / "base")
    assert main([str(folder / "recipe.toml"), *changes]) == 1
    assert message in capsys.readouterr().err


def test_scores_are_not_trained_with_labels(folder):
    write_base(folder / "base")
    loaded = settings.load(folder / "recipe.toml", [f"model.labels={json.dumps(LABELS)}"])
    loaded.data.labelled, loaded.data.triples = None, folder / "train.tsv"
    with pytest.raises(TrainingError, match="goes with a classifier, and the model has the labels same, other, none"):
        Trainer(loaded)
