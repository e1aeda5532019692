#!/usr/bin/env python3
"""Updates, deletions and snapshots as commands: what they print, refuse and leave behind."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time

from program_support import PROGRAM, ProgramTest, main, run


class IndexTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.index = self.folder / "a.index"
        self.build([("a", "common apple"), ("b", "common berry"), ("c", "common cherry")])

    def build(self, rows, *flags):
        return self.expect(run("index", "--corpus", "tsv", "--input", self.rows("base.tsv", rows), "--index",
                               self.index, *flags), 0)

    def rows(self, name, rows):
        return self.write(name, "".join(f"{one}\t{text}\n" for one, text in rows))

    def update(self, rows, *flags, code=0):
        return self.expect(run("index", "--corpus", "tsv", "--input", self.rows("change.tsv", rows), "--index",
                               self.index, "--update", *flags), code)

    def documents(self, index=None):
        answer = json.loads(self.expect(run("search", "--index", index or self.index, "--no-rescore", "--json",
                                            "--hits", 100, "common"), 0).stdout)
        return {hit["id"]: hit["text"] for hit in answer["hits"]}

    def verify(self, index=None):
        report = json.loads(self.expect(run("verify", "--index", index or self.index, "--json"), 0).stdout)
        self.assertTrue(report["sound"], report)
        return report


class UpdatesTest(IndexTest):
    def test_an_update_replaces_by_id_and_adds(self):
        result = self.update([("b", "common blackberry"), ("d", "common date")])
        self.assertIn("Updated", result.stdout)
        self.assertIn("2 documents: 1 replaced, 1 new", result.stdout)
        self.assertIn("4 documents now", result.stdout)
        self.assertEqual(self.documents(), {"a": "common apple", "b": "common blackberry", "c": "common cherry",
                                            "d": "common date"})
        self.assertEqual(self.verify()["documents"], 4)
        summary = json.loads(self.update([("b", "common bilberry")], "--json").stdout)
        self.assertEqual((summary["read"], summary["replaced"], summary["added"], summary["documents"]), (1, 1, 0, 4))
        self.assertEqual(self.documents()["b"], "common bilberry")

    def test_an_update_keeps_fields_and_their_filters(self):
        def write(name, documents):
            return self.write(name, "".join(json.dumps(document) + "\n" for document in documents))

        def found(condition):
            answer = json.loads(self.expect(run("search", "--index", index, "--no-rescore", "--json", "--fields", "all",
                                                "--filter", json.dumps(condition), "common"), 0).stdout)
            return {hit["id"]: hit["fields"] for hit in answer["hits"]}

        index = self.folder / "fields.index"
        base = write("base.jsonl", [{"id": str(i), "text": f"common word{i}", "lang": ("en", "de")[i % 2], "year": i}
                                    for i in range(10)])
        self.expect(run("index", "--corpus", "jsonl", "--input", base, "--keyword", "lang", "--number", "year",
                        "--index", index), 0)
        change = write("change.jsonl", [{"id": "1", "text": "common again", "lang": "fr", "year": 2001},
                                        {"id": "x", "text": "common new", "lang": "de"}])
        self.expect(run("index", "--corpus", "jsonl", "--input", change, "--index", index, "--update"), 0)
        self.expect(run("delete", "--index", index, "3"), 0)
        self.assertEqual(found({"lang": "fr"}), {"1": {"lang": "fr", "year": 2001}})
        self.assertEqual(set(found({"lang": "de"})), {"5", "7", "9", "x"})
        self.assertEqual(set(found({"year": {"lt": 4}})), {"0", "2"})
        wrong = write("wrong.jsonl", [{"id": "2", "text": "common", "year": "soon"}])
        result = self.expect(run("index", "--corpus", "jsonl", "--input", wrong, "--index", index, "--update"), 3)
        self.assertIn("year", result.stderr)
        self.assertEqual(set(found({"year": {"lt": 4}})), {"0", "2"})
        # More than half of the documents change, so the segment is written again.
        self.expect(run("index", "--corpus", "jsonl", "--input", base, "--index", index, "--update"), 0)
        self.assertEqual(set(found({"lang": "de"})), {"1", "3", "5", "7", "9", "x"})
        self.assertEqual(found({"year": 3}), {"3": {"lang": "de", "year": 3}})
        self.verify(index)

    def test_a_deletion_counts_and_tells_unknown_ids(self):
        result = self.expect(run("delete", "--index", self.index, "a", "x", "c", "a"), 0)
        self.assertIn("Deleted 2 documents", result.stdout)
        self.assertIn("has 1 left", result.stdout)
        self.assertIn("1 id is not in the index: x", result.stdout)
        self.assertEqual(self.documents(), {"b": "common berry"})
        ids = self.write("ids", "x\nb\n\ny\r\nz\n")
        summary = json.loads(self.expect(run("delete", "--index", self.index, "--input", ids, "--json"), 0).stdout)
        self.assertEqual((summary["deleted"], summary["documents"], summary["unknown_ids"], summary["unknown"]),
                         (1, 0, 3, ["x", "y", "z"]))
        self.assertEqual(self.documents(), {})
        self.verify()
        self.update([("a", "common again")])
        self.assertEqual(self.documents(), {"a": "common again"})

    def test_ids_come_from_standard_input(self):
        self.expect(run("delete", "--index", self.index, "--input", "-", stdin="a\nb\n"), 0)
        self.assertEqual(set(self.documents()), {"c"})

    def test_an_id_twice_in_an_update_is_an_error_and_changes_nothing(self):
        rows = [("a", "common one"), ("a", "common two")]
        result = self.update(rows, code=3)
        self.assertIn("change.tsv:2", result.stderr)
        self.assertIn('duplicate id "a"', result.stderr)
        self.assertEqual(self.documents()["a"], "common apple")
        self.update(rows, "--duplicates", "skip-later")
        self.assertEqual(self.documents()["a"], "common one")
        self.assertIn("--duplicates keep", self.update(rows, "--duplicates", "keep", code=2).stderr)

    def test_refusals_name_the_remedy(self):
        self.expect_error(2, "empty id", arguments=("delete", "--index", self.index, ""))
        self.expect_error(2, "nothing to delete", arguments=("delete", "--index", self.index))
        self.expect_error(2, "no index to change", arguments=("delete", "--index", self.folder / "none", "a"))
        self.expect_error(2, "--update", "--resume", arguments=(
            "index", "--corpus", "tsv", "--input", self.folder / "base.tsv", "--index", self.index, "--update",
            "--resume"))
        self.expect_error(2, "no index to change", arguments=(
            "index", "--corpus", "tsv", "--input", self.folder / "base.tsv", "--index", self.folder / "new",
            "--update"))
        self.assertFalse((self.folder / "new").exists())
        self.update([("", "common nothing"), ("e", "common elder")], code=3)  # half of the records are malformed
        self.assertIn("e", self.documents())
        self.assertEqual(len(self.documents()), 4)
        self.expect_error(2, "analyzer", arguments=(
            "index", "--corpus", "tsv", "--input", self.folder / "base.tsv", "--index", self.index, "--update",
            "--language", "german"))
        self.expect_error(2, "updated since", "--update", arguments=(
            "index", "--corpus", "tsv", "--input", self.folder / "base.tsv", "--index", self.index, "--resume"))

    def test_an_unfinished_index_is_finished_first(self):
        rows = self.write("bad.tsv", "a\tcommon apple\n\tno id\n")
        self.expect(run("index", "--corpus", "tsv", "--input", rows, "--index", self.index, "--overwrite"), 3)
        self.expect_error(2, "unfinished", "--resume", arguments=("delete", "--index", self.index, "a"))

    def test_the_language_and_the_token_ids_stay(self):
        self.build([("a", "common Häuser")], "--overwrite", "--language", "german", "--token-ids")
        self.update([("b", "common Häusern")])
        result = self.expect(run("search", "--index", self.index, "--no-rescore", "--json", "Haus"), 0)
        answer = json.loads(result.stdout)
        self.assertEqual({hit["id"] for hit in answer["hits"]}, {"a", "b"})
        self.expect(run("delete", "--index", self.index, "a"), 0)
        self.assertEqual(set(self.documents()), {"b"})
        self.verify()

    def test_deleted_documents_count_in_bm25_until_a_merge(self):
        def score():
            answer = json.loads(self.expect(run("search", "--index", self.index, "--no-rescore", "--json", "berry"),
                                            0).stdout)
            return answer["hits"][0]["score"]
        before = score()
        self.expect(run("delete", "--index", self.index, "a"), 0)
        self.assertEqual(score(), before)
        self.expect(run("delete", "--index", self.index, "c"), 0)  # most are deleted: the segment is rewritten
        self.assertNotEqual(score(), before)

    def test_a_second_writer_is_told_who_writes(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen([PROGRAM, "index", "--corpus", "tsv", "--input", pipe, "--index", self.index, "--update"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
            with open(pipe, "w", encoding="utf-8") as out:
                out.write("b\tcommon blueberry\n")
                out.flush()
                end = time.monotonic() + 60
                while not (self.index / "write.lock").exists() and time.monotonic() < end:
                    time.sleep(0.01)
                self.expect_error(1, "write.lock", f"is being written by process {first.pid}",
                                  arguments=("delete", "--index", self.index, "a"))
                self.expect_error(1, f"is being written by process {first.pid}", arguments=(
                    "index", "--corpus", "tsv", "--input", self.folder / "base.tsv", "--index", self.index,
                    "--update"))
                self.assertEqual(self.documents()["b"], "common berry")
            first.communicate(timeout=120)
            self.assertEqual(first.returncode, 0)
        self.assertEqual(self.documents(), {"a": "common apple", "b": "common blueberry", "c": "common cherry"})

    def test_an_interrupted_update_keeps_what_was_read(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen([PROGRAM, "index", "--corpus", "tsv", "--input", pipe, "--index", self.index,
                               "--update", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            with open(pipe, "w", encoding="utf-8") as out:
                out.write("".join(f"n{i}\tcommon new\n" for i in range(20000)))
                out.flush()
                time.sleep(1)
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(BrokenPipeError):  # it may have ended
                    out.write("".join(f"m{i}\tcommon more\n" for i in range(20000)))
                    out.flush()
            _, messages = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, messages)
        self.assertIn(b"documents are updated and safe", messages)
        self.assertGreater(self.verify()["documents"], 3)

    def test_a_text_of_100_megabytes(self):
        self.update([("b", "common " + "word " * 20_000_000)])
        self.assertEqual(self.verify()["documents"], 3)
        self.update([("b", "common small")])
        self.assertEqual(self.documents()["b"], "common small")

    def test_a_line_beyond_the_limit_ends_the_run_and_changes_nothing(self):
        before = self.documents()
        source = self.write("huge.tsv", "a\tcommon new\nhuge\t")
        with source.open("r+b") as out:
            out.truncate(257 << 20)  # a hole, which takes no space
            out.seek(0, os.SEEK_END)
            out.write(b"\nlast\tcommon last\n")
        for flag in ("--update", "--overwrite"):
            result = self.expect(run("index", "--corpus", "tsv", "--input", source, "--index", self.index, flag), 3)
            self.assertIn("huge.tsv:2", result.stderr)
            self.assertIn("256 MiB", result.stderr)
            self.assertEqual(self.documents(), before)
        self.assertEqual(self.verify()["documents"], 3)

    def test_an_overwritten_index_answers_until_the_new_one_does(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen([PROGRAM, "index", "--corpus", "tsv", "--input", pipe, "--index", self.index,
                               "--overwrite", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            with open(pipe, "w", encoding="utf-8") as out:
                out.write("z\tcommon zucchini\n")
                out.flush()
                end = time.monotonic() + 60
                while not (self.index / "write.lock").exists() and time.monotonic() < end:
                    time.sleep(0.01)
                time.sleep(0.3)
                self.assertEqual(set(self.documents()), {"a", "b", "c"})
            process.communicate(timeout=120)
        self.assertEqual(self.documents(), {"z": "common zucchini"})
        self.verify()


class SnapshotTest(IndexTest):
    def snapshot(self, name="copy.index", *flags):
        return self.expect(run("snapshot", "--index", self.index, "--output", self.folder / name, *flags), 0)

    def test_a_snapshot_has_what_the_index_had(self):
        self.update([("b", "common blackberry")])
        expected = self.documents()
        linked = json.loads(self.snapshot("linked", "--json").stdout)
        copied = json.loads(self.snapshot("copied", "--copy", "--json").stdout)
        self.assertEqual(linked["linked"], linked["files"])
        self.assertEqual((copied["linked"], copied["copied_bytes"]), (0, copied["bytes"]))
        self.expect(run("delete", "--index", self.index, "a", "b", "c"), 0)
        for name in ("linked", "copied"):
            self.assertEqual(self.documents(self.folder / name), expected)
            self.assertEqual(self.verify(self.folder / name)["documents"], 3)
            self.assertFalse((self.folder / name / "write.lock").exists())
        # It is an index of its own, which can be changed.
        self.expect(run("delete", "--index", self.folder / "linked", "c"), 0)
        self.assertEqual(set(self.documents(self.folder / "linked")), {"a", "b"})
        self.assertEqual(self.documents(self.folder / "copied"), expected)

    def test_embeddings_and_graphs_of_its_segments_come_along(self):
        segment = next(self.index.glob("_*.fdt")).stem
        for name in (f"relucent-{segment}.embeddings", "relucent-_99.embeddings", f"relucent-{segment}.graphs.part",
                     "relucent.checked", "notes.txt"):
            (self.index / name).write_text(name)
        self.snapshot()
        names = {path.name for path in (self.folder / "copy.index").iterdir()}
        self.assertIn(f"relucent-{segment}.embeddings", names)
        self.assertIn("relucent.checked", names)
        self.assertFalse(names & {"relucent-_99.embeddings", f"relucent-{segment}.graphs.part", "notes.txt"})

    def test_an_output_that_exists_is_refused(self):
        (self.folder / "there").mkdir()
        arguments = ("snapshot", "--index", self.index, "--output", self.folder / "there")
        self.expect_error(2, "already exists", arguments=arguments)
        self.expect_error(1, "none", arguments=("snapshot", "--index", self.folder / "none", "--output",
                                                self.folder / "x"))
        (self.folder / "empty").mkdir()
        self.expect_error(3, "no index", arguments=("snapshot", "--index", self.folder / "empty", "--output",
                                                    self.folder / "x"))
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("x")], [])

    def test_snapshots_during_commits_are_whole(self):
        stop = threading.Event()
        problems = []

        def change():
            version = 0
            while not stop.is_set():
                version += 1
                rows = self.rows("many.tsv", [(f"v{i}", f"common version{version}") for i in range(60)])
                result = run("index", "--corpus", "tsv", "--input", rows, "--index", self.index, "--update", "--quiet",
                             "--commit-every", 10)
                if result.returncode != 0:
                    problems.append(result.stderr)
                    return
        writer = threading.Thread(target=change)
        writer.start()
        try:
            for i in range(15):
                self.snapshot(f"copy{i}", *(("--copy",) if i % 2 else ()))
                self.assertLessEqual({"a", "b", "c"}, set(self.documents(self.folder / f"copy{i}")))
                self.verify(self.folder / f"copy{i}")
                shutil.rmtree(self.folder / f"copy{i}")
        finally:
            stop.set()
            writer.join()
        self.assertEqual(problems, [])


if __name__ == "__main__":
    main()
