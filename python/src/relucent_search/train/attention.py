"""Sparse attention on ragged batches, with memory linear in the documents' length.

Rows of [CLS], of queries and of tokens before sentences see whole groups; the last two use PyTorch's fused attention.
Rows of documents see their neighbours and whole groups, in one softmax: in bands of chunks on the CPU, by
FlexAttention's block masks on a GPU.
"""
from __future__ import annotations

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from relucent_search.train.batch import PADDING, Batch, Inputs
from relucent_search.train.pattern import CLS, DOCUMENT, QUERY, AttentionPattern

# (query [B, heads, Ld, size], keys and values of the groups seen whole [B, heads, H, size], which of them are tokens
# [B, H], keys and values of the document [B, heads, Ld, size], which of them are tokens [B, Ld], window) -> [B, heads,
# Ld, size]; rows of padding are arbitrary, but finite.
DocumentAttention = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, int], Tensor]


class Bands:
    """A sequence's chunks of c tokens, each with the c + 2 * window keys around it."""

    def __init__(self, length: int, window: int):
        self.window = window
        self.chunk = max(2 * window, 16)  # a chunk's keys are in its block and the next
        self.chunks = -(-length // self.chunk)
        self.surplus = self.chunks * self.chunk - length
        self.span = self.chunk + 2 * window

    def chunked(self, x: Tensor) -> Tensor:
        """[B, heads, L, size] -> [B, heads, chunks, chunk, size]"""
        return F.pad(x, (0, 0, 0, self.surplus)).unflatten(2, (self.chunks, self.chunk))

    def spans(self, x: Tensor) -> Tensor:
        """[B, heads, L, size] -> [B, heads, chunks, span, size]"""
        # Blocks of keys begin `window` before those of queries. (Tensor.unfold has a slow gradient.)
        blocks = F.pad(x, (0, 0, self.window, self.surplus + self.chunk - self.window))
        blocks = blocks.unflatten(2, (self.chunks + 1, self.chunk))
        return torch.cat([blocks[:, :, :-1], blocks[:, :, 1:, : 2 * self.window]], dim=3)

    def keys(self, x: Tensor, padding: int = 0) -> Tensor:
        """What stands at each key of a span: [B, L] -> [B, chunks, span]"""
        return F.pad(x, (self.window, self.window + self.surplus), value=padding).unfold(1, self.span, self.chunk)

    def distances(self, device: torch.device) -> Tensor:
        """How far a span's keys are from a chunk's tokens: [chunk, span]"""
        at = torch.arange(self.span, device=device) - self.window
        return at[None, :] - torch.arange(self.chunk, device=device)[:, None]

    def near(self, device: torch.device) -> Tensor:
        return self.distances(device).abs() <= self.window


def banded(query: Tensor, whole_keys: Tensor, whole_values: Tensor, whole_valid: Tensor, keys: Tensor, values: Tensor,
           valid: Tensor, window: int) -> Tensor:
    """Each chunk of c tokens is multiplied with the c + 2 * window keys around it."""
    batch, heads, length, size = query.shape
    bands = Bands(length, window)
    query = bands.chunked(query) * size**-0.5
    near = query @ bands.spans(keys).transpose(3, 4)
    far = query.flatten(2, 3) @ whole_keys.transpose(2, 3)
    far = far.view(batch, heads, bands.chunks, bands.chunk, -1)
    lowest = torch.finfo(near.dtype).min  # not -inf: a row of padding may see nothing at all
    near = near.masked_fill(~(bands.near(query.device) & bands.keys(valid)[:, None, :, None, :]), lowest)
    far = far.masked_fill(~whole_valid[:, None, None, None, :], lowest)
    weights = torch.cat([near, far], dim=-1).softmax(-1).to(values.dtype)
    near, far = weights.split([bands.span, far.shape[-1]], dim=-1)
    mixed = (near @ bands.spans(values)).flatten(2, 3) + far.flatten(2, 3) @ whole_values
    return mixed[:, :, :length]


def single(query: Tensor, keys: Tensor, values: Tensor, valid: Tensor) -> Tensor:
    """One token per pair, for which the fused attention takes twice the time: [B, heads, 1, size], [B, heads, L, size]
    (twice), [B, L] -> [B, heads, 1, size]. Each pair has a valid key."""
    scores = (query * query.shape[3] ** -0.5) @ keys.transpose(2, 3)
    scores = scores.masked_fill(~valid[:, None, None, :], torch.finfo(scores.dtype).min)
    return scores.softmax(-1).to(values.dtype) @ values


@functools.cache
def _flex(compiled: bool):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    if not compiled:
        return flex_attention, create_block_mask
    # Compiled, the mask is made block by block: memory stays linear.
    return torch.compile(flex_attention, dynamic=True), torch.compile(create_block_mask, dynamic=True)


@functools.lru_cache(maxsize=1)
def _block_mask(whole_valid: Tensor, valid: Tensor, window: int):
    """All layers of a batch ask for the same."""
    (batch, length), whole = valid.shape, whole_valid.shape[1]
    all_valid = torch.cat([whole_valid, valid], dim=1)

    def visible(b: Tensor, _head: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return all_valid[b, j] & ((j < whole) | ((j - whole - i).abs() <= window))

    return _flex(valid.is_cuda)[1](visible, batch, None, length, whole + length, device=valid.device)


def flex(query: Tensor, whole_keys: Tensor, whole_values: Tensor, whole_valid: Tensor, keys: Tensor, values: Tensor,
         valid: Tensor, window: int) -> Tensor:
    mask = _block_mask(whole_valid, valid, window)
    keys, values = torch.cat([whole_keys, keys], dim=2), torch.cat([whole_values, values], dim=2)
    return _flex(query.is_cuda)[0](query, keys, values, block_mask=mask)


def shares_queries(pattern: AttentionPattern) -> bool:
    """Whether a query's states depend on the query alone."""
    return not (pattern.sees(QUERY, CLS) or pattern.sees(QUERY, DOCUMENT))


class SparseAttention:
    """Attention of one batch by one pattern; its masks are shared by all layers."""

    def __init__(self, batch: Batch, pattern: AttentionPattern, document_attention: DocumentAttention | None = None):
        self.batch = batch
        self.pattern = pattern
        if batch.shared and not shares_queries(pattern):
            raise ValueError("the batch shares queries, but they see what differs between its pairs")
        ones = batch.document_valid.new_ones((batch.pairs, 1))
        groups = pattern.groups
        self.valid = (ones, batch.query_valid, batch.document_valid, batch.sentence_valid)[: len(groups)]
        self.slots = (None, batch.query_slots, batch.document_slots, batch.sentence_slots)[: len(groups)]
        self.sizes = [batch.pairs, *(len(slots) for slots in self.slots[1:])]
        self.document_attention = document_attention or (flex if batch.ids.is_cuda else banded)
        # A window as long as the longest document hides nothing.
        self.windowed = pattern.window is not None and pattern.window < batch.document_valid.shape[1] - 1
        self.whole = [[group for group in groups if pattern.sees(source, group)] for source in groups]
        if self.windowed:
            self.whole[DOCUMENT].remove(DOCUMENT)
        self.whole_valid = [self._whole(source, self.valid, 1) for source in groups]

    def _whole(self, source: int, groups: tuple[Tensor, ...], dim: int) -> Tensor:
        """The groups that `source` sees whole, side by side."""
        seen = [groups[group] for group in self.whole[source]]
        if self.batch.shared and source != QUERY:
            seen = [x.index_select(0, self.batch.query_of) if group == QUERY else x
                    for group, x in zip(self.whole[source], seen, strict=True)]
        # Documents may see no group whole.
        return torch.cat(seen, dim=dim) if seen else groups[DOCUMENT].narrow(dim, 0, 0)

    def _padded(self, rows: Tensor, heads: int) -> tuple[Tensor, ...]:
        """[T, hidden] -> for each group [B or U, heads, L, size]; for rows of [CLS] alone, its group alone."""
        groups = rows.split(self.sizes) if len(rows) > self.batch.pairs else (rows,)
        padded = []
        for group, slot, valid in zip(groups, self.slots, self.valid, strict=False):
            if slot is not None:
                group = group.new_zeros(valid.numel(), group.shape[1]).index_copy(0, slot, group)
            padded.append(group.view(*valid.shape, heads, group.shape[1] // heads).transpose(1, 2))
        return tuple(padded)

    def _group(self, source: int, query: Tensor, keys: tuple[Tensor, ...], values: tuple[Tensor, ...]) -> Tensor:
        whole_valid = self.whole_valid[source]
        whole_keys, whole_values = (self._whole(source, x, 2) for x in (keys, values))
        if source == DOCUMENT and self.windowed:
            return self.document_attention(query, whole_keys, whole_values, whole_valid, keys[DOCUMENT],
                                           values[DOCUMENT], self.valid[DOCUMENT], self.pattern.window)
        if source == CLS:
            return single(query, whole_keys, whole_values, whole_valid)
        mask = whole_valid[:, None, None, :].expand(-1, -1, query.shape[2], -1)
        return F.scaled_dot_product_attention(query, whole_keys, whole_values, attn_mask=mask)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        """[rows, hidden], [T, hidden], [T, hidden] -> [rows, hidden]; rows: T, or B for those of [CLS] alone."""
        keys, values = self._padded(key, heads), self._padded(value, heads)
        mixed = []
        for slots, source, rows in zip(self.slots, self.pattern.groups, self._padded(query, heads), strict=False):
            flat = self._group(source, rows, keys, values).transpose(1, 2).flatten(0, 1).flatten(1)
            mixed.append(flat if slots is None else flat.index_select(0, slots))
        return torch.cat(mixed)


class LocalAttention:
    """Attention of one batch by what a pattern and a window over the whole input both allow."""

    def __init__(self, inputs: Inputs, pattern: AttentionPattern, window: int):
        if pattern.local:
            window, pattern = min(window, pattern.window), AttentionPattern()
        self.inputs = inputs
        bands = self.bands = Bands(inputs.length, window)
        device = inputs.groups.device
        sees = torch.zeros(4, 4, dtype=torch.bool, device=device)  # the last is the padding
        for source in pattern.groups:
            for target in pattern.groups:
                sees[source, target] = pattern.sees(source, target)
        sources = F.pad(inputs.groups, (0, bands.surplus), value=PADDING).view(-1, bands.chunks, bands.chunk)
        sources, targets = sources[:, :, :, None], bands.keys(inputs.groups, PADDING)[:, :, None, :]
        self.seen = sees[sources, targets] & bands.near(device)
        if pattern.window is not None and pattern.window < window:
            far = bands.distances(device).abs() > pattern.window
            self.seen &= ~((sources == DOCUMENT) & (targets == DOCUMENT) & far)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        """[rows, hidden], [T, hidden], [T, hidden] -> [rows, hidden]; rows: T, or B for those of [CLS] alone."""
        rows, total = len(query), len(key)

        def of_heads(x: Tensor) -> Tensor:
            return self.inputs.padded(x).unflatten(2, (heads, -1)).transpose(1, 2)

        queries = self.bands.chunked(of_heads(F.pad(query, (0, 0, 0, total - rows))))
        scores = queries * queries.shape[-1] ** -0.5 @ self.bands.spans(of_heads(key)).transpose(3, 4)
        scores = scores.masked_fill(~self.seen[:, None], torch.finfo(scores.dtype).min)
        mixed = scores.softmax(-1).to(value.dtype) @ self.bands.spans(of_heads(value))
        mixed = mixed.flatten(2, 3)[:, :, : self.inputs.length].transpose(1, 2).flatten(2)
        return self.inputs.rows(mixed)[:rows]


def attention_of(batch: Batch, pattern: AttentionPattern,
                 document_attention: DocumentAttention | None = None) -> SparseAttention | LocalAttention:
    if pattern.local:
        return LocalAttention(Inputs.of(batch), pattern, pattern.window)
    return SparseAttention(batch, pattern, document_attention)
