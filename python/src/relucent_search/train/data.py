"""What to train on: queries, each with a list of candidates that have a target, best first.

Readers of triples, runs with judgments, rerank.jsonl, and teacher scores; and the choice of some candidates of a list
by rank bands. Files may be compressed (.gz), but for those that are read in any order. Bad input raises TrainingError
with file, line and remedy.
"""
from __future__ import annotations

import dataclasses
import gzip
import json
import math
import random
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from relucent_search.train.errors import TrainingError
from relucent_search.train.large_files import LineFile, TextFile


@dataclasses.dataclass(frozen=True)
class Candidate:
    document: str
    """The key of its text in TrainingData.documents."""
    target: float


@dataclasses.dataclass(frozen=True)
class CandidateList:
    query: str
    candidates: list[Candidate]
    """Ordered by target, the greatest first, otherwise as in the file or run."""


@dataclasses.dataclass
class TrainingData:
    lists: Sequence[CandidateList]
    documents: Mapping[str, str]

    def checksum(self) -> int:
        """A hash of all that is trained on, but for texts that ir_datasets keeps."""
        found = 0
        if isinstance(self.lists, ScoredTriples):
            found = self.lists.checksum()
        else:
            for one in self.lists:
                parts = [one.query, *(f"{candidate.document}\t{candidate.target}" for candidate in one.candidates)]
                found = _hashed("\n".join(parts), found)
        if isinstance(self.documents, TextFile):
            return _hashed(str(self.documents.checksum), found)
        return _hash_of_texts(self.documents, found) if isinstance(self.documents, dict) else found

    def for_bands(self, bands: Sequence[Band]) -> TrainingData:
        """Without the lists that are too short for the bands."""
        def is_long_enough(one: CandidateList) -> bool:
            return choose(one.candidates, bands, random.Random(0)) is not None

        if isinstance(self.lists, ScoredTriples):  # all lists are of two candidates
            return self if self.lists and is_long_enough(self.lists[0]) else TrainingData([], self.documents)
        return TrainingData([one for one in self.lists if is_long_enough(one)], self.documents)


def _hashed(text: str, found: int) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), found)


def _hash_of_texts(texts: Mapping[str, str], found: int) -> int:
    for name, text in texts.items():
        found = _hashed(f"{name}\t{text}\n", found)
    return found


@dataclasses.dataclass(frozen=True)
class Band:
    """`count` candidates are chosen of the ranks first ... last of a list (from 1, the positive)."""

    first: int
    last: int
    count: int


def choose(candidates: Sequence[Candidate], bands: Sequence[Band], generator: random.Random) -> list[Candidate] | None:
    """Chooses without repetition, the greatest target first; None if the list is too short for the bands."""
    chosen: list[int] = []
    for band in bands:
        ranks = [rank for rank in range(band.first - 1, min(band.last, len(candidates))) if rank not in chosen]
        if len(ranks) < band.count:
            return None
        chosen += generator.sample(ranks, band.count)
    return sorted((candidates[rank] for rank in sorted(chosen)), key=lambda candidate: -candidate.target)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """(place, line) of the lines that are not empty; place: "file, line N"."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line := line.rstrip("\r\n"):
                    yield f"{path}, line {number}", line
    except UnicodeDecodeError as error:
        raise TrainingError(path, f"is not UTF-8 ({error.reason})", "convert it") from None
    except (OSError, EOFError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise TrainingError(path, problem, "check the path and the file") from None


def _fields(place: str, line: str, names: str, more: bool = False) -> list[str]:
    fields = line.split("\t")
    wanted = names.split()
    if len(fields) < len(wanted) or (len(fields) > len(wanted) and not more):
        raise TrainingError(place, f"has {len(fields)} fields", f"write {', '.join(wanted)}, separated by tabs")
    return fields


def _number(place: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise TrainingError(place, f"{value!r} is not a finite number", "correct the line")
    return number


def _record(place: str, line: str, *keys: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise TrainingError(place, f"is not JSON ({error})", "write one object per line") from None
    if not isinstance(record, dict):
        raise TrainingError(place, "is not an object", "write one object per line")
    for key in keys:
        if key not in record:
            raise TrainingError(place, f"lacks the key {key}", f"each line needs {', '.join(keys)}")
    return record


def _text(place: str, record: Mapping[str, Any], key: str) -> str:
    if not isinstance(record[key], str):
        raise TrainingError(f"{place}, key {key}", "is not a text", "write a string")
    return record[key]


def _is_jsonl(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".jsonl")


def read_texts(path: Path) -> dict[str, str]:
    """TSV (id, text) or JSONL (id or docno or qid or _id; text or query, after title where there is one)."""
    parse = _text_of_record if _is_jsonl(path) else _text_of_fields
    return dict(parse(place, line) for place, line in _lines(path))


def text_file(path: Path) -> Mapping[str, str]:
    """The same without keeping the texts in memory, unless the file is compressed."""
    if path.suffix == ".gz":
        return read_texts(path)
    return TextFile(path, _text_of_record if _is_jsonl(path) else _text_of_fields)


def _text_of_record(place: str, line: str) -> tuple[str, str]:
    record = _record(place, line)
    identifier = next((record[key] for key in ("id", "docno", "qid", "_id") if key in record), None)
    key = next((key for key in ("text", "query", "contents") if key in record), None)
    if identifier is None or key is None:
        raise TrainingError(place, "has no id or no text", "each line needs id and text")
    title = record.get("title") or ""
    return str(identifier), f"{title} {_text(place, record, key)}".strip()


def _text_of_fields(place: str, line: str) -> tuple[str, str]:
    identifier, text = line.split("\t", 1) if "\t" in line else _fields(place, line, "id text")
    return identifier, text


def _sorted_list(query: str, candidates: list[Candidate]) -> CandidateList:
    return CandidateList(query, sorted(candidates, key=lambda candidate: -candidate.target))


def _known(place: str, kind: str, identifier: str, texts: Mapping[str, str], path: object) -> str:
    if identifier not in texts:
        raise TrainingError(place, f"{kind} {identifier} has no text in {path}", "add it or remove the line")
    return identifier


def read_triples(path: Path, queries: Path | None = None, documents: Path | None = None) -> TrainingData:
    """TSV: query, positive, negatives...; JSONL: query, positive, negatives, and optionally scores (of the positive,
    then of the negatives). Texts, or ids where `queries` and `documents` are given. Targets without scores: 1 and 0."""
    if (queries is None) != (documents is None):
        raise TrainingError("data", "needs both queries and documents, or neither", "ids refer to both")
    by_id = queries is not None and documents is not None
    query_texts = read_texts(queries) if queries else {}
    texts: dict[str, str] = read_texts(documents) if documents else {}
    lists = []
    for place, line in _lines(path):
        scores: list[float] | None = None
        if _is_jsonl(path):
            record = _record(place, line, "query", "positive")
            negatives = record.get("negatives", [record["negative"]] if "negative" in record else [])
            if not isinstance(negatives, list) or not all(isinstance(text, str) for text in negatives):
                raise TrainingError(f"{place}, key negatives", "is not a list of texts", "write an array of strings")
            query, names = _text(place, record, "query"), [_text(place, record, "positive"), *negatives]
            if "scores" in record:
                if not isinstance(record["scores"], list):
                    raise TrainingError(f"{place}, key scores", "is not a list", "write an array of numbers")
                scores = [_number(place, score) for score in record["scores"]]
        else:
            query, *names = _fields(place, line, "query positive negative", more=True)
        if len(names) < 2:
            raise TrainingError(place, "has no negative", "add negative or negatives")
        if scores is not None and len(scores) != len(names):
            raise TrainingError(f"{place}, key scores", f"has {len(scores)} numbers for {len(names)} documents",
                                "write the positive's, then the negatives'")
        for name in names:
            if by_id:
                _known(place, "document", name, texts, documents)
            else:
                texts[name] = name
        if by_id:
            query = query_texts[_known(place, "query", query, query_texts, queries)]
        targets = scores or [1.0] + [0.0] * (len(names) - 1)
        candidates = [Candidate(name, target) for name, target in zip(names, targets, strict=True)]
        lists.append(_sorted_list(query, candidates))
    return TrainingData(lists, texts)


class ScoredTriples(Sequence[CandidateList]):
    """The lines of a file as lists of two candidates, made when they are needed: whatever its length, it takes a few
    bits of memory per line."""

    def __init__(self, path: Path, queries: Mapping[str, str], documents: Mapping[str, str], name: str | None = None,
                 say: Callable[[str], None] = lambda _: None):
        """The file must stay as it is. Checks all lines: the scores are finite, and the ids known.
        name: stands in messages for a file that is not the user's; say: gets the progress."""
        self._queries, self._documents, self._name = queries, documents, name
        self._file = LineFile(path, self._are_sound, self._ids, say)

    def _are_sound(self, lines: list[str]) -> bool:
        """Whether _ids() takes all of them. There may be tens of millions, so this is the quick way."""
        rows = [line.split() for line in lines]
        if not rows:
            return True
        try:
            better, worse, queries, *documents = zip(*rows, strict=True)
            scores = list(map(float, better + worse))
        except ValueError:
            return False
        if len(documents) != 2 or not all(map(math.isfinite, scores)):
            return False
        names = documents[0] + documents[1]
        known = self._documents
        has_all = known.has_all(names) if isinstance(known, TextFile) else all(map(known.__contains__, names))
        return has_all and all(map(self._queries.__contains__, queries))

    def _ids(self, place: str, line: str) -> tuple[list[Candidate], str]:
        """(candidates, the query's id)"""
        place = self._name or place
        fields = line.split()
        if len(fields) != 5:
            raise TrainingError(place, f"has {len(fields)} fields",
                                "write positive's score, negative's score, query id, positive's id, negative's id")
        targets = [_number(place, score) for score in fields[:2]]
        if fields[2] not in self._queries:
            raise TrainingError(place, f"query {fields[2]} has no text in the queries", "add it or remove the line")
        for document in fields[3:]:
            if document not in self._documents:
                raise TrainingError(place, f"document {document} has no text in the documents",
                                    "add it or remove the line")
        return [Candidate(*one) for one in zip(fields[3:], targets, strict=True)], fields[2]

    def __len__(self) -> int:
        return len(self._file)

    def __getitem__(self, number: int) -> CandidateList:  # type: ignore[override]
        candidates, query = self._ids(*self._file.line(number))
        return CandidateList(self._queries[query], sorted(candidates, key=lambda one: -one.target))

    def checksum(self) -> int:
        return _hash_of_texts(self._queries, self._file.checksum)


def read_scored_triples(path: Path, queries: Path, documents: Path,
                        say: Callable[[str], None] = lambda _: None) -> TrainingData:
    """positive's score, negative's score, query id, positive's id, negative's id: a teacher's scores of MS MARCO's
    triples (arXiv 2010.02666). Files of any length."""
    texts = text_file(documents)
    return TrainingData(ScoredTriples(path, read_texts(queries), texts, say=say), texts)


def read_labelled(path: Path, labels: Sequence[str]) -> TrainingData:
    """TSV: text, text, label; JSONL: query, document, label. A label is a name, or its number. The target of a list's
    only candidate is the number."""
    numbers = {name: i for i, name in enumerate(labels)} | {str(i): i for i in range(len(labels))}
    lists: list[CandidateList] = []
    texts: dict[str, str] = {}
    for place, line in _lines(path):
        if _is_jsonl(path):
            record = _record(place, line, "query", "document", "label")
            query, document = _text(place, record, "query"), _text(place, record, "document")
            label = str(record["label"])
        else:
            query, document, label = _fields(place, line, "text text label")
        if label not in numbers:
            raise TrainingError(place, f"{label} is not a label of the model", f"known are {', '.join(labels)}")
        texts[document] = document
        lists.append(CandidateList(query, [Candidate(document, float(numbers[label]))]))
    return TrainingData(lists, texts)


def read_qrels(path: Path) -> dict[str, dict[str, float]]:
    """TREC: query id, anything, document id, grade."""
    grades: dict[str, dict[str, float]] = {}
    for place, line in _lines(path):
        fields = line.split()
        if len(fields) != 4:
            raise TrainingError(place, f"has {len(fields)} fields", "write query id, 0, document id, grade")
        grades.setdefault(fields[0], {})[fields[2]] = _number(place, fields[3])
    return grades


def read_run(path: Path) -> dict[str, list[str]]:
    """TREC: query id, Q0, document id, rank, score, tag. Ordered by score, ties as in the file."""
    scores: dict[str, dict[str, float]] = {}
    for place, line in _lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise TrainingError(place, f"has {len(fields)} fields", "write query id, Q0, document id, rank, score, tag")
        scores.setdefault(fields[0], {})[fields[2]] = _number(place, fields[4])
    return {query: sorted(of, key=lambda document, of=of: -of[document]) for query, of in scores.items()}


def judged_lists(run: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, float]],
                 queries: Mapping[str, str]) -> list[CandidateList]:
    """A list for each relevant document (grade above 0) of each query of the run: the document, then the run's
    documents that are not judged relevant, in the run's order. So rank r > 1 of a list is the run's r-1-st negative."""
    lists = []
    for query, ranked in run.items():
        of_query = grades.get(query, {})
        negatives = [Candidate(document, 0.0) for document in ranked if of_query.get(document, 0.0) <= 0]
        lists += [CandidateList(queries[query], [Candidate(document, grade), *negatives])
                  for document, grade in of_query.items() if grade > 0]
    return lists


def read_judged(run: Path, qrels: Path, queries: Path, documents: Path) -> TrainingData:
    query_texts, texts = read_texts(queries), text_file(documents)
    ranked, grades = read_run(run), read_qrels(qrels)
    for query, of_query in ranked.items():
        _known(str(run), "query", query, query_texts, queries)
        for document in of_query:
            _known(str(run), "document", document, texts, documents)
        for document, grade in grades.get(query, {}).items():
            if grade > 0:
                _known(str(qrels), "document", document, texts, documents)
    return TrainingData(judged_lists(ranked, grades, query_texts), texts)


def read_rerank(path: Path) -> TrainingData:
    """rerank.jsonl as `relucent rerank --output X.jsonl` writes it: qid, query, docno, text, score (the teacher's)."""
    queries: dict[str, str] = {}
    candidates: dict[str, list[Candidate]] = {}
    texts: dict[str, str] = {}
    for place, line in _lines(path):
        record = _record(place, line, "qid", "query", "docno", "text", "score")
        query, document = str(record["qid"]), str(record["docno"])
        queries[query] = _text(place, record, "query")
        texts[document] = _text(place, record, "text")
        candidates.setdefault(query, []).append(Candidate(document, _number(place, record["score"])))
    return TrainingData([_sorted_list(queries[query], of) for query, of in candidates.items()], texts)


def read_scores(path: Path, queries: Path, documents: Path) -> TrainingData:
    """TSV: query id, document id, teacher's score."""
    query_texts, texts = read_texts(queries), read_texts(documents)
    candidates: dict[str, list[Candidate]] = {}
    for place, line in _lines(path):
        query, document, score = _fields(place, line, "query-id document-id score")
        _known(place, "query", query, query_texts, queries)
        _known(place, "document", document, texts, documents)
        candidates.setdefault(query, []).append(Candidate(document, _number(place, score)))
    return TrainingData([_sorted_list(query_texts[query], of) for query, of in candidates.items()], texts)


class _Store(Mapping[str, str]):
    """An ir_datasets document store as a mapping; documents are read when they are needed."""

    def __init__(self, dataset: Any):
        self._store, self._dataset = dataset.docs_store(), dataset

    def __getitem__(self, key: str) -> str:
        try:
            return self._store.get(key).default_text()
        except KeyError:
            raise TrainingError(f"document {key}", "is not in the dataset's documents",
                                "name a run of the dataset's own documents") from None

    def __contains__(self, key: object) -> bool:
        return True  # as far as is known before it is read

    def __iter__(self) -> Iterator[str]:
        return (document.doc_id for document in self._dataset.docs_iter())

    def __len__(self) -> int:
        return self._dataset.docs_count()


def _dataset(identifier: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise TrainingError(f"data {identifier}", "needs the package ir_datasets", "pip install ir-datasets") from None
    try:
        return ir_datasets.load(identifier)
    except KeyError:
        raise TrainingError(f"data {identifier}", "is not an id of ir_datasets", "see ir-datasets.com") from None


def read_docpairs(identifier: str) -> TrainingData:
    """The pairs of an ir_datasets dataset (docpairs): the first document is the better one. Targets: the pairs'
    scores (score_a, score_b), if they have some; otherwise 1 and 0."""
    dataset = _dataset(identifier)
    if not dataset.has_docpairs():
        raise TrainingError(f"data {identifier}", "has no docpairs", "name other data, or use data.ir_datasets")
    queries = {query.query_id: query.default_text() for query in dataset.queries_iter()}
    documents = _Store(dataset)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".tsv") as file:
        for pair in dataset.docpairs_iter():
            scores = getattr(pair, "score_a", 1.0), getattr(pair, "score_b", 0.0)
            file.write("\t".join(map(str, (*scores, pair.query_id, pair.doc_id_a, pair.doc_id_b))) + "\n")
        file.flush()
        triples = ScoredTriples(Path(file.name), queries, documents, f"data {identifier}")  # keeps the file open
    return TrainingData(triples, documents)


def read_ir_datasets(identifier: str, run: Path | None = None) -> TrainingData:
    """Judgments and, unless a run is given, the dataset's own candidates (scoreddocs)."""
    dataset = _dataset(identifier)
    if not dataset.has_qrels() or not (run or dataset.has_scoreddocs()):
        raise TrainingError(f"data {identifier}", "has no judgments or no candidates", "name a run, or other data")
    queries = {query.query_id: query.default_text() for query in dataset.queries_iter()}
    grades: dict[str, dict[str, float]] = {}
    for judgment in dataset.qrels_iter():
        grades.setdefault(judgment.query_id, {})[judgment.doc_id] = float(judgment.relevance)
    if run:
        ranked = read_run(run)
    else:
        scores: dict[str, dict[str, float]] = {}
        for scored in dataset.scoreddocs_iter():
            scores.setdefault(scored.query_id, {})[scored.doc_id] = scored.score
        ranked = {query: sorted(of, key=lambda document, of=of: -of[document]) for query, of in scores.items()}
    for query in ranked:
        _known(f"data {identifier}", "query", query, queries, "the dataset")
    return TrainingData(judged_lists(ranked, grades, queries), _Store(dataset))
