"""PyTerrier's transformers."""
import numpy as np
import pytest

import relucent_search

pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed")
pd = pytest.importorskip("pandas")


def test_reranker_gives_the_scores_of_relucent_rerank(candidates, logits):
    from relucent_search.pyterrier import Reranker

    rows = pd.DataFrame(candidates)
    rows["rank"] -= 1  # PyTerrier counts from 0
    shuffled = rows.sample(frac=1, random_state=1)
    found = Reranker()(shuffled)
    assert len(found) == len(rows) and set(found.columns) == set(rows.columns)
    assert found["score"].tolist() == [np.float32(logits[row.qid, row.docno]) for row in found.itertuples()]
    for _, part in found.groupby("qid"):
        assert part["rank"].tolist() == list(range(len(part)))
        assert part["score"].is_monotonic_decreasing


def test_retriever_and_reranker_make_a_pipeline(index, topics):
    from relucent_search.pyterrier import Reranker, Retriever

    queries = pd.DataFrame(list(topics.items())[:5], columns=["qid", "query"])
    bm25 = Retriever(index, {"rescorer": {"enabled": False}}, num_results=20, texts=True)
    both = (bm25 >> Reranker())(queries)
    whole = Retriever(index, {"rescorer": {"window": 20}}, num_results=20)(queries)
    assert list(whole.columns) == ["qid", "query", "docno", "score", "rank"]
    assert both[["qid", "docno", "score", "rank"]].equals(whole[["qid", "docno", "score", "rank"]])
    top = (bm25 % 3 >> Reranker())(queries)
    assert top.groupby("qid").size().tolist() == [3] * 5


def test_fusion_reads_the_first_stages_score(index, topics, root):
    from relucent_search.pyterrier import Reranker, Retriever

    queries = pd.DataFrame(list(topics.items())[:3], columns=["qid", "query"])
    bm25 = Retriever(index, {"rescorer": {"enabled": False}}, num_results=20, texts=True)
    fused = (bm25 >> Reranker(root / "config/fusion.toml"))(queries)
    profile = relucent_search.load_config(root / "config/fusion.toml")
    profile["rescorer"]["window"] = 20
    whole = Retriever(index, profile, num_results=20)(queries)
    assert fused[["qid", "docno", "score"]].equals(whole[["qid", "docno", "score"]])


def test_missing_texts_come_last_and_missing_columns_are_named():
    from relucent_search.pyterrier import Reranker

    rows = pd.DataFrame([["1", "rice", "a", None], ["1", "rice", "b", "rice"]],
                        columns=["qid", "query", "docno", "text"])
    assert Reranker()(rows)["docno"].tolist() == ["b", "a"]
    assert len(Reranker()(rows.iloc[:0])) == 0
    with pytest.raises(KeyError, match="text"):
        Reranker()(rows.drop(columns="text"))
