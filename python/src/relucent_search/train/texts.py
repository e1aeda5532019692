"""Ragged batches of single texts, for models that read queries and documents apart."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from relucent_search.train.batch import Table


@dataclasses.dataclass
class Texts:
    """The tokens of B texts as rows. First come, text by text, those that stand in front of each (`fronts` per text),
    then, text by text, the others."""

    ids: Tensor  # [T]; of the rows in front: the number of the front
    positions: Tensor  # [T]
    table: Table  # [B, L]
    fronts: int

    @property
    def valid(self) -> Tensor:
        return self.table.valid

    def to(self, device: torch.device) -> Texts:
        return Texts(self.ids.to(device), self.positions.to(device), self.table.to(device), self.fronts)

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]], fronts: int = 0) -> Texts:
        """texts: ids; none of the texts is empty."""
        sizes = [fronts + len(text) for text in texts]
        table = Table.of(sizes)
        places = table.slots.remainder(table.valid.shape[1])
        in_front = places < fronts
        order = torch.cat([in_front.nonzero(), (~in_front).nonzero()]).squeeze(1)
        ids = torch.cat([torch.arange(fronts).repeat(len(texts)),
                         *(torch.tensor(text, dtype=torch.long) for text in texts)])
        return cls(ids, places[order], Table(table.slots[order], table.valid), fronts)

    @property
    def front_rows(self) -> int:
        return self.valid.shape[0] * self.fronts

    def padded(self, rows: Tensor) -> Tensor:
        """[T, n] -> [B, L, n], with zeros in the padding."""
        return self.table.padded(rows)

    def attention(self, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        """Each token sees its whole text. query: [T, hidden], or the rows in front alone."""
        keys, values = self.padded(key), self.padded(value)
        if len(query) == len(key):
            return self.table.rows(attend(self.padded(query), keys, values, self.valid[:, None, :], heads))
        queries = query.view(len(self.valid), self.fronts, -1)
        return attend(queries, keys, values, self.valid[:, None, :], heads).flatten(0, 1)


def attend(query: Tensor, key: Tensor, value: Tensor, visible: Tensor, heads: int) -> Tensor:
    """[B, Lq, hidden], [B, Lk, hidden] (twice), [B, Lq or 1, Lk] -> [B, Lq, hidden]: softmax over the visible keys."""
    query, key, value = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    mask = visible[:, None].expand(-1, -1, query.shape[2], -1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)
