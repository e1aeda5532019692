"""`relucent rerank`: formats of output, fusion, missing texts, mistakes, interruption."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from program_support import DATA, PROGRAM, ProgramTest, main, run


def record(qid, query, docno, text, rank, score, **more):
    return json.dumps({"qid": qid, "query": query, "docno": docno, "text": text, "rank": rank, "score": score, **more},
                      ensure_ascii=False) + "\n"


EGG, FRANCE = "how to boil an egg", "capital of france"
RECORDS = (record("1", EGG, "d1", "Paris is the capital of France.", 1, 9.0, extra={"kept": True})
           + record("1", EGG, "d2", "", 2, 8.0)
           + record("2", FRANCE, "é1", "An egg is boiled in hot water for some minutes.", 1, 5.0)
           + record("1", EGG, "d3", "To boil an egg, put it in boiling water for seven minutes.", 3, 7.0)
           + record("2", FRANCE, "é2", "Paris is the capital of France.", 2, 4.5))
DEVICE = ["--device", "cpu", "--precision", "fp32"]


class Rerank(ProgramTest):
    def setUp(self):
        super().setUp()
        self.input = self.write("rerank.jsonl", RECORDS)

    def rerank(self, output, *flags, code=0, device=DEVICE):
        return self.expect(run("rerank", "--input", self.input, "--output", output, *device, *flags), code)

    def columns(self, file):
        return [line.split() for line in file.read_text(encoding="utf-8").splitlines()]

    def test_a_run_has_the_better_text_first_and_the_missing_one_last(self):
        output = self.folder / "x.run"
        result = self.rerank(output, "--tag", "mine")
        lines = self.columns(output)
        self.assertEqual([(line[0], line[2], line[3]) for line in lines],
                         [("1", "d3", "1"), ("1", "d1", "2"), ("1", "d2", "3"), ("2", "é2", "1"), ("2", "é1", "2")])
        self.assertEqual({(line[1], line[5]) for line in lines}, {("Q0", "mine")})
        self.assertEqual(result.stdout, "")
        self.assertIn("1 candidates without text", result.stderr)

    def test_tsv_holds_every_logit_in_the_inputs_order(self):
        output = self.folder / "x.tsv"
        self.rerank(output)
        self.assertEqual([line[:2] for line in self.columns(output)],
                         [["1", "d1"], ["1", "d3"], ["2", "é1"], ["2", "é2"]])
        self.assertGreater(float(self.columns(output)[1][2]), float(self.columns(output)[0][2]))
        for line in output.read_text(encoding="utf-8").splitlines():
            self.assertEqual(len(line.split("\t")), 3, line)

    def test_jsonl_is_the_input_with_new_ranks_and_scores(self):
        output = self.folder / "x.jsonl.gz"
        self.rerank(output)
        with gzip.open(output, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        self.assertEqual([(r["qid"], r["docno"], r["rank"]) for r in records],
                         [("1", "d3", 1), ("1", "d1", 2), ("1", "d2", 3), ("2", "é2", 1), ("2", "é1", 2)])
        self.assertEqual(records[1]["extra"], {"kept": True})
        # The output can be reranked again, to the same order.
        again = self.folder / "again.jsonl.gz"
        self.expect(run("rerank", "--input", output, "--output", again, *DEVICE), 0)
        with gzip.open(again, "rt", encoding="utf-8") as lines:
            self.assertEqual([json.loads(line)["docno"] for line in lines], [r["docno"] for r in records])

    def test_folders_in_tiras_way(self):
        output = self.folder / "out"
        self.expect(run("rerank", "--input", self.folder, "--output", output, *DEVICE), 0)
        self.assertEqual(len(self.columns(output / "run.txt")), 5)

    def test_a_folder_that_is_not_there_is_made_for_a_file_too(self):
        output = self.folder / "new" / "folder"
        self.rerank(output)
        self.assertEqual(len(self.columns(output / "run.txt")), 5)
        self.write("bare", "an old run")
        self.rerank(self.folder / "bare")
        self.assertEqual(len(self.columns(self.folder / "bare")), 5)
        self.expect_error(3, "bad.jsonl:1", arguments=["rerank", "--input", self.write("bad.jsonl", "no JSON\n"),
                                                       "--output", self.folder / "none"])
        self.assertFalse((self.folder / "none").exists())

    def test_standard_input_and_output_and_pipes(self):
        expected = self.folder / "x.run"
        self.rerank(expected)
        text = expected.read_text(encoding="utf-8")
        for source, target in (("-", "-"), ("/dev/stdin", "/dev/stdout"), ("/dev/fd/0", "/dev/fd/1")):
            result = self.expect(run("rerank", "--input", source, "--output", target, *DEVICE, stdin=RECORDS), 0)
            self.assertEqual(result.stdout, text)
        self.assertIn("standard input:2: is not JSON",
                      self.expect(run("rerank", "--input", "-", "--output", "-", *DEVICE,
                                      stdin=record("1", "a", "b", "c", 1, 1) + "no JSON\n"), 4).stderr)
        shell = 'set -e; cd "$1"; "$2" rerank --quiet --input <(cat rerank.jsonl) --output >(cat > piped) ' \
            '--device cpu --precision fp32; echo before > more; "$2" rerank --quiet --input rerank.jsonl ' \
            '--output /dev/stdout --device cpu --precision fp32 >> more'
        subprocess.run(["bash", "-c", shell, "bash", self.folder, os.path.abspath(PROGRAM)], check=True, timeout=600)
        self.assertEqual((self.folder / "more").read_text(encoding="utf-8"), "before\n" + text)
        for _ in range(100):  # the shell does not wait for what it substitutes
            if (self.folder / "piped").read_text(encoding="utf-8") == text:
                break
            time.sleep(0.1)
        self.assertEqual((self.folder / "piped").read_text(encoding="utf-8"), text)

    def test_a_record_nested_too_deep_is_named(self):
        deep = record("1", EGG, "d9", "text", 4, 6.0)[:-2] + ', "ignored": ' + "[" * 100_000 + "]" * 100_000 + "}\n"
        self.input = self.write("deep.jsonl", RECORDS + deep)
        result = self.rerank(self.folder / "x.jsonl", code=4)
        self.assertIn("deep.jsonl:6", result.stderr)
        self.assertIn("nests deeper than 256 levels", result.stderr)

    def test_a_bad_line_is_left_out_and_the_others_are_answered(self):
        whole, output = self.folder / "whole.tsv", self.folder / "x.tsv"
        self.rerank(whole)
        bad = [record("7", "   ", "d", "text", 1, 1), '{"qid": "8", "query": "q", "docno": "d", "text": "\\ud800"}\n']
        lines = RECORDS.splitlines(keepends=True)
        self.input = self.write("bad.jsonl", bad[0] + "".join(lines[:2]) + bad[1] + "".join(lines[2:]))
        result = self.rerank(output, code=4)
        self.assertEqual(output.read_bytes(), whole.read_bytes())
        self.assertIn("bad.jsonl:1: query", result.stderr)
        self.assertIn("bad.jsonl:4: is not JSON", result.stderr)
        self.assertIn("degraded: 2 lines of", result.stderr)

    def test_a_text_of_white_space_has_a_score(self):
        self.input = self.write("white.jsonl", record("1", EGG, "a", " \n", 1, 1) + record("1", EGG, "b", "", 2, 0))
        output = self.folder / "x.tsv"
        self.rerank(output)
        self.assertEqual([line[1] for line in self.columns(output)], ["a"])

    def test_tiras_variables_name_the_folders(self):
        output = self.folder / "made" / "out"
        self.write("metadata.json", '{"ir_datasets_id": "pangrams"}\n')
        for variables in ({"inputDataset": self.folder, "outputDir": output},
                          {"TIRA_INPUT_DATASET": self.folder, "TIRA_OUTPUT_DIR": output}):
            shutil.rmtree(output, ignore_errors=True)
            result = self.expect(run("rerank", *DEVICE, **{name: str(value) for name, value in variables.items()}), 0)
            self.assertEqual(len(self.columns(output / "run.txt")), 5)
            self.assertIn("2 queries of pangrams", result.stderr)
        self.expect(run("rerank", "--output", output / "run.txt.gz", *DEVICE, inputDataset=str(self.folder),
                        outputDir="/nowhere"), 0)
        self.assertEqual(gzip.decompress((output / "run.txt.gz").read_bytes()), (output / "run.txt").read_bytes())
        self.write("metadata.json", "{broken")
        self.expect(run("rerank", "--input", self.folder, "--output", output, *DEVICE), 0)
        self.expect_error(2, "--input", "inputDataset", arguments=["rerank", "--output", output])
        self.expect_error(2, "--output", "outputDir", arguments=["rerank", "--input", self.input])

    def test_an_input_without_candidates_states_what_to_do(self):
        folder = self.folder / "full-rank"
        folder.mkdir()
        (folder / "queries.jsonl").write_text('{"qid": "1", "query": "a"}\n')
        self.expect_error(1,
                          "no candidates to rerank",
                          "relucent index",
                          arguments=["rerank", "--input", folder, "--output", self.folder / "o"])

    def test_long_queries_score_as_in_sentence_transformers(self):
        """Also where the candidates of one query leave it different places, and with scores from the cache."""
        model = pathlib.Path("tests/goldens/queries/bert")
        golden = json.loads((model / "cases.json").read_text(encoding="utf-8"))

        def text(words, seed, kind):
            of_kind = golden["words"][kind]
            return " ".join(of_kind[(7 * i + seed) % len(of_kind)] for i in range(words))

        cases = [case for case in golden["cases"] if case["document"][0] > 0]
        rows = [record(f"q{i}", text(*case["query"]), f"d{i}", text(*case["document"]), 1, 1.0)
                for i, case in enumerate(cases)]
        long = text(300, 5, 0)
        rows += [record("same", long, f"s{words}", text(words, 1, 0), rank, 1.0)
                 for rank, words in enumerate((3, 209, 210, 250, 253, 400, 2000), 1)]
        self.input = self.write("long.jsonl", "".join(rows))
        output, profile = self.folder / "x.tsv", self.write("cache.toml", "[rescorer]\ncache_mb = 1\n")
        result = self.rerank(output, "--model", model, "--config", profile)
        scores = {line[1]: float(line[2]) for line in self.columns(output)}
        for i, case in enumerate(cases):
            self.assertAlmostEqual(scores[f"d{i}"], case["logit"], delta=1e-4, msg=case)
        self.assertRegex(result.stderr, "\n[0-9]+ queries were too long for the model, which did not read their ends")
        for one in ("s3", "s250", "s2000"):
            self.input = self.write("one.jsonl", next(row for row in rows if f'"{one}"' in row))
            self.rerank(output, "--model", model)
            self.assertEqual(float(self.columns(output)[0][2]), scores[one], one)

    def test_options_for_the_lengths_of_an_input_and_of_a_query(self):
        self.input = self.write("long.jsonl", record("1", "boil " * 40, "d", "an egg in water " * 20, 1, 1.0))
        output, scores, notes = self.folder / "x.tsv", [], []
        for flags in ([], ["--max-query-length", 30], ["--max-query-length", 40], ["--max-query-length", 512],
                      ["--max-length", 64], ["--max-length", 512]):
            notes.append(self.rerank(output, *flags).stderr)
            scores.append(self.columns(output)[0][2])
        self.assertEqual(scores[0], scores[1])
        self.assertEqual(scores[0], scores[5])
        self.assertEqual(scores[2], scores[3])
        self.assertEqual(len({scores[0], scores[2], scores[4]}), 3)
        self.assertEqual(["1 queries were too long" in note for note in notes], [True, True, False, False, True, True])
        self.assertEqual(["1 texts were truncated" in note for note in notes], [False] * 4 + [True, False])
        self.rerank(output, "--max-length", 1000, code=2)
        self.rerank(output, "--max-query-length", -1, code=2)
        stages = self.write("stages.toml", "[[rescorer.stages]]\nwindow = 2\n[[rescorer.stages]]\nwindow = 1\n")
        for flag in ("--max-length", "--max-query-length"):
            result = self.rerank(output, "--config", stages, flag, 100, code=2)
            self.assertIn("does not name the profile's stage", result.stderr)

    @unittest.skipUnless((DATA / "formats/tirex-rerank").is_dir(),
                         "SKIPPED: needs formats/tirex-rerank (RELUCENT_TEST_DATA)")
    def test_tirexs_own_sample(self):
        output = self.folder / "out"
        self.expect(
            run("rerank", "--input", DATA / "formats/tirex-rerank/re-ranking-outputs", "--output", output, *DEVICE), 0)
        self.assertEqual({(line[0], line[2]) for line in self.columns(output / "run.txt")},
                         {("1", "doc-1"), ("1", "doc-2"), ("3", "doc-3")})

    def test_the_profile_fuses_with_the_inputs_scores(self):
        profile = self.write("first.toml",
                             '[rescorer]\nscore_mode = "total"\nnormalize = "minmax"\nquery_weight = 100.0\n')
        output = self.folder / "x.run"
        self.rerank(output, "--config", profile)
        self.assertEqual([line[2] for line in self.columns(output)], ["d1", "d3", "d2", "é1", "é2"])
        unscored = self.write("unscored.jsonl", '{"qid": "1", "query": "a", "docno": "x", "text": "b"}\n')
        self.expect_error(3, "unscored.jsonl", "score",
                          arguments=["rerank", "--input", unscored, "--output", output, "--config", profile])

    def test_a_deadline_only_where_one_is_asked_for(self):
        output = self.folder / "x.run"
        lines = "".join(record("1", "egg", f"d{i}", "word " * 400, i, 100 - i) for i in range(1, 101))
        self.input = self.write("long.jsonl", lines)
        result = self.rerank(output, "--timeout-ms", "1", code=4, device=["--device", "ref"])
        self.assertIn("degraded", result.stderr)
        self.assertEqual(result.stderr.count("ran out of time"), 1, result.stderr)
        self.assertEqual([line[2] for line in self.columns(output)], [f"d{i}" for i in range(1, 101)])
        self.input = self.write("few.jsonl", "".join(lines.splitlines(keepends=True)[:3]))
        self.rerank(output)

    def test_several_stages(self):
        more = "".join(record("3", EGG, f"m{i}", f"Boil {'an egg ' * i}", i, 20.0 - i) for i in range(1, 7))
        self.input = self.write("more.jsonl", more)
        profile = self.write("stages.toml", '[[rescorer.stages]]\npattern = "full"\n[[rescorer.stages]]\nwindow = 2\n')
        single = self.write("single.toml", '[rescorer]\npattern = "full"\n')
        both, first = self.folder / "both.tsv", self.folder / "first.tsv"
        self.rerank(both, "--config", profile)
        self.rerank(first, "--config", single)
        # The last stage's logits alone; the first one has every candidate in its window.
        best = sorted(self.columns(first), key=lambda line: -float(line[2]))[:2]
        self.assertEqual({line[1] for line in self.columns(both)}, {line[1] for line in best})
        run_file = self.folder / "both.run"
        self.rerank(run_file, "--config", profile)
        lines = self.columns(run_file)
        self.assertEqual({line[2] for line in lines[:2]}, {line[1] for line in best})
        self.assertEqual(len(lines), 6)

    def test_the_same_bytes_again(self):
        first, second = self.folder / "a.run", self.folder / "b.run"
        self.rerank(first, "--threads", "1")
        self.rerank(second, "--threads", "2")
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_mistakes_leave_no_output(self):
        output = self.folder / "x.run"

        def fails(code, *parts, content=None, flags=()):
            file = self.input if content is None else self.write("bad.jsonl", content)
            self.expect_error(code, *parts, arguments=["rerank", "--input", file, "--output", output, *flags])
            self.assertFalse(output.exists())

        fails(3, "bad.jsonl:1", "not JSON", content="{broken\n")
        fails(3, "bad.jsonl:1", "query", content=record("1", "  ", "d", "t", 1, 1))
        fails(3, "contains no candidates", content="\n")
        fails(3, "two words", content=record("1", "q", "two words", "t", 1, 1))
        fails(3, "windw", flags=["--config", self.write("bad.toml", "[rescorer]\nwindw = 1\n")])
        fails(1, "absent", flags=["--model", self.folder / "absent"])
        fails(2, "toaster", flags=["--device", "toaster"])
        fails(2, "float128", flags=["--precision", "float128"])
        self.expect_error(1,
                          "no/such",
                          arguments=["rerank", "--input", self.input, "--output", self.folder / "no/such/x.run"])
        self.expect_error(1,
                          "absent.jsonl",
                          arguments=["rerank", "--input", self.folder / "absent.jsonl", "--output", output])
        empty = self.folder / "empty"
        empty.mkdir()
        self.expect_error(1, "rerank.jsonl", arguments=["rerank", "--input", empty, "--output", output])

    def test_invalid_utf8_counts_as_replacement_characters(self):
        self.input = self.write("rerank.jsonl", RECORDS.encode().replace(b"Paris", b"P\xff\xfeis"))
        self.rerank(self.folder / "x.run")

    @unittest.skipIf(os.geteuid() == 0, "SKIPPED: root may write everywhere")
    def test_a_folder_that_cannot_be_written(self):
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        self.expect_error(1,
                          "creating: Permission denied", "check the permissions",
                          arguments=["rerank", "--input", self.input, "--output", self.folder / "x.run"])

    @unittest.skipUnless(os.path.exists("/dev/full"), "SKIPPED: needs /dev/full")
    def test_a_full_disk_is_reported_as_one(self):
        self.expect_error(1, "/dev/full", "the disk is full", "free some space",
                          arguments=["rerank", "--input", self.input, "--output", "/dev/full", *DEVICE])

    def test_ctrl_c_ends_with_130_and_leaves_no_output(self):
        file = self.write("many.jsonl", "".join(record(str(q), "egg", f"d{i}", "word " * 450, i, 100 - i)
                                                for q in range(20) for i in range(1, 101)))
        output = self.folder / "x.run"
        process = subprocess.Popen([PROGRAM, "rerank", "--input", file, "--output", output, "--device", "ref"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        message = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 130, message)
        self.assertEqual([file.name for file in self.folder.iterdir() if "x.run" in file.name], [])


if __name__ == "__main__":
    main()
