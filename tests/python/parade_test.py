"""The PARADE equals the goldens and the engine, and is trained as cross-encoders are."""
import csv
import gzip
import json
import random
from pathlib import Path

import pytest
import torch
from relucent_search.train.cli import main
from relucent_search.train.errors import TrainingError
from relucent_search.train.parade import Parade
from relucent_search.train.tokenizer import PairTokenizer
from safetensors.torch import load_file, save_file
from support import engine_logits, relucent, text, write_base, write_teacher

GOLDENS = Path(__file__).parents[1] / "goldens" / "parade"
NAMES = ("max", "transformer", "few", "one")


@pytest.mark.parametrize("name", NAMES)
def test_scores_equal_the_goldens(name):
    """All texts of a query in one batch, so that passages and documents differ in size, and each alone."""
    model, tokenizer = Parade.load(GOLDENS / name).eval(), PairTokenizer(GOLDENS / name)
    with gzip.open(GOLDENS / f"{name}.jsonl.gz", "rt") as file, torch.no_grad():
        for line in file:
            case = json.loads(line)
            pairs = [(case["query"], one) for one in case["texts"]]
            assert model(model.batch(tokenizer, pairs)).tolist() == pytest.approx(case["scores"], abs=2e-5)
            alone = [model(model.batch(tokenizer, [pair])).item() for pair in pairs]
            assert alone == pytest.approx(case["scores"], abs=2e-5)


def parade_base(folder: Path, *options: object, scale: float = 4.0) -> Path:
    """Makes a PARADE from a random BERT. The new weights are enlarged, so that they matter."""
    bert = write_base(folder / "bert", hidden_dropout_prob=0.1)
    base = folder / "base"
    relucent("model", "init", "--from", bert, "--as", "parade", "--window", 24, "--stride", 16, "--max-passages", 5,
             *options, base)
    tensors = load_file(base / "model.safetensors")
    for name in tensors:
        if name.startswith(("aggregation.", "classifier.")):
            noise = torch.randn(tensors[name].shape, generator=torch.Generator().manual_seed(7))
            tensors[name] += 0.05 * scale * noise
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    return base


AGGREGATIONS = {"transformer": [], "max": ["--aggregation", "max"]}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_engine_scores_a_saved_model_alike(aggregation, tmp_path):
    base = parade_base(tmp_path, *AGGREGATIONS[aggregation])
    generator = random.Random(1)
    documents = [text(generator, words) for words in (1, 5, 20, 45, 60, 150)]
    documents += ["bø [SEP] ß\u0301 [MASK] 漢字. X" * 3]
    queries = [text(generator, 3), text(generator, 40), "ba"]
    pairs = [(queries[i % 3], document) for i, document in enumerate(documents)]
    model = Parade.load(base).eval()
    model.save(tmp_path / "saved", base)
    relucent("model", "check", tmp_path / "saved")
    with torch.no_grad():
        scores = model(model.batch(PairTokenizer(base), pairs)).tolist()
    for device in ("ref", "cpu"):
        found = engine_logits(tmp_path / "saved", pairs, tmp_path, device)
        assert scores == pytest.approx(found, abs=1e-4, rel=0), device
    assert len({round(score, 4) for score in scores}) == len(scores)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_training_learns_and_ends_in_a_folder_that_the_engine_scores_alike(aggregation, tmp_path):
    parade_base(tmp_path, *AGGREGATIONS[aggregation], scale=1.0)
    write_teacher(tmp_path)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("max_length = 60\n", ""))
    arguments = [str(recipe), "model.dropout=0", "loss.kl=0", "loss.localized_contrastive=1"]
    assert main([*arguments, "training.learning_rate=3e-3"]) == 0
    out = tmp_path / "out"
    with open(out / "training/log.csv") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["loss"]) < 0.8 * float(rows[1]["loss"])
    card = (out / "README.md").read_text()
    assert "A PARADE for reranking" in card
    assert "passages of 24 word pieces, one per 16, at most 5" in card
    assert float(card.split("differ from PyTorch's by at most ")[1].split()[0]) <= 1e-4
    assert json.loads((out / "config.json").read_text())["architectures"] == ["ParadeForSequenceClassification"]


def test_all_parameters_have_gradients(tmp_path):
    base = parade_base(tmp_path)
    model = Parade.load(base).train()
    generator = random.Random(2)
    found = []
    for checkpointing in (False, True):
        model.gradient_checkpointing = checkpointing
        model.zero_grad()
        torch.manual_seed(8)
        batch = model.batch(PairTokenizer(base), [("ba be", one) for one in (text(generator, 60), "ba")])
        generator = random.Random(2)
        model(batch).square().sum().backward()
        found.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert all(gradient is not None and torch.isfinite(gradient).all() for gradient in found[0].values())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_settings_of_other_models_are_refused_by_name(tmp_path, capsys):
    parade_base(tmp_path)
    write_teacher(tmp_path)
    assert main([str(tmp_path / "recipe.toml")]) == 1
    assert "key model.max_length: does not apply to a PARADE" in capsys.readouterr().err
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("max_length = 60\n", ""))
    assert main([str(recipe), "model.pattern=sparse"]) == 1
    assert "key model.pattern: is for cross-encoders, and the base is a PARADE" in capsys.readouterr().err


@pytest.mark.parametrize(("key", "value", "message"), [
    ("passage_window", 0, "key passage_window: is not an integer from 1"),
    ("passage_window", 46, "key passage_window: asks for 57 positions of 48"),
    ("passage_stride", 13, "key passage_stride: is more than passage_window"),
    ("parade_aggregation", "cnn", "key parade_aggregation: is none of transformer, max"),
    ("max_passages", 3, "has shape"),
])
def test_bad_bases_are_refused_by_name(tmp_path, key, value, message):
    config = json.loads((GOLDENS / "transformer/config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, key: value}))
    (tmp_path / "model.safetensors").write_bytes((GOLDENS / "transformer/model.safetensors").read_bytes())
    with pytest.raises(TrainingError, match=message):
        Parade.load(tmp_path)
