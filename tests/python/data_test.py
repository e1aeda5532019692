"""Readers give the lists that the files state, and refuse bad lines by file, line and remedy."""
import gzip
import json
import pathlib
import random
import sys
import types

import pytest
from relucent_search.train import data
from relucent_search.train.data import Band, Candidate, CandidateList, choose
from relucent_search.train.errors import TrainingError
from relucent_search.train.large_files import LineFile


def write(path, *lines):
    content = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def test_triples_of_texts(tmp_path):
    read = data.read_triples(write(tmp_path / "t.tsv.gz", "q one\tgood\tbad", "q two\tfine\tworse\tworst"))
    assert read.lists == [CandidateList("q one", [Candidate("good", 1.0), Candidate("bad", 0.0)]),
                          CandidateList("q two", [Candidate("fine", 1.0), Candidate("worse", 0.0),
                                                  Candidate("worst", 0.0)])]
    assert read.documents["worst"] == "worst"


def test_triples_of_ids(tmp_path):
    queries, documents = write(tmp_path / "q.tsv", "1\twhy"), write(tmp_path / "d.jsonl", {"id": 7, "text": "a"},
                                                                   {"docno": "8", "title": "T", "text": "b"})
    read = data.read_triples(write(tmp_path / "t.tsv", "1\t7\t8"), queries, documents)
    assert read.lists == [CandidateList("why", [Candidate("7", 1.0), Candidate("8", 0.0)])]
    assert read.documents == {"7": "a", "8": "T b"}


def test_triples_with_scores_are_sorted(tmp_path):
    path = write(tmp_path / "t.jsonl", {"query": "q", "positive": "p", "negatives": ["x", "y"], "scores": [2, 1, 5]},
                 {"query": "q", "positive": "p", "negative": "z"})
    first, second = data.read_triples(path).lists
    assert first.candidates == [Candidate("y", 5.0), Candidate("p", 2.0), Candidate("x", 1.0)]
    assert second.candidates == [Candidate("p", 1.0), Candidate("z", 0.0)]


def test_run_and_judgments(tmp_path):
    run = write(tmp_path / "r.run", "1 Q0 a 1 9 t", "1 Q0 b 3 7 t", "1 Q0 c 2 8 t", "2 Q0 a 1 1 t")
    qrels = write(tmp_path / "q.txt", "1 0 c 2", "1 0 a 0", "1 0 d 1", "3 0 a 1")
    queries = write(tmp_path / "q.tsv", "1\twhy", "2\twho")
    documents = write(tmp_path / "d.tsv", *(f"{name}\ttext of {name}" for name in "abcd"))
    read = data.read_judged(run, qrels, queries, documents)
    negatives = [Candidate("a", 0.0), Candidate("b", 0.0)]
    assert read.lists == [CandidateList("why", [Candidate("c", 2.0), *negatives]),
                          CandidateList("why", [Candidate("d", 1.0), *negatives])]


def test_rerank_and_teacher_scores(tmp_path):
    rerank = write(tmp_path / "r.jsonl.gz", {"qid": 1, "query": "q", "docno": "a", "text": "A", "score": -1, "rank": 2},
                   {"qid": 1, "query": "q", "docno": "b", "text": "B", "score": 3.5, "rank": 1})
    expected = [CandidateList("q", [Candidate("b", 3.5), Candidate("a", -1.0)])]
    assert data.read_rerank(rerank).lists == expected
    scores = write(tmp_path / "s.tsv", "1\ta\t-1", "1\tb\t3.5")
    read = data.read_scores(scores, write(tmp_path / "q.tsv", "1\tq"), write(tmp_path / "d.tsv", "a\tA", "b\tB"))
    assert read.lists == expected
    assert read.documents == {"a": "A", "b": "B"}


def test_ir_datasets(tmp_path, monkeypatch):
    """The interface of ir_datasets, as far as it is used."""
    def record(**fields):
        return types.SimpleNamespace(default_text=lambda: fields.get("text"), **fields)

    documents = {name: record(doc_id=name, text=f"text of {name}") for name in "ab"}
    store = types.SimpleNamespace(get=documents.__getitem__)
    dataset = types.SimpleNamespace(
        has_qrels=lambda: True, has_scoreddocs=lambda: True, docs_store=lambda: store,
        queries_iter=lambda: [record(query_id="1", text="why")],
        qrels_iter=lambda: [record(query_id="1", doc_id="a", relevance=1)],
        scoreddocs_iter=lambda: [record(query_id="1", doc_id="a", score=1), record(query_id="1", doc_id="b", score=2)])
    monkeypatch.setitem(sys.modules, "ir_datasets", types.SimpleNamespace(load={"known": dataset}.__getitem__))
    for read in (data.read_ir_datasets("known"),
                 data.read_ir_datasets("known", write(tmp_path / "r.run", "1 Q0 b 1 1 t"))):
        assert read.lists == [CandidateList("why", [Candidate("a", 1.0), Candidate("b", 0.0)])]
        assert read.documents["b"] == "text of b"
    with pytest.raises(TrainingError, match="document c: is not in the dataset's documents"):
        read.documents["c"]
    with pytest.raises(TrainingError, match="data other: is not an id of ir_datasets"):
        data.read_ir_datasets("other")


def test_bands_choose_by_rank():
    candidates = [Candidate(str(rank), 30.0 - rank) for rank in range(1, 25)]
    bands = [Band(1, 4, 2), Band(5, 12, 3), Band(13, 24, 3)]
    seen = set()
    for seed in range(200):
        chosen = choose(candidates, bands, random.Random(seed))
        ranks = [int(candidate.document) for candidate in chosen]
        assert ranks == sorted(set(ranks))
        assert [sum(band.first <= rank <= band.last for rank in ranks) for band in bands] == [2, 3, 3]
        seen.update(ranks)
    assert seen == set(range(1, 25))
    assert choose(candidates, bands, random.Random(1)) == choose(candidates, bands, random.Random(1))
    assert choose(candidates[:12], bands, random.Random(1)) is None
    overlapping = choose(candidates, [Band(1, 1, 1), Band(1, 3, 2)], random.Random(2))
    assert [candidate.document for candidate in overlapping] == ["1", "2", "3"]


@pytest.mark.parametrize(("name", "lines", "message"), [
    ("t.tsv", ["q\tp\tn", "q\tp"], r"t.tsv, line 2: has 2 fields; write query, positive, negative, separated by tabs"),
    ("t.jsonl", ["{"], r"t.jsonl, line 1: is not JSON .*; write one object per line"),
    ("t.jsonl", ["[1]"], "line 1: is not an object"),
    ("t.jsonl", ['{"query": "q"}'], "line 1: lacks the key positive"),
    ("t.jsonl", ['{"query": "q", "positive": "p"}'], "line 1: has no negative"),
    ("t.jsonl", ['{"query": 1, "positive": "p", "negative": "n"}'], "line 1, key query: is not a text"),
    ("t.jsonl", ['{"query": "q", "positive": "p", "negatives": "n"}'], "line 1, key negatives: is not a list"),
    ("t.jsonl", ['{"query": "q", "positive": "p", "negative": "n", "scores": [1]}'], "key scores: has 1 numbers for 2"),
    ("t.jsonl", ['{"query": "q", "positive": "p", "negative": "n", "scores": 1}'], "key scores: is not a list"),
])
def test_bad_triples(tmp_path, name, lines, message):
    with pytest.raises(TrainingError, match=message):
        data.read_triples(write(tmp_path / name, *lines))


def test_other_bad_files(tmp_path):
    queries, documents = write(tmp_path / "q.tsv", "1\tq"), write(tmp_path / "d.tsv", "a\tA")
    for lines, message in [(["1\ta"], "line 1: has 2 fields"), (["1\ta\tx"], "line 1: 'x' is not a finite number"),
                           (["1\ta\tnan"], "not a finite number"), (["2\ta\t1"], "query 2 has no text in .*q.tsv"),
                           (["1\ta\t1", "1\tb\t1"], "line 2: document b has no text in .*d.tsv")]:
        with pytest.raises(TrainingError, match=message):
            data.read_scores(write(tmp_path / "s.tsv", *lines), queries, documents)
    with pytest.raises(TrainingError, match="line 1: has 3 fields; write query id, 0, document id, grade"):
        data.read_qrels(write(tmp_path / "x", "1 0 a"))
    with pytest.raises(TrainingError, match="line 1: has 4 fields; write query id, Q0"):
        data.read_run(write(tmp_path / "x", "1 0 a 1"))
    with pytest.raises(TrainingError, match="none.tsv: No such file"):
        data.read_texts(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"1\t\xe9\n")
    with pytest.raises(TrainingError, match="latin.tsv: is not UTF-8"):
        data.read_texts(tmp_path / "latin.tsv")
    (tmp_path / "cut.tsv.gz").write_bytes(gzip.compress(b"1\tabc\n" * 100)[:-9])
    with pytest.raises(TrainingError, match="cut.tsv.gz: Compressed file ended"):
        data.read_texts(tmp_path / "cut.tsv.gz")
    with pytest.raises(TrainingError, match="needs both queries and documents"):
        data.read_triples(tmp_path / "t.tsv", queries)


def scored_files(tmp_path, *lines):
    queries = write(tmp_path / "q.tsv", "1\twhy", "2\twho")
    documents = write(tmp_path / "d.tsv", *(f"{number}\ttext of {number}" for number in range(100)))
    return write(tmp_path / "scores.tsv", *lines), queries, documents


def test_scored_triples_are_read_by_line(tmp_path):
    generator = random.Random(1)
    rows = [(round(generator.uniform(-9, 9), 3), round(generator.uniform(-9, 9), 3), generator.choice("12"),
             *map(str, generator.sample(range(100), 2))) for _ in range(200)]
    lines = ["\t".join(map(str, row)) for row in rows]
    lines[17:17] = ["", " "]  # do not count
    read = data.read_scored_triples(*scored_files(tmp_path, *lines))
    for number in [*range(199, -1, -1), *range(200)]:
        better, worse, query, *names = rows[number]
        wanted = sorted([Candidate(names[0], better), Candidate(names[1], worse)], key=lambda one: -one.target)
        assert read.lists[number] == CandidateList("why" if query == "1" else "who", wanted)
    assert len(read.lists) == 200
    assert read.documents["7"] == "text of 7"
    assert read.for_bands([Band(1, 2, 2)]) is read
    assert not read.for_bands([Band(1, 3, 3)]).lists
    before = read.checksum()
    assert before == data.read_scored_triples(*scored_files(tmp_path, *lines)).checksum()
    for name, old, new in (("scores.tsv", "\t", " "), ("q.tsv", "who", "whom"), ("d.tsv", "text of 99", "text of 9")):
        files = scored_files(tmp_path, *lines)
        changed = tmp_path / name
        changed.write_text(changed.read_text().replace(old, new, 1))
        assert data.read_scored_triples(*files).checksum() != before, name


@pytest.mark.parametrize(("line", "message"), [
    ("1 0 1 5", "scores.tsv, line 3: has 4 fields; write positive's score, negative's score, query id, positive's id"),
    ("nan 0 1 5 6", "scores.tsv, line 3: 'nan' is not a finite number"),
    ("1 x 1 5 6", "scores.tsv, line 3: 'x' is not a finite number"),
    ("1 0 3 5 6", "scores.tsv, line 3: query 3 has no text in the queries"),
    ("1 0 1 5 106", "scores.tsv, line 3: document 106 has no text in the documents"),
])
def test_bad_scored_triples(tmp_path, line, message):
    files = scored_files(tmp_path, "1 0 1 5 6", "", line, "1 0 1 5 6")
    with pytest.raises(TrainingError, match=message):
        data.read_scored_triples(*files)


def test_files_read_by_place_are_not_compressed(tmp_path):
    path, queries, documents = scored_files(tmp_path, "1 0 1 5 6")
    with pytest.raises(TrainingError, match=r"t.gz: is compressed, .*unpack it with gzip -d"):
        data.read_scored_triples(write(tmp_path / "t.gz", "1 0 1 5 6"), queries, documents)
    path.write_bytes(b"1 0 1 5 6\n1 0 \xff 5 6\n")
    with pytest.raises(TrainingError, match=r"scores.tsv, line 2: is not UTF-8"):
        data.read_scored_triples(path, queries, documents)


@pytest.mark.parametrize("name", ["d.tsv", "d.jsonl"])
def test_texts_by_place_are_those_in_memory(tmp_path, name):
    generator = random.Random(2)
    ids = [str(generator.randrange(300)) for _ in range(400)]  # some occur again
    rows = [{"id": one, "title": "T", "text": f"é{n}"} if name.endswith("l") else f"{one}\té\t{n}"
            for n, one in enumerate(ids)]
    path = write(tmp_path / name, *rows[:50], "", *rows[50:])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    in_memory, by_place = data.read_texts(path), data.text_file(path)
    assert all(by_place[one] == in_memory[one] and one in by_place for one in in_memory)
    assert "x" not in by_place
    with pytest.raises(KeyError):
        by_place["x"]
    assert sorted(set(by_place)) == sorted(in_memory)
    assert len(by_place) == 400
    assert data.text_file(write(tmp_path / "d.tsv.gz", "1\ta")) == {"1": "a"}
    assert len(data.text_file(write(tmp_path / "none.tsv"))) == 0


def test_docpairs(monkeypatch):
    def record(**fields):
        return types.SimpleNamespace(default_text=lambda: fields.get("text"), **fields)

    documents = {name: record(doc_id=name, text=f"text of {name}") for name in "ab"}
    pairs = [record(query_id="1", doc_id_a="b", doc_id_b="a")]
    dataset = types.SimpleNamespace(
        has_docpairs=lambda: bool(pairs), docpairs_iter=lambda: pairs,
        docs_store=lambda: types.SimpleNamespace(get=documents.__getitem__),
        queries_iter=lambda: [record(query_id="1", text="why")])
    monkeypatch.setitem(sys.modules, "ir_datasets", types.SimpleNamespace(load={"known": dataset}.__getitem__))
    read = data.read_docpairs("known")
    assert list(read.lists) == [CandidateList("why", [Candidate("b", 1.0), Candidate("a", 0.0)])]
    assert read.documents["b"] == "text of b"
    pairs[0] = record(query_id="1", doc_id_a="b", doc_id_b="a", score_a=-3.5, score_b=2.0)
    assert list(data.read_docpairs("known").lists) == [CandidateList("why", [Candidate("a", 2.0),
                                                                             Candidate("b", -3.5)])]
    pairs[0] = record(query_id="2", doc_id_a="b", doc_id_b="a")
    with pytest.raises(TrainingError, match="data known: query 2 has no text in the queries"):
        data.read_docpairs("known")
    pairs.clear()
    with pytest.raises(TrainingError, match="data known: has no docpairs"):
        data.read_docpairs("known")


def test_files_that_cannot_be_read_to_their_end_are_named():
    unreadable = pathlib.Path("/proc/self/mem")  # opens, and its first byte cannot be read
    for read in (data.read_texts, data.text_file, lambda path: LineFile(path, lambda _: True, lambda *_: None)):
        with pytest.raises(TrainingError, match="^/proc/self/mem: Input/output error"):
            read(unreadable)
