#!/usr/bin/env python3
"""relucent graphs, and searching and reranking with a MIR: what is made, what is refused, what repairs it."""

import gzip
import json
import random
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from program_support import GOLDENS, PROGRAM, ProgramTest, main, run

WORDS = ("river stone lamp winter boat quick gold index whale ocean letter garden engine planet market silver forest "
         "teacher bridge candle").split()
QUERIES = ["silver whale in the winter ocean", "a quick engine", "letters of the teacher"]


def collection(count, seed=1, prefix="d"):
    rng = random.Random(seed)
    lines = []
    for i in range(count):
        sentences = [" ".join(rng.choices(WORDS, k=rng.randrange(3, 12))).capitalize() + "."
                     for _ in range(rng.randrange(1, 14))]
        lines.append(f"{prefix}{i}\t{' '.join(sentences)}\n")
    return "".join(lines)


class Graphs(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """An index, small MIRs and the graphs of one of them, copied by each test that changes them."""
        cls.shared = Path(subprocess.run(["mktemp", "-d", "-t", "relucent-graphs-XXXXXX"], check=True,
                                         stdout=subprocess.PIPE, encoding="utf-8").stdout.strip())
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        for name, window, length in (("mir", 24, 64), ("other", 20, 64)):
            made = run("model", "init", "--from", bundled, "--as", "mir", cls.shared / name, "--window", window,
                       "--stride", 16, "--document-length", length)
            assert made.returncode == 0, made.stderr
        cls.mir, cls.other = cls.shared / "mir", cls.shared / "other"
        (cls.shared / "docs.tsv").write_text(collection(300))
        made = run("index", "--corpus", "tsv", "--input", cls.shared / "docs.tsv", "--index", cls.shared / "index",
                   "--commit-every", 100, "--quiet")
        assert made.returncode == 0, made.stderr
        cls.made = cls.graphs(cls.shared / "index")

    @classmethod
    def graphs(cls, index, *more, code=0, model=None):
        result = run("graphs", "--index", index, "--model", model or cls.mir, "--json", "--quiet", *more)
        assert result.returncode == code, (result.returncode, result.stderr)
        return json.loads(result.stdout) if code == 0 else result.stderr

    def index(self):
        shutil.copytree(self.shared / "index", self.folder / "index")
        return self.folder / "index"

    @staticmethod
    def files(index):
        return {path.name: path.read_bytes() for path in sorted(index.glob("relucent-_*.graphs*"))}

    def remove(self, index):
        for name in self.files(index):
            (index / name).unlink()

    def search(self, index, *more, code=0, query=QUERIES[0], model=None, window=6):
        result = run("search", "--index", index, "--model", model or self.mir, "--device", "cpu", "--precision", "fp32",
                     "--window", window, "--hits", 8, "--json", *more, query)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout) if code in (0, 4) else result.stderr

    @staticmethod
    def logits(answer):
        return {hit["id"]: hit["logit"] for hit in answer["hits"] if hit["status"] == "rescored"}

    def profile(self, text):
        return self.write("profile.toml", f'[rescorer]\nmodel = "{self.mir}"\ndevice = "cpu"\nprecision = "fp32"\n'
                          f'window = 6\n{text}')

    def test_graphs_are_made_once_and_searched_with(self):
        self.assertEqual((self.made["documents"], self.made["made"], self.made["kept"]), (300, 300, 0))
        self.assertLess(self.made["bytes_per_document"], 200)
        index = self.index()
        before = self.files(index)
        again = self.graphs(index)
        self.assertEqual((again["made"], again["kept"], again["replaced"]), (0, 300, []))
        self.assertEqual(self.files(index), before)
        self.remove(index)
        for threads in (1, 3):
            self.assertEqual(self.graphs(index, "--threads", threads, "--rebuild")["documents"], 300)
            self.assertEqual(self.files(index), before)
        text = self.expect(run("graphs", "--index", index, "--model", self.mir, "--quiet"), 0).stdout
        self.assertIn("300 were there", text)

        answer = self.search(index)
        self.assertEqual((answer["status"], answer["degraded"], answer["rescored"]), ("rescored", False, 6))
        self.assertEqual(len(self.logits(answer)), 6)
        self.assertTrue(any(hit["truncated"] for hit in answer["hits"]))
        self.assertEqual([hit["status"] for hit in answer["hits"][6:]], ["beyond_window"] * 2)
        # A score depends on the query and the document alone: alone in the window it is the same.
        alone = self.search(index, "--threads", 1, window=1)
        for name, logit in self.logits(alone).items():
            self.assertEqual(logit, self.logits(answer)[name])
        report = self.expect(run("verify", "--index", index, "--quiet"), 0).stdout
        self.assertRegex(report, r"ok +graphs +\d+ files, .*weights tfidf, entities none")

    def test_what_is_missing_damaged_or_foreign_is_reported_and_repaired(self):
        index = self.index()
        good = self.files(index)
        name = sorted(good)[0]
        path = index / name
        foreign = self.folder / "foreign"
        self.write("foreign.tsv", collection(300, seed=2))
        self.expect(run("index", "--corpus", "tsv", "--input", self.folder / "foreign.tsv", "--index", foreign,
                        "--commit-every", 100, "--quiet"), 0)
        self.graphs(foreign)
        flipped_header = bytearray(good[name])
        flipped_header[60] ^= 1
        flipped_record = bytearray(good[name])
        for at in range(len(flipped_record) // 2, len(flipped_record) // 2 + 1200):
            flipped_record[at] ^= 16
        foreign_file = self.files(foreign).get(name)
        self.assertIsNotNone(foreign_file)
        cases = {
            "is missing": None,
            "truncated": good[name][:-20],
            "short": good[name][:10],
            "empty": b"",
            "header": bytes(flipped_header),
            "foreign": foreign_file,
            "record": bytes(flipped_record),
        }
        for case, content in cases.items():
            with self.subTest(case):
                path.unlink(missing_ok=True)
                if content is not None:
                    path.write_bytes(content)
                if case == "record":  # noticed when it is read
                    profile = self.write("all.toml", self.profile("").read_text().replace("window = 6", "window = 300")
                                         + 'on_error = "fail"\n')
                    command = ("search", "--index", index, "--config", profile, "--hits", 300)
                else:
                    command = ("search", "--index", index, "--config", self.profile('on_error = "fail"\n'))
                code = 1 if case == "is missing" else 3
                self.expect_error(code, name, "relucent graphs", arguments=command + (" ".join(WORDS),))
                report = run("verify", "--index", index, "--quiet")
                if case == "is missing":
                    self.expect(report, 0)
                    self.assertIn("segments have none", report.stdout)
                else:
                    self.expect(report, 3)
                    self.assertIn(name, report.stdout)
                    self.assertIn("the index is sound, but not its graphs: run `relucent graphs`", report.stdout)
                repaired = self.graphs(index)
                self.assertGreater(repaired["made"], 0)
                self.assertEqual(len(repaired["replaced"]), 0 if case == "is missing" else 1, repaired["replaced"])
                self.assertEqual(self.files(index), good)
                self.search(index)

        # Another model's settings.
        self.expect_error(3, name, "passage_window is 24, not 20", f"--model {self.other}", arguments=[
            "search", "--index", index, "--model", self.other, "--device", "cpu", "whale"])
        self.graphs(index, model=self.other)
        self.search(index, model=self.other)
        self.expect_error(3, name, "passage_window is 20, not 24", arguments=[
            "search", "--index", index, "--model", self.mir, "--device", "cpu", "whale"])

    def test_documents_that_come_and_segments_that_go(self):
        index = self.index()
        self.write("more.tsv", (self.shared / "docs.tsv").read_text() + collection(40, seed=3, prefix="new"))
        self.expect(run("index", "--corpus", "tsv", "--input", self.folder / "more.tsv", "--index", index,
                        "--force-resume", "--quiet"), 0)
        before = self.files(index)
        error = self.search(index, code=1)
        self.assertIn("relucent graphs", error)
        made = json.loads(self.expect(run("search", "--index", index, "--config",
                                          self.profile('missing_graphs = "make"\n'), "--json", QUERIES[0]), 0).stdout)
        self.assertEqual(made["status"], "rescored")
        self.assertEqual(self.files(index), before)
        leftover = index / "relucent-_zz.graphs"
        leftover.write_bytes(b"of a segment that is gone")
        self.assertIn("belongs to no segment", self.expect(run("verify", "--index", index, "--quiet"), 0).stdout)
        done = self.graphs(index)
        self.assertEqual(done["documents"], 340)
        self.assertEqual(done["made"] + done["kept"], 340)
        self.assertIn(leftover.name, done["removed"])
        self.assertFalse(leftover.exists())
        self.search(index)
        if done["kept"]:
            self.assertGreater(done["earlier_statistics"], 0)
        rebuilt = self.graphs(index, "--rebuild")
        self.assertEqual((rebuilt["kept"] + rebuilt["made"], rebuilt["earlier_statistics"]), (340, 0))
        # Made at search time, they are those that are stored.
        stored = self.search(index)
        self.remove(index)
        made = json.loads(self.expect(run(
            "search", "--index", index, "--config", self.profile('missing_graphs = "make"\n'), "--hits", 8, "--json",
            QUERIES[0]), 0).stdout)
        self.assertEqual(self.logits(made), self.logits(stored))
        self.assertEqual(self.files(index), {})

    def test_weights_and_entities(self):
        index = self.index()
        tfidf = self.files(index)
        topics = self.write("topics.tsv", "".join(f"{i}\t{query}\n" for i, query in enumerate(QUERIES)))
        made = self.graphs(index, "--weights", "prf", "--topics", topics, "--log-hits", 5)
        self.assertGreater(made["with_weights"], 0)
        self.assertLessEqual(made["with_weights"], 15)
        self.assertTrue(all("weights is tfidf, not prf" in reason for reason in made["replaced"]), made["replaced"])
        prf = self.files(index)
        self.assertNotEqual(prf, tfidf)
        self.search(index)
        weights = self.write("weights.jsonl", '{"id": "d7", "weights": {"whale": 3, "boat": 0.5}}\n\n'
                             '{"id": "nowhere", "weights": {}}\n')
        made = self.graphs(index, "--weights", "file", "--weights-file", weights)
        self.assertEqual(made["with_weights"], 1)
        entities = self.write("entities.jsonl", json.dumps(
            {"id": "d3", "entities": [{"start": 0, "end": 9, "id": "Q1"}, {"start": 12, "end": 14, "id": "Q1",
                                                                           "score": 0.5}]}) + "\n")
        self.graphs(index, "--entities", entities)
        self.assertNotEqual(self.files(index), tfidf)
        report = self.expect(run("verify", "--index", index, "--quiet"), 0).stdout
        self.assertRegex(report, "weights tfidf, entities [0-9a-f]{16}")
        self.assertEqual(self.graphs(index)["made"], 300)
        self.assertEqual(self.files(index), tfidf)

        def refuse(name, content, *parts, flags=("--entities",)):
            path = self.write(name, content)
            self.expect_error(3, f"{path}:1", *parts, arguments=["graphs", "--index", index, "--model", self.mir,
                                                                 *flags, path])
        file_flags = ("--weights", "file", "--weights-file")
        refuse("a.jsonl", "no json\n", "not JSON")
        refuse("b.jsonl", '{"entities": []}\n', '"id"')
        refuse("c.jsonl", '{"id": "d1", "entities": [{"start": 5, "end": 5, "id": "x"}]}\n', "start")
        refuse("d.jsonl", '{"id": "d1", "entities": [{"start": -5, "end": 5, "id": "x"}]}\n', "start")
        refuse("e.jsonl", '{"id": "d1", "entities": [{"start": 0, "end": 5}]}\n', '"id"')
        refuse("f.jsonl", '{"id": "d1", "entities": [{"start": 0, "end": 5, "id": 4, "score": "x"}]}\n', "score")
        refuse("g.jsonl", '{"id": "d1", "weights": {"a": null}}\n', "finite", flags=file_flags)
        refuse("h.jsonl", '{"id": "d1", "weights": []}\n', "weights", flags=file_flags)
        twice = self.write("i.jsonl", '{"id": "d1", "weights": {}}\n{"id": "d1", "weights": {}}\n')
        self.expect_error(3, f"{twice}:2", '"d1" has a line already, line 1', arguments=[
            "graphs", "--index", index, "--model", self.mir, *file_flags, twice])
        self.assertEqual(self.files(index), tfidf)

    def test_graphs_of_documents_outside_the_index(self):
        index = self.index()
        before = self.files(index)
        texts = [line.split("\t") for line in (self.shared / "docs.tsv").read_text().splitlines()[:40]]
        texts += [["empty", ""], ["mark", "\u0301"], ["new", "A zebra. A zebra met a whale. The whale sang."]]
        documents = self.write("documents.jsonl", "".join(json.dumps({"id": name, "text": text}) + "\n"
                                                          for name, text in texts))
        command = ["graphs", "--index", index, "--model", self.mir, "--input", documents, "--output"]
        outputs = []
        for threads in (1, 3):
            result = self.expect(run(*command, self.folder / f"{threads}.jsonl", "--threads", threads), 0)
            self.assertIn("43 documents", result.stderr)
            outputs.append((self.folder / f"{threads}.jsonl").read_text())
        self.expect(run(*command, self.folder / "x.jsonl.gz", "--quiet"), 0)
        with gzip.open(self.folder / "x.jsonl.gz", "rt") as file:
            outputs.append(file.read())
        outputs.append(self.expect(run(*command, "-", "--quiet"), 0).stdout)
        self.assertEqual(len(set(outputs)), 1)
        self.assertEqual(self.files(index), before)
        records = [json.loads(line) for line in outputs[0].splitlines()]
        self.assertEqual([record["id"] for record in records], [name for name, _ in texts])
        self.assertEqual([records[i]["passages"] for i in (40, 41)], [[], []])
        several = 0
        for record in records:
            ends = [end for _, end, _ in record["passages"]]
            several += len(ends) > 1
            self.assertEqual([begin for begin, _, _ in record["passages"]], [16 * i for i in range(len(ends))])
            self.assertEqual(ends[-1:], [len(record["pieces"])] if record["pieces"] else [])
            self.assertLessEqual(len(record["pieces"]), 64)
            nodes = [[i, start] for i, (_, _, starts) in enumerate(record["passages"]) for start in starts]
            self.assertEqual(record["sentences"], nodes)
            for i, first, size, _ in record["tokens"]:
                self.assertLessEqual(first + size, record["passages"][i][1] - record["passages"][i][0])
            for name, count in (("passage_links", len(ends)), ("sentence_links", len(nodes))):
                for i, j in record[name]:
                    self.assertLess(i, j)
                    self.assertLess(j, count)
        self.assertGreater(several, 10)
        self.assertEqual(records[-1]["passages"][0][2], [0, 3, 9])
        self.assertEqual(records[-1]["sentence_links"], [[0, 1], [1, 2]])
        # What is wrong.
        for line in ("no json", '{"id": "a"}', '{"text": "a"}'):
            path = self.write("bad.jsonl", '{"id": "a", "text": "b"}\n' + line + "\n")
            self.expect_error(3, f"{path}:2", arguments=[*command[:5], "--input", path, "--output",
                                                         self.folder / "bad.out"])
            self.assertFalse((self.folder / "bad.out").exists())
        # Weights and entities by the documents' ids change the graphs of these alone.
        weights = self.write("weights.jsonl", '{"id": "new", "weights": {"sang": 3}}\n')
        places = [{"start": 0, "end": 7, "id": "Q1"}, {"start": 23, "end": 30, "id": "Q1"}]
        entities = self.write("entities.jsonl", json.dumps({"id": "new", "entities": places}) + "\n")
        others = {}
        for name, flags in (("weights", ["--weights", "file", "--weights-file", weights]),
                            ("entities", ["--entities", entities])):
            lines = self.expect(run(*command, "-", "--quiet", *flags), 0).stdout.splitlines()
            self.assertEqual(lines[:-1], outputs[0].splitlines()[:-1])
            others[name] = json.loads(lines[-1])
            self.assertNotEqual(others[name]["tokens"], records[-1]["tokens"], name)
        self.assertEqual(len(others["weights"]["tokens"]), 1)
        # A log's queries find documents of the index, and give weights to texts with their ids.
        topics = self.write("topics.tsv", f"1\t{QUERIES[0]}\n")
        lines = self.expect(run(*command, "-", "--quiet", "--weights", "prf", "--topics", topics, "--log-hits", 300),
                            0).stdout.splitlines()
        self.assertNotEqual(lines[:40], outputs[0].splitlines()[:40])
        self.assertEqual(lines[40:], outputs[0].splitlines()[40:])
        for flags, name in ((["--rebuild"], "--rebuild"), (["--json"], "--json")):
            self.expect_error(2, name, "no effect", arguments=[*command, self.folder / "y.jsonl", *flags])
        self.expect_error(2, "--output", arguments=command[:-1])
        self.expect_error(2, "--input", arguments=[*command[:5], "--output", self.folder / "y.jsonl"])

    def test_mistakes(self):
        index = self.index()
        graphs = ["graphs", "--index", index]
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        self.expect_error(2, "--model", arguments=graphs)
        self.expect_error(1, "do not exchange information",
                          arguments=graphs + ["--model", bundled])
        self.expect_error(2, "--topics", "is missing", arguments=graphs + ["--model", self.mir, "--weights", "prf"])
        self.expect_error(2, "--topics", "no effect", arguments=graphs + ["--model", self.mir, "--topics", "x"])
        self.expect_error(2, "--weights-file", "is missing",
                          arguments=graphs + ["--model", self.mir, "--weights", "file"])
        self.expect_error(1, "absent", arguments=["graphs", "--index", self.folder / "absent", "--model", self.mir])
        self.expect_error(2, "[rescorer] long_documents", "does not apply to a MIR", arguments=[
            "search", "--index", index, "--config", self.profile('long_documents = "maxp"\n'), "whale"])
        # The profile's stage that is a MIR.
        profile = self.write("stages.toml", f'[[rescorer.stages]]\nwindow = 20\ndevice = "cpu"\n'
                             f'[[rescorer.stages]]\nmodel = "{self.mir}"\nwindow = 5\ndevice = "cpu"\n')
        self.assertEqual(json.loads(self.expect(run(*graphs, "--config", profile, "--json"), 0).stdout)["kept"], 300)

    def test_a_stage_of_a_cascade_and_a_deadline(self):
        index = self.index()
        profile = self.write("stages.toml", f'[rescorer]\non_error = "fail"\n'
                             f'[[rescorer.stages]]\nwindow = 10\ndevice = "cpu"\nmax_length = 64\n'
                             f'[[rescorer.stages]]\nmodel = "{self.mir}"\nwindow = 4\ndevice = "cpu"\n'
                             'precision = "fp32"\n')
        answer = json.loads(self.expect(run("search", "--index", index, "--config", profile, "--json", QUERIES[0]),
                                        0).stdout)
        self.assertEqual([stage["rescored"] for stage in answer["stages"]], [10, 4])
        self.assertIn("MIR", answer["stages"][1]["scorer"])
        whole = self.search(index, window=300)
        for hit in answer["hits"][:4]:
            self.assertEqual(hit["logit"], self.logits(whole).get(hit["id"], hit["logit"]))
        late = run("search", "--index", index, "--model", self.mir, "--device", "cpu", "--window", 200,
                   "--timeout-ms", 1, "--json", " ".join(WORDS))
        self.expect(late, 4)
        late = json.loads(late.stdout)
        self.assertEqual((late["status"], late["degraded"]), ("failed", True))
        self.assertEqual([hit["rank"] for hit in late["hits"]], [hit["first_stage_rank"] for hit in late["hits"]])

    def test_reranking_takes_statistics_from_an_index(self):
        index = self.index()
        answer = self.search(index, window=8)
        texts = dict(line.split("\t") for line in (self.shared / "docs.tsv").read_text().splitlines())
        records = [{"qid": "1", "query": QUERIES[0], "docno": hit["id"], "text": texts[hit["id"]], "rank": i + 1,
                    "score": 9 - i} for i, hit in enumerate(answer["hits"])]
        records.append({"qid": "1", "query": QUERIES[0], "docno": "empty", "text": "", "rank": 50, "score": 0})
        records.append({"qid": "1", "query": QUERIES[0], "docno": "mark", "text": "\u0301", "rank": 51, "score": 0})
        candidates = self.write("rerank.jsonl", "".join(json.dumps(record) + "\n" for record in records))
        scores = self.folder / "scores.tsv"
        reranking = ["rerank", "--input", candidates, "--output", scores, "--model", self.mir, "--device", "cpu",
                     "--precision", "fp32"]
        self.expect_error(2, "--index", "statistics", arguments=reranking)
        result = self.expect(run(*reranking, "--index", index), 0)
        self.assertIn("MIR", result.stderr)
        self.assertIn("2 candidates without text", result.stderr)
        found = {row[1]: float(row[2]) for row in map(str.split, scores.read_text().splitlines()) if len(row) == 3}
        for name, logit in self.logits(answer).items():
            self.assertAlmostEqual(found[name], logit, delta=1e-5)
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        self.expect_error(2, "--index", "none of the models is a MIR", arguments=[
            "rerank", "--input", candidates, "--output", scores, "--model", bundled, "--index", index])

    def test_search_rerank_and_experiment_give_equal_scores_with_weights_and_entities(self):
        index = self.index()
        texts = dict(line.split("\t") for line in (self.shared / "docs.tsv").read_text().splitlines())
        topics = self.write("log.tsv", "".join(f"{i}\t{query}\n" for i, query in enumerate(QUERIES)))
        weights = self.write("weights.jsonl", "".join(
            json.dumps({"id": name, "weights": {"whale": 3, "boat": 0.5, "ocean": 1}}) + "\n" for name in texts))
        entities = self.write("entities.jsonl", "".join(
            json.dumps({"id": name, "entities": [{"start": 0, "end": 9, "id": "Q1"}]}) + "\n" for name in texts))
        plain = self.logits(self.search(index, window=8))
        for flags, keys in ((["--weights", "prf", "--topics", topics, "--log-hits", 10], f'log = "{topics}"'),
                            (["--weights", "file", "--weights-file", weights, "--entities", entities],
                             f'weights = "{weights}"\nentities = "{entities}"')):
            self.graphs(index, *flags)
            answer = self.search(index, window=8)
            wanted = self.logits(answer)
            self.assertNotEqual(wanted, plain)
            candidates = self.write("rerank.jsonl", "".join(
                json.dumps({"qid": "1", "query": QUERIES[0], "docno": hit["id"], "text": texts[hit["id"]],
                            "rank": i + 1, "score": 9 - i}) + "\n" for i, hit in enumerate(answer["hits"])))
            settings = ["--model", self.mir, "--device", "cpu", "--precision", "fp32"]
            scores = self.folder / "scores.tsv"
            reranking = ["rerank", "--input", candidates, "--output", scores]
            self.expect(run(*reranking, *settings, "--index", index, *flags), 0)
            found = {row[1]: float(row[2]) for row in map(str.split, scores.read_text().splitlines())}
            self.assertEqual(found.keys(), wanted.keys())
            for name, logit in wanted.items():
                self.assertAlmostEqual(found[name], logit, delta=1e-5)
            self.write("qrels.txt", "1 0 d0 1\n")
            self.write("row.toml", '[rescorer]\ndevice = "cpu"\nprecision = "fp32"\n')
            experiment = self.write("experiment.toml", f"""title = "notes"
[[tasks]]
name = "task"
candidates = "{candidates}"
statistics = "{index}"
{keys}
qrels = "qrels.txt"
[[models]]
name = "mir"
folder = "{self.mir}"
[[rows]]
name = "mir"
models = ["mir"]
config = "row.toml"
""")
            self.expect(run("experiment", "run", experiment, "--data", self.folder, "--cache", self.folder / "cache",
                            "--runs", self.folder / "runs", "--quiet"), 0)
            (file,) = (self.folder / "runs").iterdir()
            found = {row[2]: float(row[4]) for row in map(str.split, file.read_text().splitlines())}
            for name, logit in wanted.items():
                self.assertAlmostEqual(found[name], logit, delta=1e-4)
        # Graphs unlike those of the training are noticed.
        config = json.loads((self.mir / "config.json").read_text())
        shutil.copytree(self.mir, self.folder / "trained")
        (self.folder / "trained/config.json").write_text(json.dumps({**config, "graph_weights": "prf"}))
        searching = ["search", "--index", index, "--config", self.write("log.toml", '[log]\nlevel = "warning"\n')]
        self.assertNotIn("was trained on", run(*searching, *settings, QUERIES[0]).stderr)
        settings[1] = self.folder / "trained"
        warning = "but the model was trained on graphs with prf weights without entities"
        self.assertIn(warning, run(*searching, *settings, QUERIES[0]).stderr)
        reranked = run(*reranking, *settings, "--index", index)
        self.assertIn("the graphs have tfidf weights without entities, " + warning, reranked.stderr)
        reranked = run(*reranking, *settings, "--index", index, "--weights", "prf", "--topics", topics)
        self.assertNotIn("was trained on", reranked.stderr)
        (self.folder / "trained/config.json").write_text(json.dumps({**config, "graph_weights": "idf"}))
        self.expect_error(1, "graph_weights", "unknown weights idf",
                          arguments=["search", "--index", index, *settings, QUERIES[0]])
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        self.expect_error(2, "--weights", "none of the models is a MIR",
                          arguments=[*reranking, "--model", bundled, "--entities", entities])

    def test_texts_without_words_and_very_long_ones(self):
        long = " ".join(random.Random(4).choices(WORDS, k=200_000)) + " whale whale"
        self.write("docs.jsonl", "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in [
            ("empty", ""), ("blank", " \n "), ("mark", "\u0301"), ("stop", "the of and"), ("long", long),
            ("one", "whale")]))
        index = self.folder / "odd"
        self.expect(run("index", "--corpus", "jsonl", "--input", self.folder / "docs.jsonl", "--index", index,
                        "--quiet"), 0)
        made = self.graphs(index)
        self.assertEqual((made["made"], made["without_text"]), (6, 2))
        self.assertLess(made["bytes"], 3000)
        answer = self.search(index, query="whale")
        self.assertEqual({hit["id"]: hit["truncated"] for hit in answer["hits"]}, {"long": True, "one": False})
        self.expect(run("verify", "--index", index, "--quiet"), 0)

    def test_an_interrupted_run_states_how_to_continue(self):
        index = self.folder / "large"
        self.write("large.tsv", collection(20_000))
        self.expect(run("index", "--corpus", "tsv", "--input", self.folder / "large.tsv", "--index", index, "--quiet"),
                    0)
        command = [PROGRAM, "graphs", "--index", str(index), "--model", str(self.mir), "--quiet", "--threads", "1"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
            self.wait_for_part(index, 50_000)
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, messages)
        self.assertRegex(messages, r"the graphs of [\d,]+ documents are safe; run the same command again to continue")
        second = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            time.sleep(0.3)
            # One at a time.
            other = run(*command[1:])
            if second.poll() is None:
                self.expect(other, 1)
                self.assertIn("another process is writing its embeddings or graphs", other.stderr)
        finally:
            second.communicate(timeout=120)
        done = self.graphs(index)
        self.assertEqual(done["documents"], 20_000)

    def wait_for_part(self, index, size):
        for _ in range(3000):
            if any(path.stat().st_size > size for path in index.glob("relucent-_*.graphs.part")):
                return
            time.sleep(0.01)
        self.fail("no graphs are written")

    def test_killed_runs_go_on_and_give_the_same_files(self):
        index = self.folder / "killed"
        self.write("killed.tsv", collection(6_000))
        self.expect(run("index", "--corpus", "tsv", "--input", self.folder / "killed.tsv", "--index", index,
                        "--commit-every", 2000, "--quiet"), 0)
        started = time.monotonic()
        self.graphs(index)
        seconds = time.monotonic() - started
        whole = self.files(index)
        rng = random.Random(1)
        kills = finished = 0
        self.remove(index)
        while kills < 50:
            threads = rng.choice((1, 2, 4))
            with subprocess.Popen([PROGRAM, "graphs", "--index", str(index), "--model", str(self.mir), "--quiet",
                                   "--threads", str(threads)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  encoding="utf-8") as process:
                try:
                    process.wait(timeout=rng.uniform(0.02, seconds / 2))
                except subprocess.TimeoutExpired:
                    process.kill()
                _, messages = process.communicate(timeout=60)
            self.assertIn(process.returncode, (0, -9), messages)
            kills += process.returncode == -9
            now = self.files(index)
            # A file without ".part" is whole.
            for name, content in now.items():
                if not name.endswith(".part"):
                    self.assertEqual(content, whole[name])
            if process.returncode == 0:
                self.assertEqual(now, whole)
                finished += 1
                self.remove(index)
        self.graphs(index)
        self.assertEqual(self.files(index), whole)
        print(f"{kills} kills, {finished} runs that were finished by then")

    @unittest.skipUnless((GOLDENS / "mir/whole.jsonl.gz").exists(), "the goldens are absent")
    def test_reranking_gives_the_scores_of_the_references(self):
        with gzip.open(GOLDENS / "mir/whole.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        compared = 0
        for i, row in enumerate(rows):
            if row["entities"]:
                continue  # candidates of a file have no annotations
            self.write("filler.jsonl", filler(row))
            index = self.folder / f"filler{i}"
            self.expect(run("index", "--corpus", "jsonl", "--input", self.folder / "filler.jsonl", "--index", index,
                            "--quiet"), 0)
            candidates = self.write("golden.jsonl", json.dumps(
                {"qid": "1", "query": row["query"] or " ", "docno": "d", "text": row["text"], "rank": 1, "score": 1}))
            if not row["query"].strip() or not row["text"].strip():
                continue
            scores = self.folder / "golden.tsv"
            self.expect(run("rerank", "--input", candidates, "--output", scores, "--model",
                            GOLDENS / "mir" / row["model"], "--device", "cpu", "--precision", "fp32", "--index", index),
                        0)
            score = float(scores.read_text().split("\t")[2])
            self.assertAlmostEqual(score, row["score"], delta=2e-5, msg=row["id"])
            compared += 1
            shutil.rmtree(index)
        self.assertGreater(compared, 10)
        print(f"{compared} golden scores through rerank --index")


def filler(row):
    """Documents of which N have a word and df(t) the term t, made of the words that gave the golden text's terms."""
    words = {}
    for term, start, end in row["tokens"]:
        words.setdefault(term, row["text"][start:end])
    lines = []
    for number in range(row["N"]):
        texts = [words[term] for term, count in row["df"].items() if count > number and term in words]
        lines.append(json.dumps({"id": str(number), "text": " . ".join(texts) or "zzfillerzz"}) + "\n")
    return "".join(lines)


if __name__ == "__main__":
    main()
