"""The programs of docs/examples, on the bundled collection: each shows what its first line promises.

examples_test.py FOLDER PROGRAM: the folder with the compiled examples, and `relucent`, whose answers they must give.
"""

import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXAMPLES, RELUCENT = Path(sys.argv[1]), sys.argv[2]
SOURCES = Path("docs/examples")
COLLECTION = Path("index_tools/demo/collection.tsv").read_text()
QUESTION = "how long can cooked rice stay out of the fridge"


def run(program, *arguments, stdin=""):
    result = subprocess.run([program, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, encoding="utf-8", timeout=300)
    if result.returncode != 0:
        raise AssertionError(f"{result.args} ended with {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def example(name, *arguments, stdin=""):
    return run(EXAMPLES / name, *arguments, stdin=stdin).splitlines()


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="relucent-examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.index = cls.folder / "index"
        cls.written = example("build_index", cls.index, stdin=COLLECTION)
        cls.texts = dict(line.split("\t", 1) for line in COLLECTION.splitlines())

    @classmethod
    @functools.cache
    def whole_search(cls, *options, question):
        out = run(RELUCENT, "search", "--index", cls.index, "--json", "--hits", 1000, *options, question)
        return json.loads(out)["hits"]

    def search(self, *options, question=QUESTION, hits=5):
        return self.whole_search(*options, question=question)[:hits]

    def ids(self, *options, **more):
        return [hit["id"] for hit in self.search(*options, **more)]

    def test_each_is_short_listed_and_uses_public_headers_alone(self):
        listed = (SOURCES / "README.md").read_text()
        programs = [*SOURCES.glob("*.cpp"), *SOURCES.glob("*.py")]
        self.assertGreaterEqual(len(programs), 15)
        for path in programs:
            source = path.read_text()
            self.assertLessEqual(len(source.splitlines()), 60, path)
            self.assertIn(f"({path.name})", listed)
            for header in re.findall(r'#include ["<](.*)[">]', source):
                own = header.startswith("relucent/")
                self.assertTrue(own or "/" not in header, f"{path}: {header}")
                if own:
                    found = list(Path(".").glob(f"*/include/{header}"))
                    self.assertEqual(len(found), 1, f"{path}: {header}")

    def test_build_index(self):
        count = len(self.texts)
        self.assertEqual(self.written, [f"{count} documents"])
        self.assertEqual(example("build_index", self.index, stdin=COLLECTION), [f"{count} documents"], "not twice")
        other = self.folder / "grown"
        example("build_index", other, stdin="a\tone\n")
        self.assertEqual(example("build_index", other, stdin="a\tone\nb\ttwo\n"), ["2 documents"])
        run(RELUCENT, "verify", "--index", other)

    def test_session_search(self):
        lines = [line.split("\t") for line in example("session_search", self.index, QUESTION)]
        self.assertEqual([line[1] for line in lines], self.ids())
        self.assertEqual([line[3] for line in lines], [self.texts[line[1]] for line in lines])

    def test_custom_combine(self):
        bm25, model = self.ids("--no-rescore", hits=100), self.ids(hits=100)
        fused = sorted(bm25, key=lambda name: -(1 / (61 + bm25.index(name)) + 1 / (61 + model.index(name))))
        lines = [line.split("\t") for line in example("custom_combine", self.index, QUESTION)]
        self.assertEqual([line[1] for line in lines], fused[:5])
        self.assertEqual([line[3] for line in lines], [f"BM25's rank {bm25.index(name) + 1}" for name in fused[:5]])

    def test_own_scorer(self):
        lines = [line.split("\t") for line in example("own_scorer", self.index, QUESTION)]
        found = self.ids("--no-rescore", hits=100)
        sizes = sorted(len(self.texts[name].encode()) for name in found)
        self.assertEqual([line[2] for line in lines], [f"{size} bytes" for size in sizes[:5]])
        for _, name, size in lines:
            self.assertEqual(size, f"{len(self.texts[name].encode())} bytes")

    def test_explain_hit(self):
        lines = example("explain_hit", self.index, QUESTION)
        name, score = lines[0].split("\t")
        hits = {hit["id"]: hit for hit in self.search(hits=100)}
        self.assertAlmostEqual(float(score), hits[name]["logit"] + hits[name]["first_stage_score"], delta=1e-2)
        self.assertTrue(lines[1].startswith(score), lines[1])
        self.assertIn("idf, computed as", "\n".join(lines))

    def test_filtered_search(self):
        lines = example("filtered_search", self.index, QUESTION, "id", "10")
        found = [name for name in self.ids(hits=1000) if name.startswith("10")]
        self.assertEqual(lines[0], f"{len(found)} documents")
        self.assertEqual([line.split("\t")[1] for line in lines[1:]], found[:5])

    def test_rerank_texts(self):
        names = self.ids("--no-rescore", hits=20)
        texts = [self.texts[name] for name in names]
        lines = [line.split("\t") for line in example("rerank_texts", QUESTION, stdin="\n".join(texts) + "\n")]
        expected = [name for name in self.ids(hits=100) if name in names]
        self.assertEqual([line[1] for line in lines], [self.texts[name] for name in expected])

    def test_deadline_search(self):
        missed, interrupted = example("deadline_search", self.index, QUESTION, 0)
        self.assertTrue(missed.startswith("failed\t5 hits\t"), missed)
        self.assertIn("ran out of time", missed)
        self.assertEqual(interrupted, "interrupted")
        in_time = example("deadline_search", self.index, QUESTION, 600000)
        self.assertEqual(in_time, ["rescored\t5 hits\t", "interrupted"])

    def test_cascade_search(self):
        lines = example("cascade_search", self.index, QUESTION)
        found = min(100, len(self.ids("--no-rescore", hits=1000)))
        self.assertTrue(lines[0].startswith(f"{found} hits in "), lines[0])
        self.assertTrue(lines[1].startswith("10 hits in "), lines[1])
        hits = {hit["id"]: hit for hit in self.search(hits=100)}
        last = [float(line.split("\t")[3]) for line in lines[2:]]
        self.assertEqual(last, sorted(last, reverse=True))
        for line in lines[2:]:
            _, name, _, logit = line.split("\t")
            self.assertAlmostEqual(float(logit), hits[name]["logit"], delta=1e-2)

    def test_topics_to_run(self):
        topics = "".join(Path("index_tools/demo/queries.tsv").read_text().splitlines(keepends=True)[:4])
        path = self.folder / "topics.tsv"
        path.write_text(topics)
        lines = [line.split(" ") for line in example("topics_to_run", self.index, path)]
        for topic in topics.splitlines():
            qid, question = topic.split("\t")
            ours = [line for line in lines if line[0] == qid]
            self.assertEqual([line[2] for line in ours], self.ids(question=question, hits=100))
            self.assertEqual([line[3] for line in ours], [str(i + 1) for i in range(len(ours))])

    def test_existing_searcher(self):
        lines = [line.split("\t") for line in example("existing_searcher", self.index, QUESTION)]
        hits = {hit["id"]: hit for hit in self.search(hits=100)}
        self.assertEqual(len(lines), 5)
        self.assertEqual(lines[0][1], self.ids()[0])
        for _, name, score, before in lines:
            self.assertAlmostEqual(float(score), hits[name]["logit"], delta=1e-2)
            self.assertRegex(before, r"^before: rank \d+, ")

    def test_best_passage(self):
        # A text that is too long for the model, whose answer is in the middle.
        answer, others = self.texts["101"], [text for name, text in self.texts.items() if int(name) > 200]
        long = " ".join([*others[:15], answer, *others[15:30]])
        index = self.folder / "long"
        example("build_index", index, stdin=f"long\t{long}\nshort\t{others[0]} rice\n")
        lines = example("best_passage", index, QUESTION)
        self.assertEqual([line.split("\t")[1] for line in lines[::2]], ["long", "short"])
        passage = lines[1].strip()
        self.assertTrue(passage.startswith("... ") and passage.endswith(" ..."), passage)
        self.assertIn(passage.removeprefix("... ").removesuffix(" ..."), long)
        self.assertIn("Cooked rice should stand at room temperature", passage)
        self.assertLess(len(passage), 1000)
        self.assertEqual(lines[3].strip(), f"{others[0]} rice")

    def test_shards_search(self):
        lines = COLLECTION.splitlines(keepends=True)
        for name, part in (("one", lines[:100]), ("two", lines[100:])):
            example("build_index", self.folder / name, stdin="".join(part))
        shards = self.folder / "one", self.folder / "two"
        found = [line.split("\t") for line in example("shards_search", *shards, QUESTION)]
        expected = self.search("--no-rescore")
        self.assertEqual([line[0] for line in found], [hit["id"] for hit in expected])
        for line, hit in zip(found, expected):
            self.assertAlmostEqual(float(line[1]), hit["score"], delta=1e-4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
