"""Models that encode queries and candidates apart, and compare the results."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from relucent_search.train.bert import Bert
from relucent_search.train.texts import Texts
from relucent_search.train.tokenizer import PairTokenizer

FEWEST_TOKENS = 3  # [CLS], a word, [SEP]


@dataclasses.dataclass
class TowerBatch:
    queries: Texts
    candidates: Texts
    query_of: Tensor  # [candidates]: the number of its query

    def to(self, device: torch.device) -> TowerBatch:
        return TowerBatch(self.queries.to(device), self.candidates.to(device), self.query_of.to(device))


class TwoTowers(Bert):
    """The lengths of queries and candidates are config.json's."""

    longer = "`relucent model init --candidate-length` makes a base that reads more"

    def batch(self, tokenizer: PairTokenizer, pairs: Sequence[tuple[str, str]], max_length: int) -> TowerBatch:
        """max_length: of a candidate, with [CLS] and [SEP]."""
        queries = {query: number for number, query in enumerate(dict.fromkeys(query for query, _ in pairs))}
        return TowerBatch(self.query_texts(tokenizer, list(queries)),
                          self.candidate_texts(tokenizer, [document for _, document in pairs], max_length),
                          torch.tensor([queries[query] for query, _ in pairs]))

    def query_texts(self, tokenizer: PairTokenizer, queries: Sequence[str]) -> Texts:
        return Texts.of(_whole(tokenizer, queries, self.config["query_max_length"]))

    def candidate_texts(self, tokenizer: PairTokenizer, texts: Sequence[str], max_length: int) -> Texts:
        length = max(FEWEST_TOKENS, min(max_length, self.config["candidate_max_length"]))
        return self._candidates_of(_whole(tokenizer, texts, length))

    def batch_of(self, queries: Sequence[Sequence[int]], candidates: Sequence[Sequence[int]],
                 query_of: Sequence[int]) -> TowerBatch:
        """For ids with [CLS] and [SEP]."""
        return TowerBatch(Texts.of(queries), self._candidates_of(candidates), torch.tensor(query_of))

    def _candidates_of(self, ids: Sequence[Sequence[int]]) -> Texts:
        return Texts.of(ids)

    def engine_length(self, _tokenizer: PairTokenizer) -> int:
        """Tokens of a candidate that the engine reads."""
        return self.config["candidate_max_length"]

    def forward(self, batch: TowerBatch) -> Tensor:
        """[candidates] scores, fp32, or what scores() returns otherwise."""
        return self.scores(self.contexts(batch.candidates), batch.queries, batch.query_of)

    def contexts(self, texts: Texts) -> Tensor:
        """What of candidates is computed before any query arrives."""
        raise NotImplementedError

    def scores(self, contexts: Tensor, queries: Texts, query_of: Tensor) -> Tensor:
        """contexts: of candidates; query_of: [candidates], the number of each one's query."""
        raise NotImplementedError


def _whole(tokenizer: PairTokenizer, texts: Sequence[str], length: int) -> list[list[int]]:
    """Ids with [CLS] and [SEP], at most so many."""
    ids = tokenizer.pieces(texts)
    return [[tokenizer.cls, *ids[text][: length - 2], tokenizer.sep] for text in texts]
