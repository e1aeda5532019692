"""The attention pattern of a cross-encoder, as the engine's AttentionPattern (kernels/encoder.h) defines it.

The input [CLS] query [SEP] document [SEP] has the groups C = {[CLS]}, Q = query + its [SEP], D = document + its [SEP].
Every group sees itself; six flags state what else it sees. Only D -> D is windowed. With `sentences`, a token stands
before each sentence of the document; these form a group S, for which D's flags count, and which sees and is seen by all
of D. In a `local` pattern every token sees the tokens of the input at most `window` away, and no others.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from relucent_search.train.errors import TrainingError

CLS, QUERY, DOCUMENT, SENTENCES = 0, 1, 2, 3
# config.json's key -> (from, to); the names of the fields are the keys.
FLAGS = {
    "cls_query_attention": (CLS, QUERY),
    "cls_doc_attention": (CLS, DOCUMENT),
    "query_cls_attention": (QUERY, CLS),
    "query_doc_attention": (QUERY, DOCUMENT),
    "doc_cls_attention": (DOCUMENT, CLS),
    "doc_query_attention": (DOCUMENT, QUERY),
}
WINDOW_KEY = "attention_window_size"
NAMES = ("full", "local", "longformer", "qds", "sparse")


@dataclasses.dataclass(frozen=True)
class AttentionPattern:
    cls_query_attention: bool = True
    cls_doc_attention: bool = True
    query_cls_attention: bool = True
    query_doc_attention: bool = True
    doc_cls_attention: bool = True
    doc_query_attention: bool = True
    window: int | None = None
    """A document token sees the document's tokens at most this far away; None: all; 0: itself."""
    sentences: bool = False
    """config.json has no such key: the engine is told by `pattern = "qds"`."""
    local: bool = False
    """Likewise, by `pattern = "local"`."""

    @property
    def groups(self) -> tuple[int, ...]:
        return (CLS, QUERY, DOCUMENT, *((SENTENCES,) if self.sentences else ()))

    def sees(self, source: int, target: int) -> bool:
        source, target = (DOCUMENT if group == SENTENCES else group for group in (source, target))
        return source == target or any(getattr(self, key) for key, pair in FLAGS.items() if pair == (source, target))

    @property
    def told(self) -> str | None:
        """The name by which the engine must be told of this pattern, which config.json cannot state."""
        return "qds" if self.sentences else "local" if self.local else None

    @classmethod
    def named(cls, name: str, window: int | None = None) -> AttentionPattern:
        """The engine's named patterns, with its usual windows (4 for sparse, 64 for the others)."""
        if name not in NAMES:
            raise TrainingError(f"pattern {name!r}", "is unknown", f"use one of {', '.join(NAMES)}")
        if name == "full":
            return cls(window=window)
        if name != "sparse":
            return cls(window=64 if window is None else window, sentences=name == "qds", local=name == "local")
        return cls(query_cls_attention=False, query_doc_attention=False, window=4 if window is None else window)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: object = "config.json") -> AttentionPattern:
        """Missing keys mean true and no window, as in the engine."""
        flags = {}
        for key in FLAGS:
            flags[key] = config.get(key, True)
            if not isinstance(flags[key], bool):
                raise TrainingError(f"{where}, key {key}", "is not a boolean")
        window = config.get(WINDOW_KEY)
        if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 0):
            raise TrainingError(f"{where}, key {WINDOW_KEY}", "is neither null nor a count of tokens")
        return cls(window=window, **flags)

    def to_config(self) -> dict[str, Any]:
        return {**{key: getattr(self, key) for key in FLAGS}, WINDOW_KEY: self.window}
