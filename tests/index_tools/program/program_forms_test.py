"""`relucent topics`, `qrels` and `run`: showing, checking and converting."""

import gzip
import json
import os
import threading
import time

from program_support import ProgramTest, main, run

TOPICS = """<top>
<num> Number: 301
<title> fish & chips
<desc> Description:
How are they fried?
</top>
<top>
<num> Number: 302
<title> rice
</top>
"""
QRELS = "301 0 a 2\n301 4.5 b -1\n302 0 c 1\n"
RUN = "301 Q0 a 1 5 tag\n301 Q0 b 2 5 tag\n302 Q0 c 1 9 tag\n"


class Topics(ProgramTest):
    def setUp(self):
        super().setUp()
        self.topics = self.write("topics.txt", TOPICS)

    def test_show_lists_them_and_one_in_full(self):
        shown = self.expect(run("topics", "show", self.topics), 0).stdout
        self.assertIn("trec, 2 topics (title 2, description 1, narrative 0)", shown)
        self.assertIn("302  rice", shown)
        self.assertIn("How are they fried?", self.expect(run("topics", "show", self.topics, "301"), 0).stdout)
        self.expect_error(2, "no topic 7", arguments=["topics", "show", self.topics, "7"])

    def test_convert_writes_the_form_that_the_name_asks_for_and_tells_what_is_left_out(self):
        tsv = self.folder / "topics.tsv.gz"
        result = self.expect(run("topics", "convert", self.topics, tsv), 0)
        self.assertEqual(result.stdout, "")
        self.assertIn("2 topics: trec -> tsv", result.stderr)
        self.assertIn("cannot hold them: 1 descriptions\n", result.stderr)
        self.assertEqual(gzip.decompress(tsv.read_bytes()).decode(), "301\tfish & chips\n302\trice\n")

    def test_convert_to_standard_output(self):
        lines = self.expect(run("topics", "convert", self.topics, "--to", "jsonl"), 0).stdout.splitlines()
        self.assertEqual(json.loads(lines[0]),
                         {"qid": "301", "query": "fish & chips", "description": "How are they fried?"})
        self.assertIn("<query>fish &amp; chips</query>",
                      self.expect(run("topics", "convert", self.topics, "--to", "xml"), 0).stdout)

    def test_convert_another_text(self):
        one = self.write("one.txt", TOPICS.split("</top>")[0] + "</top>\n")
        result = self.expect(run("topics", "convert", one, "--to", "tsv", "--topic-text", "description"), 0)
        self.assertEqual(result.stdout, "301\tHow are they fried?\n")
        self.assertIn("cannot hold them: 1 titles\n", result.stderr)
        self.expect_error(3, "topic 302", "--topic-text",
                          arguments=["topics", "convert", self.topics, "--to", "tsv", "--topic-text", "description"])

    def test_mistakes_leave_no_output(self):
        new = self.folder / "new"
        self.expect_error(2, "--to trec", arguments=["topics", "convert", self.topics, new])
        self.expect_error(2, "sgml", "choose from", arguments=["topics", "convert", self.topics, new, "--to", "sgml"])
        self.expect_error(3, "topic 301", arguments=["topics", "convert", self.topics, new, "--to", "smart"])
        self.expect_error(3,
                          "bad.txt:1",
                          arguments=["topics", "convert",
                                     self.write("bad.txt", "no tab\n"), new, "--to", "xml"])
        self.assertFalse(new.exists())


class Qrels(ProgramTest):
    def setUp(self):
        super().setUp()
        self.qrels = self.write("qrels.txt", QRELS)

    def test_show_counts_grades(self):
        shown = self.expect(run("qrels", "show", self.qrels), 0).stdout
        self.assertIn("trec, 3 judgments for 2 queries", shown)
        self.assertIn("grade -1  1\n", shown)

    def test_convert(self):
        result = self.expect(run("qrels", "convert", self.qrels, "--to", "smart"), 0)
        self.assertEqual(result.stdout, "301 a 2\n301 b -1\n302 c 1\n")
        self.assertIn("iterations", result.stderr)
        jsonl = self.folder / "qrels.jsonl"
        self.expect(run("qrels", "convert", self.qrels, jsonl), 0)
        self.assertEqual(self.expect(run("qrels", "convert", jsonl, "--to", "trec"), 0).stdout, QRELS)
        self.expect_error(2, "--to trec", arguments=["qrels", "convert", self.qrels, self.folder / "new"])


class Streams(ProgramTest):
    """Standard input and pipes wherever a file is read."""

    def test_every_reader_takes_standard_input(self):
        for name in ("-", "/dev/stdin", "/dev/fd/0"):
            self.assertIn("2 topics", self.expect(run("topics", "show", name, stdin=TOPICS), 0).stdout)
            self.assertEqual(self.expect(run("qrels", "convert", name, "-", "--to", "trec", stdin=QRELS), 0).stdout,
                             QRELS)
            self.assertIn("3 hits of 2 queries", self.expect(run("run", "check", name, stdin=RUN), 0).stdout)
            self.assertIn("ok\n",
                          self.expect(run("config", "check", name, stdin="[rescorer]\nwindow = 5\n"), 0).stdout)
            self.assertIn("window = 5",
                          self.expect(run("config", "show", name, stdin="[rescorer]\nwindow = 5\n"), 0).stdout)
        qrels = self.write("q", QRELS)
        file = self.write("r.run", RUN)
        expected = self.expect(run("evaluate", "--qrels", qrels, "--run", file), 0).stdout
        self.assertEqual(self.expect(run("evaluate", "--qrels", "-", "--run", file, stdin=QRELS), 0).stdout, expected)
        self.assertEqual(self.expect(run("evaluate", "--qrels", qrels, "--run", "-", stdin=RUN), 0).stdout, expected)

    def test_mistakes_name_standard_input(self):
        self.expect_error(3, "standard input:1: has no tab", arguments=["topics", "show", "-"], stdin="no tab\n")
        self.expect_error(3, "standard input: contains no topics", arguments=["topics", "show", "-"], stdin="")
        self.expect_error(3, "standard input:2:1", arguments=["config", "check", "-"], stdin="[rescorer]\nwindo = 5\n")

    def test_named_pipes_are_waited_for(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: (time.sleep(0.3), pipe.write_text(TOPICS)))
        writer.start()
        self.assertIn("2 topics", self.expect(run("topics", "show", pipe), 0).stdout)
        writer.join()

    def test_a_profile_nested_too_deep_is_named(self):
        file = self.write("deep.toml", "[rescorer]\n" + ".".join(["a"] * 100_000) + " = 1\n")
        self.expect_error(3, "deep.toml:2:", "nests deeper than 256 levels", arguments=["config", "check", file])


class Run(ProgramTest):
    def setUp(self):
        super().setUp()
        self.run_file = self.write("a.run", RUN)

    def test_check_notes_ties_and_missing_queries(self):
        topics = self.write("t.tsv", "301\ta\n303\tb\n")
        checked = self.expect(run("run", "check", self.run_file, "--topics", topics), 0).stdout
        self.assertIn("trec, 3 hits of 2 queries, 1 to 2 per query, tag \"tag\"", checked)
        self.assertIn("1 neighbouring hits have equal scores", checked)
        self.assertIn("1 queries are missing: 303", checked)
        self.assertIn("not expected: 302", checked)
        self.expect(run("run", "check", self.run_file, "--strict"), 3)
        self.expect(run("run", "check", self.write("b.run", "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"), "--strict"), 0)

    def test_convert_decides_ties(self):
        self.assertEqual(
            self.expect(run("run", "convert", self.run_file, "--to", "trec", "--order", "rank", "--tag", "new"),
                        0).stdout, "301 Q0 a 1 5 new\n301 Q0 b 2 4.9999995 new\n302 Q0 c 1 9 new\n")
        result = self.expect(run("run", "convert", self.run_file, "--to", "msmarco", "--hits", "1"), 0)
        self.assertEqual(result.stdout, "301\tb\t1\n302\tc\t1\n")
        self.assertIn("1 ties", result.stderr)

    def test_evaluate_reads_every_form(self):
        values = set()
        for name in ("x.run", "x.tsv", "x.jsonl.gz"):
            self.expect(run("run", "convert", self.run_file, self.folder / name), 0)
            values.add(
                self.expect(run("evaluate", "--qrels", self.write("q", QRELS), "--run", self.folder / name), 0).stdout)
        self.assertEqual(len(values), 1)


if __name__ == "__main__":
    main()
