"""IndexBuilder and index_dataset."""
import collections
import json
import multiprocessing
import threading

import pytest

import relucent_search

Document = collections.namedtuple("Document", ["doc_id", "text"])


class Collection:
    """What index_dataset needs of a data set of ir_datasets."""

    dataset_id = "demo"

    def __init__(self, documents, fails_after=None):
        self.documents, self.fails_after, self.read = documents, fails_after, 0

    def docs_iter(self):
        for doc_id, text in self.documents.items():
            if self.read == self.fails_after:
                raise OSError("the disk is gone")
            self.read += 1
            yield Document(doc_id, text)


def hits(program, index, query):
    found = json.loads(program("search", "--index", index, "--hits", 20, "--json", query))["hits"]
    return [(hit["id"], hit["score"], hit["first_stage_score"], hit["text"]) for hit in found]


QUERY = "how to stop crying when cutting onions"


def test_an_indexed_data_set_is_the_one_of_relucent_index(program, index, documents, tmp_path):
    progress = []
    assert relucent_search.index_dataset(Collection(documents), tmp_path / "index", progress=progress.append) == 318
    assert hits(program, tmp_path / "index", QUERY) == hits(program, index, QUERY)
    assert [hit.id for hit in relucent_search.Searcher(tmp_path / "index").search(QUERY, 20)] \
        == [row[0] for row in hits(program, index, QUERY)]
    assert progress == []


def test_it_continues_after_an_interruption(program, index, documents, tmp_path):
    folder = tmp_path / "index"
    with pytest.raises(OSError, match="the disk is gone"):
        relucent_search.index_dataset(Collection(documents, fails_after=250), folder, commit_every=100)
    bm25 = relucent_search.Searcher(folder, {"rescorer": {"enabled": False}})
    assert len(bm25.search("the bread rice water", 300)) > 0
    seen = []
    again = relucent_search.index_dataset(Collection(documents), folder,
                                          text=lambda doc: seen.append(doc.doc_id) or doc.text)
    assert again == 318 and seen == list(documents)[200:]
    assert hits(program, folder, QUERY) == hits(program, index, QUERY)
    seen.clear()  # and a finished one is left as it is
    assert relucent_search.index_dataset(Collection(documents), folder, text=lambda doc: seen.append(doc) or "") == 318
    assert seen == []


def test_another_collection_is_not_added_to(documents, tmp_path):
    few = dict(list(documents.items())[:3])
    relucent_search.index_dataset(Collection(few), tmp_path / "index")
    with pytest.raises(relucent_search.UsageError, match="holds an index, but not of other"):
        relucent_search.index_dataset(Collection(few), tmp_path / "index", name="other")
    assert relucent_search.index_dataset(Collection(few), tmp_path / "index", name="other", overwrite=True) == 3


def test_default_texts_are_those_of_ir_datasets(tmp_path):
    class WithDefault:
        doc_id = "a"
        text = "body"

        def default_text(self):
            return "title body"

    class One:
        def docs_iter(self):
            yield WithDefault()

    relucent_search.index_dataset(One(), tmp_path / "index")
    assert relucent_search.Searcher(tmp_path / "index").search("title", texts=True)[0].text == "title body"


def test_a_builder_commits_or_drops(tmp_path):
    folder = tmp_path / "index"
    with pytest.raises(KeyError), relucent_search.IndexBuilder(folder) as builder:
        builder.add("a", "rice \ud83d")
        builder.commit({"state": "first"})
        builder.add("b", "bread")
        raise KeyError
    with relucent_search.IndexBuilder(folder, "append", threads=1) as builder:
        assert builder.committed() == {"state": "first"} and builder.documents() == 1
        builder.add("c", "onion")
        builder.merge(1)
    assert builder.__class__ is relucent_search.IndexBuilder
    searcher = relucent_search.Searcher(folder, {"rescorer": {"enabled": False}})
    assert [hit.id for hit in searcher.search("rice bread onion")] == ["a", "c"]
    assert searcher.search("rice", texts=True)[0].text == "rice \ufffd"
    with pytest.raises(relucent_search.UsageError, match="is closed"):
        builder.add("d", "more")
    with pytest.raises(relucent_search.UsageError, match="index"):
        relucent_search.IndexBuilder(folder)
    with pytest.raises(relucent_search.UsageError, match="mode"):
        relucent_search.IndexBuilder(folder, "creat")


def test_documents_are_replaced_and_deleted_by_id(tmp_path):
    folder = tmp_path / "index"
    with relucent_search.IndexBuilder(folder) as builder:
        for name in "abc":
            builder.add(name, f"common {name}text")
    with relucent_search.IndexBuilder(folder, "append") as builder:
        builder.update("b", "common new")
        builder.update("d", "common more")
        builder.delete("a")
        builder.delete("none")
        builder.commit()
        assert (builder.removed(), builder.unknown_ids(), builder.documents()) == (2, 2, 3)
        with pytest.raises(relucent_search.UsageError, match="empty id"):
            builder.delete("")
        builder.delete("c")
    searcher = relucent_search.Searcher(folder, {"rescorer": {"enabled": False}})
    found = {hit.id: hit.text for hit in searcher.search("common", texts=True)}
    assert found == {"b": "common new", "d": "common more"}


def test_metadata_is_stored_filtered_by_and_counted(tmp_path):
    folder = tmp_path / "index"
    fields = {"index": {"keyword_fields": ["lang"], "number_fields": ["year"]}}
    with relucent_search.IndexBuilder(folder, config=fields) as builder:
        for i in range(10):
            builder.add(str(i), f"common word{i}", {"lang": "de" if i % 2 else "en", "year": 2000 + i, "more": [i]})
        builder.commit()
        builder.update("3", "common again", {"lang": "fr", "year": 1999})
        with pytest.raises(relucent_search.InvalidDataError, match="year"):
            builder.add("x", "common", {"year": "soon"})
    searcher = relucent_search.Searcher(folder, {"rescorer": {"enabled": False}})
    wanted = {"lang": "de", "year": {"gte": 2002}}
    found = searcher.search("common", k=2, filter=wanted, facets=["lang"], fields=["year"])
    assert (len(found), found.total_hits, found.total_is_exact) == (2, 3, True)
    assert found.facets == {"lang": {"de": 3}}
    assert all(set(hit.fields) == {"year"} for hit in found)
    rest = searcher.search("common", k=2, offset=2, filter=wanted)
    assert {hit.id for hit in [*found, *rest]} == {"5", "7", "9"}
    assert searcher.document("3").metadata == {"lang": "fr", "year": 1999}
    assert searcher.document("none") is None
    with pytest.raises(relucent_search.UsageError, match="town"):
        searcher.search("common", filter={"town": "Kiel"})
    counting = relucent_search.Searcher(folder, {"rescorer": {"enabled": False}, "first_stage": {"count": "exact"}})
    assert counting.search("common", k=1).total_is_exact


def test_fields_are_searched_with_weights(tmp_path):
    folder = tmp_path / "index"
    with relucent_search.IndexBuilder(folder, config={"index": {"analyzed_fields": ["title"]}}) as builder:
        builder.add("text", "rice rice", {"title": "flour"})
        builder.add("title", "how to cook it", {"title": "rice"})
        with pytest.raises(relucent_search.InvalidDataError, match="title"):
            builder.add("x", "common", {"title": 3})
    searcher = relucent_search.Searcher(folder, {"rescorer": {"enabled": False}})
    assert [hit.id for hit in searcher.search("rice")] == ["text"]
    both = searcher.search("rice", search_fields=["contents", "title^3"])
    assert [hit.id for hit in both] == ["title", "text"]
    assert [hit.id for hit in searcher.search_batch(["rice"], search_fields=["title"])[0]] == ["title"]
    weighted = relucent_search.Searcher(folder, {"rescorer": {"enabled": False},
                                                 "first_stage": {"fields": ["contents", "title^3"]}})
    assert [(hit.id, hit.score) for hit in weighted.search("rice")] == [(hit.id, hit.score) for hit in both]
    for wrong in (["absent"], ["title^0"], ["title", "title^2"], "title"):
        with pytest.raises(relucent_search.UsageError):
            searcher.search("rice", search_fields=wrong)


def _use_in_child(builder, connection):
    answers = []
    for step in (lambda: builder.add("2", "lost"), builder.commit, builder.documents, lambda: builder.merge(1),
                 builder.close, builder.abandon, lambda: builder.__exit__(None, None, None)):
        try:
            step()
            answers.append("done")
        except relucent_search.UsageError as error:
            answers.append(str(error))
    builder.__exit__(ValueError, ValueError("its own"), None)
    builder._builder = None  # neither waits for the parent's threads nor releases its lock
    connection.send(answers)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_leaves_the_builder_to_its_parent(tmp_path):
    with relucent_search.IndexBuilder(tmp_path / "index", threads=2) as builder:
        builder.add("1", "kept")
        here, there = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=_use_in_child, args=(builder, there))
        child.start()
        assert here.poll(30)
        answers = here.recv()
        child.join()
        assert len(answers) == 7 and all("after the fork" in answer for answer in answers)
        builder.add("3", "kept, too")
    assert relucent_search.IndexBuilder(tmp_path / "index", "append").documents() == 2


def test_threads_may_close_a_builder_that_others_add_to(tmp_path):
    for round in range(20):
        builder = relucent_search.IndexBuilder(tmp_path / str(round), threads=2)

        def add():
            try:
                for i in range(1000):
                    builder.add(str(i), "some words of a text " * 50)
            except relucent_search.UsageError as error:
                assert "closed" in str(error)

        threads = [threading.Thread(target=add) for _ in range(3)] + [threading.Thread(target=builder.close)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


def test_token_ids_are_stored(program, documents, tmp_path):
    few = dict(list(documents.items())[:20])
    relucent_search.index_dataset(Collection(few), tmp_path / "ids", token_ids_of=relucent_search.default_model())
    relucent_search.index_dataset(Collection(few), tmp_path / "plain")
    assert hits(program, tmp_path / "ids", "rice") == hits(program, tmp_path / "plain", "rice")
    size = {name: sum(file.stat().st_size for file in (tmp_path / name).iterdir()) for name in ("ids", "plain")}
    assert size["ids"] > size["plain"]
