"""Ragged batches of single texts, for models that read queries and documents apart."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from relucent.train.batch import slots_of


@dataclasses.dataclass
class Texts:
    """The tokens of B texts as rows. First come, text by text, those that stand in front of each (`fronts` per text),
    then, text by text, the others. `slots` finds the rows in the flattened table [B, L], L the longest text."""

    ids: Tensor  # [T]; of the rows in front: the number of the front
    positions: Tensor  # [T]
    slots: Tensor  # [T]
    valid: Tensor  # [B, L]: false: padding
    fronts: int

    def to(self, device: torch.device) -> Texts:
        tensors = (self.ids, self.positions, self.slots, self.valid)
        return Texts(*(tensor.to(device) for tensor in tensors), self.fronts)

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]], fronts: int = 0) -> Texts:
        """texts: ids; none of the texts is empty."""
        sizes = [fronts + len(text) for text in texts]
        slots, valid = slots_of(sizes)
        places = slots.remainder(valid.shape[1])
        in_front = places < fronts
        order = torch.cat([in_front.nonzero(), (~in_front).nonzero()]).squeeze(1)
        ids = torch.cat([torch.arange(fronts).repeat(len(texts)),
                         *(torch.tensor(text, dtype=torch.long) for text in texts)])
        return cls(ids, places[order], slots[order], valid, fronts)

    @property
    def front_rows(self) -> int:
        return self.valid.shape[0] * self.fronts

    def padded(self, rows: Tensor) -> Tensor:
        """[T, n] -> [B, L, n], with zeros in the padding."""
        table = rows.new_zeros(self.valid.numel(), rows.shape[1]).index_copy(0, self.slots, rows)
        return table.view(*self.valid.shape, -1)

    def attention(self, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        """Each token sees its whole text. query: [T, hidden], or the rows in front alone."""
        keys, values = self.padded(key), self.padded(value)
        if len(query) == len(key):
            return attend(self.padded(query), keys, values, self.valid, heads).flatten(0, 1).index_select(0, self.slots)
        queries = query.view(len(self.valid), self.fronts, -1)
        return attend(queries, keys, values, self.valid, heads).flatten(0, 1)


def attend(query: Tensor, key: Tensor, value: Tensor, valid: Tensor, heads: int) -> Tensor:
    """[B, Lq, hidden], [B, Lk, hidden] (twice), [B, Lk] -> [B, Lq, hidden]: softmax over the valid keys."""
    query, key, value = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    mask = valid[:, None, None, :].expand(-1, -1, query.shape[2], -1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)
