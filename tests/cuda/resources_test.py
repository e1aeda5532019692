"""resources.py finds what it is for: spills, stacks, missing architectures and reports."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).with_name("resources.py")


def kernel(name, architecture, stack=0, stores=0, loads=0):
    return (f"ptxas info    : Compiling entry function '{name}' for '{architecture}'\n"
            f"ptxas info    : Function properties for {name}\n"
            f"    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads\n"
            f"ptxas info    : Used 40 registers, used 1 barriers, 512 bytes smem, 360 bytes cmem[0]\n")


class Resources(unittest.TestCase):
    def run_on(self, report):
        with tempfile.TemporaryDirectory() as folder:
            if report is not None:
                Path(folder, "x.cu.o.resources").write_text(report)
            objects = [Path(folder, "x.cu.o"), Path(folder, "y.cpp.o")]
            return subprocess.run([sys.executable, SCRIPT, "sm_80,sm_90", *objects], capture_output=True, text=True)

    def expect_problem(self, report, words):
        result = self.run_on(report)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("FAILED: " + words if report is not None else "FAILED", result.stdout)
        self.assertIn(words, result.stdout)

    def test_sound_kernels_pass_and_are_listed(self):
        result = self.run_on(kernel("_Z3addPf", "sm_80") + kernel("_Z3addPf", "sm_90"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(result.stdout.count("add"), 2)
        self.assertIn("512", result.stdout)
        self.assertIn("1 kernels, 2 architectures, 0 problems", result.stdout)

    def test_what_is_wrong_fails(self):
        good = kernel("_Z3addPf", "sm_90")
        self.expect_problem(good + kernel("_Z3addPf", "sm_80", stack=8), "add")
        self.expect_problem(good + kernel("_Z3addPf", "sm_80", stores=4), "add")
        self.expect_problem(good + kernel("_Z3addPf", "sm_80", loads=4), "add")
        self.expect_problem(good, "add")  # not for sm_80
        self.expect_problem("", "no kernel was reported")
        self.expect_problem(None, "is missing")


if __name__ == "__main__":
    unittest.main()
