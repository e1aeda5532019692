"""In-batch negatives have the gradients of one dense batch, in any number of parts and processes."""
import contextlib
import csv
import random

import pytest
import torch
import torch.nn.functional as F
from mixencoder_test import FORMS, mix_base
from processes_test import ended, needs_accelerate, started
from relucent_search.train.cli import main
from relucent_search.train.data import Candidate, CandidateList, TrainingData
from relucent_search.train.in_batch import InBatchNegatives
from relucent_search.train.mixencoder import MixEncoder
from relucent_search.train.processes import Processes
from relucent_search.train.tokenizer import PairTokenizer
from safetensors.torch import load_file
from support import text, write_teacher

LISTS = 8


def step_of(lists: list[CandidateList]) -> list[tuple[CandidateList, list[Candidate]]]:
    return [(one, one.candidates) for one in lists]


def made(base, dropout: float) -> tuple[MixEncoder, PairTokenizer, TrainingData]:
    """Some queries have two lists, with different positives; some documents are in several lists."""
    generator = random.Random(3)
    documents = {f"d{i}": text(generator, generator.randrange(1, 12)) for i in range(12)}
    queries = [text(generator, 3) for _ in range(LISTS - 2)]
    lists = []
    for i in range(LISTS):
        names = generator.sample(sorted(documents), 3)
        lists.append(CandidateList(queries[i % len(queries)], [Candidate(names[0], 1.0), Candidate(names[1], 0.0),
                                                               Candidate(names[2], 0.0)]))
    model = MixEncoder.load(base).train()
    model.dropout = dropout
    return model, PairTokenizer(base), TrainingData(lists, documents)


def gradients(model: MixEncoder) -> dict[str, torch.Tensor]:
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    return found


def negatives(model, tokenizer, data) -> InBatchNegatives:
    return InBatchNegatives(model, tokenizer, data, Processes("cpu"), contextlib.nullcontext, 100)


@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_those_of_a_dense_batch(form, tmp_path):
    model, tokenizer, data = made(mix_base(tmp_path, *FORMS[form], scale=1.0), 0.0)
    names = [candidate.document for one in data.lists for candidate in one.candidates]
    pairs = [(one.query, data.documents[name]) for one in data.lists for name in names]
    logits = model(model.batch(tokenizer, pairs, 100)).view(LISTS, len(names))
    positives = {}
    for one in data.lists:
        positives.setdefault(one.query, set()).add(one.candidates[0].document)
    assert any(len(of) > 1 for of in positives.values())
    for row, one in enumerate(data.lists):
        for place, name in enumerate(names):
            if place != 3 * row and name in positives[one.query]:
                logits[row, place] = -torch.inf
    dense = F.cross_entropy(logits, torch.arange(LISTS) * 3)
    dense.backward()
    expected = gradients(model)
    assert torch.isinf(logits).any()
    for parts in (1, 2, 4, 8):
        loss = negatives(model, tokenizer, data).backward(step_of(data.lists), parts)
        assert loss == pytest.approx(dense.item(), rel=1e-5)
        for name, gradient in gradients(model).items():
            torch.testing.assert_close(gradient, expected[name], rtol=1e-3, atol=2e-5,
                                       msg=lambda text, n=name: f"{n}: {text}")


def test_dropout_is_the_same_when_vectors_are_computed_again(tmp_path, monkeypatch):
    model, tokenizer, data = made(mix_base(tmp_path, scale=1.0), 0.3)
    found = []
    vectors = InBatchNegatives._vectors

    def kept(self, part):
        made = vectors(self, part)
        found.append((made.requires_grad, made.detach()))
        return made

    monkeypatch.setattr(InBatchNegatives, "_vectors", kept)
    torch.manual_seed(1)
    negatives(model, tokenizer, data).backward(step_of(data.lists), 4)
    assert [again for again, _ in found] == [False] * 4 + [True] * 4
    for (_, first), (_, again) in zip(found[:4], found[4:], strict=True):
        assert torch.equal(first, again)
    assert not torch.equal(found[0][1], vectors(negatives(model, tokenizer, data), step_of(data.lists)[:2]))


@pytest.fixture
def folder(tmp_path):
    mix_base(tmp_path, "--layers", "1,2", scale=1.0)
    return write_teacher(tmp_path)


RECIPE = ["model.dropout=0", "loss.kl=0", "loss.localized_contrastive=1", "training.in_batch_negatives=true",
          "data.bands=[[1, 2, 1], [3, 6, 1]]"]


def test_a_training_learns(folder):
    assert main([str(folder / "recipe.toml"), *RECIPE, "training.accumulate=2", "training.steps=60",
                 "evaluation.every=0"]) == 0
    with open(folder / "out/training/log.csv") as file:
        rows = list(csv.DictReader(file))
    losses = [float(row["loss"]) for row in rows]
    assert sum(losses[-3:]) < 0.8 * sum(losses[:3])


@needs_accelerate
def test_two_processes_train_as_one_does(folder):
    recipe = [str(folder / "recipe.toml"), *RECIPE, "training.accumulate=2", "training.steps=4", "evaluation.every=0"]
    assert main([*recipe, f"output={folder / 'one'}"]) == 0
    first, second = ended(started([*recipe, f"output={folder / 'two'}"]))
    assert first[0] == second[0] == 0, first[2] + second[2]
    one, two = (load_file(folder / name / "model.safetensors") for name in ("one", "two"))
    for name in one:
        if name.endswith("attention.self.key.bias"):  # changes nothing, so its gradient is rounding
            continue
        torch.testing.assert_close(one[name], two[name], rtol=1e-3, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(("changes", "message"), [
    (["loss.kl=1"], "key training.in_batch_negatives: is the cross-entropy of a query's positive"),
    (["model.base=bert"], "key training.in_batch_negatives: does not apply to a cross-encoder"),
])
def test_what_it_does_not_apply_to(folder, changes, message, capsys):
    changes = [change.replace("=bert", f"={folder / 'bert'}") for change in changes]
    assert main([str(folder / "recipe.toml"), *RECIPE, *changes]) == 1
    assert message in capsys.readouterr().err
