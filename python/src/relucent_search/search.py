"""Searching an index: BM25, then the second stage."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from relucent_search._library import native
from relucent_search.errors import UsageError
from relucent_search.settings import Config, OwnProcess, as_json, as_toml

Hit = native.Hit
Passage = native.Passage
Document = native.Document


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a query, best first, and how they were found. len(), [] and iteration are those of the hits."""

    query: str
    hits: list[Hit]
    total_hits: int
    """Documents that the first stage found."""
    total_is_exact: bool
    """False: at least `total_hits` documents match; [first_stage] count limits the count."""
    status: str
    """rescored, no_hits, no_query_text, no_hit_text or failed; empty without a second stage."""
    degraded: bool
    """Whether the search did not run as configured; `reason` has the cause."""
    reason: str
    rescored: int
    """Hits that the model scored."""
    without_text: int
    truncated: int
    """Hits whose end the model did not see."""
    query_truncated: bool
    timings: dict[str, float]
    """Milliseconds per step."""
    facets: dict[str, dict[str, int]]
    """For each key of `facets`, its values in all documents that match, the most frequent ones (at most 100) first."""

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


class Searcher(OwnProcess):
    """An index opened for searching. Thread-safe; sees the index as it was when opened.

    index: the index folder; config: a profile's path, a mapping {section: {key: value}}, or None for the defaults.
    syntax: "words" reads a query as plain words, "lucene" as Lucene++'s query language.
    """

    def __init__(self, index: str | os.PathLike[str], config: Config = None, *,
                 syntax: Literal["words", "lucene"] = "words") -> None:
        super().__init__()
        if syntax not in ("words", "lucene"):
            raise UsageError("syntax", f"{syntax!r} is not known", 'choose "words" or "lucene"')
        self._searcher = native.SearchSession(os.fspath(index), *as_toml(config), syntax == "lucene")

    def describe(self) -> str:
        """What scores, on which device; empty without a second stage."""
        return self._searcher.describe()

    def notices(self) -> list[str]:
        """What to know before trusting the scores."""
        return self._searcher.notices()

    def search(self, query: str, k: int = 10, *, offset: int = 0, texts: bool = False,
               filter: Mapping[str, Any] | None = None, facets: Sequence[str] = (),
               fields: Sequence[str] | Literal["all"] | None = None,
               search_fields: Sequence[str] = ()) -> SearchResult:
        """The k best hits of a query after the `offset` best ones; with `texts` also their stored texts.

        A page is a part of the list that k = offset + k gives: the same hits with the same ranks and scores.

        filter: conditions on declared fields, which all documents found meet: {"lang": "de", "source": ["a", "b"],
        "year": {"gte": 2020, "lt": 2024}}. facets: keyword fields whose values are counted in all documents that match.
        fields: keys of the hits' metadata to return, or "all". search_fields: what the first stage searches instead of
        [first_stage] fields, as ["contents", "title^2"].
        """
        request = self._request(k, offset, texts, filter, facets, fields, search_fields)
        return _result(self._searcher.search(query, request))

    def search_batch(self, queries: Sequence[str], k: int = 10, *, offset: int = 0, texts: bool = False, jobs: int = 4,
                     filter: Mapping[str, Any] | None = None, facets: Sequence[str] = (),
                     fields: Sequence[str] | Literal["all"] | None = None,
                     search_fields: Sequence[str] = ()) -> list[SearchResult]:
        """search() for each query, `jobs` of them at a time, in their order. `jobs` changes no result."""
        request = self._request(k, offset, texts, filter, facets, fields, search_fields)
        return [_result(found) for found in self._searcher.search_all(queries, request, jobs)]

    def document(self, id: str) -> Document | None:
        """A document by its id: `text` and `metadata`; None if the index lacks it."""
        self._check_process()
        return self._searcher.document(id)

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """The whole texts of documents by their ids, without those that the index lacks. Reads every document's id."""
        self._check_process()
        return self._searcher.texts_of(list(ids))

    def _request(self, k: int, offset: int, texts: bool, filter: Mapping[str, Any] | None, facets: Sequence[str],
                 fields: Sequence[str] | Literal["all"] | None, search_fields: Sequence[str]) -> native.SearchRequest:
        self._check(k, offset)
        if isinstance(search_fields, str):
            raise UsageError("search_fields", f"is {search_fields!r}", "give a list of fields")
        if isinstance(facets, str):
            raise UsageError("facets", f"is {facets!r}", "give a list of keys")
        if isinstance(fields, str) and fields != "all":
            raise UsageError("fields", f"is {fields!r}", 'give a list of keys, or "all"')
        keys = None if fields is None or fields == "all" else list(fields)
        conditions = "" if filter is None else as_json(filter, "filter")
        return native.SearchRequest(k, offset, texts, conditions, list(facets), keys, fields == "all",
                                    list(search_fields))

    def _check(self, k: int, offset: int) -> None:
        self._check_process()
        if not 1 <= k < 2**31:
            raise UsageError("k", f"is {k}", "ask for at least one hit")
        if offset < 0:
            raise UsageError("offset", f"is {offset}", "let it be 0 or more")
        if offset + k >= 2**31:
            raise UsageError("offset", f"is {offset}, and with k = {k} above {2**31 - 1}", "ask for an earlier page")


def _result(found: native.NativeResult) -> SearchResult:
    return SearchResult(found.query, found.take_hits(), found.total_hits, found.total_is_exact, found.status,
                        found.degraded, found.reason, found.rescored, found.without_text, found.truncated,
                        found.query_truncated, found.timings, found.facets)
