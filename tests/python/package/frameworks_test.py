"""LangChain and LlamaIndex, through their own base classes."""
import inspect

import pytest

import relucent_search

QUERY = "is it safe to eat rice that was left out overnight"


def best(documents, count):
    texts = list(documents.values())[:20]
    return [(entry["text"], float(entry["score"]))
            for entry in relucent_search.CrossEncoder().rank(QUERY, texts, top_k=count, return_documents=True)], texts


def test_langchain_compressor(documents):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from langchain_core.documents import BaseDocumentCompressor, Document

    from relucent_search.langchain import RelucentReranker

    expected, texts = best(documents, 3)
    given = [Document(page_content=text, metadata={"place": i}) for i, text in enumerate(texts)]
    compressor = RelucentReranker(top_n=3)
    assert isinstance(compressor, BaseDocumentCompressor)
    found = compressor.compress_documents(given, QUERY)
    assert [(document.page_content, document.metadata["relevance_score"]) for document in found] == expected
    assert all(texts[document.metadata["place"]] == document.page_content for document in found)
    assert "relevance_score" not in given[0].metadata
    assert list(compressor.compress_documents([], QUERY)) == []


def test_langchain_retriever(index):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from langchain_core.runnables import RunnableLambda

    from relucent_search.langchain import RelucentRetriever

    searcher = relucent_search.Searcher(index)
    chain = RelucentRetriever(searcher=searcher, k=4) | RunnableLambda(lambda documents: documents)
    found = chain.invoke(QUERY)
    expected = searcher.search(QUERY, 4, texts=True)
    assert [(document.id, document.page_content, document.metadata["score"]) for document in found] \
        == [(hit.id, hit.text, hit.score) for hit in expected]
    assert found[0].metadata["passage"] == expected[0].passage.text


def test_llama_index_postprocessor(documents):
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore, TextNode

    from relucent_search.llama_index import RelucentRerank

    expected, texts = best(documents, 3)
    nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in texts]
    rerank = RelucentRerank(top_n=3)
    assert isinstance(rerank, BaseNodePostprocessor)
    found = rerank.postprocess_nodes(nodes, query_str=QUERY)
    assert [(node.node.get_content(), node.score) for node in found] == expected
    assert rerank.postprocess_nodes([], query_str=QUERY) == []
    with pytest.raises(relucent_search.UsageError, match="query_bundle: is missing"):
        rerank.postprocess_nodes(nodes)


def test_haystack_ranker(documents):
    pytest.importorskip("haystack", reason="haystack-ai is not installed")
    from haystack import Document, Pipeline

    from relucent_search.haystack import RelucentRanker

    expected, texts = best(documents, 3)
    given = [Document(content=text, meta={"place": i}) for i, text in enumerate(texts)]
    pipeline = Pipeline()
    pipeline.add_component("ranker", RelucentRanker(top_k=5))
    trusted = {} if "allowed_modules" not in inspect.signature(Pipeline.loads).parameters \
        else {"allowed_modules": ["relucent_search.haystack"]}
    pipeline = Pipeline.loads(pipeline.dumps(), **trusted)  # as users keep them
    found = pipeline.run({"ranker": {"query": QUERY, "documents": given, "top_k": 3}})["ranker"]["documents"]
    assert [(document.content, document.score) for document in found] == expected
    assert all(texts[document.meta["place"]] == document.content for document in found)
    assert given[0].score is None
    assert len(pipeline.run({"ranker": {"query": QUERY, "documents": given}})["ranker"]["documents"]) == 5
    ranker = RelucentRanker(meta_fields_to_embed=["title"], settings={"device": "cpu"})
    assert ranker.run(QUERY, []) == {"documents": []}
    assert len(ranker.run(QUERY, [given[0], given[0]])["documents"]) == 1
    with_title = ranker.run(QUERY, [Document(content="b", meta={"title": "a"})])["documents"][0].score
    assert with_title == float(relucent_search.CrossEncoder(device="cpu").predict((QUERY, "a\nb")))
    with pytest.raises(relucent_search.UsageError, match="top_k: is 0"):
        RelucentRanker(top_k=0)
