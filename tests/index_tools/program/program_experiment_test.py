"""`relucent experiment` and `relucent bench study`: studies, their cache, kills, changed inputs, mistakes."""

import csv
import gzip
import io
import json
import os
import random
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

from program_support import PROGRAM, ProgramTest, main, run

WORDS = "river stone lamp winter boat quick gold index water egg boil minute capital france paris city".split()
MODEL = Path(PROGRAM).resolve().parent.parent / "share/relucent/model/relucent-minilm-l6-w4"
TASK = """[[tasks]]
name = "made up"
candidates = "rerank.jsonl"
qrels = "qrels.txt"
"""
ROWS = """[[rows]]
name = "first"
kind = "first stage"
[[rows]]
name = "w={window}"
windows = [4, 0]
devices = ["cpu"]
precisions = ["fp32"]
"""
START = 'title = "a study"\nreference = "w=4"\nmeasures = ["nDCG@10", "RR@10"]\n'


def candidates(topics, each, words):
    rng = random.Random(5)
    lines, qrels = [], []
    for topic in range(topics):
        query = " ".join(rng.sample(WORDS, 3))
        for rank in range(1, each + 1):
            text = " ".join(rng.choices(WORDS, k=words))
            lines.append({"qid": str(topic), "query": query, "docno": f"d{topic}-{rank}", "text": text, "rank": rank,
                          "score": 100 - rank})
            if rng.random() < 0.3:
                qrels.append(f"{topic} 0 d{topic}-{rank} {rng.randrange(3)}\n")
        qrels.append(f"{topic} 0 none 1\n")
    return lines, "".join(qrels)


class Experiment(ProgramTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.lines, self.qrels = candidates(8, 5, 20)
        self.file = self.write("study.toml", START + TASK + ROWS)
        self.write_inputs()

    def write_inputs(self):
        self.write("rerank.jsonl", "".join(json.dumps(line) + "\n" for line in self.lines))
        self.write("qrels.txt", self.qrels)

    def experiment(self, *flags, code=0, cache=None):
        return self.expect(run("experiment", "run", self.file, "--cache", cache or self.cache, *flags), code)

    def table(self, *flags, **options):
        """{(measure, row, column): the CSV's line as a dictionary}."""
        lines = csv.DictReader(io.StringIO(self.experiment("--format", "csv", *flags, **options).stdout))
        return {(line["measure"], line["row"], line["column"]): line for line in lines}

    def results(self, cache=None):
        """The lines with results of each file of the cache."""
        return {file.name: [line for line in file.read_text().splitlines() if line[:1] != "#"][1:]
                for file in sorted((cache or self.cache).glob("*.results"))}

    def test_the_figures_are_those_of_rerank_and_evaluate(self):
        table = self.table("--runs", self.folder / "runs")
        for window in (4, 0):
            output = self.folder / f"{window}.run"
            self.expect(run("rerank", "--input", self.folder / "rerank.jsonl", "--output", output, "--device", "cpu",
                            "--precision", "fp32", "--attention-window", window), 0)
            self.assertEqual(output.read_text(), (self.folder / "runs" / f"w={window}.made_up.run").read_text())
        evaluated = json.loads(self.expect(run(
            "evaluate", "--qrels", self.folder / "qrels.txt", "--run", self.folder / "0.run", self.folder / "4.run",
            "--compare", "--json", "-m", "nDCG@10,RR@10"), 0).stdout)
        for place, row in enumerate(("w=0", "w=4")):
            for measure in ("nDCG@10", "RR@10"):
                self.assertAlmostEqual(float(table[measure, row, "made up"]["value"]),
                                       evaluated["runs"][place]["all"][measure], places=14)
        tests = evaluated["comparisons"][0]["measures"]["nDCG@10"]
        cell = table["nDCG@10", "w=0", "made up"]
        for ours, theirs in (("difference", "mean_diff"), ("t", "t"), ("p_t", "p_t"), ("p_tost", "p_tost")):
            self.assertAlmostEqual(float(cell[ours]), tests[theirs], places=12, msg=ours)

    def test_a_second_run_takes_everything_from_the_cache(self):
        first = self.experiment("--format", "json").stdout
        before = self.results()
        self.assertEqual([len(lines) for lines in before.values()], [8, 8])
        times = [file.stat().st_mtime_ns for file in self.cache.iterdir()]
        self.assertEqual(self.experiment("--format", "json").stdout, first)
        self.assertEqual(self.results(), before)
        self.assertEqual([file.stat().st_mtime_ns for file in self.cache.iterdir()], times)

    def test_a_changed_candidate_is_computed_again_and_no_other(self):
        self.experiment()
        before = self.results()
        self.lines[7]["text"] = "to boil an egg put it in water"
        self.write_inputs()
        fresh = self.table(cache=self.folder / "fresh")
        table = self.table()
        after = self.results()
        for name, lines in before.items():
            self.assertEqual(after[name][:8], lines)
            self.assertEqual(len(after[name]), 9)
        for key, cell in fresh.items():
            self.assertEqual(table[key]["value"], cell["value"], key)

    def test_a_changed_model_is_computed_again(self):
        copy = self.folder / "model"
        shutil.copytree(MODEL.resolve(), copy)
        self.file = self.write("study.toml", START + '[[models]]\nname = "mine"\nfolder = "model"\n' + TASK
                               + ROWS.replace('name = "w', 'models = ["mine"]\nname = "w'))
        self.experiment()
        self.assertEqual(len(self.results()), 2)
        config = copy / "config.json"
        config.write_text(config.read_text() + "\n")
        self.experiment()
        self.assertEqual(len(self.results()), 4)
        shutil.rmtree(copy)
        result = self.experiment()
        self.assertIn('missing: model "mine", ', result.stdout)
        self.assertRegex(result.stdout, r"w=4 +–")

    def test_another_build_of_the_program_computes_again(self):
        self.file = self.write("study.toml", START + f'[[models]]\nname = "mine"\nfolder = "{MODEL.resolve()}"\n' + TASK
                               + ROWS.replace('name = "w', 'models = ["mine"]\nname = "w'))
        copy = self.folder / "bin" / "relucent"
        copy.parent.mkdir()
        command = [copy, "experiment", "run", self.file, "--cache", self.cache]
        for addition, files in ((b"", 2), (b"", 2), (b"x", 4)):  # the second time another file with the same bytes
            copy.unlink(missing_ok=True)
            copy.write_bytes(Path(PROGRAM).read_bytes() + addition)
            copy.chmod(0o755)
            self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
            self.assertEqual([len(lines) for lines in self.results().values()], [8] * files)

    def test_a_model_that_cannot_be_computed_leaves_its_row_empty(self):
        for name, old, new in (("strange", '"model_type": "bert"', '"model_type": "crystal ball"'), ("torn", "", "")):
            shutil.copytree(MODEL.resolve(), self.folder / name)
            config = self.folder / name / "config.json"
            self.assertIn(old, config.read_text())
            config.write_text(config.read_text().replace(old, new))
        weights = self.folder / "torn/model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100000])
        row = '[[models]]\nname = "{0}"\nfolder = "{0}"\n[[rows]]\nname = "{0}"\nmodels = ["{0}"]\n'
        bad = row.format("strange") + row.format("torn") + '[[rows]]\nname = "too long"\nlengths = [9999]\n'
        again = TASK.replace("made up", "again")
        self.file = self.write("study.toml", START + TASK + again + bad + ROWS)
        result = self.experiment().stdout
        for row in ("strange", "torn", "too long"):
            self.assertRegex(result, rf"\n{row} +– +–")
            self.assertEqual(result.count(f'note: row "{row}" is not computed: '), 1, result)
        for reason in ("crystal ball", "torn/model.safetensors", "9999"):
            self.assertIn(reason, result)
        self.assertRegex(result, r"\nw=0 +0\.\d{4}")
        self.assertEqual([len(lines) for lines in self.results().values() if lines], [8, 8])
        # If nothing can be computed, that is an error.
        self.file.write_text(START.replace('reference = "w=4"\n', "") + TASK + bad)
        self.expect_error(1, "crystal ball", arguments=["experiment", "run", self.file, "--cache", self.cache])

    def test_notes_state_what_the_figures_hide(self):
        for line in self.lines[:2]:
            line["text"] = ""
        self.write_inputs()
        self.write("other.run", "".join(f"{t} Q0 d{t}-1 1 1 x\n" for t in range(3)))
        self.file = self.write("study.toml", START + TASK + ROWS + '''[[rows]]
name = "other"
kind = "runs"
runs = { "made up" = "other.run" }
[[models]]
name = "long"
folder = "long"
or_bundled = true
[[rows]]
name = "a long one"
models = ["long"]
lengths = [4096]
[[rows]]
name = "a short one"
models = ["long"]
lengths = [128]
''')
        result = self.experiment().stdout
        self.assertIn('note: 2 candidates without text of task "made up" are ranked below the others of their topic by '
                      '"w=4", "w=0", "a long one", "a short one"\n', result)
        self.assertIn('note: the run of row "other" has 3 of the 8 judged topics of task "made up"\n', result)
        self.assertIn('note: row "a long one" reads 512 of 4096 tokens: ', result)
        self.assertNotIn('row "a short one" reads', result)
        self.assertRegex(result, r"\na long one +0\.")
        # The run may contain none of the first topics.
        self.write("other.run", "7 Q0 d7-1 1 1 x\n")
        few = self.experiment("--topics", "2").stdout
        self.assertRegex(few, r"\nother +–")
        self.assertIn('the run of row "other" has 0 of the 2 judged topics', few)

    def test_a_mir_reranks_with_the_statistics_of_an_index(self):
        mir, index = self.folder / "mir", self.folder / "my.index"
        self.expect(run("model", "init", "--from", MODEL.resolve(), "--as", "mir", mir, "--window", 24, "--stride", 18,
                        "--document-length", 64), 0)
        self.write("docs.tsv", "".join(f"{line['docno']}\t{line['text']}\n" for line in self.lines))
        indexing = ["index", "--corpus", "tsv", "--index", index, "--quiet", "--input"]
        self.expect(run(*indexing, self.folder / "docs.tsv"), 0)
        row = '[[models]]\nname = "mir"\nfolder = "mir"\n[[rows]]\nname = "mir"\nmodels = ["mir"]\ndevices = ["cpu"]\n'
        start = START.replace('reference = "w=4"\n', "")
        plain = TASK.replace("made up", "plain")
        self.file = self.write("study.toml", start + TASK + 'statistics = "my.index"\n' + plain + row)
        result = self.experiment("--runs", self.folder / "runs").stdout
        self.assertRegex(result, r"\nmir +0\.\d{4} +–\n")
        self.assertIn('row "mir" has a MIR, which needs an index\'s statistics: task "plain" names none', result)
        output = self.folder / "mir.run"
        self.expect(run("rerank", "--input", self.folder / "rerank.jsonl", "--output", output, "--device", "cpu",
                        "--model", mir, "--index", index), 0)
        self.assertEqual(output.read_text(), (self.folder / "runs/mir.made_up.run").read_text())
        self.experiment()
        self.assertEqual([len(lines) for lines in self.results().values()], [8])
        # The statistics of a task's own index are the same, and so are its candidates.
        queries = {line["qid"]: line["query"] for line in self.lines}
        self.write("topics.tsv", "".join(f"{qid}\t{query}\n" for qid, query in queries.items()))
        self.write("first.run", "".join(f"{line['qid']} Q0 {line['docno']} {line['rank']} {line['score']} x\n"
                                        for line in self.lines))
        self.file.write_text(start + TASK.replace(
            'candidates = "rerank.jsonl"', 'index = "my.index"\ntopics = "topics.tsv"\nrun = "first.run"') + row)
        self.experiment()
        self.assertEqual([len(lines) for lines in self.results().values()], [8])
        # Another commit has other statistics.
        more = (self.folder / "docs.tsv").read_text() + "new\twater water water\n"
        self.expect(run(*indexing, self.write("docs.tsv", more), "--overwrite"), 0)
        self.experiment()
        self.assertEqual([len(lines) for lines in self.results().values()], [8, 8])
        shutil.rmtree(index)
        self.file.write_text(start + TASK + 'statistics = "my.index"\n' + row + ROWS)
        result = self.experiment().stdout
        self.assertRegex(result, r"\nmir +–\n")
        self.assertIn('missing: statistics of task "made up", ', result)

    def test_a_task_may_have_only_the_topics_whose_relevant_documents_are_as_long(self):
        for line in self.lines:  # one word piece each
            line["text"] = " ".join(["water"] * (10 if int(line["qid"]) < 3 else 30))
        self.qrels = "".join(f"{line['qid']} 0 {line['docno']} {int(line['rank'] < 3)}\n" for line in self.lines)
        self.write_inputs()
        parts = {"short": "[0, 20]", "long": "[20, 31]", "all": "[10, 31]", "none": "[31, 99]"}
        tasks = "".join(TASK.replace("made up", name) + f"relevant_pieces = {part}\n" for name, part in parts.items())
        self.file.write_text(START + tasks + ROWS)
        table = self.table("--runs", self.folder / "runs")
        topics = {name: {line.split()[0] for line in (self.folder / f"runs/first.{name}.run").read_text().splitlines()}
                  for name in ("short", "long", "all")}
        self.assertEqual(topics, {"short": set("012"), "long": set("34567"), "all": set("01234567")})
        self.assertEqual({row for _, row, _ in table if "no topic has relevant candidates" in row},
                         {'task "none" is empty: no topic has relevant candidates of 31 to 98 word pieces'})
        self.assertNotIn(("nDCG@10", "first", "none"), table)

    def test_a_killed_run_continues_to_the_same_results(self):
        self.lines, self.qrels = candidates(60, 8, 60)
        self.write_inputs()
        expected = self.table("--runs", self.folder / "whole.runs", cache=self.folder / "whole")
        rng = random.Random(1)
        kills = 0
        for _ in range(6):
            process = subprocess.Popen([PROGRAM, "experiment", "run", self.file, "--cache", self.cache],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            had = sum(map(len, self.results().values()))
            more = had + rng.randrange(2, 12)
            while process.poll() is None and sum(map(len, self.results().values())) < more:
                time.sleep(0.002)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.wait()
        self.assertGreaterEqual(kills, 3)
        kept = self.results()
        table = self.table("--runs", self.folder / "runs")
        for key, cell in expected.items():
            for figure in ("value", "difference", "p_t", "p_tost_corrected", "truncated"):
                self.assertEqual(table[key][figure], cell[figure], (key, figure))
        runs = sorted((self.folder / "whole.runs").iterdir())
        self.assertEqual(len(runs), 3)
        for file in runs:
            self.assertEqual((self.folder / "runs" / file.name).read_bytes(), file.read_bytes(), file.name)
        # Nothing that was whole was computed a second time.
        after = self.results()
        for name, lines in kept.items():
            whole_lines = lines[:-1]  # the last one may be torn
            self.assertEqual(after[name][:len(whole_lines)], whole_lines)
            self.assertEqual(len({line.split()[0] for line in after[name]}), 60)
            self.assertEqual(len(after[name]), 60)

    def test_ctrl_c_ends_it_and_keeps_what_is_there(self):
        self.lines, self.qrels = candidates(200, 20, 60)
        self.write_inputs()
        process = subprocess.Popen([PROGRAM, "experiment", "run", self.file, "--cache", self.cache],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None and sum(map(len, self.results().values())) < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(out, b"")
        self.assertGreaterEqual(sum(map(len, self.results().values())), 3)

    def test_every_form_and_the_plot(self):
        self.assertIn("reference: w=4", self.experiment().stdout)
        json.loads(self.experiment("--format", "json").stdout)
        self.assertIn("\\toprule", self.experiment("--format", "latex").stdout)
        plot, table = self.folder / "plot.svg", self.folder / "table.txt"
        written = self.experiment("--plot", plot, "--output", table)
        self.assertEqual(written.stdout, "")
        self.assertIn(f"relucent: wrote {plot}: nDCG@10 by attention window\n", written.stderr)
        self.assertEqual(self.experiment("--plot", plot, "--output", table, "--quiet").stderr, "")
        self.assertIn("w=0", table.read_text())
        self.assertIn("<polyline", plot.read_text())

    def test_time_is_a_measure_like_another(self):
        text = START.replace('"RR@10"]', '"ms"]') + TASK + ROWS
        self.file = self.write("study.toml", text + '[[averages]]\nname = "all"\nof = ["made up"]\n')
        plot = self.folder / "plot.svg"
        table = self.table("--plot", plot)
        for row in ("w=4", "w=0"):
            cell = table["ms", row, "made up"]
            self.assertGreater(float(cell["value"]), 0)
            self.assertEqual(cell["value"], cell["ms_per_candidate"])
            self.assertEqual((cell["reference"], cell["p_t"]), ("", ""))
            self.assertEqual(table["nDCG@10", row, "made up"]["ms_per_candidate"], cell["value"])
        times = {key for key in table if key[0] == "ms"}
        self.assertEqual(times, {("ms", row, "made up") for row in ("w=4", "w=0")})
        self.assertEqual(plot.read_text().count("<polyline"), 5)  # two per column, one of time
        self.assertIn("ms per candidate", plot.read_text())
        self.assertRegex(self.experiment().stdout, r"(?s)\nms +made up +all\nfirst +– +–\nw=4 +\d+\.\d{3} +–\n")
        # Before anything is computed.
        self.file.write_text(START + TASK + ROWS.replace("windows = [4, 0]", "").replace("w={window}", "w=4"))
        self.expect_error(2, "--plot", "no row has a window", arguments=[
            "experiment", "run", self.file, "--cache", self.folder / "none", "--plot", plot])
        self.assertFalse((self.folder / "none").exists())

    def test_a_few_topics_and_averages_and_runs_of_others(self):
        self.write("other.run", "".join(f"{t} Q0 d{t}-{r} {r} {10 - r} x\n" for t in range(8) for r in (1, 2, 3)))
        more = TASK.replace("made up", "again").replace("rerank.jsonl", "gz.jsonl.gz")
        with gzip.open(self.folder / "gz.jsonl.gz", "wt") as out:
            out.writelines(json.dumps(line) + "\n" for line in self.lines[:20])
        self.file = self.write("study.toml", START + TASK + more
                               + '[[averages]]\nname = "all"\nof = ["made up", "again"]\n'
                               '[[averages]]\nname = "tasks"\nof = ["made up", "again"]\nover = "tasks"\n' + ROWS
                               + '[[rows]]\nname = "other"\nkind = "runs"\nruns = { "made up" = "other.run" }\n')
        table = self.table()
        one, two, both, mean = (float(table["nDCG@10", "w=4", column]["value"])
                                for column in ("made up", "again", "all", "tasks"))
        self.assertAlmostEqual(both, (8 * one + 4 * two) / 12, places=12)
        self.assertAlmostEqual(mean, (one + two) / 2, places=12)
        self.assertEqual(table["nDCG@10", "w=0", "all"]["n"], "12")
        self.assertEqual(table["nDCG@10", "w=0", "tasks"]["n"], "")
        self.assertIn(("nDCG@10", "other", "made up"), table)
        self.assertNotIn(("nDCG@10", "other", "all"), table)
        # The same topics are computed once.
        self.assertEqual([len(lines) for lines in self.results().values()], [8, 8])
        few = self.experiment("--topics", "3", "--format", "json", cache=self.folder / "few").stdout
        self.assertIn("only the first 3", few)
        self.assertEqual([len(lines) for lines in self.results(self.folder / "few").values()], [3, 3])

    def test_an_index_gives_the_candidates_that_a_rerank_file_would(self):
        texts = "".join(f"{line['docno']}\t{line['text']}\n" for line in self.lines)
        queries = {line["qid"]: line["query"] for line in self.lines}
        topics = "".join(f"{qid}\t{query}\n" for qid, query in queries.items())
        self.expect(run("index", "--corpus", "tsv", "--input", self.write("docs.tsv", texts), "--index",
                        self.folder / "my.index", "--quiet"), 0)
        self.write("topics.tsv", topics)
        indexed = TASK.replace("made up", "index").replace(
            'candidates = "rerank.jsonl"', 'index = "my.index"\ntopics = "topics.tsv"\nhits = 7')
        self.expect(run("search", "--index", self.folder / "my.index", "--topics", self.folder / "topics.tsv",
                        "--hits", 7, "--rerank-file", self.folder / "found.jsonl"), 0)
        self.file = self.write("study.toml", START + indexed + TASK.replace("rerank.jsonl", "found.jsonl") + ROWS)
        table = self.table()
        for row in ("first", "w=4", "w=0"):
            self.assertEqual(table["nDCG@10", row, "index"]["value"], table["nDCG@10", row, "made up"]["value"])
        self.assertEqual([len(lines) for lines in self.results().values()], [8, 8])

        # A run's documents get their texts from the index; the topics may be more than the run's.
        self.expect(run("search", "--index", self.folder / "my.index", "--topics", self.folder / "topics.tsv",
                        "--hits", 7, "--no-rescore", "--run", self.folder / "found.run"), 0)
        of_run = indexed.replace('"index"\nindex', '"index"\nrun = "found.run"\nindex')
        self.assertIn("found.run", of_run)
        self.file = self.write("study.toml", START + of_run + ROWS)
        again = self.table()
        for row in ("first", "w=4", "w=0"):
            self.assertEqual(again["nDCG@10", row, "index"]["value"], table["nDCG@10", row, "made up"]["value"])
        self.assertIn('run of task "index"', self.expect(run("experiment", "check", self.file), 0).stdout)
        command = ["experiment", "run", self.file, "--cache", self.folder / "other"]
        lines = (self.folder / "found.run").read_text()
        self.write("found.run", lines + "0 Q0 nowhere 1 99 x\n")
        self.expect_error(3, "found.run", "document nowhere is not in", arguments=command)
        self.write("found.run", lines + "77 Q0 d1-1 1 5 x\n")
        self.expect_error(3, "topics.tsv", "lacks topic 77", arguments=command)

    def test_rows_whose_names_look_alike_have_runs_of_their_own(self):
        self.file = self.write("study.toml", START.replace('reference = "w=4"\n', "") + TASK + "".join(
            f'[[rows]]\nname = "{name}"\nkind = "first stage"\n' for name in ("a/b", "a_b", "a b")))
        self.experiment("--runs", self.folder / "runs")
        self.assertEqual(sorted(path.name for path in (self.folder / "runs").iterdir()),
                         ["a_b.made_up-2.run", "a_b.made_up-3.run", "a_b.made_up.run"])

    def test_models_of_stages_are_checked(self):
        self.write("stages.toml", f'[[rescorer.stages]]\nwindow = 5\ndevice = "cpu"\n'
                                  f'[[rescorer.stages]]\nmodel = "{self.folder}/gone"\nwindow = 2\ndevice = "cpu"\n')
        self.file = self.write("study.toml", START + TASK + ROWS + '[[rows]]\nname = "two"\nconfig = "stages.toml"\n')
        checked = self.expect(run("experiment", "check", self.file), 4).stdout
        self.assertIn(f'missing: a stage\'s model of row "two", {self.folder}/gone', checked)
        result = self.experiment().stdout
        self.assertRegex(result, r"two +–")
        self.assertIn(f"{self.folder}/gone", result)
        self.file.write_text('title = "x"\n[costs]\nlengths = [64]\n[[rows]]\nname = "two"\nconfig = "stages.toml"\n')
        self.expect_error(3, f"{self.file}:6:10", "several stages", arguments=["experiment", "run", self.file])

    def test_what_is_missing_is_reported_and_the_rest_is_computed(self):
        self.file = self.write("study.toml", START + TASK + TASK.replace("made up", "other").replace(
            "rerank.jsonl", "nowhere.jsonl") + 'get = "ask the librarian"\n' + ROWS)
        checked = self.expect(run("experiment", "check", self.file), 4).stdout
        self.assertIn(f"{self.folder}/nowhere.jsonl; ask the librarian", checked)
        self.assertIn("missing files and folders: 1\n", checked)
        result = self.experiment().stdout
        self.assertIn("ask the librarian", result)
        self.assertRegex(result, r"w=4 +0\.\d{4}≈? +–")
        quiet = self.experiment("--quiet")
        self.assertEqual(quiet.stderr, "")
        self.assertNotIn("note", quiet.stdout)
        self.assertTrue(result.startswith(quiet.stdout.rstrip()), quiet.stdout)
        self.assertTrue(json.loads(self.experiment("--quiet", "--format", "json").stdout)["notes"])
        (self.folder / "rerank.jsonl").unlink()
        self.expect_error(1, "nothing of it is present", "--data",
                          arguments=["experiment", "run", self.file, "--cache", self.cache])

    def test_mistakes(self):
        self.file.write_text(START + TASK + ROWS + "winodws = [4]\n")
        for command in ("run", "check"):
            self.expect_error(3, f"{self.file}:16:1", 'did you mean "windows"?',
                              arguments=["experiment", command, self.file])
        self.expect_error(1, "none.toml", arguments=["experiment", "run", self.folder / "none.toml"])
        self.file.write_text(START + TASK + ROWS)
        self.write("qrels.txt", "other 0 d1 1\n")
        self.expect_error(3, "judges none of the topics",
                          arguments=["experiment", "run", self.file, "--cache", self.cache])
        self.write("cached", "")
        self.write_inputs()
        self.expect_error(2, "--fresh", "[costs]",
                          arguments=["experiment", "run", self.file, "--cache", self.cache, "--fresh"])
        self.expect_error(1, "cached", "--cache",
                          arguments=["experiment", "run", self.file, "--cache", self.folder / "cached"])


class Shipped(ProgramTest):
    def test_every_shipped_experiment_can_be_checked(self):
        files = sorted(Path("config/experiments").glob("*.toml"))
        self.assertGreaterEqual(len(files), 8)
        for file in files:
            with self.subTest(file=file.name):
                result = run("experiment", "check", file, "--data", self.folder)
                lines = result.stdout.splitlines()[:-1]
                for line in lines:
                    self.assertTrue(line.startswith("missing: "), line)
                missing = [line for line in lines if "takes its place" not in line]
                self.expect(result, 4 if missing else 0)
                self.assertIn(f"missing files and folders: {len(missing)}", result.stdout)

    def test_every_shipped_experiment_runs_on_generated_data(self):
        lines, qrels = candidates(2, 3, 12)
        # The same for all tasks, so that each model and setting is loaded once.
        rerank = gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())
        first = "".join(f"{line['qid']} Q0 {line['docno']} {line['rank']} {line['score']} x\n" for line in lines)
        mir, index = self.folder / "mir", self.folder / "shared.index"
        self.expect(run("model", "init", "--from", MODEL.resolve(), "--as", "mir", mir), 0)
        extended = self.folder / "extended"
        self.expect(run("model", "extend", MODEL.resolve(), extended, "--positions", 2048), 0)
        texts = self.write("docs.tsv", "".join(f"{line['docno']}\t{line['text']}\n" for line in lines))
        self.expect(run("index", "--corpus", "tsv", "--input", texts, "--index", index, "--quiet"), 0)
        scored = 0
        for file in sorted(Path("config/experiments").glob("*.toml")):
            profile = tomllib.loads(file.read_text())
            if "costs" in profile:
                continue
            scored += 1
            with self.subTest(file=file.name):
                data = self.folder / file.stem
                def make(name, content):
                    (data / name).parent.mkdir(parents=True, exist_ok=True)
                    if isinstance(content, Path):
                        if not (data / name).exists():
                            (data / name).symlink_to(content)
                    else:
                        (data / name).write_bytes(content)
                for task in profile["tasks"]:
                    make(task["candidates"], rerank)
                    make(task["qrels"], qrels.encode())
                    if "statistics" in task:
                        make(task["statistics"], index)
                for row in profile["rows"]:
                    for name in row.get("runs", {}).values():
                        make(name, first.encode())
                for model in profile.get("models", []):
                    if not model.get("or_bundled"):
                        kind = mir if model["name"].startswith("mir-") else MODEL.resolve()
                        make(model["folder"], extended if model["folder"].endswith("-2048") else kind)
                result = self.expect(run("experiment", "run", file, "--data", data, "--topics", "1", "--format", "json",
                                         "--cache", self.folder / "cache"), 0)
                report = json.loads(result.stdout)
                columns = [task["name"] for task in profile["tasks"] if task.get("shown", True)]
                columns += [average["name"] for average in profile.get("averages", [])]
                self.assertEqual(report["columns"], columns)
                self.assertGreaterEqual(len(report["rows"]), len(profile["rows"]))
                for table in report["measures"]:
                    if table["measure"] == "ms":
                        continue
                    there = {(cell["row"], cell["column"]) for cell in table["cells"] if cell["value"] is not None}
                    empty = {task["name"] for task in profile["tasks"] if task.get("relevant_pieces", [0])[0] > 0}
                    self.assertEqual(there, {(row, column) for row in report["rows"] for column in columns
                                             if column not in empty})
                self.assertEqual([table["measure"] for table in report["measures"]], profile["measures"])
                for note in report["notes"]:
                    self.assertRegex(note, r"only the first 1|the bundled checkpoint|takes its place|no topic has")
        self.assertGreaterEqual(scored, 6)


class Costs(ProgramTest):
    FLAGS = ["--lengths", "24,48", "--windows", "4,inf", "--candidates", "2", "--runs", "1", "--devices", "cpu",
             "--precisions", "fp32", "--threads", "1"]
    TWO = [*FLAGS, "--patterns", "sparse", "--windows", "4"]  # points

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"

    def arguments(self, *flags):
        """A flag takes the place of an earlier one of the same name."""
        words = {}
        for word in map(str, flags):
            if word.startswith("--"):
                last = word
                words[last] = []
            else:
                words[last].append(word)
        return ["bench", "study", *(word for name, values in words.items() for word in (name, *values)), "--cache",
                str(self.cache)]

    def study(self, *flags):
        return self.expect(run(*self.arguments(*flags)), 0).stdout

    def rows(self, *flags):
        """The CSV's lines, and the notes among them."""
        lines = list(csv.DictReader(io.StringIO(self.study(*flags, "--format", "csv"))))
        return ([line for line in lines if line["measure"] != "note"],
                [line["row"] for line in lines if line["measure"] == "note"])

    def kept(self):
        """The cache's lines with measurements."""
        return [line for file in sorted(self.cache.glob("*.costs")) for line in file.read_text().splitlines()
                if " | " in line and not line.startswith("#")]

    def test_a_study_of_costs_has_times_memory_and_floors(self):
        plot = self.folder / "plot.svg"
        rows, notes = self.rows(*self.FLAGS, "--plot", plot)
        self.assertEqual(notes, [])
        self.assertEqual({row["row"] for row in rows}, {"full", "sparse w=4", "sparse w=inf"})
        self.assertEqual({row["column"] for row in rows}, {"24", "48"})
        for row in rows:
            if row["measure"] == "ms":
                self.assertGreater(float(row["value"]), float(row["floor"]), row)
                self.assertGreater(float(row["value"]), float(row["floor_bytes"]), row)
                self.assertGreater(float(row["floor"]), 0)
                self.assertGreater(float(row["floor_bytes"]), 0)
        self.assertIn("stroke-dasharray", plot.read_text())

    def test_a_second_study_takes_everything_from_the_cache_unless_it_is_to_be_fresh(self):
        first, _ = self.rows(*self.TWO)
        lines = self.kept()
        self.assertEqual(len(lines), 2)
        again, notes = self.rows(*self.TWO)
        self.assertEqual(again, first)
        self.assertEqual(self.kept(), lines)
        self.assertRegex(notes[0], r"^2 of 2 measurements come from the cache, the oldest of \d{4}-\d\d-\d\dT.*--fresh")
        fresh, notes = self.rows(*self.TWO, "--fresh")
        self.assertEqual(notes, [])
        self.assertEqual(self.kept()[:2], lines)
        self.assertEqual(len(self.kept()), 4)
        self.assertNotEqual(fresh, first)
        self.assertEqual(self.rows(*self.TWO)[0], fresh)

    def test_what_a_point_follows_from_is_measured_again(self):
        self.study(*self.TWO)
        model = shutil.copytree(MODEL, self.folder / "model")
        with open(model / "config.json", "a", encoding="utf-8") as config:
            config.write("\n")
        for known, flags in enumerate((["--runs", "2"], ["--candidates", "3"], ["--query-tokens", "9"],
                                       ["--windows", "5"], ["--precisions", "bf16"], ["--threads", "2"],
                                       ["--model", model]), 1):
            with self.subTest(flags=flags):
                self.study(*self.TWO, *flags)
                self.assertEqual(len(self.kept()), 2 + 2 * known)
        self.assertIn("2 of 3 measurements", self.study(*self.TWO, "--lengths", "24,48,64"))

    def test_a_damaged_line_is_measured_again(self):
        self.study(*self.TWO)
        file, = self.cache.glob("*.costs")
        line = self.kept()[0]
        digit = line.rindex(".") + 1
        file.write_text(file.read_text().replace(line, line[:digit] + str((int(line[digit]) + 1) % 10)
                                                 + line[digit + 1:]))
        self.assertIn("1 of 2 measurements", self.study(*self.TWO))
        self.assertIn("2 of 2 measurements", self.study(*self.TWO))

    def test_an_interrupted_study_continues(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(signal=number.name):
                self.cache = self.folder / number.name
                process = subprocess.Popen([PROGRAM, *self.arguments(*self.TWO)], stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)
                while process.poll() is None and not self.kept():
                    time.sleep(0.002)
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertEqual((process.returncode, out), (code, b""), err)
                line, = self.kept()
                self.assertIn("1 of 2 measurements", self.study(*self.TWO))
                self.assertEqual(self.kept()[0], line)
                self.assertEqual(len(self.kept()), 2)

    def with_a_process_killed(self, *flags):
        """A study of which the first measuring process is killed, as if memory ran out."""
        process = subprocess.Popen([PROGRAM, *self.arguments(*flags)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   encoding="utf-8")
        # Before there is a cache, another process lists the devices.
        while process.poll() is None and not list(self.cache.glob("*.costs")):
            time.sleep(0.002)
        child = None
        while process.poll() is None and child is None:
            for stat in Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = stat.read_text().rpartition(")")[2].split()
                except OSError:  # it has just ended
                    continue
                if int(fields[1]) == process.pid:
                    child = int(stat.parent.name)
        os.kill(child, signal.SIGKILL)
        out, err = process.communicate(timeout=600)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def test_a_measuring_process_that_dies_leaves_a_note_and_an_empty_cell(self):
        result = self.expect(self.with_a_process_killed(*self.TWO), 0)
        self.assertRegex(result.stdout, r"sparse w=4 +– +\d+\.\d{3}")
        self.assertIn("note: sparse w=4, 24 tokens: the measuring process: was ended by signal 9 (Killed); if memory",
                      result.stdout)
        self.assertIn("1 of 2 measurements", self.study(*self.TWO))

    def test_nothing_measured_is_an_error(self):
        result = self.expect(self.with_a_process_killed(*self.TWO, "--lengths", "24"), 1)
        self.assertEqual(result.stdout, "")
        self.assertIn("nothing could be measured; the measuring process: was ended by signal 9", result.stderr)
        self.expect_error(1, "none of its models is present", "no-model", "--model",
                          arguments=self.arguments(*self.TWO, "--model", self.folder / "no-model"))

    def test_progress_is_shown_with_the_time_left_unless_it_is_quiet(self):
        for flags, shown in (([], True), (["--quiet"], False)):
            with self.subTest(flags=flags):
                ours, theirs = os.openpty()
                process = subprocess.Popen([PROGRAM, *self.arguments(*self.TWO, "--fresh", *flags)],
                                           stdout=subprocess.DEVNULL, stderr=theirs)
                os.close(theirs)
                text = b""
                try:
                    while more := os.read(ours, 4096):
                        text += more
                except OSError:  # the other end is closed
                    pass
                os.close(ours)
                self.assertEqual(process.wait(), 0, text)
                if shown:
                    self.assertRegex(text.decode(), r"measuring \[#+\.+\] +\d+ %  0:00:\d\d left")
                else:
                    self.assertEqual(text, b"")

    def test_a_token_before_each_sentence_hardly_adds_operations(self):
        result = self.study("--lengths", "300", "--patterns", "longformer,qds", "--windows", "4", "--candidates", "2",
                            "--runs", "1", "--devices", "cpu", "--format", "json")
        floors = [cell["floor"] for cell in json.loads(result)["measures"][0]["cells"]]
        self.assertLess(floors[1], 1.5 * floors[0])
        self.assertGreater(floors[1], floors[0])

    def test_a_mir_and_documents_in_chunks_are_measured_without_floors(self):
        mir = self.folder / "mir"
        self.expect(run("model", "init", "--from", MODEL.resolve(), "--as", "mir", mir, "--window", 24, "--stride", 18,
                        "--document-length", 100), 0)
        few = ["--candidates", "1", "--runs", "1", "--devices", "cpu", "--precisions", "fp32"]
        rows, notes = self.rows("--model", mir, "--lengths", "40,80,200", *few)
        self.assertEqual({row["row"] for row in rows}, {"MIR"})
        times = {row["column"]: row for row in rows if row["measure"] == "ms"}
        self.assertTrue(all(float(times[length]["value"]) > 0 for length in ("40", "80")), times)
        self.assertEqual([times[length]["floor"] for length in ("40", "80")], ["", ""])
        self.assertNotIn("200", times)
        self.assertTrue(any("reads at most 100 word pieces" in note for note in notes), notes)
        self.expect_error(2, "--patterns", "a MIR", arguments=self.arguments("--model", mir, "--patterns", "sparse"))
        rows, notes = self.rows("--long-documents", "truncate,maxp", "--patterns", "full", "--lengths", "60,900", *few)
        self.assertEqual(notes, [])
        times = {(row["row"], row["column"]): row for row in rows if row["measure"] == "ms"}
        self.assertEqual({row for row, _ in times}, {"full truncate", "full maxp"})
        self.assertEqual(times["full maxp", "900"]["floor"], "")
        self.assertGreater(float(times["full truncate", "900"]["floor"]), 0)

    def test_lengths_beyond_the_models_positions_are_measured_all_the_same(self):
        result = self.study("--lengths", "700", "--patterns", "sparse", "--windows", "4", "--candidates", "1", "--runs",
                            "1", "--devices", "cpu")
        self.assertRegex(result, r"sparse w=4 +\d+\.\d{3}")

    def test_an_experiment_may_be_one_of_costs(self):
        file = self.write("costs.toml", 'title = "costs"\n[costs]\nlengths = [24]\ncandidates = 2\nruns = 1\n[[rows]]\n'
                          'name = "a"\ndevices = ["cpu"]\n[[published]]\nmeasure = "ms"\ncolumns = ["24"]\n'
                          '[published.values]\na = [7.5]\n')
        arguments = ["experiment", "run", file, "--cache", self.cache]
        for flags, known in (([], False), ([], True), (["--fresh"], False)):
            result = self.expect(run(*arguments, *flags), 0)
            self.assertRegex(result.stdout, r"a +\d+\.\d{3} \(7\.5\)")
            self.assertEqual("1 of 1 measurements" in result.stdout, known)

    def test_flags_that_have_no_effect_are_refused(self):
        file = self.write("costs.toml", 'title = "costs"\n[costs]\nlengths = [24]\n[[rows]]\nname = "a"\n')
        started = time.monotonic()
        for flags in (["--topics", "3"], ["--runs", self.folder / "runs"]):
            self.expect_error(2, flags[0], "no effect", arguments=["experiment", "run", file, *flags])
        scored = self.write("scored.toml", START + TASK + ROWS)
        self.expect_error(2, "--peers", "no effect", arguments=["experiment", "run", scored, "--peers", file])
        self.assertLess(time.monotonic() - started, 5)

    def test_mistakes(self):
        for flags, *words in ((["--lengths", "10"], "--lengths", "no room for a document"),
                              (["--lengths", "64,32,64"], "--lengths", "64 twice"),
                              (["--lengths", "0"], "--lengths"),
                              (["--patterns", "dense"], "--patterns", "dense"),
                              (["--windows", "4,x"], "--windows", "x is not a window"),
                              (["--windows", "4,04"], "--windows", "4 twice"),
                              (["--windows", "-1"], "--windows", "-1"),
                              (["--devices", "gpu"], "device gpu"),
                              (["--precisions", "fp8"], "precision fp8"),
                              (["--candidates", "0"], "--candidates"), (["--runs", "0"], "--runs"),
                              (["--query-tokens", "31"], "--query-tokens"), (["--threads", "-1"], "--threads")):
            with self.subTest(flags=flags):
                self.expect_error(2, *words, arguments=self.arguments(*flags))
        # Before anything is measured.
        started = time.monotonic()
        self.expect_error(3, "no table", arguments=self.arguments("--peers", self.write("x", "nothing\n")))
        self.expect_error(1, "file", "--cache", arguments=["bench", "study", *self.FLAGS, "--cache",
                                                           self.write("file", "")])
        self.assertLess(time.monotonic() - started, 5)


if __name__ == "__main__":
    main()
