"""In-batch negatives: every query of a step meets the candidates of all its queries, in whatever parts and processes
these are computed.

The candidates' vectors are computed first, part by part and without a graph, and shared among the processes. Then each
part's queries meet all of them. The gradients that arrive at the vectors are summed and passed on to each part's
candidates, which are computed again for that. They are the gradients of one large batch (arXiv 2101.06983).
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from relucent_search.train.data import Candidate, CandidateList, TrainingData
from relucent_search.train.processes import Processes
from relucent_search.train.tokenizer import PairTokenizer
from relucent_search.train.two_towers import TwoTowers

Chosen = Sequence[tuple[CandidateList, list[Candidate]]]
LOWEST = -1e9  # a logit that the softmax does not see


def known_positives(data: TrainingData) -> Mapping[str, set[str]]:
    """The documents of each query that must not be its negatives: the positives of all its lists. Lists
    that are read from a file when they are needed tell nothing before."""
    positives: dict[str, set[str]] = {}
    for one in data.lists if isinstance(data.lists, list) else ():
        positives.setdefault(one.query, set()).add(one.candidates[0].document)
    return positives


class InBatchNegatives:
    """Computes the gradients of steps. A query's loss is the cross-entropy of its positive among all candidates of the
    step but its other positives."""

    def __init__(self, model: TwoTowers, tokenizer: PairTokenizer, data: TrainingData, processes: Processes,
                 autocast: Callable[[], contextlib.AbstractContextManager[object]], max_length: int):
        self.model, self.tokenizer, self.data, self.processes = model, tokenizer, data, processes
        self.autocast, self.max_length = autocast, max_length
        self.positives = known_positives(data)

    def backward(self, step: Chosen, parts: int) -> float:
        """Adds the gradients of this process's share of the step, in `parts`; their mean over the processes is the
        gradient of the mean loss over the step's queries. Returns the mean loss of the share."""
        shares = [step[i :: self.processes.count] for i in range(self.processes.count)]
        own = shares[self.processes.index]
        size = len(own) // parts
        own_parts = [own[i : i + size] for i in range(0, len(own), size)]
        documents = [candidate.document for share in shares for _, candidates in share for candidate in candidates]

        states, vectors = [], []
        for part in own_parts:
            states.append(_random_state())
            with torch.no_grad():
                vectors.append(self._vectors(part))
        shared = self.processes.gather(torch.cat(vectors)).requires_grad_()
        first = self.processes.index * (len(documents) // self.processes.count)
        loss = 0.0
        for part in own_parts:
            of_part = self._loss(part, shared, documents, first) * (len(part) / len(own))
            of_part.backward()
            loss += of_part.item()
            first += sum(len(candidates) for _, candidates in part)
        assert shared.grad is not None
        arrived = self.processes.sum(shared.grad)
        first = self.processes.index * (len(documents) // self.processes.count)
        for part, state in zip(own_parts, states, strict=True):
            with _with_random_state(state):
                again = self._vectors(part)
            again.backward(arrived[first : first + len(again)])
            first += len(again)
        return loss

    def _vectors(self, part: Chosen) -> Tensor:
        texts = [self.data.documents[candidate.document] for _, candidates in part for candidate in candidates]
        with self.autocast():
            candidates = self.model.candidate_texts(self.tokenizer, texts, self.max_length)
            return self.model.contexts(candidates.to(self.processes.device)).float()

    def _loss(self, part: Chosen, vectors: Tensor, documents: Sequence[str], first: int) -> Tensor:
        """vectors: of all candidates of the step, which are those documents; first: the place of the part's own."""
        queries = [of_list.query for of_list, _ in part]
        with self.autocast():
            texts = self.model.query_texts(self.tokenizer, queries).to(self.processes.device)
            of_pair = torch.arange(len(queries), device=vectors.device).repeat_interleave(len(vectors))
            logits = self.model.scores(vectors.repeat(len(queries), *[1] * (vectors.dim() - 1)), texts, of_pair)
        logits = logits.view(len(queries), len(vectors))
        hidden = torch.zeros(logits.shape, dtype=torch.bool)
        targets = []
        for row, (of_list, candidates) in enumerate(part):
            positive = candidates[0].document
            others = self.positives.get(of_list.query, set()) | {positive}
            for place, document in enumerate(documents):
                hidden[row, place] = document in others
            hidden[row, first] = False
            targets.append(first)
            first += len(candidates)
        logits = logits.masked_fill(hidden.to(logits.device), LOWEST)
        return F.cross_entropy(logits, torch.tensor(targets, device=logits.device))


def _random_state() -> tuple[Tensor, Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state() if torch.cuda.is_available() else None


@contextlib.contextmanager
def _with_random_state(state: tuple[Tensor, Tensor | None]) -> Iterator[None]:
    """Repeats what was random, such as dropout."""
    now = _random_state()
    _set(state)
    try:
        yield
    finally:
        _set(now)


def _set(state: tuple[Tensor, Tensor | None]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1])
