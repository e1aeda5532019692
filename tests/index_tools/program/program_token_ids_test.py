"""Token ids stored by `relucent index --token-ids` and used by `relucent search`, over the Cranfield collection."""

import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from program_support import DATA, ProgramTest, main, run

MODEL = Path("model/relucent-minilm-l6-w4")
CRANFIELD = DATA / "collections" / "cranfield"


class TokenIds(ProgramTest):
    @classmethod
    def setUpClass(cls):
        if not CRANFIELD.exists():
            raise unittest.SkipTest(f"SKIPPED: needs {CRANFIELD} (set RELUCENT_TEST_DATA)")
        cls.shared = Path(tempfile.mkdtemp(prefix="relucent-token-ids-"))
        cls.plain, cls.stored = cls.shared / "plain.index", cls.shared / "stored.index"
        cls.index(cls.plain)
        cls.index(cls.stored, "--token-ids")
        # Four of the topics: each takes a dozen passages or more through the model, several times.
        topics = Path(next(CRANFIELD.rglob("cran.qry"))).read_text().split("\n.I ")
        cls.topics = cls.shared / "topics.tsv"
        texts = [re.sub(r"\s+", " ", topic.split(".W")[1]).strip() for topic in topics[::60]]
        cls.topics.write_text("".join(f"{number}\t{text}\n" for number, text in enumerate(texts)))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared, ignore_errors=True)

    @classmethod
    def index(cls, folder, *arguments):
        result = run("index", "--corpus", "cranfield", "--input", next(CRANFIELD.rglob("cran.all*")), "--index", folder,
                     "--quiet", *arguments)
        if result.returncode != 0:
            raise RuntimeError(result.stderr)
        return result

    def answers(self, index, profile=""):
        config = self.write("profile.toml", "[log]\nlevel = \"warning\"\n[rescorer]\nprecision = \"fp32\"\n" + profile)
        result = self.expect(run("search", "--index", index, "--topics", self.topics, "--config", config, "--json"), 0)
        found = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertGreater(len(found), 3)
        for query in found:
            self.assertGreaterEqual(query["rescored"], 12)
            del query["milliseconds"]
        return found, result.stderr

    def test_scores_have_the_same_bits_as_from_texts(self):
        for profile in ("window = 20\n", "window = 12\nmax_length = 64\n",
                        'window = 12\nmax_length = 96\nlong_documents = "maxp"\nchunk = 40\nstride = 30\n'):
            with self.subTest(profile):
                expected, _ = self.answers(self.plain, profile)
                found, log = self.answers(self.stored, profile)
                self.assertEqual(found, expected)
                self.assertNotIn("token", log.split("time per query")[0])

    def test_ids_of_another_tokenizer_are_passed_over_and_the_log_reports_it_once(self):
        other = self.folder / "other"
        shutil.copytree(MODEL, other)
        lines = (MODEL / "vocab.txt").read_text(encoding="utf-8").split("\n")
        a, b = lines.index("of"), lines.index("the")
        lines[a], lines[b] = lines[b], lines[a]
        (other / "vocab.txt").write_text("\n".join(lines), encoding="utf-8")
        self.index(self.folder / "other.index", "--token-ids", other)
        expected, _ = self.answers(self.plain, "window = 12\n")
        found, log = self.answers(self.folder / "other.index", "window = 12\n")
        self.assertEqual(found, expected)
        self.assertEqual(log.count("tokenizing the texts instead"), 1, log)
        report = json.loads(
            self.expect(run("verify", "--index", self.folder / "other.index", "--quiet", "--json"), 0).stdout)
        self.assertIn("note", [check["status"] for check in report["checks"] if check["name"] == "token ids"])

    def test_verify_makes_them_again(self):
        report = json.loads(self.expect(run("verify", "--index", self.stored, "--quiet", "--json"), 0).stdout)
        checks = [check for check in report["checks"] if check["name"] == "token ids"]
        self.assertEqual([check["status"] for check in checks], ["ok", "ok", "ok"])
        self.assertRegex(checks[2]["detail"], r"^\d+\.\d word pieces per document")
        self.assertNotIn("token ids", self.expect(run("verify", "--index", self.plain, "--quiet"), 0).stdout)

    def test_resuming_keeps_to_what_was_begun(self):
        cran = next(CRANFIELD.rglob("cran.all*"))
        self.expect_error(
            2,
            "token ids",
            arguments=["index", "--corpus", "cranfield", "--input", cran, "--index", self.stored, "--resume"])
        self.expect_error(2,
                          "token ids",
                          arguments=["index", "--corpus", "cranfield", "--input", cran, "--index", self.plain,
                                     "--resume", "--token-ids"])
        self.index(self.stored, "--resume", "--token-ids")

    def test_the_profile_can_ask_for_them(self):
        profile = self.write("index.toml", f'[index]\ntoken_ids = true\n[rescorer]\nmodel = "{MODEL.absolute()}"\n')
        self.index(self.folder / "profile.index", "--config", profile)
        for file in self.stored.glob("_*"):
            self.assertEqual(file.read_bytes(), (self.folder / "profile.index" / file.name).read_bytes(), file.name)

    def test_a_model_that_is_not_there_is_an_error(self):
        self.expect_error(1,
                          "no-such-model",
                          arguments=["index", "--corpus", "cranfield", "--input", next(CRANFIELD.rglob("cran.all*")),
                                     "--index", self.folder / "new.index", "--token-ids", "no-such-model"])
        self.assertFalse((self.folder / "new.index").exists())

    def test_timings_tell_tokenizing_from_encoding(self):
        query = "what is the flow over a flat plate"
        for index in (self.plain, self.stored):
            result = self.expect(run("search", "--index", index, query, "--window", "10", "--timings", "--json"),
                                 0)
            times = json.loads(result.stdout)["milliseconds"]
            self.assertEqual(list(times), ["parse", "first_stage", "fetch", "tokenize", "encode", "device", "combine",
                                           "passages", "total"])
            for name in ("first_stage", "fetch", "tokenize", "encode"):
                self.assertGreater(times[name], 0, name)
            self.assertLess(times["tokenize"], times["encode"])
            self.assertLessEqual(sum(times.values()) - times["total"], times["total"] + 0.01)
            for name in ("parse", "first stage", "fetch text", "tokenize", "encode", "combine", "all"):
                self.assertIn(f"{name} ", result.stderr)


if __name__ == "__main__":
    main()
