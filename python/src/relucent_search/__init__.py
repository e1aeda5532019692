"""Relucent: second-stage rescoring with sparse cross-encoders (docs/python.md).

The parts load on first use, because they need different packages: `relucent_search.train` needs the extra `train` but
not the compiled library, everything else the compiled library.
"""
from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

from relucent_search.errors import (
    DeadlineError,
    DeviceError,
    Error,
    FileError,
    InternalError,
    InvalidDataError,
    StoppedError,
    UnsupportedError,
    UsageError,
)

if TYPE_CHECKING:
    from relucent_search.cross_encoder import CrossEncoder, default_model
    from relucent_search.indexing import IndexBuilder, index_dataset
    from relucent_search.reranker import Reranked, Reranker
    from relucent_search.search import Document, Hit, Passage, Searcher, SearchResult
    from relucent_search.settings import load_config, version

__all__ = [
    "CrossEncoder", "DeadlineError", "DeviceError", "Document", "Error", "FileError", "Hit", "IndexBuilder",
    "InternalError", "InvalidDataError", "Passage", "Reranked", "Reranker", "SearchResult", "Searcher", "StoppedError",
    "UnsupportedError", "UsageError", "default_model", "index_dataset", "load_config", "version",
]

_MODULES = {
    "CrossEncoder": "cross_encoder", "default_model": "cross_encoder",
    "Reranked": "reranker", "Reranker": "reranker",
    "Document": "search", "Hit": "search", "Passage": "search", "SearchResult": "search", "Searcher": "search",
    "IndexBuilder": "indexing", "index_dataset": "indexing",
    "load_config": "settings", "version": "settings",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("relucent_search")
    if name not in _MODULES:
        raise AttributeError(f"module 'relucent_search' has no attribute {name!r}")
    return getattr(importlib.import_module("relucent_search." + _MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES, "__version__"])
