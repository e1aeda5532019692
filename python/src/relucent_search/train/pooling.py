"""How the pivots of a document become one row, without attention by heads: a maximum, or a Transformer's layers."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from relucent_search.train.texts import attend

# (layer, states [rows, hidden], attention) -> [rows, hidden]
Layer = Callable[[nn.ModuleDict, Tensor, Callable[[Tensor, Tensor, Tensor, int], Tensor]], Tensor]


def maximum(states: Tensor, valid: Tensor) -> Tensor:
    """[D, n, hidden], [D, n] -> [D, hidden]; 0 for a document without pivots."""
    if states.shape[1] == 0:
        return states.new_zeros(states.shape[0], states.shape[2])
    lowest = torch.finfo(states.dtype).min
    highest = states.masked_fill(~valid[:, :, None], lowest).amax(1)
    return highest.masked_fill(~valid.any(1)[:, None], 0)


def through_layers(states: Tensor, valid: Tensor, vector: Tensor, positions: Tensor | None, layers: nn.ModuleList,
                   compute: Layer) -> Tensor:
    """What becomes of the vector in front of a document's pivots when all see all. positions: [more than n, hidden].
    [D, n, hidden], [D, n] -> [D, hidden]; 0 for a document without pivots."""
    documents, length = len(states), 1 + states.shape[1]
    x = torch.cat([vector.to(states).expand(documents, 1, -1), states], dim=1)
    if positions is not None:
        x = x + positions[:length].to(x)
    seen = torch.cat([valid.new_ones(documents, 1), valid], dim=1)[:, None, :]

    def attention(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        parts = (rows.view(documents, length, -1) for rows in (query, key, value))
        return attend(*parts, seen, heads).flatten(0, 1)

    rows = x.flatten(0, 1)
    for layer in layers:
        rows = compute(layer, rows, attention)
    first = rows.view(documents, length, -1)[:, 0]
    return first.masked_fill(~valid.any(1)[:, None], 0)
