"""The second stage on candidates of your own, as `relucent rerank` runs it."""
from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relucent_search._library import native
from relucent_search.settings import Config, OwnProcess, load_config, to_toml

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_WHOLE_WINDOW = 100_000  # the greatest value of the key


@dataclass(frozen=True, slots=True)
class Reranked:
    """A query's documents after the second stage."""

    order: NDArray[np.int64]
    """Places in `documents`, best first."""
    scores: NDArray[np.float32]
    """Scores in this order, as the profile's score_mode combines them."""
    logits: NDArray[np.float32]
    """The model's raw scores by place in `documents`; NaN for a document without text."""
    status: str
    """rescored, no_hits, no_hit_text or failed."""
    degraded: bool
    """Whether it did not run as configured; `reason` has the cause."""
    reason: str
    truncated: int
    """Documents whose end the model did not see."""
    query_truncated: bool
    """Whether it did not see the end of the query with one of them."""
    timings: dict[str, float]
    """Milliseconds per step."""


def with_whole_window(config: Config, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The profile with the settings, and without a limit of the window unless one is stated."""
    if config is None:
        stated, whole = {}, {}
    elif isinstance(config, Mapping):
        stated = whole = {name: dict(section) for name, section in config.items()}
    else:
        whole = load_config(config)
        with open(os.fspath(config), "rb") as file:
            stated = tomllib.load(file)
    rescorer = {**whole.get("rescorer", {}), **{key: value for key, value in settings.items() if value is not None}}
    if "window" not in stated.get("rescorer", {}) and "window" not in settings:
        rescorer["window"] = _WHOLE_WINDOW
        stages = stated.get("rescorer", {}).get("stages")
        if stages and "window" not in stages[0]:
            rescorer["stages"] = [{**rescorer["stages"][0], "window": _WHOLE_WINDOW}, *rescorer["stages"][1:]]
    return {**whole, "rescorer": rescorer}


class Reranker(OwnProcess):
    """Reorders candidates with one model, or with the stages of a profile. Thread-safe.

    config: a profile's path, a mapping {section: {key: value}}, or None for the defaults.
    settings: keys of [rescorer] that take precedence, e.g. model="path", device="cpu", precision="fp32".
    All documents are rescored unless a window is stated.
    """

    def __init__(self, config: Config = None, **settings: Any) -> None:
        super().__init__()
        self._toml = to_toml(with_whole_window(config, settings))
        self._reranker = native.CandidateReranker(self._toml, "config")
        for warning in self._reranker.warnings():
            warnings.warn(warning, stacklevel=2)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (tomllib.loads(self._toml),)

    def describe(self) -> str:
        """What scores, on which device."""
        return self._reranker.describe()

    def rerank(self, query: str, documents: Sequence[str], scores: ArrayLike | None = None) -> Reranked:
        """The documents in their new order.

        documents: texts in the first stage's order; equal scores keep it. A document without text ("") comes
        after the others. scores: the first stage's, which a score_mode other than "replace" needs.
        """
        self._check_process()
        values = None if scores is None else np.ascontiguousarray(scores, dtype=np.float64)
        found = self._reranker.rerank(query, documents, values)
        return Reranked(found.take_order(), found.take_scores(), found.take_logits(), found.status, found.degraded,
                        found.reason, found.truncated, found.query_truncated, found.timings)


def _make(config: dict[str, Any]) -> Reranker:
    return Reranker(config)
