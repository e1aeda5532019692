"""Indexes, embeddings, graphs and sidecars that an earlier version wrote: read as they are, or refused with the command
that rebuilds them. tests/goldens/formats/README.md describes the files."""

import json
import os
import shutil
import struct
import sys
import unittest
import zlib
from pathlib import Path

from program_support import ProgramTest, main, run

FORMATS = Path(__file__).parents[2] / "goldens/formats"
sys.path.insert(0, str(FORMATS))
sys.dont_write_bytecode = True  # nothing new in the folder of the frozen files
import make  # noqa: E402

ANSWERS = json.loads((FORMATS / "answers.json").read_text())
TOLERANCE = 1e-4  # of a logit between versions


def crc64_xz(content):
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xC96C5795D7870F42 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFFFFFFFFFF


def contents(folder):
    return {path.name: (path.read_bytes(), path.stat().st_ino) for path in folder.iterdir()}


class Formats(ProgramTest):
    def setUp(self):
        super().setUp()
        self.formats = self.folder / "formats"
        shutil.copytree(FORMATS, self.formats, ignore=shutil.ignore_patterns("__pycache__"))
        make.set_times(self.formats / "foreign")
        self.index = self.formats / "index"

    def add_embeddings(self, precision="fp16"):
        shutil.copytree(self.formats / f"embeddings-{precision}", self.index, dirs_exist_ok=True)

    def search(self, name, query="brown rice", *more):
        index = self.formats / name.split(".")[0]
        options = [option.format(formats=self.formats) for option in make.SEARCHES[name]]
        return run("search", "--index", index, "--json", "--hits", make.DOCUMENTS, *options, *more, query,
                   XDG_CACHE_HOME=str(self.folder / "cache"))

    def expect_answers(self, name):
        self.assertEqual(sorted(ANSWERS[name]), sorted(make.QUERIES))
        for query, expected in ANSWERS[name].items():
            found = json.loads(self.expect(self.search(name, query), 0).stdout)
            self.assertFalse(found["degraded"])
            self.assertEqual([hit["id"] for hit in found["hits"]], [hit[0] for hit in expected], (name, query))
            for hit, (_, score, logit) in zip(found["hits"], expected):
                self.assertEqual(hit.get("logit") is None, logit is None)
                if logit is None:
                    self.assertEqual(struct.pack("f", hit["score"]), struct.pack("f", score))  # BM25: the same bits
                else:
                    self.assertAlmostEqual(hit["logit"], logit, delta=TOLERANCE)
                    self.assertEqual(hit["score"], hit["logit"])

    def test_the_answers_of_every_kind_are_frozen(self):
        self.assertEqual(sorted(ANSWERS), sorted(make.SEARCHES))
        size = sum(path.stat().st_size for path in FORMATS.rglob("*") if path.is_file() and path.suffix != ".pyc")
        self.assertLessEqual(size, 200_000)

    def test_an_index_with_token_ids_gives_the_same_answers(self):
        before = contents(self.index)
        self.expect_answers("index.bm25")
        self.expect_answers("index.bert")
        self.assertEqual(contents(self.index), before)

    def test_embeddings_of_every_precision_are_read(self):
        for precision in ("fp32", "fp16", "int8"):
            self.add_embeddings(precision)
            before = contents(self.index)
            self.expect_answers(f"index.mixencoder-{precision}")
            self.assertEqual(contents(self.index), before)
        # Each gives other scores, so they come from the files.
        by_precision = [ANSWERS[f"index.mixencoder-{precision}"] for precision in ("fp32", "fp16", "int8")]
        self.assertNotEqual(by_precision[0], by_precision[1])
        self.assertNotEqual(by_precision[0], by_precision[2])

    def test_nothing_is_encoded_or_made_again(self):
        self.add_embeddings()
        before = contents(self.index)
        for command, model, count in (("encode", "mixencoder", "encoded"), ("graphs", "mir", "made")):
            result = run(command, "--index", self.index, "--model", self.formats / model, "--json", "--quiet")
            report = json.loads(self.expect(result, 0).stdout)
            self.assertEqual(report["documents"], make.DOCUMENTS, report)
            self.assertEqual(report[count], 0, report)
        self.assertEqual(contents(self.index), before)

    def test_graphs_are_read(self):
        before = contents(self.index)
        self.expect_answers("index.mir")
        self.assertEqual(contents(self.index), before)

    def test_sidecars_of_another_programs_index_are_taken_as_they_are(self):
        foreign = self.formats / "foreign"
        before = contents(foreign)
        self.assertIn("relucent-contents.lengths", before)
        self.assertIn("relucent.checked", before)
        self.expect_answers("foreign.bm25")
        self.assertEqual(contents(foreign), before, "a sidecar was written again")
        # They are read: with other files of the index, the same sidecars are replaced.
        os.utime(foreign / "_0.cfs", ns=(make.TIME + 10**9, make.TIME + 10**9))
        self.expect_answers("foreign.bm25")
        self.assertNotEqual(contents(foreign), before)

    def test_verify_finds_all_of_it_sound(self):
        self.add_embeddings()
        for index, more in ((self.index, []), (self.formats / "foreign", ["--config", self.formats / "foreign.toml"])):
            report = json.loads(self.expect(run("verify", "--index", index, "--json", *more), 0).stdout)
            self.assertTrue(report["sound"], report)
            self.assertEqual({check["status"] for check in report["checks"]} - {"ok", "note"}, set(), report)
            self.assertEqual(report["documents"], make.DOCUMENTS)
            names = {check["name"] for check in report["checks"]}
            if index == self.index:
                self.assertLessEqual({"checksums", "token ids", "embeddings", "graphs", "statistics"}, names)

    def test_documents_are_added_and_the_rest_is_kept(self):
        self.add_embeddings()
        kept = {name: content for name, content in contents(self.index).items() if name.startswith("relucent-_")}
        more = self.write("more.tsv", (self.formats / "documents.tsv").read_text() + "new\tbrown bread for the boat\n")
        self.expect(run("index", "--corpus", "tsv", "--input", more, "--index", self.index, "--force-resume",
                        "--token-ids", self.formats / "bert", "--quiet"), 0)
        for command, model in (("encode", "mixencoder"), ("graphs", "mir")):
            self.expect(run(command, "--index", self.index, "--model", self.formats / model, "--quiet"), 0)
        now = contents(self.index)
        for name, content in kept.items():
            self.assertEqual(now[name], content, name)
        for name in ("index.bert", "index.mixencoder-fp16", "index.mir"):
            found = json.loads(self.expect(self.search(name), 0).stdout)
            self.assertIn("new", [hit["id"] for hit in found["hits"]])

    # An index of before declared fields: it has none, and all that needs none works.

    def test_pages_continue_one_another(self):
        for query, expected in ANSWERS["index.bm25"].items():
            ids = [hit[0] for hit in expected]
            for offset in range(0, len(ids), 4):
                result = run("search", "--index", self.index, "--json", "--no-rescore", "--offset", offset, "--hits", 4,
                             query)
                page = json.loads(self.expect(result, 0).stdout)
                self.assertEqual([hit["id"] for hit in page["hits"]], ids[offset:offset + 4], query)

    def test_filters_facets_and_fields_of_undeclared_keys_are_errors(self):
        for options in (["--filter", '{"lang": "de"}'], ["--facets", "lang"]):
            self.expect_error(2, "\"lang\"", "declares none", "--keyword",
                              arguments=["search", "--index", self.index, "--no-rescore", *options, "rice"])
        self.expect_error(2, "\"title\"", "fields that have: contents", "--text",
                          arguments=["search", "--index", self.index, "--no-rescore", "--search-fields",
                                     "contents,title^2", "rice"])
        for option in ("--keyword", "--number", "--text"):
            more = self.write("more.jsonl", '{"id": "new", "text": "rice", "lang": "de"}\n')
            self.expect_error(2, "lang", option,
                              arguments=["index", "--update", "--corpus", "jsonl", "--input", more, "--index",
                                         self.index, "--token-ids", self.formats / "bert", option, "lang", "--quiet"])
        self.expect_answers("index.bm25")
        result = self.search("index.bm25", "brown rice cooker", "--search-fields", "contents^2")
        weighted = json.loads(self.expect(result, 0).stdout)
        self.assertEqual([hit["id"] for hit in weighted["hits"]],
                         [hit[0] for hit in ANSWERS["index.bm25"]["brown rice cooker"]])

    def test_documents_with_metadata_replace_others(self):
        replaced = ANSWERS["index.bm25"]["brown rice cooker"][0][0]
        lines = [{"id": replaced, "text": "a boat", "lang": "de"},
                 {"id": "new", "text": "brown rice cooker", "year": 1}]
        more = self.write("more.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        report = json.loads(self.expect(run("index", "--update", "--corpus", "jsonl", "--input", more, "--index",
                                            self.index, "--token-ids", self.formats / "bert", "--quiet", "--json"),
                                        0).stdout)
        self.assertEqual((report["replaced"], report["added"], report["documents"]), (1, 1, make.DOCUMENTS + 1))
        found = json.loads(self.expect(self.search("index.bm25", "brown rice cooker", "--fields", "all"), 0).stdout)
        fields = {hit["id"]: hit["fields"] for hit in found["hits"]}
        self.assertEqual(fields["new"], {"year": 1})
        self.assertNotIn(replaced, fields)
        self.assertEqual({json.dumps(values) for id, values in fields.items() if id != "new"}, {"{}"})
        document = json.loads(self.expect(run("doc", "--index", self.index, "--json", replaced), 0).stdout)
        self.assertIn("de", json.dumps(document))
        report = json.loads(self.expect(run("verify", "--index", self.index, "--json"), 0).stdout)
        self.assertTrue(report["sound"], report)

    # Versions that are not read any more.

    def make_records_older(self, kind):
        for path in self.index.glob(f"*.{kind}"):
            content = bytearray(path.read_bytes())
            at = len("relucent records")
            version, length = struct.unpack_from("<II", content, at)
            self.assertEqual(version, 1)
            struct.pack_into("<I", content, at, 0)
            struct.pack_into("<Q", content, length - 8, crc64_xz(content[:length - 8]))
            path.write_bytes(content)

    def expect_refusal(self, name, *parts):
        result = self.search(name)
        self.assertIn(result.returncode, (1, 2, 3), result.stderr)
        for part in ("relucent: error: ", *parts):
            self.assertIn(str(part), result.stderr)

    def test_older_embeddings_are_refused_and_the_command_named_repairs_them(self):
        self.add_embeddings()
        self.make_records_older("embeddings")
        self.expect_refusal("index.mixencoder-fp16", "is of version 0", "relucent encode")
        self.expect(run("encode", "--index", self.index, "--model", self.formats / "mixencoder",
                        "--config", self.formats / "fp32.toml", "--quiet"), 0)
        self.expect_answers("index.mixencoder-fp16")

    def test_older_graphs_are_refused_and_the_command_named_repairs_them(self):
        self.make_records_older("graphs")
        self.expect_refusal("index.mir", "is of version 0", "relucent graphs")
        self.expect(run("graphs", "--index", self.index, "--model", self.formats / "mir", "--quiet"), 0)
        self.expect_answers("index.mir")

    def test_missing_records_are_errors_that_name_the_command(self):
        for path in self.index.glob("*.graphs"):
            path.unlink()
        self.expect_refusal("index.mixencoder-fp16", "relucent encode")
        self.expect_refusal("index.mir", "relucent graphs")

    def test_an_older_index_is_refused_with_the_command_that_rebuilds_it(self):
        path = next(self.index.glob("segments_*"))
        content = bytearray(path.read_bytes())
        key = content.index(b"format", content.index(b"relucent."))
        at = key + len("format")  # a string's length and the version
        self.assertEqual(content[at:at + 1], b"\x01")
        content[at + 1:at + 2] = b"0"
        content[-8:] = struct.pack(">Q", zlib.crc32(content[:-8]))
        path.write_bytes(content)
        self.expect_refusal("index.bm25", "another version", self.index, "relucent index", "--overwrite")
        self.expect(run("index", "--corpus", "tsv", "--input", self.formats / "documents.tsv", "--index", self.index,
                        "--overwrite", "--quiet"), 0)
        self.expect_answers("index.bm25")

    def test_older_sidecars_are_replaced(self):
        foreign = self.formats / "foreign"
        lengths = foreign / "relucent-contents.lengths"
        content = lengths.read_bytes()
        self.assertTrue(content.startswith(b"relucent lengths 2\n"), content[:20])
        lengths.write_bytes(content.replace(b"lengths 2", b"lengths 1", 1))
        self.expect_answers("foreign.bm25")
        self.assertEqual(lengths.read_bytes(), content)


if __name__ == "__main__":
    main()
