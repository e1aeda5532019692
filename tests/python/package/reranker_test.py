"""Reranker: `relucent rerank` from Python."""
import itertools
import json
import pickle

import numpy as np
import pytest

import relucent_search


def groups(rows):
    return {qid: list(group) for qid, group in itertools.groupby(rows, key=lambda row: row["qid"])}


def reranked(program, file, tmp_path, *flags):
    output = tmp_path / "out.jsonl"
    program("rerank", "--input", file, "--output", output, "--quiet", *flags)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    return {qid: [(row["docno"], row["score"]) for row in group] for qid, group in groups(rows).items()}


def with_reranker(reranker, candidates):
    result = {}
    for qid, rows in groups(candidates).items():
        found = reranker.rerank(rows[0]["query"], [row["text"] for row in rows], [row["score"] for row in rows])
        assert found.status == "rescored" and not found.degraded
        result[qid] = [(rows[place]["docno"], float(score))
                       for place, score in zip(found.order, found.scores, strict=True)]
    return result


def test_order_and_scores_are_those_of_relucent_rerank(program, candidates_file, candidates, tmp_path):
    assert with_reranker(relucent_search.Reranker(), candidates) == reranked(program, candidates_file, tmp_path)


@pytest.mark.parametrize("profile", ["config/fusion.toml", "stages", "window"])
def test_profiles_count(program, candidates_file, candidates, tmp_path, root, profile):
    file = root / profile
    if profile == "stages":
        file = tmp_path / "stages.toml"
        file.write_text('[[rescorer.stages]]\nprecision = "fp32"\n[[rescorer.stages]]\nwindow = 5\nmax_length = 64\n')
    elif profile == "window":
        file = tmp_path / "window.toml"
        file.write_text("[rescorer]\nwindow = 3\n")
    expected = reranked(program, candidates_file, tmp_path, "--config", file)
    reranker = relucent_search.Reranker(file)
    assert with_reranker(reranker, candidates) == expected
    assert with_reranker(pickle.loads(pickle.dumps(reranker)), candidates) == expected


def test_documents_without_text_come_last(program, tmp_path):
    rows = [{"qid": "1", "query": "rice", "docno": docno, "text": text, "rank": rank, "score": 9.0 - rank}
            for rank, (docno, text) in enumerate([("a", ""), ("b", "rice"), ("c", " \t"), ("d", "bread")], 1)]
    file = tmp_path / "rerank.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = with_reranker(relucent_search.Reranker(), rows)
    assert found == reranked(program, file, tmp_path)
    assert [docno for docno, _ in found["1"]] == ["b", "d", "c", "a"]
    logits = relucent_search.Reranker().rerank("rice", [row["text"] for row in rows]).logits
    assert np.isnan(logits).tolist() == [True, False, False, False]


def test_results_state_what_happened():
    reranker = relucent_search.Reranker(max_length=32)
    found = reranker.rerank("rice", ["rice " * 100, "bread"])
    assert found.truncated == 1 and found.order.dtype == np.int64 and found.scores.dtype == np.float32
    assert found.timings["encode"] > 0
    assert not found.query_truncated and reranker.rerank("rice " * 40, ["bread"]).query_truncated
    assert reranker.rerank("rice", []).status == "no_hits"
    assert reranker.rerank("rice", [""]).status == "no_hit_text"
    assert "cross-encoder" in reranker.describe()


def test_mistakes_are_named(root):
    with pytest.raises(relucent_search.UsageError, match="scores: are missing"):
        relucent_search.Reranker(root / "config/fusion.toml").rerank("rice", ["bread"])
    with pytest.raises(relucent_search.UsageError, match="query: is empty"):
        relucent_search.Reranker().rerank("", ["bread"])
    with pytest.raises(ValueError, match="as many scores"):
        relucent_search.Reranker().rerank("rice", ["bread"], [1.0, 2.0])
