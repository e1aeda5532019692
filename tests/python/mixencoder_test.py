"""The MixEncoder equals the authors' code and the engine, and is trained as cross-encoders are."""
import csv
import gzip
import json
import os
import random
import signal
from pathlib import Path

import pytest
import torch
from relucent_search.train import settings
from relucent_search.train.cli import main
from relucent_search.train.errors import TrainingError
from relucent_search.train.mixencoder import MixEncoder
from relucent_search.train.tokenizer import PairTokenizer
from relucent_search.train.trainer import Interrupted, Trainer
from safetensors.torch import load_file, save_file
from support import engine_logits, relucent, text, write_base, write_teacher

GOLDENS = Path(os.environ.get("RELUCENT_GOLDENS", "")) / "mixencoder"
FORMS = {"a": [], "b": ["--layers", "0,2"], "c": ["--layers", "1,2", "--vectors", "2", "--pooling", "split"],
         "codes": ["--strategy", "C", "--layers", "0,1", "--vectors", "3"],
         "without H": ["--layers", "1,2", "--query-state", "cls"],
         "without E": ["--layers", "0,2", "--vectors", "2", "--candidate-state", "stored"]}


def golden_cases(name: str) -> list[dict]:
    with gzip.open(GOLDENS / "cases" / f"{name}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


@pytest.mark.skipif(not (GOLDENS / "ckpt").is_dir(), reason="RELUCENT_GOLDENS names no folder with mixencoder/ckpt")
@pytest.mark.parametrize("name", sorted(path.parent.name for path in GOLDENS.glob("ckpt/*/config.json")))
def test_scores_and_vectors_equal_the_authors(name):
    """All cases in one batch, so that the texts' lengths differ. The tolerances are the goldens' own."""
    model, cases = MixEncoder.load(GOLDENS / "ckpt" / name).eval(), golden_cases(name)
    candidates = [ids for case in cases for ids in case["candidates"]]
    query_of = [number for number, case in enumerate(cases) for _ in case["candidates"]]
    batch = model.batch_of([case["query_ids"] for case in cases], candidates, query_of)
    with torch.no_grad():
        scores, contexts = model(batch).tolist(), model.contexts(batch.candidates)
    vectors = torch.tensor([vectors for case in cases for vectors in case["cand_emb"]])
    assert (contexts - vectors).abs().max() <= 1e-5
    worst, start = [], 0
    for case in cases:
        expected = case["scores_ref64"]
        found = scores[start : start + len(expected)]
        start += len(expected)
        worst.append(max(abs(x - y) for x, y in zip(found, expected, strict=True)))
        for (x, y), (i, j) in ((((found[i], found[j]), (i, j))) for i in range(len(found)) for j in range(i)):
            if abs(expected[i] - expected[j]) > 1e-9:
                assert (x > y) == (expected[i] > expected[j]), case["id"]
    assert worst
    assert max(worst) <= 2e-4
    assert sum(worst) / len(worst) <= 2e-5


def mix_base(folder: Path, *options: object, scale: float = 4.0) -> Path:
    """Makes one from a random BERT. The gate and the special tokens or codes are enlarged, so that they matter."""
    bert = write_base(folder / "bert", hidden_dropout_prob=0.1)
    base = folder / "base"
    relucent("model", "init", "--from", bert, "--as", "mixencoder", "--candidate-length", 100, *options, base)
    tensors = load_file(base / "model.safetensors")
    for name in tensors:
        if name.startswith("mixencoder.") and not name.startswith("mixencoder.layer."):
            tensors[name] *= scale
        elif name.startswith("mixencoder.layer."):  # no copies of the encoder's layers any more
            tensors[name] += 0.1 * torch.randn(tensors[name].shape, generator=torch.Generator().manual_seed(7))
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    return base


@pytest.mark.parametrize("form", FORMS)
def test_engine_scores_a_saved_model_alike(form, tmp_path):
    base = mix_base(tmp_path, *FORMS[form])
    model = MixEncoder.load(base).eval()
    model.save(tmp_path / "saved", base)
    relucent("model", "check", tmp_path / "saved")
    generator = random.Random(1)
    sizes = [(3, 20), (1, 1), (40, 30), (5, 300), (2, 45)]
    pairs = [(text(generator, query), text(generator, document)) for query, document in sizes]
    pairs += [(pairs[0][0], pairs[2][1]), ("bø [SEP] ß\u0301", "[SEP] ba [MASK] 漢字 x" * 3)]
    with torch.no_grad():
        scores = model(model.batch(PairTokenizer(base), pairs, 100)).tolist()
    found = engine_logits(tmp_path / "saved", pairs, tmp_path, "ref")
    assert scores == pytest.approx(found, abs=1e-4, rel=0)
    assert len({round(score, 3) for score in scores}) == len(scores)


def test_gradient_checkpointing_changes_nothing(tmp_path):
    base = mix_base(tmp_path, *FORMS["c"])
    pairs = [("ba be", "bi bo bu da"), ("ba be", "do"), ("fa", "ba fe gi go ka ku")]
    found = []
    for checkpointing in (False, True):
        model = MixEncoder.load(base).train()
        model.gradient_checkpointing = checkpointing
        torch.manual_seed(8)
        model(model.batch(PairTokenizer(base), pairs, 100)).sum().backward()
        found.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert all(gradient is not None for gradient in found[0].values())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


@pytest.fixture
def folder(tmp_path):
    mix_base(tmp_path, "--layers", "1,2", scale=1.0)
    return write_teacher(tmp_path)


def test_a_training_learns_resumes_and_ends_in_a_folder_that_the_engine_scores_alike(folder, monkeypatch):
    recipe = [str(folder / "recipe.toml"), "model.dropout=0", "loss.kl=0", "loss.localized_contrastive=1"]
    assert main(recipe) == 0
    out = folder / "out"
    with open(out / "training/log.csv") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["loss"]) < 0.8 * float(rows[1]["loss"])
    card = (out / "README.md").read_text()
    assert "A MixEncoder for reranking" in card
    assert "vectors per candidate 1 (special_tokens); interaction layers 1, 2; pooling mean" in card
    assert float(card.split("differ from PyTorch's by at most ")[1].split()[0]) <= 1e-4
    relucent("model", "check", out)

    trainer = Trainer(settings.load(folder / "recipe.toml", [*recipe[1:], f"output={folder / 'again'}"]))
    train_step = trainer._train_step

    def interrupted():
        if trainer.step == 6:
            signal.raise_signal(signal.SIGTERM)
        return train_step()

    monkeypatch.setattr(trainer, "_train_step", interrupted)
    with pytest.raises(Interrupted):
        trainer.run()
    assert main([*recipe, f"output={folder / 'again'}"]) == 0
    assert (folder / "again/model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()


def test_all_losses_and_bf16_train_it(folder):
    losses = [f"loss.{name}=0.1" for name in ("margin_mse", "ranknet", "kl", "cross_entropy", "localized_contrastive",
                                              "centred_mse")]
    assert main([str(folder / "recipe.toml"), "training.steps=2", "evaluation.every=0", "training.bf16=true",
                 *losses]) == 0


@pytest.mark.parametrize(("change", "message"), [
    ("model.pattern=sparse", "key model.pattern: is for cross-encoders, and the base is a MixEncoder"),
    ("model.doc_cls_attention=true", "key model.doc_cls_attention: is for cross-encoders"),
    ("model.max_length=101", "key model.max_length: is more than the 100 tokens"),
])
def test_settings_of_other_models_are_refused_by_name(folder, change, message, capsys):
    assert main([str(folder / "recipe.toml"), change]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("key", "value", "message"), [
    ("mix_strategy", "both", "key mix_strategy: is 'both', not special_tokens or context_codes"),
    ("mix_score", "cosine", "key mix_score: is 'cosine', not dot"),
    ("num_context_embeddings", 0, "key num_context_embeddings: is not an integer from 1"),
    ("interaction_layers", [2, 1], "key interaction_layers: is not an ascending list"),
    ("interaction_layers", [3], "key interaction_layers: is not an ascending list"),
    ("interaction_layers", [0, 2], "lacks the tensor mixencoder.layer.0"),
    ("num_context_embeddings", 2, "tensor mixencoder.special_tokens.weight has shape"),
    ("candidate_max_length", 161, "key candidate_max_length: asks for 161 positions of 160"),
])
def test_bad_bases_are_refused_by_name(tmp_path, key, value, message):
    base = mix_base(tmp_path)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, key: value}))
    with pytest.raises(TrainingError, match=message):
        MixEncoder.load(base)
