"""Each loss equals its formula, written out in loops of Python's floats."""
import math

import pytest
import torch
from relucent_search.train.losses import LOSSES, weighted

LOGITS = [[0.3, -1.2, 0.9, 0.0], [2.0, 1.5, -0.5, 1.5]]
TARGETS = [[3.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]


def softmax(values):
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def margin_mse(s, t):
    return sum(((s[0] - x) - (t[0] - y)) ** 2 for x, y in zip(s[1:], t[1:], strict=True)) / (len(s) - 1)


def ranknet(s, t):
    costs = [math.log(1 + math.exp(s[j] - s[i])) for i in range(4) for j in range(4) if t[i] > t[j]]
    return sum(costs) / len(costs) if costs else 0.0


def kl(s, t):
    return sum(p * math.log(p / q) for p, q in zip(softmax(t), softmax(s), strict=True))


def cross_entropy(s, t):
    probabilities = [1 / (1 + math.exp(-x)) for x in s]
    return sum(-math.log(p if y > 0 else 1 - p) for p, y in zip(probabilities, t, strict=True)) / len(s)


def localized_contrastive(s, _t):
    return -math.log(softmax(s)[0])


def centred_mse(s, t):
    mean_s, mean_t = sum(s) / len(s), sum(t) / len(t)
    return sum(((x - mean_s) - (y - mean_t)) ** 2 for x, y in zip(s, t, strict=True)) / len(s)


FORMULAS = [margin_mse, ranknet, kl, cross_entropy, localized_contrastive, centred_mse]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)
def test_loss_equals_its_formula(formula):
    found = LOSSES[formula.__name__](torch.tensor(LOGITS), torch.tensor(TARGETS)).item()
    assert found == pytest.approx(sum(map(formula, LOGITS, TARGETS)) / 2, rel=1e-5)


def test_every_loss_is_tested():
    assert {formula.__name__ for formula in FORMULAS} == set(LOSSES)


@pytest.mark.parametrize("name", LOSSES)
def test_descent_puts_the_positive_first(name):
    logits = torch.tensor([[0.0, 1.0, 0.5]], requires_grad=True)
    targets = torch.tensor([[2.0, 0.0, 0.0]])
    for _ in range(200):
        (gradient,) = torch.autograd.grad(LOSSES[name](logits, targets), logits)
        logits = (logits - 0.5 * gradient).detach().requires_grad_()
    assert logits.argmax().item() == 0


def test_weights_are_factors():
    logits, targets = torch.tensor(LOGITS), torch.tensor(TARGETS)
    found = weighted({"kl": 1.0, "centred_mse": 0.1})(logits, targets)
    assert found == LOSSES["kl"](logits, targets) + 0.1 * LOSSES["centred_mse"](logits, targets)


def test_ties_and_certain_logits_stay_finite():
    for name, loss in LOSSES.items():
        logits = torch.tensor([[1e4, -1e4], [3.0, 3.0]], requires_grad=True)
        value = loss(logits, torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
        value.backward()
        assert torch.isfinite(value), name
        assert torch.isfinite(logits.grad).all(), name
