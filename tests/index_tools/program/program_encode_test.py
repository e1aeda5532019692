"""`relucent encode`: a MixEncoder's or a ColBERT's embeddings next to an index, through kills, damage and searches."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import program_support
from program_support import ProgramTest, main, run

BUNDLED = Path("model/relucent-minilm-l6-w4")
KILLS = int(os.environ.get("RELUCENT_ENCODE_KILLS", "30"))
WORDS = "river stone lamp winter boat quick gold index".split()


def write_documents(path, count, first=0):
    rng = random.Random(first)
    with open(path, "w", encoding="utf-8") as out:
        for i in range(first, first + count):
            out.write(f"d{i}\t{' '.join(rng.choices(WORDS, k=rng.randrange(1, 7)))}\n")
    return path


def embeddings(index):
    return {path.name: path.read_bytes() for path in Path(index).iterdir() if ".embeddings" in path.name}


class Encode(ProgramTest):
    # A document's embedding in fp32, fp16 and int8.
    BYTES = (4 * 384, 2 * 384, 384 + 4)
    SHAPE = "1 vector of 384 numbers"
    MODEL_OF_THE_REMEDY = "MixEncoder"
    INTERRUPTED_DOCUMENTS, KILLED_DOCUMENTS = 2400, 1200

    def setUp(self):
        super().setUp()
        self.model = self.folder / "mix"
        self.make_model()
        self.index = self.folder / "the.index"

    def make_model(self):
        self.expect(run("model", "init", "--from", BUNDLED, "--as", "mixencoder", self.model), 0)

    def make_index(self, count, *more, first=0):
        documents = write_documents(self.folder / f"{first}.tsv", count, first)
        return self.expect(run("index", "--corpus", "tsv", "--input", documents, "--index", self.index, "--quiet",
                               *more), 0)

    def encode(self, *more, code=0):
        # In the precision of the searches, because tests compare their scores.
        config = () if "--config" in more else ("--config", self.profile())
        result = self.expect(run("encode", "--index", self.index, "--model", self.model, "--json", "--quiet", *config,
                                 *more), code)
        return json.loads(result.stdout) if code == 0 else result

    def profile(self, lines=""):
        return self.write("profile.toml", f'[rescorer]\nmodel = "{self.model}"\nprecision = "fp32"\n{lines}')

    def search(self, lines="", code=0):
        result = self.expect(run("search", "--index", self.index, "--config", self.profile(lines), "--json",
                                 "river stone"), code)
        if code not in (0, 4):
            return result
        found = json.loads(result.stdout)
        del found["milliseconds"]
        return found

    def expect_size(self, size, wanted):
        self.assertEqual(size, wanted)

    def command(self):
        return [program_support.PROGRAM, "encode", "--index", str(self.index), "--model", str(self.model), "--config",
                str(self.profile()), "--quiet"]

    def test_searches_give_the_bits_of_texts_encoded_meanwhile(self):
        self.make_index(300)
        profile = self.profile()
        meanwhile = self.search('missing_embeddings = "encode"\n')
        self.assertEqual(meanwhile.pop("encoded"), 100)
        summary = self.encode("--precision", "fp32", "--config", profile)
        self.assertEqual((summary["encoded"], summary["documents"]), (300, 300))
        self.expect_size(summary["bytes_per_document"], self.BYTES[0])
        self.assertEqual(self.search(), meanwhile)

    def test_a_missing_file_is_an_error_that_names_the_command(self):
        self.make_index(20)
        result = self.search(code=1)
        self.assertIn("relucent encode", result.stderr)
        self.assertIn("missing_embeddings", result.stderr)
        self.encode()
        self.search()

    def test_indexing_with_a_model_encodes(self):
        result = self.make_index(40, "--model", self.model)
        self.assertIn("Encoded 40 documents", result.stdout)
        size = re.search(r"(\d+) bytes per document", result.stdout)
        self.expect_size(int(size.group(1)), self.BYTES[1])
        self.assertEqual(self.encode()["encoded"], 0)
        self.expect_size(self.encode("--precision", "int8")["bytes_per_document"], self.BYTES[2])

    def test_verify_checks_them(self):
        self.make_index(40, "--model", self.model)

        def checks(code):
            result = self.expect(run("verify", "--index", self.index), code).stdout
            return "\n".join(line for line in result.splitlines() if "embeddings" in line)

        self.assertIn(f"ok       embeddings  40 documents, {self.SHAPE} in fp16", checks(0))
        (name, whole), = embeddings(self.index).items()
        file = self.index / name
        for at in (3, len(whole) // 2, len(whole) - 2):
            damaged = bytearray(whole)
            damaged[at] ^= 16
            file.write_bytes(damaged)
            self.assertIn("damaged", checks(3))
            self.assertIn("run `relucent encode", checks(3))
        file.write_bytes(whole)
        (self.index / "relucent-_zz.embeddings").write_bytes(b"")
        self.assertIn("relucent-_zz.embeddings", checks(0))
        file.unlink()
        self.encode("--config", self.write("auto.toml", f'[rescorer]\nmodel = "{self.model}"\n'))  # as indexing does
        self.assertTrue(embeddings(self.index) == {name: whole}, "other embeddings than those made while indexing")

    def test_mistakes_are_errors(self):
        self.make_index(3)
        self.expect_error(2, "bf16", "fp32, fp16 or int8",
                          arguments=["encode", "--index", self.index, "--model", self.model, "--precision", "bf16"])
        self.expect_error(2, "does not encode documents", self.MODEL_OF_THE_REMEDY,
                          arguments=["encode", "--index", self.index])
        self.expect_error(1, "does not exist", arguments=["encode", "--index", self.folder / "no", "--model",
                                                          self.model])

    def a_part_exceeds(self, size):
        try:
            return any(path.stat().st_size > size for path in self.index.glob("*.part"))
        except FileNotFoundError:  # it has just become whole
            return False

    def test_after_an_interrupt_the_same_command_continues(self):
        self.make_index(self.INTERRUPTED_DOCUMENTS)
        with subprocess.Popen(self.command(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            while not self.a_part_exceeds(100000):
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, messages)
        self.assertIn("documents are encoded and safe", messages)
        self.assertIn("run the same command again", messages)
        summary = self.encode()
        self.assertGreater(summary["resumed"], 0)
        self.assertEqual(summary["resumed"] + summary["encoded"], self.INTERRUPTED_DOCUMENTS)

    def test_killed_again_and_again_it_ends_with_the_same_files(self):
        self.make_index(self.KILLED_DOCUMENTS, "--commit-every", str(self.KILLED_DOCUMENTS * 3 // 8))
        started = time.monotonic()
        self.encode()
        seconds = time.monotonic() - started
        whole = embeddings(self.index)
        rng = random.Random(5)
        kills = finished = resumed = 0
        for name in whole:
            (self.index / name).unlink()
        while kills < KILLS:
            with subprocess.Popen(self.command(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
                time.sleep(rng.uniform(0.01, 0.7 * seconds))
                process.kill()
                _, messages = process.communicate(timeout=120)
            self.assertIn(process.returncode, (0, -9), messages)
            kills += process.returncode == -9
            for name in embeddings(self.index):  # a file without .part is whole
                if not name.endswith(".part"):
                    self.assertEqual(embeddings(self.index)[name], whole[name])
            if process.returncode == 0 or rng.random() < 0.1:
                summary = self.encode()
                resumed += summary["resumed"]
                self.assertEqual(embeddings(self.index), whole)
                finished += 1
                for name in whole:
                    (self.index / name).unlink()
        resumed += self.encode()["resumed"]
        self.assertEqual(embeddings(self.index), whole)
        for _ in range(10):  # random kills may all have come before the first part or after the last
            if resumed > 0:
                break
            for name in whole:
                (self.index / name).unlink()
            with subprocess.Popen(self.command(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
                half = max(map(len, whole.values())) // 2
                while process.poll() is None and not self.a_part_exceeds(half):
                    time.sleep(0.005)
                process.kill()
                process.communicate(timeout=120)
            kills += 1
            resumed += self.encode()["resumed"]
            self.assertEqual(embeddings(self.index), whole)
        print(f"{kills} kills, {finished + 1} comparisons, {resumed} documents of parts kept", file=sys.stderr)
        self.assertGreater(resumed, 0)


class EncodeLateInteraction(Encode):
    """The same with documents that have as many vectors as they need."""

    # Two to six words with the special tokens; a file's frame and checksums count.
    BYTES = (16 * 32 * 4, 16 * 32 * 2, 16 * 36)
    SHAPE = "vectors of 32 numbers"
    MODEL_OF_THE_REMEDY = "ColBERT"
    INTERRUPTED_DOCUMENTS = KILLED_DOCUMENTS = 20000  # this model is small
    CHECKPOINT = program_support.GOLDENS / "rerankers" / "colbert-stanford"
    NAME = "late interaction"
    OF_MODEL = ("MaxSim", "documents of at most 100")

    def make_model(self):
        if not self.CHECKPOINT.exists():
            self.skipTest(f"SKIPPED: {self.CHECKPOINT} is absent")
        shutil.copytree(self.CHECKPOINT, self.model)

    def expect_size(self, size, wanted):
        self.assertGreater(size, wanted / 8)
        self.assertLess(size, 2 * wanted)

    def test_rerank_gives_the_scores_of_a_search(self):
        self.make_index(60)
        self.encode("--precision", "fp32")
        found = {hit["id"]: hit["score"] for hit in self.search()["hits"]}
        self.assertGreater(len(found), 5)
        texts = dict(line.split("\t") for line in (self.folder / "0.tsv").read_text().splitlines())
        lines = [json.dumps({"qid": "1", "query": "river stone", "docno": name, "text": texts[name]}) for name in found]
        pairs = self.write("pairs.rerank.jsonl", "\n".join(lines) + "\n")
        self.expect(run("rerank", "--input", pairs, "--output", self.folder / "of.tsv", "--config", self.profile(),
                        "--quiet"), 0)
        scores = {row[1]: float(row[2]) for row in map(str.split, (self.folder / "of.tsv").read_text().splitlines())}
        for name, score in found.items():
            self.assertAlmostEqual(scores[name], score, delta=1e-5)

    def test_it_is_a_stage_before_a_cross_encoder(self):
        self.make_index(60)
        self.encode("--precision", "int8")
        profile = self.write("cascade.toml", f'[[rescorer.stages]]\nmodel = "{self.model}"\nwindow = 20\n'
                             "[[rescorer.stages]]\nwindow = 5\n")
        result = self.expect(run("search", "--index", self.index, "--config", profile, "--json", "river stone"), 0)
        hits = json.loads(result.stdout)["hits"]
        self.assertGreater(len(hits), 5)

    def test_the_server_and_explanations_name_it(self):
        self.make_index(30)
        self.encode()
        result = self.expect(run("search", "--index", self.index, "--config", self.profile(), "--explain", "--hits",
                                 "1", "river stone"), 0)
        self.assertIn(self.NAME, result.stdout)
        self.assertIn("from the stored embedding", result.stdout)
        result = self.expect(run("model", "info", self.model), 0)
        for words in self.OF_MODEL:
            self.assertIn(words, result.stdout)
        self.expect_error(2, "max_length", "late interaction", arguments=[
            "search", "--index", self.index, "--config", self.profile("max_length = 64\n"), "river"])


class EncodeEmbeddings(EncodeLateInteraction):
    """The same with an embedding model, which gives each document one vector."""

    BYTES = (32 * 4, 32 * 2, 36)
    CHECKPOINT = Path(__file__).parents[2] / "goldens/embeddings/bert-mean"
    MODEL_OF_THE_REMEDY = "embedding"
    NAME = "embedding model"
    OF_MODEL = ("cosine", "32 numbers for each text, mean pooling, of length 1")
    test_killed_again_and_again_it_ends_with_the_same_files = None  # the files are written as above


if __name__ == "__main__":
    main()
