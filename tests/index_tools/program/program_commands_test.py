"""The program as a whole, and its commands evaluate, config and model."""

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import unittest
import xml.etree.ElementTree
from pathlib import Path

from program_support import PROGRAM, ProgramTest, main, run

QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n3 0 x 1\n"
RUN_A = "1 Q0 a 1 3 A\n1 Q0 b 2 2 A\n1 Q0 c 3 1 A\n2 Q0 b 1 2 A\n2 Q0 a 2 1 A\n"
RUN_B = "1 Q0 c 1 3 B\n1 Q0 b 2 2 B\n2 Q0 a 2 5 B\n9 Q0 a 1 1 B\n"


class Program(ProgramTest):
    def test_help_is_everywhere_and_has_an_example(self):
        commands = list(self.commands())
        for words in ("serve", "experiment run", "run fuse", "bench study", "bench index", "model init", "config show"):
            self.assertIn(tuple(words.split()), commands)
        for words in [(), *commands]:
            result = self.expect(run(*words, "--help"), 0)
            self.assertIn("Example", result.stdout, words)
            self.assertIn("relucent " + " ".join(words), result.stdout, words)
            self.assertEqual(result.stderr, "", words)

    def test_version(self):
        self.assertRegex(self.expect(run("--version"), 0).stdout, r"^relucent \d+\.\d+\.\d+\n$")

    def test_wrong_usage_ends_with_2_and_points_to_the_help(self):
        self.expect(run(), 2)
        self.expect_error(2, 'did you mean "search"?', arguments=["serach"])
        self.expect_error(2, "the commands are index", arguments=["xyzzyxyzzy"])
        self.expect_error(2, "relucent evaluate --help", arguments=["evaluate"])
        self.expect_error(2, "--frobnicate", arguments=["config", "show", "--frobnicate"])
        self.expect_error(2, "relucent model --help", arguments=["model"])
        self.expect_error(2, "the commands are info", arguments=["model", "frobnicate"])
        self.expect_error(2, "pass --index DIR", arguments=["search", "a question"])

    def test_misspelt_options_measures_and_corpora_are_recognized(self):
        self.expect_error(2, "unknown option --topix; did you mean --topics?", "relucent search --help",
                          arguments=["search", "--index", "x", "--topix=file"])
        # Also where the misspelt option is required, and where a value follows it.
        self.expect_error(2, "unknown option --copus; did you mean --corpus?",
                          arguments=["index", "--copus", "tsv", "--input", "x", "--index", "y"])
        self.expect_error(2, "unknown option --atention-window; did you mean --attention-window?",
                          arguments=["rerank", "--input", "x", "--output", "y", "--atention-window", "3"])
        far = self.expect_error(2, "unknown option --frobnicate\n", arguments=["config", "show", "--frobnicate"])
        self.assertNotIn("did you mean", far.stderr)
        for wrong, right in (("nDGC@10", "nDCG@10"), ("ndcgcut_5", "ndcg_cut_5"), ("Rprc", "Rprec"), ("mapp", "MAP")):
            self.expect_error(2, f'did you mean "{right}"?',
                              arguments=["evaluate", "--qrels", "x", "--run", "y", "--measures", wrong])
        self.expect_error(2, 'did you mean "jsonl"?',
                          arguments=["index", "--corpus", "json", "--input", "x", "--index", self.folder / "y"])

    def test_the_next_step_can_be_pasted(self):
        documents, index = self.write("d.tsv", "a\tbread\n"), self.folder / "d.index"
        shown = self.expect(run("index", "--corpus", "tsv", "--input", documents, "--index", index), 0).stdout
        self.assertIn(f'Next: {PROGRAM} search --index {index} "your question"\n', shown)

    def test_the_formats_of_ones_own_documents_come_first(self):
        text = self.expect(run("index", "--help"), 0).stdout
        own, research = text.index("Your own documents"), text.index("Research collections")
        for corpus in ("tsv", "csv", "jsonl", "text", "html"):
            self.assertTrue(own < text.index(f"\n  {corpus} ") < research, corpus)
        self.assertLess(research, text.index("\n  msmarco-passage "))

    def test_a_locale_that_is_not_installed_is_no_problem(self):
        self.expect(run("config", "show", LC_ALL="xx_YY.UTF-8", LANG="nowhere"), 0)

    def test_a_reader_who_has_enough_is_no_error(self):
        with subprocess.Popen([PROGRAM, "config", "show"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            message = process.stderr.read()
            process.wait()
        self.assertEqual(message, b"")

    @unittest.skipUnless(os.path.exists("/dev/full"), "SKIPPED: needs /dev/full")
    def test_results_that_do_not_arrive_are_a_failure(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAM, "config", "show"], stdout=full, stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output: cannot be written", result.stderr)


class Evaluate(ProgramTest):
    def setUp(self):
        super().setUp()
        self.qrels = self.write("qrels", QRELS)
        self.a = self.write("a.run", RUN_A)
        self.b = self.write("b.run", RUN_B)

    def evaluate(self, *arguments):
        return self.expect(run("evaluate", "--qrels", self.qrels, *arguments), 0).stdout

    def test_prints_trec_evals_lines(self):
        self.assertEqual(
            self.evaluate("--run", self.a, "--measures", "num_q,num_rel_ret,recip_rank,P@2,nDCG@10"),
            "num_q\tall\t2\nnum_rel_ret\tall\t3\nrecip_rank\tall\t0.7500\nP@2\tall\t0.5000\nnDCG@10\tall\t0.6956\n")

    def test_complete_counts_missing_queries_as_zero(self):
        self.assertEqual(self.evaluate("--run", self.a, "--measures", "num_q,RR", "--complete"),
                         "num_q\tall\t3\nRR\tall\t0.5000\n")

    def test_per_query(self):
        self.assertEqual(self.evaluate("--run", self.b, "--measures", "RR", "--per-query"),
                         "RR\t1\t1.0000\nRR\t2\t1.0000\nRR\tall\t1.0000\n")

    def test_several_runs_are_told_apart(self):
        self.assertEqual(self.evaluate("--run", self.a, self.b, "--measures", "RR"),
                         "runid\tall\tA\nRR\tall\t0.7500\nrunid\tall\tB\nRR\tall\t1.0000\n")
        self.assertIn(str(self.b), self.evaluate("--run", self.a, "--run", self.b, "--table"))

    def test_json_is_json(self):
        result = json.loads(
            self.evaluate("--run", self.a, self.b, "--measures", "RR,num_q", "--json", "--per-query", "--compare"))
        self.assertEqual(result["runs"][0]["all"], {"RR": 0.75, "num_q": 2.0})
        self.assertEqual(result["runs"][1]["per_query"]["2"]["RR"], 1.0)
        tests = result["comparisons"][0]["measures"]["RR"]
        self.assertEqual((tests["n"], tests["mean_diff"], tests["undefined"]), (2, -0.25, False))

    def test_compare_states_undefined_where_nothing_varies(self):
        self.assertIn("undefined", self.evaluate("--run", self.a, self.a, "--measures", "RR", "--compare"))

    def test_a_table_marks_what_differs_from_the_first_run(self):
        queries = range(1, 9)
        good = self.write("good.run",
                          "".join(f"{q} Q0 {d} 1 {s} good\n" for q in queries for d, s in zip("abc", (3, 2, 1))))
        # Worse everywhere but for the first query: without variance there is no test.
        bad = self.write("bad.run", "".join(f"{q} Q0 {d} 1 {s} bad\n" for q in queries
                                            for d, s in zip("abc", (3, 2, 1) if q == 1 else (1, 2, 3))))
        runs = [good, bad]
        qrels = self.write("many", "".join(f"{q} 0 a 1\n{q} 0 b 1\n" for q in range(1, 9)))
        table = self.expect(
            run("evaluate", "--qrels", qrels, "--run", *runs, "-m", "P@2", "--compare", "--format", "table"), 0).stdout
        self.assertRegex(table, r"bad\.run +0\.\d+†")
        self.assertIn("† differs from the first run", table)
        latex = self.expect(
            run("evaluate", "--qrels", qrels, "--run", *runs, "-m", "P@2", "--compare", "--format", "latex"), 0).stdout
        self.assertIn("good & \\textbf{1.0000}", latex)
        self.assertIn("$^{\\dagger}$", latex)

    def test_csv_is_csv(self):
        text = self.evaluate("--run", self.a, self.b, "-m", "RR", "--format", "csv", "--compare", "-q")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([(row["tag"], row["query"], float(row["value"])) for row in rows],
                         [("A", "1", 1.0), ("A", "2", 0.5), ("A", "all", 0.75),
                          ("B", "1", 1.0), ("B", "2", 1.0), ("B", "all", 1.0)])
        self.assertEqual((rows[4]["difference"], rows[5]["n"], rows[5]["difference"]), ("-0.5", "2", "-0.25"))

    def test_a_plot_has_a_bar_a_query_highest_difference_first(self):
        file = self.folder / "d.svg"
        result = self.expect(run("evaluate", "--qrels", self.qrels, "--run", self.a, self.b, self.a, "-m", "num_q,RR",
                                 "--plot", file), 0)
        self.assertIn(f"relucent: wrote {file}: RR of {self.a} minus that of each of the others", result.stderr)
        drawing = xml.etree.ElementTree.parse(file)
        bars = [bar.find("{*}title").text for bar in drawing.iter("{http://www.w3.org/2000/svg}rect")]
        self.assertEqual(bars[:2], ["1: 0.0000 (A 1.0000, B 1.0000)", "2: −0.5000 (A 0.5000, B 1.0000)"])
        self.assertEqual(len(bars), 4)
        self.expect_error(2, "--plot", arguments=["evaluate", "--qrels", self.qrels, "--run", self.a, "--plot", file])
        self.expect_error(
            2,
            "cannot plot counts",
            arguments=["evaluate", "--qrels", self.qrels, "--run", self.a, self.b, "-m", "num_q", "--plot", file])

    @unittest.skipUnless(shutil.which("pdflatex"), "SKIPPED: needs pdflatex")
    def test_latex_compiles(self):
        for flags in ([], ["--per-query"]):
            tables = self.evaluate("--run", self.a, self.b, "--measures", "RR,P@2(rel>=2),num_q", "--compare",
                                   "--format", "latex", *flags)
            self.write("t.tex", "\\documentclass{article}\\usepackage{booktabs,longtable}\\begin{document}\n" + tables
                       + "\\end{document}\n")
            made = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=self.folder,
                                  stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
            self.assertEqual(made.returncode, 0, made.stdout)

    def test_mistakes(self):
        ev = ["evaluate", "--qrels", self.qrels, "--run"]
        self.expect_error(2, "nDGC@10", "choose from", arguments=[*ev, self.a, "--measures", "nDGC@10"])
        self.expect_error(2, "--compare", arguments=[*ev, self.a, "--compare"])
        self.expect_error(1, "absent.run", "no such file", arguments=[*ev, self.folder / "absent.run"])
        self.expect_error(3, "bad.run:1", arguments=[*ev, self.write("bad.run", "one two\n")])
        other = self.write("other.run", "77 Q0 a 1 1 t\n")
        self.expect_error(3, "no query in common", arguments=[*ev, other])
        damaged = self.write("damaged.run.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abc")
        self.expect_error(3, "damaged.run.gz", arguments=[*ev, damaged])


class Classify(ProgramTest):
    MODEL = Path("tests/goldens/classifiers/bert").absolute()
    LABELS = ["entailment", "neutral", "contradiction"]

    def setUp(self):
        super().setUp()
        with gzip.open(f"{self.MODEL}.jsonl.gz", "rt") as file:
            self.pairs = [json.loads(line) for line in file]

    def classify(self, content, *arguments, name="pairs.tsv"):
        output = self.folder / "labels.tsv"
        result = self.expect(run("classify", "--input", self.write(name, content), "--output", output, "--model",
                                 self.MODEL, "--precision", "fp32", *arguments), 0)
        return result.stdout, [line.split("\t") for line in output.read_text().splitlines()]

    def right_label(self, pair):
        return self.LABELS[max(range(3), key=lambda i: pair["logits"][i])]

    def test_labels_logits_and_accuracy(self):
        texts = [f"{pair['query']}\t{pair['text']}" for pair in self.pairs]
        out, lines = self.classify("\n".join(texts))
        self.assertEqual(out, "")
        for pair, (label, *logits) in zip(self.pairs, lines, strict=True):
            self.assertEqual(label, self.right_label(pair))
            for found, expected in zip(map(float, logits), pair["logits"], strict=True):
                self.assertAlmostEqual(found, expected, delta=1e-4)
        # Labels by name and by number; one is wrong, and one pair has none.
        right = [self.right_label(pair) for pair in self.pairs]
        given = [label if i % 2 else str(self.LABELS.index(label)) for i, label in enumerate(right)]
        given[3] = self.LABELS[(self.LABELS.index(right[3]) + 1) % 3]
        labelled = [f"{text}\t{label}" for text, label in zip(texts, given, strict=True)]
        labelled[5] = texts[5]
        out, same = self.classify("\n".join(labelled))
        self.assertEqual(out, "accuracy  0.9333  (14 of 15)\n")
        # The lines of standard output are the pairs' alone.
        both = self.expect(run("classify", "--input", self.write("pairs.tsv", "\n".join(labelled)), "--output", "-",
                               "--model", self.MODEL, "--precision", "fp32", "--quiet"), 0)
        self.assertEqual([line.split("\t") for line in both.stdout.splitlines()], same)
        self.assertEqual(both.stderr, out)
        self.assertEqual(same, lines)
        records = [{"query": pair["query"], "document": pair["text"], "label": label}
                   for pair, label in zip(self.pairs, right, strict=True)]
        out, same = self.classify("\n".join(map(json.dumps, records)), "--json", "--quiet", name="pairs.jsonl")
        self.assertEqual(json.loads(out), {"pairs": 16, "labels": self.LABELS, "accuracy": 1.0})
        self.assertEqual(same, lines)

    def test_mistakes(self):
        def refused(code, *parts, content="a\tb", model=self.MODEL):
            self.expect_error(code, *parts, arguments=["classify", "--input", self.write("x.tsv", content), "--output",
                                                       self.folder / "out.tsv", "--model", model])
            self.assertFalse((self.folder / "out.tsv").exists())

        refused(3, "x.tsv:2", "has 1 fields", content="a\tb\nc")
        refused(3, "x.tsv:1", "maybe", "is not a label of the model", "entailment", content="a\tb\tmaybe")
        refused(3, "x.tsv:1", '"3" is not a label', content="a\tb\t3")
        refused(3, "x.tsv:1", 'has no text "document"', content='{"query": "a"}')
        refused(3, "x.tsv:1", "neither a name nor a number", content='{"query": "a", "document": "b", "label": []}')
        refused(1, "labels", "gives a score and has no labels", model=Path("tests/goldens/labels/bert"))

    def test_nothing_ranks_with_a_classifier(self):
        problem = ["is a classifier with 3 labels (entailment, neutral, contradiction)", "has no score to rank by"]
        record = {"qid": "1", "query": "bad", "docno": "d", "text": "dan", "rank": 1, "score": 1.0}
        candidates = self.write("rerank.jsonl", json.dumps(record) + "\n")
        for model in ("bert", "mix-labels"):
            folder = self.MODEL.parent / model
            self.expect_error(1, *problem, arguments=["rerank", "--input", candidates, "--output",
                                                      self.folder / "x.run", "--model", folder])
            self.expect_error(1, *problem, arguments=["serve", "--port", "0", "--model", folder])

    def test_info_names_the_labels(self):
        for model in ("bert", "mix-labels"):
            info = json.loads(self.expect(run("model", "info", self.MODEL.parent / model, "--json"), 0).stdout)
            self.assertEqual(info["labels"], self.LABELS)
        self.assertIn("none: logits of the labels entailment, neutral, contradiction",
                      self.expect(run("model", "check", self.MODEL), 0).stdout)


class Dialogues(ProgramTest):
    def convert(self, form, name, content, code=0):
        paths = [self.folder / "out.jsonl", self.folder / "qrels.txt"]
        for path in paths:
            path.unlink(missing_ok=True)
        result = self.expect(run("dialogues", "--from", form, "--input", self.write(name, content), "--output",
                                 paths[0], "--qrels", paths[1]), code)
        if code != 0:
            self.assertFalse(any(path.exists() for path in paths))
            return result.stderr
        return ([json.loads(line) for line in paths[0].read_text().splitlines()],
                [line.split() for line in paths[1].read_text().splitlines()])

    def test_ubuntu(self):
        content = ('Context,Ground Truth Utterance,Distractor_0,Distractor_1\n'
                   '"how, do i  __eou__ __eot__ hm\n",try this,no,"yes ""it"" is"\nx,y,,z\n')
        records, qrels = self.convert("ubuntu-v2", "test.csv", content)
        self.assertEqual(records[0], {"qid": "1", "query": "how, do i __eou__ __eot__ hm", "docno": "1-0",
                                      "text": "try this", "rank": 1, "score": 0.0})
        self.assertEqual([record["text"] for record in records], ["try this", "no", 'yes "it" is', "y", "", "z"])
        self.assertEqual(qrels[:3], [["1", "0", "1-0", "1"], ["1", "0", "1-1", "0"], ["1", "0", "1-2", "0"]])
        self.assertIn("does not begin with the columns Context", self.convert("ubuntu-v2", "x.csv", "a,b,c\n", 3))
        self.assertIn("x.csv:2: has 2 fields, and the first line 3",
                      self.convert("ubuntu-v2", "x.csv", "Context,Ground,Distractor_0\na,b\n", 3))
        self.assertIn("x.csv:2: has no context",
                      self.convert("ubuntu-v2", "x.csv", "Context,Ground,Distractor_0\n ,b,c\n", 3))

    def test_dstc7(self):
        def example(**changes):
            options = [{"candidate-id": "A", "utterance": "one"}, {"candidate-id": "B", "utterance": "two"}]
            said = [{"speaker": "x", "utterance": "hi"}, {"utterance": "and  you"}]
            return {"example-id": 7, "messages-so-far": said, "options-for-next": options,
                    "options-for-correct-answers": options[1:], **changes}

        records, qrels = self.convert("dstc7", "test.json", json.dumps([example(), example(**{"example-id": 8})]))
        self.assertEqual([record["query"] for record in records], ["hi and you"] * 4)
        self.assertEqual([(record["qid"], record["docno"], record["text"]) for record in records[:2]],
                         [("7", "A", "one"), ("7", "B", "two")])
        self.assertEqual([" ".join(line) for line in qrels], ["7 0 A 0", "7 0 B 1", "8 0 A 0", "8 0 B 1"])
        other = [{"candidate-id": "C", "utterance": "x"}]
        for changes, message in (({"options-for-correct-answers": other}, "the answer C is not among its options"),
                                 ({"messages-so-far": []}, "has no context"), ({"options-for-next": 3}, "has no list"),
                                 ({"messages-so-far": [{}]}, 'has no text "utterance"')):
            stderr = self.convert("dstc7", "x.json", json.dumps([example(), example(**changes)]), 3)
            self.assertIn("x.json, dialogue 2", stderr)
            self.assertIn(message, stderr)


class Config(ProgramTest):
    def test_shown_defaults_are_a_sound_profile_that_shows_the_same(self):
        shown = self.expect(run("config", "show"), 0).stdout
        profile = self.write("my.toml", shown)
        self.assertIn("ok", self.expect(run("config", "check", profile), 0).stdout)
        self.assertEqual(self.expect(run("config", "show", profile), 0).stdout, shown)

    def test_every_shipped_profile_is_sound(self):
        profiles = sorted(Path("config").glob("*.toml"))
        self.assertTrue(profiles)
        for profile in profiles:
            self.expect(run("config", "check", profile), 0)

    def test_mistakes_name_file_line_and_column(self):
        profile = self.write("my.toml", "[rescorer]\nwindw = 5\n")
        self.expect_error(3, f"{profile}:2:1", "window", arguments=["config", "check", profile])
        profile = self.write("type.toml", '[first_stage]\n\nk1 = "much"\n')
        self.expect_error(3, f"{profile}:3:", arguments=["config", "show", profile])
        self.expect_error(1, "absent.toml", arguments=["config", "check", self.folder / "absent.toml"])

    def test_check_lists_every_mistake(self):
        text = ('[rescorer]\nwindw = 5\ntimeout_ms = "soon"\nchunk = 10\nstride = 20\nprecision = "fp23"\n'
                '[colours]\nred = 1\n[[rescorer.stages]]\nwindow = 5\nenabled = true\n'
                '[[rescorer.stages]]\nwindow = 0\n')
        for source in [self.write("my.toml", text), "-"]:
            result = self.expect(run("config", "check", source, stdin=text), 3)
            lines = result.stderr.splitlines()
            name = "standard input" if source == "-" else str(source)
            places = [line.removeprefix(f"relucent: error: {name}:").split(": ")[0] for line in lines]
            self.assertEqual(places, ["2:1", "3:14", "5:10", "6:13", "7:2", "11:1", "13:10"], result.stderr)
            self.assertEqual(result.stdout, "")


class Model(ProgramTest):
    def test_info_knows_the_bundled_checkpoint(self):
        info = json.loads(self.expect(run("model", "info", "--json"), 0).stdout)
        self.assertEqual((info["model_type"], info["attention_window"], info["layers"]), ("bert", "4", 6))
        self.assertIn("attention window", self.expect(run("model", "info", "--tensors"), 0).stdout)

    def test_check_runs_it(self):
        self.assertTrue(self.expect(run("model", "check", "--device", "cpu"), 0).stdout.endswith("ok\n"))

    def test_check_lists_all_problems_and_states_what_the_scores_are(self):
        sound = json.loads(self.expect(run("model", "check", "--device", "cpu", "--json"), 0).stdout)
        self.assertEqual((sound["usable"], sound["problems"], sound["activation"]), (True, [], "sigmoid"))
        self.assertEqual(sound["no_attention"], ["query -> [CLS]", "query -> document"])
        self.assertLess(sound["memory"]["int8"], sound["memory"]["bf16"])
        broken = self.folder / "broken"
        shutil.copytree(sound["folder"], broken)
        config = json.loads((broken / "config.json").read_text())
        config |= {"hidden_act": "laplace", "doc_cls_atention": True, "type_vocab_size": 3,
                   "sbert_ce_default_activation_function": "torch.nn.modules.activation.Tanh"}
        (broken / "config.json").write_text(json.dumps(config))
        vocabulary = (broken / "vocab.txt").read_text()
        (broken / "vocab.txt").write_text(vocabulary + "relucent-more\n")
        result = self.expect(run("model", "check", broken), 1)
        for text in ("laplace", "doc_cls_atention", "has the shape [2, 384]", "30523 entries", "4 problems"):
            self.assertIn(text, result.stderr)
        self.assertIn("prints its torch.nn.modules.activation.Tanh", result.stdout)
        found = json.loads(self.expect(run("model", "check", broken, "--json"), 1).stdout)
        self.assertEqual((found["usable"], len(found["problems"]), len(found["warnings"])), (False, 4, 1))
        (broken / "config.json").write_text("{")
        (broken / "model.safetensors").unlink()
        result = self.expect(run("model", "check", broken), 3)
        for text in ("not valid JSON", "model.safetensors", "2 problems", "that states their sizes"):
            self.assertIn(text, result.stderr)

    def test_extend_and_convert_write_sound_checkpoints(self):
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        longer, wide = self.folder / "longer", self.folder / "wide"
        self.expect(run("model", "extend", bundled, longer, "--positions", "600", "--trained-rows", "381"), 0)
        self.assertEqual(json.loads(run("model", "info", longer, "--json").stdout)["max_length"], 600)
        self.expect(run("model", "convert", bundled, wide, "--type", "f32"), 0)
        self.assertEqual(json.loads(run("model", "info", wide, "--json").stdout)["weight_type"], "F32")
        self.expect_error(2, "wide", arguments=["model", "convert", bundled, wide, "--type", "bf16"])
        joined = self.folder / "joined"
        self.expect(run("model", "convert", wide, joined), 0)
        self.assertEqual((joined / "model.safetensors").read_bytes(), (wide / "model.safetensors").read_bytes())
        self.expect_error(2, "f8", arguments=["model", "convert", bundled, self.folder / "new", "--type", "f8"])

    def test_a_mixencoder_is_made_described_checked_timed_and_reranks(self):
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        mixed = self.folder / "mixed"
        making = ["model", "init", "--from", bundled, "--as", "mixencoder", mixed]
        made = self.expect(run(*making[:-1], "--vectors", 2, "--pooling", "split", "--layers", "3,5", mixed), 0)
        self.assertIn("ranks at random until it is trained", made.stdout)
        self.expect_error(2, "mixed", arguments=making)
        self.expect_error(2, "contains 6, but the model has the layers 0 to 5",
                          arguments=making[:-1] + [self.folder / "other", "--layers", 6])
        self.assertFalse((self.folder / "other").exists())
        found = json.loads(self.expect(run("model", "check", mixed, "--device", "cpu", "--json"), 0).stdout)
        self.assertEqual((found["model_type"], found["layers"], found["usable"]), ("mixencoder", 6, True))
        self.assertEqual(found["mixencoder"], {
            "strategy": "special_tokens", "context": 2, "interaction_layers": [3, 5], "pooling": "split",
            "query_state": "gated", "candidate_state": "interacted", "query_max_length": 32,
            "candidate_max_length": 180, "bytes_per_document": 8 * 384})
        text = self.expect(run("model", "info", mixed), 0).stdout
        self.assertIn("2 vectors per candidate from special tokens, interaction in layers 3, 5, split pooling", text)
        self.assertIn("dot product", text)

        records = [{"qid": "1", "query": "a question", "docno": name, "text": text, "rank": rank, "score": -rank}
                   for rank, (name, text) in enumerate([("a", "one text"), ("b", "another"), ("c", "one text")])]
        candidates, scores = self.folder / "rerank.jsonl", self.folder / "scores.tsv"
        candidates.write_text("".join(json.dumps(record) + "\n" for record in records))
        reranking = ["rerank", "--input", candidates, "--output", scores, "--model", mixed, "--device", "cpu"]
        result = self.expect(run(*reranking), 0)
        self.assertIn("MixEncoder", result.stderr)
        rows = [line.split("\t") for line in scores.read_text().splitlines()]
        self.assertEqual([row[1] for row in rows], ["a", "b", "c"])
        self.assertEqual(rows[0][2], rows[2][2])
        self.assertNotEqual(rows[0][2], rows[1][2])
        self.expect_error(2, "[rescorer] attention_window", "does not apply to a MixEncoder",
                          arguments=reranking + ["--attention-window", 4])

        timed = json.loads(self.expect(run(
            "bench", "mixencoder", "--model", mixed, "--cross-encoder", bundled, "--candidates", "1,20", "--runs", 1,
            "--texts", 2, "--stored", 500, "--cross-candidates", 2, "--tokens", 24, "--query-tokens", 4, "--device",
            "cpu", "--json"), 0).stdout)
        self.assertEqual([row["name"].split()[0] for row in timed],
                         ["encode", "write", "open", "read", "mixencoder", "mixencoder", "cross-encoder"])
        self.assertEqual(timed[0]["bytes_per_text"], 8 * 384)
        self.assertAlmostEqual(timed[1]["bytes_per_document"], 4 * 384 + 12, delta=1)
        self.assertGreater(timed[-1]["times_mixencoder_20"], 1)

    def test_a_mir_is_made_described_and_checked(self):
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        mir = self.folder / "mir"
        making = ["model", "init", "--from", bundled, "--as", "mir"]
        made = self.expect(run(*making, mir, "--window", 64, "--stride", 48, "--document-length", 300,
                               "--sentence-token", 7), 0)
        self.assertIn("untrained MIR", made.stdout)
        keys = json.loads((mir / "config.json").read_text())
        self.assertEqual([keys[key] for key in ("model_type", "passage_window", "passage_stride", "max_document_tokens",
                                                "psg_token_id", "snt_token_id")], ["mir", 64, 48, 300, 1, 7])
        self.expect_error(2, "mir", arguments=making + [mir])
        self.expect_error(2, "--pooling", "--as mixencoder",
                          arguments=making + [self.folder / "x", "--pooling", "mean"])
        self.expect_error(2, "--stride", "--as mir", arguments=[
            "model", "init", "--from", bundled, "--as", "mixencoder", self.folder / "x", "--stride", 9])
        self.expect_error(2, "passage_stride", arguments=making + [self.folder / "x", "--stride", 129])
        self.assertFalse((self.folder / "x").exists())
        again, other = self.folder / "again", self.folder / "other"
        same = ["--window", 64, "--stride", 48, "--document-length", 300, "--sentence-token", 7]
        self.expect(run(*making, again, *same), 0)
        self.expect(run(*making, other, *same, "--seed", 2), 0)
        weights = [(folder / "model.safetensors").read_bytes() for folder in (mir, again, other)]
        self.assertEqual(weights[0], weights[1])
        self.assertNotEqual(weights[0], weights[2])
        found = json.loads(self.expect(run("model", "check", mir, "--device", "cpu", "--json"), 0).stdout)
        self.assertEqual((found["model_type"], found["layers"], found["usable"]), ("mir", 6, True))
        self.assertEqual(found["mir"], {"passage_window": 64, "passage_stride": 48, "max_document_tokens": 300,
                                        "max_query_tokens": 30, "pooling": "attention"})
        self.assertIn("passages of 64 word pieces, every 48, of the first 300 of a document",
                      self.expect(run("model", "info", mir), 0).stdout)
        pooled = self.folder / "pooled"
        self.expect(run(*making, pooled, *same, "--view-pooling", "max"), 0)
        self.assertEqual(json.loads((pooled / "config.json").read_text())["mir_pooling"], "max")
        shown = self.expect(run("model", "info", pooled, "--json"), 0).stdout
        self.assertEqual(json.loads(shown)["mir"]["pooling"], "their maximum")

    def test_a_parade_is_made_described_and_checked(self):
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        making = ["model", "init", "--from", bundled, "--as", "parade"]
        parade, most = self.folder / "parade", self.folder / "most"
        made = self.expect(run(*making, parade, "--window", 64, "--stride", 48, "--max-passages", 4), 0)
        self.assertIn("untrained PARADE", made.stdout)
        self.expect(run(*making, most, "--aggregation", "max"), 0)
        self.expect_error(2, "passage_stride", arguments=making + [self.folder / "x", "--stride", 300])
        self.expect_error(2, "--links", "--as mir",
                          arguments=making + [self.folder / "x", "--links", "passage=none"])
        self.expect_error(2, "--max-passages", "--as parade", arguments=[
            "model", "init", "--from", bundled, "--as", "mir", self.folder / "x", "--max-passages", 4])
        found = json.loads(self.expect(run("model", "check", parade, "--device", "cpu", "--json"), 0).stdout)
        self.assertEqual((found["model_type"], found["layers"], found["usable"]), ("parade", 6, True))
        self.assertEqual(found["parade"], {"passage_window": 64, "passage_stride": 48, "max_passages": 4,
                                           "max_query_tokens": 30, "pooling": "a Transformer of 2 layers"})
        shown = self.expect(run("model", "info", most), 0).stdout
        self.assertIn("passages of 225 word pieces, every 200, at most 16", shown)
        self.assertIn("their maximum", shown)
        candidates, output = self.folder / "candidates.jsonl", self.folder / "reranked.tsv"
        rows = [{"qid": "q", "query": "a query", "docno": f"d{i}", "text": f"some words of document {i}. " * 80,
                 "rank": i, "score": 5 - i} for i in range(1, 4)]
        candidates.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for model in (parade, most):
            self.expect(run("rerank", "--input", candidates, "--output", output, "--model", model, "--quiet"), 0)
            self.assertEqual(len({line.split("\t")[2] for line in output.read_text().splitlines()}), 3)

    def test_a_deformer_is_made_described_and_checked(self):
        bundled = json.loads(run("model", "info", "--json").stdout)["folder"]
        making = ["model", "init", "--from", bundled, "--as", "deformer"]
        usual, deformer = self.folder / "usual", self.folder / "deformer"
        self.assertIn("untrained Deformer", self.expect(run(*making, usual), 0).stdout)
        self.expect(run(*making, deformer, "--layers", 5, "--query-length", 20), 0)
        shown = json.loads(self.expect(run("model", "info", usual, "--json"), 0).stdout)
        self.assertEqual((shown["deformer"], shown["no_attention"]), ({"lower_layers": 4}, []))
        found = json.loads(self.expect(run("model", "check", deformer, "--device", "cpu", "--json"), 0).stdout)
        self.assertEqual((found["model_type"], found["deformer"], found["max_query_length"], found["usable"]),
                         ("deformer", {"lower_layers": 5}, 18, True))
        shown = self.expect(run("model", "info", deformer), 0).stdout
        self.assertIn("query and document apart in the first 5, together in the other 1", shown)
        drawn = self.expect(run("model", "info", deformer, "--pattern", "checkpoint"), 0).stdout
        self.assertIn("layers 0 to 4", drawn)
        self.expect_error(2, "config.json", "patterns of their own",
                          arguments=["model", "info", deformer, "--pattern", "local"])
        for options, words in ((["--layers", "6"], ("deformer_layers", "from 1 to 5")),
                               (["--layers", "0"], ("--layers", "from 1 on")),
                               (["--layers", "1,2"], ("--layers", "from 1 on")),
                               (["--query-length", "2"], ("query_length",)),
                               (["--vectors", "2"], ("--vectors", "--as mixencoder")),
                               (["--candidate-length", "99"], ("--candidate-length",)),
                               (["--window", "64"], ("--window", "--as mir and parade"))):
            self.expect_error(2, *words, arguments=making + [self.folder / "x", *options])
        candidates, output = self.folder / "candidates.jsonl", self.folder / "reranked.tsv"
        rows = [{"qid": "q", "query": "a query", "docno": f"d{i}", "text": f"some words of document {i}. " * 80,
                 "rank": i, "score": 5 - i} for i in range(1, 4)]
        candidates.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for model in (usual, deformer):
            self.expect(run("rerank", "--input", candidates, "--output", output, "--model", model, "--quiet"), 0)
            self.assertEqual(len({line.split("\t")[2] for line in output.read_text().splitlines()}), 3)
        self.expect_error(2, "attention_window", "Deformer", arguments=[
            "rerank", "--input", candidates, "--output", output, "--model", usual, "--attention-window", 4])

    def test_mistakes(self):
        self.expect_error(1, self.folder / "absent", arguments=["model", "info", self.folder / "absent"])
        empty = self.folder / "empty"
        empty.mkdir()
        result = run("model", "check", empty)
        self.assertIn(result.returncode, (1, 3))
        self.assertIn("config.json", result.stderr)
        self.expect_error(2, "gpu", arguments=["model", "check", "--device", "gpu"])

    def test_model_benchmark_tells_the_tail_and_the_memory_of_concurrent_clients(self):
        arguments = ["bench", "model", "--candidates", 2, "--tokens", 16, "--query-tokens", 4, "--json"]
        rows = json.loads(self.expect(run(*arguments, "--clients", 4, "--runs", 25), 0).stdout)
        whole = rows[0]
        self.assertEqual((whole["runs"], whole["clients"]), (100, 4))
        self.assertLessEqual(whole["median_ms"], whole["p95_ms"])
        self.assertLessEqual(whole["p95_ms"], whole["p99_ms"])
        self.assertLessEqual(whole["p99_ms"], whole["max_ms"])
        self.assertGreater(whole["queries_per_s"], 0)
        self.assertGreaterEqual(whole["peak_rss_mb"], whole["rss_mb"])
        self.assertGreater(whole["lowest_peak_gflop_per_s"], 0)
        self.assertLessEqual(whole["lowest_peak_gflop_per_s"], whole["peak_gflop_per_s"])
        self.assertEqual([row["name"].strip() for row in rows[1:]], ["tokenize", "encode", "load", "first query"])
        few = json.loads(self.expect(run(*arguments, "--runs", 3), 0).stdout)[0]
        self.assertNotIn("p99_ms", few)

    def test_attention_alone_is_timed_by_length_and_window(self):
        arguments = ["bench", "attention", "--candidates", 3, "--runs", 3, "--threads", 1, "--json"]
        rows = json.loads(self.expect(run(*arguments, "--lengths", "7,600", "--windows", "inf,2"), 0).stdout)
        self.assertEqual([row["name"] for row in rows], [f"{length} tokens, w = {window}" for length in (7, 600)
                                                         for window in ("inf", 2)])
        for row in rows:
            self.assertEqual(row["runs"], 3)
            self.assertGreater(row["gflop_per_s"], 0)
        self.assertLess(rows[3]["min_ms"], rows[2]["min_ms"])  # 5 of 600 tokens
        self.expect_error(2, "--windows", "x is not a window", arguments=[*arguments, "--windows", "x"])

    def test_a_sweep_suggests_what_fits_into_the_latency(self):
        arguments = ["bench", "model", "--sweep", "--device", "cpu", "--candidates", 3, "--tokens", 16,
                     "--query-tokens", 4]
        found = json.loads(self.expect(run(*arguments, "--latency-ms", 60000, "--json"), 0).stdout)
        self.assertEqual((found["device"], found["tokens"], found["latency_ms"]), ("cpu", 16, 60000))
        self.assertEqual({cell["precision"] for cell in found["cells"]}, {"fp32", "int16", "bf16", "int8"})
        self.assertEqual([cell["window"] for cell in found["cells"][:3]], [1, 2, 3])
        best = found["suggestion"]
        self.assertEqual((best["precision"], best["threads"], best["window"]), ("fp32", 1, 3))
        table = self.expect(run(*arguments, "--latency-ms", 60000), 0).stdout
        profile = self.write("sweep.toml", table[table.index("[rescorer]"):])
        self.expect(run("config", "check", profile), 0)

        found = json.loads(self.expect(run(*arguments, "--latency-ms", 0.001, "--json"), 0).stdout)
        self.assertIsNone(found["suggestion"])
        self.assertEqual({cell["window"] for cell in found["cells"]}, {1})
        self.assertIn("No setting scores a candidate",
                      self.expect(run(*arguments, "--latency-ms", 0.001), 0).stdout)
        self.expect_error(2, "--threads", arguments=[*arguments, "--threads", 2])
        self.expect_error(2, "--sweep", arguments=["bench", "model", "--latency-ms", 5])


if __name__ == "__main__":
    main()
