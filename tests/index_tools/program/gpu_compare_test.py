"""tests/benchmarks/gpu/compare.sh as far as it runs without a GPU: arguments, SKIPPED, and a fake one's table."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/dev/bin/relucent"
MODULES = Path(os.environ.get("RELUCENT_FAKE_CUDA_MODULES") or "build/dev/tests/cuda").absolute()
SCRIPT = Path("tests/benchmarks/gpu/compare.sh")
sys.path.insert(0, str(SCRIPT.parent))

import compare  # noqa: E402
import worker  # noqa: E402


class GpuCompare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = Path(folder.name) / "environment"

    def run_script(self, *arguments, told="", module="fake_cuda"):
        return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=300, env={
            **os.environ, "RELUCENT_PROGRAM": PROGRAM, "RELUCENT_GPU_PEERS": str(self.environment),
            "RELUCENT_CUDA_MODULE": str(MODULES / f"{module}.so"), "RELUCENT_FAKE_CUDA": told})

    def with_python(self):
        """An environment that has Python and none of the peers."""
        (self.environment / "bin").mkdir(parents=True)
        (self.environment / "bin/python").symlink_to("/usr/bin/python3")

    def test_without_a_gpu_it_states_skipped_and_why_and_fetches_nothing(self):
        for told, module, why in ("no_driver", "fake_cuda", "there is none"), ("", "absent", "does not name a file"), \
                ("no_gpu", "fake_cuda", "sees no GPU"), ("old_gpu", "fake_cuda", "below 8.0"):
            result = self.run_script(told=told, module=module)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("SKIPPED: no GPU: ", result.stdout)
            self.assertIn(why, result.stdout)
            self.assertFalse(self.environment.exists())
        self.assertIn("there is cuda:0, but no cuda:7", self.run_script("--device", "cuda:7").stdout)

    def test_wrong_arguments_are_named(self):
        for arguments, words in ((["--peers", "JAX"], "no peer is called JAX"), (["--device", "cpu"], "not cuda:N"),
                                 (["--tokens", "8"], "16 to 4096"), (["--tokens", "many"], "--tokens"),
                                 (["--rounds", "0"], "1 or more"), (["--faster"], "--faster")):
            result = self.run_script(*arguments)
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertIn(words, result.stderr)

    def test_the_table_has_a_row_for_each_window_and_names_peers_that_are_missing(self):
        self.with_python()
        result = self.run_script("--candidates", "2", "--tokens", "16,20", "--windows=4,-1", "--precisions", "fp16",
                                 "--rounds", "1", "--runs", "2", "--peers", "transformers SDPA fp16")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [line for line in result.stdout.splitlines() if line.startswith(("| 16", "| 20"))]
        self.assertEqual([row.split("|")[2].strip() for row in rows],
                         2 * ["Relucent fp16, w = 4", "Relucent fp16, no window", "Relucent fp16, dense"])
        self.assertEqual({row.split("|")[4].strip() for row in rows}, {"0.125"})
        self.assertEqual({row.split("|")[7].strip() for row in rows}, {"1,000.0"})
        self.assertEqual(result.stdout.count("SKIPPED transformers SDPA fp16 at"), 2)

    def test_a_row_has_medians_share_and_ratio(self):
        ours = [{"wall": wall, "device": 0.5, "tflops": 200, "peak": 800, "kb": 12.5} for wall in (1, 2, 9)]
        turns = {"Relucent fp16, w = 4": ours, compare.BASE: [{"wall": 50, "device": 0, "kb": 100}]}
        self.assertEqual(compare.table_rows(4096, turns, {compare.BASE: "batches of 25"}, {compare.BASE: 0.0123}),
                         ["| 4,096 | Relucent fp16, w = 4 | 2.00 | 0.500 | 200.0 | 25% | 12.5 | 25.0 |  |  |",
                          f"| 4,096 | {compare.BASE} | 50.00 |  |  |  | 100.0 | 1.0 | 1.2e-02 | batches of 25 |"])

    def test_a_peer_that_computes_something_else_is_found(self):
        self.assertEqual(compare.furthest([1.0, -2.0], [1.5, -2.0]), 0.5)
        self.with_python()
        result = self.run_script("--candidates", "2", "--tokens", "16", "--windows=4", "--precisions", "fp16",
                                 "--rounds", "1", "--runs", "1", "--peers", "", told="other_logits")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("FAILED Relucent fp16, dense at 16 tokens: logits differ by 1.0e+00", result.stdout)

    def test_a_setting_that_does_not_fit_is_passed_over(self):
        def too_big():
            raise RuntimeError("CUDA out of memory. Tried to allocate 40 GiB")

        name, scorer = worker.fastest([("a", lambda: too_big), ("b", lambda: lambda: ([1.0], 2.0))])
        self.assertEqual((name, scorer()), ("b", ([1.0], 2.0)))
        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            worker.fastest([("a", lambda: too_big)])
        with self.assertRaises(ZeroDivisionError):
            worker.fastest([("a", lambda: lambda: 1 / 0), ("b", lambda: lambda: ([1.0], 2.0))])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
