#!/usr/bin/env python3
"""The commands index and verify from outside: exit codes, messages, and what kills, signals and full disks leave.

Usage: indexing_faults_test.py PROGRAM [unittest's arguments]
"""
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
DOCUMENTS = 30000
COMMIT_EVERY = 500


def write_collection(path, documents, seed=1):
    rng = random.Random(seed)
    words = [
        f"{a}{b}" for a in "river stone lamp winter boat quick gold index".split()
        for b in "a b c d e ing s ed".split()
    ]
    with open(path, "w", encoding="utf-8") as out:
        for i in range(documents):
            out.write(f"d{i}\t{' '.join(rng.choices(words, k=rng.randrange(5, 60)))}\n")


class Indexing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="relucent-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)
        return self.path(name)

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600, check=False)

    def index_command(self, name, *more, source="docs.tsv", corpus="tsv"):
        return [PROGRAM, "index", "--corpus", corpus, "--input", self.path(source), "--index", self.path(name), *more]

    def index(self, name, *more, **which):
        return self.run_program(*self.index_command(name, *more, **which)[1:])

    def verify(self, name, *more):
        result = self.run_program("verify", "--index", self.path(name), "--json", *more)
        return result.returncode, json.loads(result.stdout) if result.stdout else {}

    def assertFails(self, result, code, *parts):
        self.assertEqual(result.returncode, code, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertNotIn("terminate called", result.stderr)

    # The same ids, statistics and hits as an index made without interruption.
    def assertSameIndex(self, name, whole):
        self.assertEqual(self.verify(name)[0], 0)
        topics = self.write("topics.tsv", "1\triver lamping stones\n2\tgolda winterb boats\n3\tindexed quickc quickd\n")
        runs = []
        for index in (name, whole):
            run = self.path(f"{index}.run")
            result = self.run_program("search", "--index", self.path(index), "--no-rescore", "--hits", "100",
                                      "--topics", topics, "--run", run)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(run, encoding="utf-8") as lines:
                runs.append([line.split()[:5] for line in lines])
        self.assertEqual(len(runs[0]), 300)
        self.assertEqual(runs[0], runs[1])
        summaries = [json.loads(self.index(index, "--resume", "--json").stdout) for index in (name, whole)]
        for key in ("documents", "tokens", "documents_with_tokens"):
            self.assertEqual(summaries[0][key], summaries[1][key], key)

    def test_a_summary_for_people_and_one_for_programs(self):
        self.write("docs.tsv", "1\tone text\n2\tanother\n3\t\n")
        result = self.index("a.index")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Indexed 3 documents", result.stdout)
        self.assertIn("1 document without text", result.stdout)
        result = self.index("b.index", "--json")
        summary = json.loads(result.stdout)
        self.assertEqual((summary["documents"], summary["documents_with_tokens"], summary["tokens"]), (3, 2, 3))
        self.assertEqual(result.stderr, "")
        code, report = self.verify("b.index")
        self.assertEqual((code, report["sound"], report["documents"], report["corpus"]), (0, True, 3, "tsv"))

    def test_help_shows_an_example(self):
        for command in ("index", "verify"):
            result = self.run_program(command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Example:", result.stdout)
            self.assertIn(f"relucent {command} --", result.stdout)

    def test_usage_errors_end_with_2(self):
        self.write("docs.tsv", "1\tone\n")
        self.assertFails(self.index("a.index", corpus="nonsense"), 2, "nonsense", "msmarco-passage")
        self.assertFails(self.index("a.index", "--resume", "--overwrite"), 2, "--overwrite")
        self.assertFails(self.index("a.index", "--duplicates", "maybe"), 2, "skip-later")
        self.assertFails(self.run_program("index", "--corpus", "tsv"), 2, "--input")
        self.assertEqual(self.index("a.index").returncode, 0)
        self.assertFails(self.index("a.index"), 2, "a.index", "--resume", "--overwrite")
        self.assertEqual(self.index("a.index", "--overwrite").returncode, 0)

    def test_bad_input_ends_with_1_or_3_and_names_the_place(self):
        self.assertFails(self.index("a.index", source="absent.tsv"), 1, "absent.tsv")
        self.write("bad.tsv", "1\tone\nno tab\n")
        self.assertFails(self.index("a.index", "--strict", source="bad.tsv"), 3, "bad.tsv:2", "no tab")
        self.assertFails(self.index("b.index", source="bad.tsv"), 3, "bad.tsv:2", "--max-malformed")
        self.write("twice.tsv", "1\tone\n1\ttwo\n")
        self.assertFails(self.index("c.index", source="twice.tsv"), 3, "twice.tsv:2", "--duplicates")
        self.assertFails(self.run_program("verify", "--index", self.path("nothing")), 1, "nothing")
        self.assertFails(self.run_program("verify", "--index", self.folder), 3, "contains no index")

    def test_broken_links_are_named_and_passed_over(self):
        os.mkdir(self.path("in"))
        self.write("in/docs.tsv", "1\tone\n")
        os.symlink("nowhere", self.path("in/gone.tsv"))
        os.symlink("nowhere", self.path("in/gone.pdf"))
        os.symlink("..", self.path("in/up"))
        result = self.index("a.index", source="in")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 links skipped: ", result.stdout)
        self.assertIn("in/gone.tsv (its target cannot be reached)", result.stdout)
        self.assertIn("in/up", result.stdout)
        self.assertEqual(len(json.loads(self.index("b.index", "--json", source="in").stdout)["links_skipped"]), 2)
        self.assertFails(self.index("c.index", "--strict", source="in"), 3, "in/", "link")

    def test_standard_input_is_indexed_and_resumed_on_ones_word_alone(self):
        def index(*more):
            return subprocess.run([PROGRAM, "index", "--corpus", "tsv", "--input", "-", "--index", self.path("a.index"),
                                   *more], input="1\tone\n2\ttwo\nno tab\n", capture_output=True, text=True,
                                  timeout=600, check=False)
        self.assertFails(index(), 3, "standard input:3")
        self.assertFails(index("--resume", "--max-malformed", "50"), 2, "standard input is a stream", "--force-resume")
        result = index("--force-resume", "--max-malformed", "50", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["documents"], 2)
        self.assertEqual(self.verify("a.index")[0], 0)

    def test_a_folder_whose_name_is_not_utf8_is_refused_before_it_is_made(self):
        self.write("docs.tsv", "1\tone\n")
        folder = os.fsencode(self.path("")) + b"in\xffdex"
        for command in (["index", "--corpus", "tsv", "--input", self.path("docs.tsv"), "--index", folder],
                        ["search", "--index", folder, "--no-rescore", "x"]):
            result = subprocess.run([PROGRAM, *command], capture_output=True, timeout=600, check=False)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(b"is not UTF-8", result.stderr)
        self.assertEqual(os.listdir(self.folder), ["docs.tsv"])

    def test_a_run_that_indexed_nothing_does_not_stand_in_the_next_ones_way(self):
        self.write("twice.tsv", "1\tone\n1\ttwo\n")
        self.assertFails(self.index("a.index", source="twice.tsv"), 3, "twice.tsv:2")
        self.assertEqual(self.index("a.index", "--duplicates", "keep", source="twice.tsv").returncode, 0)
        self.assertFails(self.index("a.index", "--duplicates", "keep", source="twice.tsv"), 2, "already holds an index")

    def test_a_folder_that_cannot_be_made_ends_with_1(self):
        self.write("docs.tsv", "1\tone\n")
        self.write("file", "")
        self.assertFails(self.index("file/index"), 1, "file/index")

    def test_a_foreign_folder_is_not_resumed(self):
        self.write("docs.tsv", "1\tone\n")
        os.mkdir(self.path("a.index"))
        self.write("a.index/segments_1", "this is not an index")
        self.assertFails(self.index("a.index", "--resume"), 3, "a.index")

    def test_a_locked_index_ends_with_1(self):
        self.write("docs.tsv", "1\tone\n")
        self.assertEqual(self.index("a.index").returncode, 0)
        with open(self.path("a.index/write.lock"), "w", encoding="utf-8") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            self.assertFails(self.index("a.index", "--overwrite"), 1, "a.index", "lock")
        self.assertEqual(self.index("a.index", "--overwrite").returncode, 0)

    def test_a_ten_megabyte_document_is_indexed(self):
        self.write("docs.tsv", "1\t" + "word " * 2_000_000 + "\n2\tafter\n")
        result = self.index("a.index", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["tokens"], 2_000_001)
        self.assertEqual(self.verify("a.index")[0], 0)

    def test_a_part_of_a_corpus_is_sound_but_not_the_whole(self):
        self.write("doc-text", "1\none document\n   /\n2\nanother\n   /\n")
        self.assertEqual(self.index("part.index", source="doc-text", corpus="vaswani").returncode, 0)
        self.assertEqual(self.verify("part.index")[0], 0)
        code, report = self.verify("part.index", "--corpus", "vaswani")
        self.assertEqual((code, report["sound"], report["matches"]), (3, True, False))
        self.assertIn({"name": "corpus", "status": "mismatch",
                       "detail": "partial: 2 of the 11,429 documents of vaswani"}, report["checks"])
        text = self.run_program("verify", "--index", self.path("part.index"), "--corpus", "vaswani").stdout
        self.assertIn("sound, but does not hold the whole of vaswani", text)
        self.assertNotIn("damaged", text)

    def test_a_flipped_byte_in_any_file_ends_verify_with_3(self):
        write_collection(self.path("docs.tsv"), 300)
        self.assertEqual(self.index("a.index").returncode, 0)
        rng = random.Random(3)
        names = [
            name for name in os.listdir(self.path("a.index")) if name.startswith(("_", "segments", "relucent.manifest"))
        ]
        self.assertGreater(len(names), 2)
        for name in names:
            with open(self.path(f"a.index/{name}"), "r+b") as file:
                size = file.seek(0, 2)
                for at in {0, size - 1, *(rng.randrange(size) for _ in range(3))}:
                    file.seek(at)
                    byte = file.read(1)
                    file.seek(at)
                    file.write(bytes([byte[0] ^ rng.randrange(1, 256)]))
                    file.flush()
                    code, report = self.verify("a.index")
                    self.assertEqual((code, report["sound"]), (3, False), f"{name} byte {at}")
                    file.seek(at)
                    file.write(byte)
                    file.flush()
        self.assertEqual(self.verify("a.index")[0], 0)

    def wait_for_commits(self, name, generation, process):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if os.path.isdir(self.path(name)):
                found = [re.fullmatch(r"segments_([0-9a-z]+)", entry) for entry in os.listdir(self.path(name))]
                if any(match and int(match[1], 36) >= generation for match in found):
                    return
            time.sleep(0.005)
        self.fail("no commit in time, or the program ended early")

    def test_interrupted_it_states_how_to_resume_and_does(self):
        write_collection(self.path("docs.tsv"), DOCUMENTS)
        self.assertEqual(self.index("whole.index").returncode, 0)
        for number in (signal.SIGINT, signal.SIGTERM):
            name = f"{number.name}.index"
            for _ in range(10):  # on a busy machine the signal may come after the end
                shutil.rmtree(self.path(name), ignore_errors=True)
                with subprocess.Popen(self.index_command(name, "--commit-every", str(COMMIT_EVERY)),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                    self.wait_for_commits(name, 4, process)
                    process.send_signal(number)
                    _, messages = process.communicate(timeout=120)
                if process.returncode != 0:
                    break
            self.assertEqual(process.returncode, 130, messages)
            self.assertIn("--resume", messages)
            code, report = self.verify(name)
            self.assertEqual(code, 0)
            self.assertGreater(report["documents"], 0)
            self.assertLess(report["documents"], DOCUMENTS)
            result = self.index(name, "--resume", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)["resumed_from"], report["documents"])
            self.assertSameIndex(name, "whole.index")

    def test_a_full_disk_leaves_the_last_commit_and_resume_finishes(self):
        disk = self.path("disk")
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk],
                                 capture_output=True,
                                 text=True,
                                 check=False)
        if mounted.returncode != 0:
            self.skipTest("SKIPPED: a small tmpfs cannot be mounted here: " + mounted.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", disk], check=False)
        write_collection(self.path("docs.tsv"), DOCUMENTS)
        result = self.index("whole.index", "--commit-every", str(COMMIT_EVERY))
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.index("disk/a.index", "--commit-every", str(COMMIT_EVERY))
        self.assertFails(result, 1, "full", "--resume")
        code, report = self.verify("disk/a.index")
        self.assertEqual(code, 0, report)
        self.assertGreater(report["documents"], 0)
        self.assertLess(report["documents"], DOCUMENTS)
        subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
        result = self.index("disk/a.index", "--resume", "--commit-every", str(COMMIT_EVERY))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertSameIndex("disk/a.index", "whole.index")


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} PROGRAM; {PROGRAM!r} is no program")
    PROGRAM = os.path.abspath(PROGRAM)
    del sys.argv[1]
    unittest.main(verbosity=2)
