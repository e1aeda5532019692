"""Ragged batches of pairs: no token of padding passes through a dense layer."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor


@dataclasses.dataclass
class Batch:
    """The tokens of B pairs as rows: first the B [CLS], then the queries' tokens, then the documents', pair by pair.
    Pairs may share a query's rows: U <= B of them.

    T = number of tokens. A group's tokens are found again in a padded table [B, L], L its longest pair, by `slots`.
    """

    ids: Tensor  # [T]
    types: Tensor  # [T]
    positions: Tensor  # [T]
    query_slots: Tensor  # [query tokens]: index into the flattened [U, Lq]
    document_slots: Tensor  # [document tokens]: index into the flattened [B, Ld]
    query_valid: Tensor  # [U, Lq]: false: padding
    document_valid: Tensor  # [B, Ld]
    query_of: Tensor  # [B]: the pair's query among the U

    @property
    def pairs(self) -> int:
        return self.document_valid.shape[0]

    @property
    def shared(self) -> bool:
        return self.query_valid.shape[0] < self.pairs

    def to(self, device: torch.device) -> Batch:
        return Batch(*(getattr(self, field.name).to(device) for field in dataclasses.fields(self)))

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], cls_id: int, document_type: int = 1,
           share: bool = False) -> Batch:
        """pairs: the ids of Q and of D, each with its [SEP]. Positions: C at 0, Q from 1, D from 1 + |Q|.
        share: pairs with equal Q share its rows."""
        numbers: dict[object, int] = {}
        query_of = [numbers.setdefault(tuple(query) if share else i, len(numbers))
                    for i, (query, _) in enumerate(pairs)]
        different = {number: query for number, (query, _) in zip(query_of, pairs, strict=True)}
        queries = [torch.tensor(query, dtype=torch.long) for query in different.values()]
        documents = [torch.tensor(document, dtype=torch.long) for _, document in pairs]
        query_slots, query_valid = slots_of([len(query) for query in queries])
        document_slots, document_valid = slots_of([len(document) for document in documents])
        positions = [torch.zeros(len(pairs), dtype=torch.long)]
        positions += [torch.arange(1, 1 + len(query)) for query in queries]
        positions += [1 + len(query) + torch.arange(len(document)) for query, document in pairs]
        ids = torch.cat([torch.full((len(pairs),), cls_id), *queries, *documents])
        types = torch.zeros_like(ids)
        types[len(ids) - len(document_slots) :] = document_type
        return cls(ids, types, torch.cat(positions), query_slots, document_slots, query_valid, document_valid,
                   torch.tensor(query_of))


def slots_of(sizes: list[int]) -> tuple[Tensor, Tensor]:
    """Indices of the rows of ragged groups in their flattened padded table, and which places of it are no padding."""
    valid = torch.arange(max(sizes))[None, :] < torch.tensor(sizes)[:, None]
    return valid.flatten().nonzero().squeeze(1), valid
