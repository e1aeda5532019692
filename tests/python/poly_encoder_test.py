"""The Poly-Encoder equals independent code and the engine, and is trained with in-batch negatives."""
import csv
import gzip
import json
import random
from pathlib import Path

import pytest
import torch
from relucent_search.train.cli import main
from relucent_search.train.errors import TrainingError
from relucent_search.train.poly_encoder import PolyEncoder
from relucent_search.train.tokenizer import PairTokenizer
from support import engine_logits, relucent, text, write_base, write_teacher

GOLDENS = Path(__file__).parents[1] / "goldens/poly"


@pytest.mark.parametrize("name", ["codes-4", "codes-64"])
def test_scores_and_vectors_equal_independent_code(name):
    model, tokenizer = PolyEncoder.load(GOLDENS / name).eval(), PairTokenizer(GOLDENS / name)
    with gzip.open(GOLDENS / f"{name}.jsonl.gz", "rt") as file:
        cases = [json.loads(line) for line in file]
    batch = model.batch(tokenizer, [(case["query"], one) for case in cases for one in case["texts"]], 512)
    with torch.no_grad():
        vectors, scores = model.contexts(batch.candidates), model(batch)
    torch.testing.assert_close(vectors, torch.tensor([one for case in cases for one in case["vectors"]]), atol=1e-5,
                               rtol=1e-5)
    torch.testing.assert_close(scores, torch.tensor([one for case in cases for one in case["scores"]]), atol=1e-4,
                               rtol=1e-5)


def poly_base(folder: Path, codes: int = 6) -> Path:
    bert = write_base(folder / "bert", hidden_dropout_prob=0.1)
    relucent("model", "init", "--from", bert, "--as", "polyencoder", "--codes", codes, "--candidate-length", 60,
             folder / "base")
    return folder / "base"


def test_engine_scores_a_saved_model_alike(tmp_path):
    base = poly_base(tmp_path)
    model = PolyEncoder.load(base).eval()
    model.save(tmp_path / "saved", base)
    relucent("model", "check", tmp_path / "saved")
    generator = random.Random(1)
    pairs = [(text(generator, query), text(generator, document)) for query, document in ((3, 20), (1, 1), (40, 90))]
    with torch.no_grad():
        scores = model(model.batch(PairTokenizer(base), pairs, 60)).tolist()
    for device in ("ref", "cpu"):
        found = engine_logits(tmp_path / "saved", pairs, tmp_path, device)
        assert scores == pytest.approx(found, abs=1e-4, rel=0)


def test_a_training_learns(tmp_path):
    poly_base(tmp_path)
    write_teacher(tmp_path)
    assert main([str(tmp_path / "recipe.toml"), "model.dropout=0", "loss.kl=0", "loss.localized_contrastive=1",
                 "training.in_batch_negatives=true", "training.steps=80", "evaluation.every=0"]) == 0
    with open(tmp_path / "out/training/log.csv") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert sum(losses[-4:]) < 0.9 * sum(losses[:4])
    assert "A Poly-Encoder for reranking" in (tmp_path / "out/README.md").read_text()


def test_bad_configurations_are_refused_by_key(tmp_path):
    base = poly_base(tmp_path)
    config = json.loads((base / "config.json").read_text())
    for key in ("poly_codes", "query_max_length", "candidate_max_length"):
        (base / "config.json").write_text(json.dumps({**config, key: 0}))
        with pytest.raises(TrainingError, match=f"key {key}: is not an integer"):
            PolyEncoder.load(base)
