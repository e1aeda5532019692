"""tests/gpu.sh on machines that are made up: without a GPU, with one, with programs that fail, skip or hang."""
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "gpu.sh"
PASSES = "echo '[  PASSED  ] 3 tests.'"
PROGRAMS = ("kernels_agreement", "kernels_exchanges", "kernels_mix_encoder", "kernels_determinism",
            "kernels_host_contexts", "kernels_soak", "model_golden", "model_queries_golden",
            "model_mixencoder_golden", "model_mir")


class GpuScript(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "a b"  # a path with a space
        for folder in ("tests", "build/release/bin", "build/release/lib", "build/release/tests", "bin",
                       "shared/goldens"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(SCRIPT, self.root / "tests/gpu.sh")
        (self.root / "build/release/lib/librelucent_cuda.so").write_text("libcublasLt.so.13")
        self.program("build/release/bin/relucent", "echo relucent 0.1.0")
        for name in PROGRAMS:
            self.program(f"build/release/tests/{name}", PASSES)
        self.program("bin/nvidia-smi", "echo 'GPU 0: Fake GPU (UUID: GPU-1)'")
        self.program("bin/python3", "exit 1")

    def program(self, path: str, body: str):
        file = self.root / path
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)

    def run_script(self, *arguments: str, **variables: str):
        environment = {**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
                       "RELUCENT_CUBLAS_FOLDER": str(self.root), **variables}
        environment.pop("RELUCENT_REQUIRE_DEVICE", None)
        environment.update(variables)
        (self.root / "libcublasLt.so.13").touch()
        result = subprocess.run([str(self.root / "tests/gpu.sh"), *arguments, str(self.root / "out")],
                                capture_output=True, text=True, env=environment, timeout=120)
        table = self.root / "out/table.txt"
        return result, table.read_text() if table.exists() else ""

    def test_passing_tests_are_rows_and_logs(self):
        result, table = self.run_script("--smoke")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(table, r"(?m)^agreement +passed +\d+ +\[  PASSED  \] 3 tests")
        self.assertIn("everything passed", table)
        with tarfile.open(self.root / "out/logs.tar.gz") as archive:
            self.assertIn("logs/soak.log", archive.getnames())
            self.assertIn("table.txt", archive.getnames())

    def test_a_machine_without_gpu_or_build_is_never_a_success(self):
        self.program("bin/nvidia-smi", "echo 'No devices were found'")
        for variables, code in (({}, 77), ({"RELUCENT_REQUIRE_DEVICE": "1"}, 1)):
            result, table = self.run_script("--smoke", **variables)
            self.assertEqual(result.returncode, code)
            self.assertIn("SKIPPED: nvidia-smi lists no GPU", table)
        (self.root / "build/release/lib/librelucent_cuda.so").unlink()
        for variables, code in (({}, 77), ({"RELUCENT_REQUIRE_DEVICE": "1"}, 1)):
            result, table = self.run_script(**variables)
            self.assertEqual(result.returncode, code)
            self.assertIn("librelucent_cuda.so", table)

    def test_a_test_that_fails_skips_or_does_not_run_fails(self):
        for body, words in (("echo '[  FAILED  ] A.B'; exit 1", "exit code 1"),
                            ("echo '[  SKIPPED ] A.B'; echo '[  PASSED  ] 0 tests.'", "0 tests"),
                            ("echo 'SKIPPED: no goldens'; echo '[  SKIPPED ] A'; echo '[  PASSED  ] 1 test.'",
                             "no goldens")):
            self.program("build/release/tests/kernels_exchanges", body)
            result, table = self.run_script("--smoke")
            self.assertEqual(result.returncode, 1, table)
            self.assertRegex(table, f"(?m)^exchanges +FAILED.*{words}")
            self.assertRegex(table, "(?m)^soak +passed")  # the others run all the same
            self.assertNotIn("everything passed", table)

    def test_tests_are_told_that_a_device_is_required(self):
        self.program("build/release/tests/kernels_agreement",
                     f'[ "$RELUCENT_REQUIRE_DEVICE" = 1 ] && [ "$RELUCENT_TEST_DEVICE" = cuda:0 ] && {PASSES}')
        result, table = self.run_script("--smoke")
        self.assertEqual(result.returncode, 0, table)

    def test_missing_tools_and_goldens_fail_by_name(self):
        path = f"{self.root / 'bin'}:/usr/bin:/bin"
        result, table = self.run_script("--sanitize", PATH=path)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(table, "sanitizers +FAILED.*compute-sanitizer is not installed")
        result, table = self.run_script("--compare", PATH=path, RELUCENT_GPU_PYTHON="/no/python")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(table, "compare +FAILED.*no python3 here has torch")
        (self.root / "shared/goldens").rmdir()
        result, table = self.run_script("--smoke", RELUCENT_GOLDENS="/no/goldens")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(table, "goldens +FAILED.*/no/goldens is missing")

    def test_sanitizers_cover_every_kind_of_kernel(self):
        self.program("bin/compute-sanitizer", f"echo \"$@\"; {PASSES}")
        result, table = self.run_script("--sanitize")
        self.assertEqual(result.returncode, 0, table)
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            for kernels in ("mir", "mixencoder", "globals", "rope"):
                self.assertRegex(table, f"(?m)^{tool}_{kernels} +passed")
            self.assertIn(f"--tool {tool}", (self.root / f"out/logs/{tool}_mir.log").read_text())

    def test_benchmarks_stay_within_the_checkpoints_positions(self):
        self.program("build/release/bin/relucent", "echo \"  device  1.5 $*\"")
        result, table = self.run_script("--bench")
        self.assertEqual(result.returncode, 0, table)
        for line in table.splitlines():
            if not line.startswith("bench_"):
                continue
            tokens = int(line.split("--tokens ")[1].split()[0])
            self.assertEqual(tokens > 512, "/longer" in line, line)  # the extended checkpoint
        self.assertEqual(sum("4x4096" in line or "100x4096" in line for line in table.splitlines()), 6)

    def test_unknown_options_are_refused(self):
        result, _ = self.run_script("--smoek")
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown option --smoek", result.stderr)


if __name__ == "__main__":
    unittest.main()
