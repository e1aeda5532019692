"""Ragged batches of pairs: no token of padding passes through a dense layer."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor


@dataclasses.dataclass
class Batch:
    """The tokens of B pairs as rows: first the B [CLS], then the queries' tokens, then the documents', pair by pair,
    and then those before sentences. Pairs may share a query's rows: U <= B of them.

    T = number of tokens. A group's tokens are found again in a padded table [B, L], L its longest pair, by `slots`.
    """

    ids: Tensor  # [T]
    types: Tensor  # [T]
    positions: Tensor  # [T]
    query_slots: Tensor  # [query tokens]: index into the flattened [U, Lq]
    document_slots: Tensor  # [document tokens]: index into the flattened [B, Ld]; those before sentences have a place
    query_valid: Tensor  # [U, Lq]: false: padding
    document_valid: Tensor  # [B, Ld]
    query_of: Tensor  # [B]: the pair's query among the U
    sentence_slots: Tensor  # [sentences' tokens]: index into the flattened [B, Ls]
    sentence_valid: Tensor  # [B, Ls]

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
           share: bool = False, sentences: Sequence[Sequence[int]] | None = None, apart: bool = False) -> Batch:
        """pairs: the ids of Q and of D, each with its [SEP]. Positions: C at 0, Q from 1, D from 1 + |Q|.
        share: pairs with equal Q share its rows. sentences: of each pair, which places of D are tokens before
        sentences, ascending. apart: D's positions also start at 0."""
        numbers: dict[object, int] = {}
        query_of = [numbers.setdefault(tuple(query) if share else i, len(numbers))
                    for i, (query, _) in enumerate(pairs)]
        different = {number: query for number, (query, _) in zip(query_of, pairs, strict=True)}
        queries = [torch.tensor(query, dtype=torch.long) for query in different.values()]
        documents = [torch.tensor(document, dtype=torch.long) for _, document in pairs]
        query_slots, query_valid = slots_of([len(query) for query in queries])
        document_slots, document_valid = slots_of([len(document) for document in documents])
        starts = sentences or [()] * len(pairs)
        sentence_slots, sentence_valid = slots_of([len(of) for of in starts])
        is_start = torch.zeros(document_valid.shape, dtype=torch.bool)
        for pair, of in enumerate(starts):
            is_start[pair, list(of)] = True
        of_rows = is_start.flatten()[document_slots]  # in the order of the documents' tokens
        document_slots, document_valid = document_slots[~of_rows], document_valid & ~is_start
        positions = [torch.zeros(len(pairs), dtype=torch.long)]
        positions += [torch.arange(1, 1 + len(query)) for query in queries]
        places = torch.cat([(0 if apart else 1 + len(query)) + torch.arange(len(document))
                            for query, document in pairs])
        of_documents = torch.cat(documents)
        ids = torch.cat([torch.full((len(pairs),), cls_id), *queries, of_documents[~of_rows], of_documents[of_rows]])
        types = torch.zeros_like(ids)
        types[len(ids) - len(of_documents) :] = document_type
        return cls(ids, types, torch.cat([*positions, places[~of_rows], places[of_rows]]), query_slots, document_slots,
                   query_valid, document_valid, torch.tensor(query_of), sentence_slots, sentence_valid)


PADDING = 3  # in the place of a group


@dataclasses.dataclass
class Inputs:
    """The tokens of a batch in the order of their positions, pair by pair: a padded table [B, L], L the longest input.
    Without tokens before sentences."""

    table: Tensor  # [B, L]: the token's row; T in the padding
    groups: Tensor  # [B, L]: 0, 1, 2 for [CLS], query and document, or PADDING
    places: Tensor  # [T]: where a row is in the flattened table; of a shared one, for one of its pairs

    @property
    def length(self) -> int:
        return self.table.shape[1]

    @property
    def valid(self) -> Tensor:
        return self.groups != PADDING

    @classmethod
    def of(cls, batch: Batch) -> Inputs:
        total, pairs, queries = len(batch.ids), batch.pairs, len(batch.query_slots)

        def rows_of(slots: Tensor, valid: Tensor, first: int) -> Tensor:  # as a padded table, -1 in the padding
            rows = torch.arange(first, first + len(slots), device=slots.device)
            return slots.new_full((valid.numel(),), -1).index_copy(0, slots, rows).view(valid.shape)

        of_queries = rows_of(batch.query_slots, batch.query_valid, pairs).index_select(0, batch.query_of)
        of_documents = rows_of(batch.document_slots, batch.document_valid, pairs + queries)
        of_cls = torch.arange(pairs, device=batch.ids.device)[:, None]
        parts = [(of_cls, 0), (of_queries, 1), (of_documents, 2)]
        length = int(batch.positions.max()) + 1
        places, rows, groups = [], [], []
        for of_part, group in parts:
            present = of_part >= 0
            rows.append(of_part[present])
            places.append(present.nonzero()[:, 0] * length + batch.positions[rows[-1]])
            groups.append(torch.full_like(rows[-1], group))
        at, row = torch.cat(places), torch.cat(rows)
        table = row.new_full((pairs * length,), total).index_copy(0, at, row)
        kinds = row.new_full((pairs * length,), PADDING).index_copy(0, at, torch.cat(groups))
        return cls(table.view(pairs, length), kinds.view(pairs, length), at.new_zeros(total).index_copy(0, row, at))

    def padded(self, rows: Tensor) -> Tensor:
        """[T, n] -> [B, L, n], with zeros in the padding."""
        return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])[self.table]

    def rows(self, table: Tensor) -> Tensor:
        """[B, L, n] -> [T, n]"""
        return table.flatten(0, 1).index_select(0, self.places)


@dataclasses.dataclass
class Table:
    """Where the rows of ragged groups stand in a padded table."""

    slots: Tensor  # [rows]: index into the flattened [groups, L], L the longest group
    valid: Tensor  # [groups, L]: false: padding

    @classmethod
    def of(cls, sizes: list[int]) -> Table:
        return cls(*slots_of(sizes))

    def to(self, device: torch.device) -> Table:
        return Table(self.slots.to(device), self.valid.to(device))

    def padded(self, rows: Tensor) -> Tensor:
        """[rows, n] -> [groups, L, n], with zeros in the padding."""
        table = rows.new_zeros(self.valid.numel(), rows.shape[1]).index_copy(0, self.slots, rows)
        return table.view(*self.valid.shape, rows.shape[1])

    def rows(self, table: Tensor) -> Tensor:
        """[groups, L, n] -> [rows, n]"""
        return table.flatten(0, 1).index_select(0, self.slots)


def slots_of(sizes: list[int]) -> tuple[Tensor, Tensor]:
    """Indices of the rows of ragged groups in their flattened padded table, and which places of it are not padding."""
    valid = torch.arange(max(sizes, default=0))[None, :] < torch.tensor(sizes)[:, None]
    return valid.flatten().nonzero().squeeze(1), valid
