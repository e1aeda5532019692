"""Searcher: what the program finds, as objects."""
import json
import os
import signal
import struct
import threading
import time

import pytest

import relucent_search


@pytest.fixture(scope="module")
def searcher(index):
    return relucent_search.Searcher(index)


def as_json(hit):
    passage = hit.passage and {"field": hit.passage.field, "begin": hit.passage.begin, "end": hit.passage.end,
                               "ends_field": hit.passage.ends_field, "text": hit.passage.text}
    return {"rank": hit.rank, "id": hit.id, "score": hit.score, "first_stage_rank": hit.first_stage_rank,
            "first_stage_score": hit.first_stage_score, "status": hit.status, "logit": hit.logit,
            "truncated": hit.truncated, "text": hit.text, "passage": passage}


def in_32_bits(hit):
    """The program prints the shortest number that reads back to the same 32-bit float."""
    scores = {key: hit[key] and struct.unpack("f", struct.pack("f", hit[key]))[0]
              for key in ("score", "first_stage_score", "logit")}
    return hit | scores


def test_the_hits_are_those_of_relucent_search(program, index, searcher, topics):
    for query in list(topics.values())[6:10]:
        expected = json.loads(program("search", "--index", index, "--hits", 5, "--json", query))
        found = searcher.search(query, 5, texts=True)
        assert [as_json(hit) for hit in found] == [in_32_bits(hit) for hit in expected["hits"]]
        for key in ("query", "total_hits", "status", "rescored", "without_text", "truncated", "query_truncated",
                    "degraded"):
            assert getattr(found, key) == expected[key]
        assert found.timings.keys() == expected["milliseconds"].keys()
        assert found.timings["total"] > found.timings["encode"] > 0


def test_results_are_sequences_of_hits(searcher):
    found = searcher.search("rice left out overnight", 3)
    assert len(found) == len(found.hits) == 3 and found[0] is found.hits[0] and list(found) == found.hits
    assert found[0].text is None and found[0].passage.text is None and found[0].passage.ends_field is None
    assert repr(found[0]).startswith("Hit(rank=1, id='")


def test_pages_continue_each_other(searcher, topics):
    query = list(topics.values())[6]
    whole = [as_json(hit) for hit in searcher.search(query, 130, texts=True)]
    pages = [searcher.search(query, 13, offset=offset, texts=True) for offset in range(0, 130, 13)]
    assert [as_json(hit) for page in pages for hit in page] == whole
    assert len({page.rescored for page in pages}) == 1
    batch = searcher.search_batch([query, query], 5, offset=98)
    assert [[hit.id for hit in page] for page in batch] == [[hit["id"] for hit in whole[98:103]]] * 2
    assert len(searcher.search(query, 5, offset=10**9)) == 0
    for k, offset in ((5, -1), (5, 2**31 - 5), (5, 2**40)):
        with pytest.raises(relucent_search.UsageError, match="offset: is"):
            searcher.search(query, k, offset=offset)


def test_texts_by_id(searcher, documents):
    wanted = list(documents)[3:6]
    assert searcher.texts([*wanted, "nothing"]) == {id: documents[id] for id in wanted}
    assert searcher.texts([]) == {}


def test_a_batch_is_the_single_searches_in_order(searcher, topics):
    queries = list(topics.values())[:6]
    single = [[as_json(hit) for hit in searcher.search(query, 3)] for query in queries]
    for jobs in (1, 3):
        batch = searcher.search_batch(queries, 3, jobs=jobs)
        assert [result.query for result in batch] == queries
        assert [[as_json(hit) for hit in result] for result in batch] == single
    assert searcher.search_batch([], 3) == []
    with pytest.raises(relucent_search.UsageError, match="query: is empty"):
        searcher.search_batch(["rice", " "], 3)


def test_configurations(index, tmp_path):
    bm25 = relucent_search.Searcher(index, {"rescorer": {"enabled": False}}).search("rice overnight", 3)
    assert bm25.status == "" and bm25[0].logit is None and bm25[0].status == "not_rescored"
    assert [hit.rank for hit in bm25] == [hit.first_stage_rank for hit in bm25] == [1, 2, 3]
    profile = tmp_path / "profile.toml"
    profile.write_text('[rescorer]\nwindow = 2\nprecision = "fp32"\n')
    found = relucent_search.Searcher(index, profile).search("rice overnight", 3)
    assert found.rescored == 2 and found[2].status == "beyond_window"
    config = relucent_search.load_config(profile)
    assert config["rescorer"]["window"] == 2
    config["rescorer"]["window"] = 3
    assert relucent_search.Searcher(index, config).search("rice overnight", 3).rescored == 3
    stages = {"rescorer": {"stages": [{"window": 10, "precision": "fp32"}, {"window": 4}]}}
    staged = relucent_search.Searcher(index, stages).search("rice overnight", 5)
    assert [len(hit.stage_logits) for hit in staged] == [2, 2, 2, 2, 1]
    with pytest.raises(relucent_search.InvalidDataError, match="windwo"):
        relucent_search.Searcher(index, {"rescorer": {"windwo": 3}})
    with pytest.raises(relucent_search.UsageError, match="not a section"):
        relucent_search.Searcher(index, {"window": 3})


def test_query_languages(index, searcher):
    lucene = relucent_search.Searcher(index, syntax="lucene")
    assert all("onion" in hit.text.lower() for hit in lucene.search("+onion -garlic", 5, texts=True))
    pattern = lucene.search("onio*", 5)
    assert pattern.status == "no_query_text" and not pattern.degraded and pattern.reason
    with pytest.raises(relucent_search.UsageError, match="query: cannot be parsed"):
        lucene.search("(onion", 5)
    with pytest.raises(relucent_search.UsageError, match="query: is empty"):
        searcher.search("  ", 5)
    with pytest.raises(relucent_search.UsageError, match="k: is 0"):
        searcher.search("onion", 0)
    with pytest.raises(relucent_search.UsageError, match="lucine"):
        relucent_search.Searcher(index, syntax="lucine")
    assert len(searcher.search("the of and")) == 0


def test_errors_name_the_index(tmp_path):
    with pytest.raises(relucent_search.FileError) as caught:
        relucent_search.Searcher(tmp_path / "nothing")
    assert "nothing" in caught.value.place
    with pytest.raises(relucent_search.InvalidDataError, match="index"):
        relucent_search.Searcher(tmp_path)


def test_a_missed_deadline_degrades(index):
    late = relucent_search.Searcher(index, {"rescorer": {"timeout_ms": 1, "device": "ref"}})
    found = late.search("rice overnight", 3)
    assert found.degraded and found.status == "failed" and found.reason
    assert found.hits[0].score == found.hits[0].first_stage_score
    slow = relucent_search.Searcher(index, {"rescorer": {"timeout_ms": 1, "device": "ref", "on_error": "fail"}})
    with pytest.raises(TimeoutError) as caught:
        slow.search("rice overnight", 3)
    assert type(caught.value) is relucent_search.DeadlineError


@pytest.mark.parametrize("batch", [False, True])
def test_ctrl_c_ends_a_search(index, batch):
    slow = relucent_search.Searcher(index, {"rescorer": {"device": "ref", "threads": 1}})
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        if batch:
            slow.search_batch(["bread rice onion the water"] * 1000)
        else:
            for _ in range(1000):
                slow.search("bread rice onion the water", 100)
    assert time.monotonic() - sent[0] < 2


def test_descriptions(searcher, index):
    assert "cross-encoder" in searcher.describe() and searcher.notices() == []
    assert relucent_search.Searcher(index, {"rescorer": {"enabled": False}}).describe() == ""
