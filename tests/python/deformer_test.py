"""The Deformer equals the goldens and the engine, and is trained as cross-encoders are."""
import csv
import gzip
import json
import random
from pathlib import Path

import pytest
import torch
from relucent_search.train.cli import main
from relucent_search.train.deformer import Deformer
from relucent_search.train.errors import TrainingError
from relucent_search.train.model import CrossEncoder
from relucent_search.train.tokenizer import PairTokenizer
from support import engine_logits, relucent, text, write_base, write_teacher

GOLDENS = Path(__file__).parents[1] / "goldens" / "deformer"


@pytest.mark.parametrize("name", ["one", "most", "labels"])
def test_logits_equal_the_goldens(name):
    """All texts of a query in one batch, and each alone."""
    model, tokenizer = Deformer.load(GOLDENS / name).eval(), PairTokenizer(GOLDENS / name)
    length = model.engine_length(tokenizer)
    with gzip.open(GOLDENS / f"{name}.jsonl.gz", "rt") as file, torch.no_grad():
        for line in file:
            case = json.loads(line)
            pairs = [(case["query"], one) for one in case["texts"]]
            expected = torch.tensor(case["scores"])
            found = model(model.batch(tokenizer, pairs, length)).view(expected.shape)
            assert torch.allclose(found, expected, rtol=0, atol=2e-5)
            alone = torch.stack([model(model.batch(tokenizer, [pair], length)).view(-1) for pair in pairs])
            assert torch.allclose(alone, expected, rtol=0, atol=2e-5)


def deformer_base(folder: Path, layers: int = 2) -> Path:
    bert = write_base(folder / "bert", hidden_dropout_prob=0.1)
    relucent("model", "init", "--from", bert, "--as", "deformer", "--layers", layers, "--query-length", 12,
             folder / "base")
    return folder / "base"


@pytest.mark.parametrize("layers", [1, 2])
def test_engine_scores_a_saved_model_alike(layers, tmp_path):
    base = deformer_base(tmp_path, layers)
    generator = random.Random(1)
    documents = [text(generator, words) for words in (1, 5, 20, 45, 60, 250)]
    documents += ["bø [SEP] ß\u0301 [MASK] 漢字. X" * 3]
    queries = [text(generator, 3), text(generator, 40), "ba"]
    pairs = [(queries[i % 3], document) for i, document in enumerate(documents)]
    model, tokenizer = Deformer.load(base).eval(), PairTokenizer(base)
    model.save(tmp_path / "saved", base)
    relucent("model", "check", tmp_path / "saved")
    with torch.no_grad():
        logits = model(model.batch(tokenizer, pairs, model.engine_length(tokenizer))).tolist()
    for device in ("ref", "cpu"):
        found = engine_logits(tmp_path / "saved", pairs, tmp_path, device)
        assert logits == pytest.approx(found, abs=1e-4, rel=0), device
    assert len({round(logit, 4) for logit in logits}) == len(logits)


def test_the_head_of_a_cross_encoder_is_kept(tmp_path):
    base = Deformer.load(deformer_base(tmp_path)).state_dict()
    bert = CrossEncoder.load(tmp_path / "bert").state_dict()
    assert base.keys() == bert.keys()
    assert all(torch.equal(base[name], bert[name]) for name in bert)


def test_a_training_learns_and_ends_in_a_folder_that_the_engine_scores_alike(tmp_path):
    deformer_base(tmp_path, layers=1)
    write_teacher(tmp_path)
    arguments = ["model.dropout=0", "loss.kl=0", "loss.localized_contrastive=1", "training.learning_rate=3e-3"]
    assert main([str(tmp_path / "recipe.toml"), *arguments]) == 0
    out = tmp_path / "out"
    with open(out / "training/log.csv") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["loss"]) < 0.8 * float(rows[1]["loss"])
    card = (out / "README.md").read_text()
    assert "A Deformer for reranking" in card
    assert "query and document apart in the first 1 of 3 layers" in card
    assert float(card.split("differ from PyTorch's by at most ")[1].split()[0]) <= 1e-4
    config = json.loads((out / "config.json").read_text())
    assert config["architectures"] == ["DeformerForSequenceClassification"]
    assert (config["deformer_layers"], config["query_length"]) == (1, 10)


def test_settings_of_other_models_are_refused_by_name(tmp_path, capsys):
    deformer_base(tmp_path)
    write_teacher(tmp_path)
    recipe = str(tmp_path / "recipe.toml")
    for setting, message in (("model.pattern=sparse", "key model.pattern: is for cross-encoders"),
                             ("model.window=4", "key model.window: is for cross-encoders"),
                             ("model.max_query_length=0", "key model.max_query_length: is 0"),
                             ("model.max_query_length=57", "key model.max_length: is 60, which leaves no place")):
        assert main([recipe, setting]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(("key", "value", "message"), [
    ("deformer_layers", 0, "key deformer_layers: is not an integer from 1 to 2"),
    ("deformer_layers", 3, "key deformer_layers: is not an integer from 1 to 2"),
    ("deformer_layers", True, "key deformer_layers: is not an integer from 1 to 2"),
    ("query_length", None, "key query_length: is null"),
    ("attention_window_size", 4, "sparse attention pattern"),
    ("model_type", "bert", "key deformer_layers: is of a Deformer"),
])
def test_bad_bases_are_refused_by_name(tmp_path, key, value, message):
    config = json.loads((GOLDENS / "one/config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, key: value}))
    with pytest.raises(TrainingError, match=message):
        (CrossEncoder if key == "model_type" else Deformer).load(tmp_path)
