"""`relucent model compare`: with a stand-in for the Python library, which answers or fails in every way, and with
sentence-transformers itself where it is installed."""

import importlib.util
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import program_support
from program_support import ProgramTest, main, run

GOLDENS = program_support.GOLDENS / "rerankers"
BUNDLED = "model/relucent-minilm-l6-w4"
PAIRS = GOLDENS / "pairs.rerank.jsonl.gz"


class Compare(ProgramTest):
    def setUp(self):
        super().setUp()
        lines = [{"qid": "1", "query": "a river", "docno": f"d{i}", "text": text}
                 for i, text in enumerate(["the river Rhine", "a stone", "", "boats on a river in winter"])]
        lines.append({"qid": "2", "query": "gold", "docno": "e", "text": "quick gold"})
        self.pairs = self.write("pairs.rerank.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    def stand_in(self, body):
        """An interpreter that gets LIBRARY, FOLDER, THREADS and KIND, and pairs from standard input."""
        path = self.folder / "python"
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n"
                        "script, library, folder, threads, kind = sys.argv[1:]\n"
                        f"pairs = [json.loads(line) for line in sys.stdin]\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def arguments(self, python, *more):
        return ["model", "compare", BUNDLED, "--with", "sentence-transformers", "--input", self.pairs,
                "--python", python, "--threads", "1", *more]

    def own_scores(self):
        output = self.folder / "own.tsv"
        self.expect(run("rerank", "--input", self.pairs, "--output", output, "--precision", "fp32", "--quiet"), 0)
        scores = {row[1]: float(row[2]) for row in map(str.split, output.read_text().splitlines())}
        return [scores[name] for name in ("d0", "d1", "d3", "e")]  # not the one without text

    def test_the_differences_and_the_correlation(self):
        scores = self.own_scores()
        scores[2] += 0.5
        answer = json.dumps({"versions": {"library": "1.2"}, "seconds": 2, "scores": scores})
        python = self.stand_in('assert os.environ["HF_HUB_OFFLINE"] == "1" and threads == "1"\n'
                               'assert pairs[2]["text"] == "boats on a river in winter"\n'
                               f"print({answer!r})")
        result = self.expect(run(*self.arguments(python, "--json")), 0)
        found = json.loads(result.stdout)
        self.assertEqual(found["pairs"], 4)
        self.assertAlmostEqual(found["largest_difference"], 0.5, places=4)
        self.assertEqual(found["largest_at"], "query 1, document d3")
        self.assertAlmostEqual(found["mean_difference"], 0.125, places=4)
        self.assertEqual((found["library_seconds"], found["versions"]), (2, {"library": "1.2"}))
        order = lambda values: sorted(range(4), key=lambda i: values[i])
        self.assertEqual(found["kendall_tau"] == 1, order(scores) == order(self.own_scores()))
        result = self.expect(run(*self.arguments(python)), 0)
        self.assertIn("largest difference  0.5 of a score (query 1, document d3)", result.stdout)
        self.assertIn("| library 1.2 | 4 | 0.5 |", result.stdout)
        self.assertIn("differ by less than 0.01", result.stderr)
        python = self.stand_in('print(json.dumps({"seconds": 1, "scores": [3, 2, 1, 0][:len(pairs)]}))')
        found = json.loads(self.expect(run(*self.arguments(python, "--json", "--limit", "2")), 0).stdout)
        self.assertEqual(found["pairs"], 2)
        self.assertIn(found["kendall_tau"], (1, -1))

    def test_failures_name_the_place_and_the_remedy(self):
        def expect(code, body, *words):
            self.expect_error(code, *words, arguments=self.arguments(self.stand_in(body)))

        expect(1, 'print(json.dumps({"missing": library}))', "does not have the package sentence-transformers",
               "pip install sentence-transformers")
        expect(3, 'sys.exit("OSError: the folder has no weights")', "the folder has no weights", "reads the checkpoint")
        expect(3, "os.abort()", "signal 6")
        expect(3, 'print("hello")', "an object in JSON")
        expect(3, 'print(json.dumps({"scores": [1, 2]}))', "did not answer 4 scores")
        expect(3, 'print(json.dumps({"scores": [1, 2, None, 4]}))', "for pair 3", "not a finite number")
        expect(3, 'print("[" * 100000)', "an object in JSON")
        self.expect_error(1, "cannot be started", "--python", arguments=self.arguments(self.folder / "nowhere"))
        self.expect_error(2, "--with", arguments=["model", "compare", BUNDLED, "--with", "tensorflow",
                                                  "--input", self.pairs])
        empty = self.write("empty.rerank.jsonl", '{"qid": "1", "query": "q", "docno": "d", "text": ""}\n')
        self.expect_error(2, "has no pair", arguments=["model", "compare", BUNDLED, "--with",
                                                       "transformers", "--input", empty])

    def test_models_of_other_kinds_are_refused(self):
        if not GOLDENS.exists():
            self.skipTest(f"SKIPPED: {GOLDENS} is absent")
        python = self.stand_in("sys.exit(5)")
        for model, words in (("set-encoder", ("Set-Encoder",)), ("colbert-stanford", ("is a ColBERT", "pylate"))):
            arguments = self.arguments(python)
            arguments[2] = GOLDENS / model
            self.expect_error(1, *words, arguments=arguments)
        arguments = self.arguments(python)
        arguments[arguments.index("sentence-transformers")] = "pylate"
        self.expect_error(1, "is not a ColBERT", arguments=arguments)

    def test_an_embedding_model_is_told_apart(self):
        python = self.stand_in('assert kind == "embeddings"; '
                               'print(json.dumps({"seconds": 1, "scores": [0, 0, 0, 0]}))')
        arguments = self.arguments(python, "--json")
        arguments[2] = program_support.Path(__file__).parents[2] / "goldens/embeddings/bert-mean"
        found = json.loads(self.expect(run(*arguments), 0).stdout)
        self.assertLessEqual(found["largest_difference"], 1.001)  # from 0: a cosine
        arguments[arguments.index("sentence-transformers")] = "transformers"
        self.expect_error(1, "is an embedding model", "sentence-transformers", arguments=arguments)

    def test_a_colbert_is_told_apart(self):
        if not GOLDENS.exists():
            self.skipTest(f"SKIPPED: {GOLDENS} is absent")
        python = self.stand_in('assert (library, kind) == ("pylate", "late-interaction"); '
                               'print(json.dumps({"seconds": 1, "scores": [0, 0, 0, 0]}))')
        arguments = self.arguments(python, "--json")
        arguments[2] = GOLDENS / "colbert-pylate"
        arguments[arguments.index("sentence-transformers")] = "pylate"
        found = json.loads(self.expect(run(*arguments), 0).stdout)
        self.assertGreater(found["largest_difference"], 2)  # from 0: a sum over the query's tokens

    def test_an_interrupt_ends_the_library(self):
        mark = self.folder / "pid"
        python = self.stand_in(f'open({str(mark)!r}, "w").write(str(os.getpid()))\ntime.sleep(600)')
        command = [program_support.PROGRAM, *map(str, self.arguments(python))]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            while not (mark.exists() and mark.read_text()):
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, messages)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(mark.read_text()), 0)

    def expect_equal_scores(self, library, module, *models, limit=30):
        if not GOLDENS.exists():
            self.skipTest(f"SKIPPED: {GOLDENS} is absent")
        if importlib.util.find_spec(module) is None:
            self.skipTest(f"SKIPPED: {library} is not installed")
        for model in models:
            # A copy, as the library may write to the folder.
            shutil.copytree(GOLDENS / model, self.folder / model)
            result = self.expect(run("model", "compare", self.folder / model, "--with", library, "--input", PAIRS,
                                     "--limit", str(limit), "--python", sys.executable, "--json"), 0)
            found = json.loads(result.stdout)
            self.assertLess(found["largest_difference"], 1e-4)
            self.assertGreater(found["kendall_tau"], 0.99)

    def test_with_sentence_transformers_itself(self):
        self.expect_equal_scores("sentence-transformers", "sentence_transformers", "modular-bert", "ettin")

    def test_with_pylate_itself(self):
        # Text d28 is blank, of which PyLate 1.6 makes other vectors than sentence-transformers.
        self.expect_equal_scores("pylate", "pylate", "colbert-pylate", "colbert-pylate-hidden", "colbert-stanford",
                                 limit=25)


if __name__ == "__main__":
    main()
