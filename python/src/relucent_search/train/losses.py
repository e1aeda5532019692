"""Losses of lists of candidates.

All take logits [lists, candidates] and targets of that shape: teacher scores or grades, the list's first candidate
being its positive (the greatest target). They return the mean over lists.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]


def margin_mse(logits: Tensor, targets: Tensor) -> Tensor:
    """Squared error of the margins between the positive and each other candidate (arXiv 2010.02666)."""
    return F.mse_loss(logits[:, :1] - logits[:, 1:], targets[:, :1] - targets[:, 1:])


def ranknet(logits: Tensor, targets: Tensor) -> Tensor:
    """log(1 + exp(s_j - s_i)), averaged over a list's pairs with t_i > t_j; a list of ties contributes 0."""
    better = (targets[:, :, None] > targets[:, None, :]).to(logits.dtype)
    costs = F.softplus(logits[:, None, :] - logits[:, :, None]) * better
    return (costs.sum((1, 2)) / better.sum((1, 2)).clamp(min=1)).mean()


def kl(logits: Tensor, targets: Tensor) -> Tensor:
    """KL divergence of the list's softmax from the teacher's."""
    return F.kl_div(logits.log_softmax(1), targets.log_softmax(1), reduction="batchmean", log_target=True)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Binary cross-entropy of each candidate by itself: a target above 0 means relevant."""
    return F.binary_cross_entropy_with_logits(logits, (targets > 0).to(logits.dtype))


def localized_contrastive(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the positive among the list's candidates (arXiv 2101.08751)."""
    return F.cross_entropy(logits, logits.new_zeros(len(logits), dtype=torch.long))


def centred_mse(logits: Tensor, targets: Tensor) -> Tensor:
    """Squared error of the scores less their list's mean."""
    return F.mse_loss(logits - logits.mean(1, keepdim=True), targets - targets.mean(1, keepdim=True))


LOSSES: dict[str, Loss] = {loss.__name__: loss for loss in (margin_mse, ranknet, kl, cross_entropy,
                                                            localized_contrastive, centred_mse)}


def of_labels(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the labels' logits, [pairs, labels]; targets, [pairs, 1]: their numbers."""
    return F.cross_entropy(logits, targets.squeeze(1).long())


def weighted(weights: Mapping[str, float]) -> Loss:
    """The weighted sum of the named losses."""
    return lambda logits, targets: sum(weight * LOSSES[name](logits, targets) for name, weight in weights.items())
