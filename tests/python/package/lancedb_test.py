"""LanceDB's own searches, in a database in a folder, with Relucent as their reranker."""
import zlib

import numpy as np
import pytest

import relucent_search

lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
FTS = pytest.importorskip("lancedb.index", reason="this lancedb has no lancedb.index").FTS

QUERY = "is it safe to eat rice that was left out overnight"


def vector(text):
    """A bag of words: enough for a first stage."""
    counts = np.zeros(256, np.float32)
    for word in text.lower().split():
        counts[zlib.crc32(word.encode()) % 256] += len(word) > 3
    return counts / max(np.linalg.norm(counts), 1)


@pytest.fixture(scope="module")
def table(documents, tmp_path_factory):
    rows = pa.table({"docno": list(documents), "text": list(documents.values()),
                     "vector": pa.array([vector(text).tolist() for text in documents.values()],
                                        pa.list_(pa.float32(), 256))})
    table = lancedb.connect(tmp_path_factory.mktemp("lance")).create_table("passages", rows)
    table.create_index("text", config=FTS())
    return table


def ranked(texts, scores=None, **settings):
    """[(text, score)] as Reranker orders the texts."""
    found = relucent_search.Reranker(**settings).rerank(QUERY, texts, scores)
    return [(texts[place], score) for place, score in zip(found.order, found.scores.tolist(), strict=True)]


def answer(found):
    return list(zip(found["text"].to_pylist(), found["_relevance_score"].to_pylist(), strict=True))


def test_a_vector_search(table):
    from lancedb.rerankers import Reranker

    from relucent_search.lancedb import RelucentReranker

    first = table.search(vector(QUERY)).limit(20).to_arrow()
    reranker = RelucentReranker()
    assert isinstance(reranker, Reranker)
    found = table.search(vector(QUERY)).limit(20).rerank(reranker, query_string=QUERY).to_arrow()
    assert answer(found) == ranked(first["text"].to_pylist())
    assert found.column_names == ["docno", "text", "vector", "_relevance_score"]
    everything = table.search(vector(QUERY)).limit(20).rerank(RelucentReranker(return_score="all"), QUERY).to_arrow()
    distances = dict(zip(first["docno"].to_pylist(), first["_distance"].to_pylist(), strict=True))
    assert dict(zip(everything["docno"].to_pylist(), everything["_distance"].to_pylist(), strict=True)) == distances
    assert answer(everything) == answer(found)


def test_a_full_text_search(table):
    from relucent_search.lancedb import RelucentReranker

    first = table.search(QUERY, query_type="fts").limit(20).to_arrow()
    found = table.search(QUERY, query_type="fts").limit(20).rerank(RelucentReranker()).to_arrow()
    assert answer(found) == ranked(first["text"].to_pylist())


def test_a_hybrid_search(table):
    from relucent_search.lancedb import RelucentReranker

    parts = [table.search(vector(QUERY)).limit(10).to_arrow(),
             table.search(QUERY, query_type="fts").limit(10).to_arrow()]
    texts = [text for part in parts for text in part["text"].to_pylist()]
    unique = list(dict.fromkeys(texts))
    assert 10 < len(unique) < 20  # the two searches share hits
    expected = ranked(unique)
    for scores in ("relevance", "all"):
        search = table.search(query_type="hybrid").vector(vector(QUERY)).text(QUERY).limit(10)
        found = search.rerank(RelucentReranker(return_score=scores)).to_arrow()
        assert answer(found) == expected[:10]
        assert ("_distance" in found.column_names) == ("_score" in found.column_names) == (scores == "all")


def test_scores_of_the_first_stage_and_rows_without_text(table):
    from relucent_search.lancedb import RelucentReranker

    fusion = {"rescorer": {"score_mode": "total", "device": "cpu"}}
    reranker = RelucentReranker(relucent_search.Reranker(fusion), return_score="all")
    first = table.search(QUERY, query_type="fts").limit(8).to_arrow()
    found = table.search(QUERY, query_type="fts").limit(8).rerank(reranker).to_arrow()
    scores = first["_score"].to_pylist()
    assert answer(found) == ranked(first["text"].to_pylist(), scores, config=fusion)
    assert answer(found) != ranked(first["text"].to_pylist(), scores[::-1], config=fusion)
    near = table.search(vector(QUERY)).limit(8).to_arrow()
    found = table.search(vector(QUERY)).limit(8).rerank(reranker, QUERY).to_arrow()
    nearness = [-distance for distance in near["_distance"].to_pylist()]
    assert answer(found) == ranked(near["text"].to_pylist(), nearness, config=fusion)
    rows = pa.table({"text": ["rice", None, "Reheat rice once."], "_distance": pa.array([1, 2, 3], pa.float32())})
    assert RelucentReranker().rerank_vector(QUERY, rows)["text"].to_pylist()[-1] is None


def test_empty_results_and_mistakes(table):
    from relucent_search.lancedb import RelucentReranker

    reranker = RelucentReranker()
    nothing = table.search(vector(QUERY)).where("docno = 'none'").rerank(reranker, QUERY).to_arrow()
    assert len(nothing) == 0 and "_relevance_score" in nothing.column_names
    with pytest.raises(relucent_search.UsageError, match="no column 'body'"):
        table.search(QUERY, query_type="fts").rerank(RelucentReranker(column="body")).to_arrow()
    with pytest.raises(relucent_search.UsageError, match="query_string"):
        reranker.rerank_vector(None, table.search(vector(QUERY)).limit(2).to_arrow())
    with pytest.raises(relucent_search.Error, match="score"):
        search = table.search(query_type="hybrid").vector(vector(QUERY)).text(QUERY)
        search.rerank(RelucentReranker(relucent_search.Reranker({"rescorer": {"score_mode": "total"}}))).to_arrow()
