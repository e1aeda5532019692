"""`relucent encode`: a MixEncoder's embeddings next to an index, through kills, damage and searches."""

import json
import os
import random
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
    def setUp(self):
        super().setUp()
        self.model = self.folder / "mix"
        self.expect(run("model", "init", "--from", BUNDLED, "--as", "mixencoder", self.model), 0)
        self.index = self.folder / "the.index"

    def make_index(self, count, *more, first=0):
        documents = write_documents(self.folder / f"{first}.tsv", count, first)
        return self.expect(run("index", "--corpus", "tsv", "--input", documents, "--index", self.index, "--quiet",
                               *more), 0)

    def encode(self, *more, code=0):
        result = self.expect(run("encode", "--index", self.index, "--model", self.model, "--json", "--quiet", *more),
                             code)
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

    def command(self):
        return [program_support.PROGRAM, "encode", "--index", str(self.index), "--model", str(self.model), "--quiet"]

    def test_searches_give_the_bits_of_texts_encoded_meanwhile(self):
        self.make_index(300)
        profile = self.profile()
        meanwhile = self.search('missing_embeddings = "encode"\n')
        self.assertEqual(meanwhile.pop("encoded"), 100)
        summary = self.encode("--precision", "fp32", "--config", profile)
        self.assertEqual((summary["encoded"], summary["documents"]), (300, 300))
        self.assertEqual(summary["bytes_per_document"], 4 * 384)
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
        self.assertIn("768 bytes per document", result.stdout)
        self.assertEqual(self.encode()["encoded"], 0)
        self.assertEqual(self.encode("--precision", "int8")["bytes_per_document"], 388)

    def test_verify_checks_them(self):
        self.make_index(40, "--model", self.model)

        def checks(code):
            result = self.expect(run("verify", "--index", self.index), code).stdout
            return "\n".join(line for line in result.splitlines() if "embeddings" in line)

        self.assertIn("ok       embeddings  40 documents, 1 vector of 384 numbers in fp16", checks(0))
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
        self.encode()
        self.assertEqual(embeddings(self.index), {name: whole})

    def test_mistakes_are_errors(self):
        self.make_index(3)
        self.expect_error(2, "bf16", "fp32, fp16 or int8",
                          arguments=["encode", "--index", self.index, "--model", self.model, "--precision", "bf16"])
        self.expect_error(2, "does not encode documents", "MixEncoder", arguments=["encode", "--index", self.index])
        self.expect_error(1, "does not exist", arguments=["encode", "--index", self.folder / "no", "--model",
                                                          self.model])

    def test_after_an_interrupt_the_same_command_continues(self):
        self.make_index(2400)
        with subprocess.Popen(self.command(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            while not any(path.stat().st_size > 100000 for path in self.index.glob("*.part")):
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, messages)
        self.assertIn("documents are encoded and safe", messages)
        self.assertIn("run the same command again", messages)
        summary = self.encode()
        self.assertGreater(summary["resumed"], 0)
        self.assertEqual(summary["resumed"] + summary["encoded"], 2400)

    def test_killed_again_and_again_it_ends_with_the_same_files(self):
        self.make_index(1200, "--commit-every", "450")
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
        print(f"{kills} kills, {finished + 1} comparisons, {resumed} documents of parts kept", file=sys.stderr)
        self.assertGreater(resumed, 0)


if __name__ == "__main__":
    main()
