"""Writing indexes from Python."""
from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal

from relucent_search._library import native
from relucent_search.errors import UsageError
from relucent_search.settings import Config, OwnProcess, as_json, as_toml


class IndexBuilder(OwnProcess):
    """Writes an index of stored ids and texts; the same documents in the same order give the same scores as
    `relucent index` does. A context manager: leaving it normally closes the index, leaving it by an exception drops
    what was added since the last commit. Use it from one thread at a time (others wait), and not
    in a process that was forked after it was made.

    mode: "create" (the folder must not hold an index), "overwrite" or "append". threads: 0 is one per core.
    token_ids_of: a checkpoint whose token ids are also stored, so that searches with it need not tokenize.
    """

    def __init__(self, folder: str | os.PathLike[str], mode: Literal["create", "overwrite", "append"] = "create", *,
                 threads: int = 0, buffer_mb: float = 256, token_ids_of: str | os.PathLike[str] | None = None,
                 config: Config = None) -> None:
        super().__init__()
        if mode not in ("create", "overwrite", "append"):
            raise UsageError("mode", f"{mode!r} is not known", 'choose "create", "overwrite" or "append"')
        self._builder = native.Builder(os.fspath(folder), mode, *as_toml(config), buffer_mb, threads,
                                       os.fspath(token_ids_of or ""))

    @property
    def _native(self) -> native.Builder:
        self._check_process()
        return self._builder

    def add(self, id: str, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Adds a document. A later call may raise the error of an earlier document; after an error only what was
        committed counts. `metadata` is stored as JSON, unless that is longer than 64 KiB; its keys that
        `config`'s [index] keyword_fields and number_fields name become filters, and those that analyzed_fields names
        become fields to search."""
        self._native.add(id, text, as_json(metadata, "metadata") if metadata else "")

    def update(self, id: str, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Replaces all documents with this id, or adds the document if there is none: see add(). Each commit has
        either the old or the new one."""
        self._native.remove(id)
        self.add(id, text, metadata)

    def delete(self, id: str) -> None:
        """Deletes all documents with this id that were added before, in the next commit. An unknown id is counted."""
        self._native.remove(id)

    def removed(self) -> int:
        """Documents that the last commit replaced or deleted."""
        return self._native.removed()

    def unknown_ids(self) -> int:
        """Ids updated or deleted in the last commit that no document had."""
        return self._native.unknown_ids()

    def commit(self, user_data: Mapping[str, str] | None = None) -> None:
        """Makes everything added so far durable in one step, together with `user_data`."""
        self._native.commit(dict(user_data or {}))

    def committed(self) -> dict[str, str]:
        """The user data of the last commit."""
        return self._native.committed()

    def documents(self) -> int:
        """Documents in the last commit, without deleted ones."""
        return self._native.documents()

    def tokens(self) -> int:
        """Tokens in the last commit."""
        return self._native.tokens()

    def merge(self, segments: int) -> None:
        """Merges to at most so many segments without deleted documents."""
        self._native.merge(segments)

    def close(self) -> None:
        """Commits, finishes merges and closes."""
        self._native.close()

    def abandon(self) -> None:
        """Closes without what was added since the last commit."""
        self._native.abandon()

    def __enter__(self) -> IndexBuilder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        elif self._process == os.getpid():  # a forked process must not hide its own error
            self.abandon()


def _default_text(document: Any) -> str:
    if hasattr(document, "default_text"):
        return document.default_text()
    return document.text


def _from(documents: Iterable[Any], start: int) -> Iterator[Any]:
    if start == 0:
        return iter(documents)
    try:
        return iter(documents[start:])  # type: ignore[index]  # iterators of ir_datasets skip quickly
    except TypeError:
        return itertools.islice(documents, start, None)


def _open(folder: str | os.PathLike[str], name: str, overwrite: bool, options: dict[str, Any]) -> IndexBuilder:
    """The builder of a new index, or of one of the same collection."""
    if overwrite:
        return IndexBuilder(folder, "overwrite", **options)
    try:
        return IndexBuilder(folder, "create", **options)
    except UsageError:
        builder = IndexBuilder(folder, "append", **options)
        if builder.committed().get("dataset") == name:
            return builder
        builder.abandon()
        raise UsageError(os.fspath(folder), f"holds an index, but not of {name}",
                         "choose another folder, or pass overwrite=True") from None


def index_dataset(dataset: Any, folder: str | os.PathLike[str], *, text: Callable[[Any], str] | None = None,
                  name: str | None = None, overwrite: bool = False, commit_every: int = 1_000_000, threads: int = 0,
                  config: Config = None, token_ids_of: str | os.PathLike[str] | None = None,
                  progress: Callable[[int], None] | None = None) -> int:
    """Indexes a collection of ir_datasets and returns its number of documents.

    dataset: its id, e.g. "msmarco-passage" (needs ir_datasets), or any object with docs_iter(), whose documents have
    doc_id and default_text() or text. text: what to index of a document instead. Called again with the same folder
    after an interruption, it continues after the last commit; `name` tells collections apart where they have no id.
    progress: called with the number of documents after each 10,000.
    """
    if isinstance(dataset, str):
        try:
            import ir_datasets
        except ImportError as error:
            raise ImportError("an id needs ir_datasets: pip install ir_datasets, or pass an object with docs_iter()") \
                from error
        name = name or dataset
        dataset = ir_datasets.load(dataset)
    name = name or getattr(dataset, "dataset_id", None) or type(dataset).__name__
    if callable(name):
        name = str(name())
    text = text or _default_text
    options = {"threads": threads, "config": config, "token_ids_of": token_ids_of}
    with _open(folder, name, overwrite, options) as builder:
        done = int(builder.committed().get("documents", "0"))
        for document in _from(dataset.docs_iter(), done):
            builder.add(document.doc_id, text(document))
            done += 1
            if done % commit_every == 0:
                builder.commit({"dataset": name, "documents": str(done)})
            if progress is not None and done % 10_000 == 0:
                progress(done)
        builder.commit({"dataset": name, "documents": str(done)})
    return done
