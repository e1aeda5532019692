"""GPUs as the program's user meets them: listed, taken, absent, failing. Fake CUDA modules stand for real ones."""

import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

from program_support import ProgramTest, main, run

MODULES = Path(os.environ.get("RELUCENT_FAKE_CUDA_MODULES") or "build/dev/tests/cuda").absolute()
DEMO = Path("index_tools/demo")
QUESTION = "what happens to my money if my bank fails"


def fake(told="", variant="fake_cuda"):
    return {"RELUCENT_CUDA_MODULE": str(MODULES / f"{variant}.so"), "RELUCENT_FAKE_CUDA": told}


ABSENT = {"RELUCENT_CUDA_MODULE": "/no/such/librelucent_cuda.so"}


class WithIndex(ProgramTest):
    """Tests that search the demo collection."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="relucent-devices-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.index = cls.scratch / "index"
        made = run("index", "--corpus", "tsv", "--input", DEMO / "collection.tsv", "--index", cls.index)
        assert made.returncode == 0, made.stderr


@unittest.skipUnless((MODULES / "fake_cuda.so").is_file(), f"SKIPPED: no fake CUDA modules in {MODULES}")
class Devices(WithIndex):
    def listed(self, environment):
        result = self.expect(run("model", "info", "--device", "--json", **environment), 0)
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout)

    def search(self, *arguments, code=0, **environment):
        arguments = ("search", "--index", self.index, "--precision", "fp32", "--json", QUESTION, *arguments)
        result = self.expect(run(*arguments, **environment), code)
        return json.loads(result.stdout), result.stderr

    def test_devices_are_listed_with_what_they_are(self):
        cpu, first, second = self.listed(fake("two"))
        self.assertEqual((cpu["name"], cpu["usable"]), ("cpu", True))
        self.assertRegex(cpu["description"], r"^\w+, \d+ threads?$")
        self.assertEqual((first["name"], first["usable"], first["problem"]), ("cuda:0", True, ""))
        self.assertEqual(second["description"], "Fake GPU, compute capability 9.0, 80 GB (78 GB free)")

    def test_what_is_not_usable_is_listed_with_problem_and_remedy(self):
        cases = [(ABSENT, "cuda", "does not name a file"), (fake("no_driver"), "cuda", "there is none"),
                 (fake("no_gpu"), "cuda", "sees no GPU"), (fake("old_gpu"), "cuda:0", "7.5 is below 8.0"),
                 (fake(variant="fake_cuda_other_version"), "cuda", "belongs to Relucent 0.0.9"),
                 (fake(variant="fake_cuda_missing_library"), "cuda", "libcublasLt_not_there.so")]
        for environment, name, problem in cases:
            gpu = self.listed(environment)[1]
            self.assertEqual((gpu["name"], gpu["usable"]), (name, False), gpu)
            self.assertIn(problem, gpu["problem"])
            self.assertNotEqual(gpu["remedy"], "", gpu)
            text = self.expect(run("model", "info", "--device", **environment), 0).stdout
            self.assertIn("not usable", text)
            self.assertIn(gpu["problem"], text)
            self.assertIn("remedy: " + gpu["remedy"], text)

    def test_the_list_stands_alone(self):
        self.expect(run("model", "info", "--device", "--tensors"), 2)
        self.expect(run("model", "info", "--device", "my-checkpoint"), 2)

    def test_check_states_what_was_taken_and_why(self):
        text = self.expect(run("model", "check", **fake()), 0).stdout
        self.assertIn("cuda:0 (Fake GPU, sm_90, fp16)", text)
        self.assertNotIn("no GPU", text)
        text = self.expect(run("model", "check", **fake("no_driver")), 0).stdout
        self.assertRegex(text, r"runs on +cpu \(")
        self.assertRegex(text, r"no GPU +CUDA driver: there is none; install NVIDIA's driver")
        backend = json.loads(self.expect(run("model", "check", "--json", **fake("refuse")), 0).stdout)["backend"]
        self.assertEqual(backend["device"], "cpu")
        self.assertIn("head size 48", backend["why_no_gpu"])

    def test_a_device_that_is_named_and_absent_is_an_error_where_nothing_is_searched(self):
        for command in ("check",), ("check", "--precision", "fp16"):
            self.expect_error(1, "there is none", "install NVIDIA's driver",
                              arguments=("model", *command, "--device", "cuda:0"), **fake("no_driver"))
        self.expect_error(1, "cuda:3", "cuda:0 (Fake GPU)",
                          arguments=("bench", "model", "--device", "cuda:3"), **fake())
        self.expect_error(1, "fp16", "is not supported by the CPU backend",
                          arguments=("model", "check", "--device", "cpu", "--precision", "fp16"))
        self.expect_error(2, "precision half", "fp16", arguments=("model", "check", "--precision", "half"))

    def test_a_search_on_a_gpu_tells_its_time(self):
        found, errors = self.search("--timings", "--device", "cuda:0", **fake())
        self.assertFalse(found["degraded"])
        self.assertEqual(found["milliseconds"]["device"], 0.125)
        self.assertIn("on cuda:0 (Fake GPU, sm_90, fp32)", errors)
        self.assertIn("(device 0.12 ms)", errors)
        on_cpu, errors = self.search("--timings", **fake("no_driver"))
        self.assertEqual(on_cpu["hits"], found["hits"])
        self.assertEqual(on_cpu["milliseconds"]["device"], 0)
        self.assertIn("no GPU is used: CUDA driver: there is none", errors)

    def test_a_search_without_the_gpu_it_asks_for_is_answered_by_the_cpu_and_degraded(self):
        wanted, _ = self.search("--device", "cpu")
        for environment in ABSENT, fake("no_driver"), fake("fail_score"), fake("fail_make"):
            found, errors = self.search("--device", "cuda:0", code=4, **environment)
            self.assertTrue(found["degraded"])
            self.assertIn("scored on the CPU, because ", found["reason"])
            self.assertEqual(found["hits"], wanted["hits"])
            self.assertIn("degraded: not answered as configured: scored on the CPU", errors)
        arguments = ("search", "--index", self.index, QUESTION, "--device", "cuda:0")
        table = self.expect(run(*arguments, **fake("fail_score")), 4)
        self.assertIn("rescored on the CPU (degraded)", table.stdout)
        self.assertIn("moved", table.stdout)

    def test_without_fallback_the_order_is_bm25s_or_there_is_an_error(self):
        profile = self.write("none.toml", '[rescorer]\ndevice = "cuda:0"\nfallback_device = "none"\n')
        found, errors = self.search("--config", profile, code=4, **fake("fail_score"))
        self.assertEqual((found["degraded"], found["rescored"]), (True, 0))
        self.assertIn("is out of memory; rescore fewer hits", found["reason"])
        self.assertIn("first stage's order", errors)
        profile.write_text(profile.read_text() + 'on_error = "fail"\n')
        self.expect_error(1, "is out of memory", **fake("fail_score"),
                          arguments=("search", "--index", self.index, "--config", profile, QUESTION))

    def test_topics_and_rerank_count_what_was_not_answered_as_configured(self):
        topics = self.write("topics.tsv", "1\tmoney in the bank\n2\trivers\n")
        result = run("search", "--index", self.index, "--topics", topics, "--run", self.folder / "x.run", "--device",
                     "cuda:0", **fake("fail_score"))
        self.expect(result, 4)
        self.assertIn("2 of 2 queries were not answered as configured, 0 are in the first stage's order", result.stderr)
        lines = [{"qid": "1", "query": "money", "docno": d, "text": t, "rank": r, "score": 9 - r}
                 for r, (d, t) in enumerate([("a", "rivers"), ("b", "money in a bank")], 1)]
        rerank = self.write("rerank.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        outputs = []
        for device, code, environment in [("cpu", 0, {}), ("cuda:0", 4, fake("fail_score")), ("cuda:0", 4, ABSENT)]:
            output = self.folder / f"{len(outputs)}.tsv"
            result = self.expect(run("rerank", "--input", rerank, "--output", output, "--device", device, "--precision",
                                     "fp32", **environment), code)
            outputs.append(output.read_text())
            if code == 4:
                self.assertIn("1 of 1 queries were not answered as configured, 0 keep the first stage's order; "
                              "first reason: scored on the CPU", result.stderr)
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])

    def test_the_benchmark_tells_device_time_share_of_peak_and_memory(self):
        arguments = ("bench", "model", "--candidates", "2", "--tokens", "20", "--query-tokens", "3",
                     "--runs", "3", "--json")
        rows = json.loads(self.expect(run(*arguments, "--device", "cuda:0", **fake()), 0).stdout)
        device = next(row for row in rows if row["name"].strip() == "device")
        self.assertEqual(device["median_ms"], 0.125)
        self.assertEqual(device["kb_per_candidate"], 1000)
        self.assertAlmostEqual(device["peak_gflop_per_s"], 2000)
        self.assertAlmostEqual(device["share_of_peak"], device["gflop_per_s"] / 2000)
        self.assertAlmostEqual(device["gflop_per_s"], rows[0]["gflop"] / 0.125e-3, delta=1)
        names = [row["name"].strip() for row in json.loads(self.expect(run(*arguments, "--device", "cpu"), 0).stdout)]
        self.assertNotIn("device", names)


STATED = os.environ.get("RELUCENT_CUDA_EMULATED")  # where it was built: then it has to be there
EMULATED = Path(STATED or "build/dev/lib/librelucent_cuda_emulated.so").absolute()


@unittest.skipUnless(STATED or EMULATED.is_file(), f"SKIPPED: no CUDA module for the emulator at {EMULATED}")
class Emulated(WithIndex):
    """The CUDA backend itself, on the emulator."""

    def run_on(self, emulator, *arguments):
        return run(*arguments, RELUCENT_CUDA_MODULE=str(EMULATED), RELUCENT_CUDA_EMULATOR=emulator)

    def search(self, emulator, code, *arguments):
        arguments = ("search", "--index", self.index, "--json", "--window", 2, "--hits", 2, *arguments, "my bank fails")
        return json.loads(self.expect(self.run_on(emulator, *arguments), code).stdout)

    def test_what_a_driver_states_is_listed(self):
        for emulator, words in (("driver=0", "no NVIDIA driver was found"),
                                ("driver=11080", "the NVIDIA driver supports CUDA 11.8, but this build needs "),
                                ("devices=0", "the driver sees no GPU"), ("capability=7.5", "8.0 or later is needed")):
            listed = json.loads(self.expect(self.run_on(emulator, "model", "info", "--device", "--json"), 0).stdout)
            self.assertFalse(listed[1]["usable"])
            self.assertIn(words, listed[1]["problem"])
            self.assertNotEqual(listed[1]["remedy"], "")
        listed = json.loads(self.run_on("devices=3", "model", "info", "--device", "--json").stdout)
        self.assertEqual([device["name"] for device in listed], ["cpu", "cuda:0", "cuda:1", "cuda:2"])

    def test_a_search_on_it_gives_the_cpus_logits_within_the_tolerance(self):
        wanted = self.search("", 0, "--device", "cpu", "--precision", "fp32")
        for device, precision in ("cuda:0", "fp16"), ("cuda", "bf16"), ("auto", "tf32"):
            found = self.search("devices=2,memory=256M", 0, "--device", device, "--precision", precision)
            self.assertGreater(found["milliseconds"]["device"], 0)
            self.assertEqual([hit["id"] for hit in found["hits"]], [hit["id"] for hit in wanted["hits"]])
            for here, there in zip(found["hits"], wanted["hits"]):
                self.assertAlmostEqual(here["logit"], there["logit"], delta=5e-2)

    def test_calls_that_fail_are_answered_for_by_the_cpu(self):
        wanted = self.search("", 0, "--device", "cpu")
        for call in "cudaMalloc:3:0:sticky", "cublasLtMatmul:5", "cudaLaunchKernel:9", "cublasLtMatmul:5:0:sticky":
            found = self.search(f"memory=256M,fail={call}", 4, "--device", "cuda:0")
            self.assertIn("scored on the CPU, because cuda:0: ", found["reason"])
            self.assertEqual(found["hits"], wanted["hits"])


if __name__ == "__main__":
    main()
