"""What the tests of the program share: running it, scratch folders, data that may be absent."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/dev/bin/relucent"
GOLDENS = Path(os.environ.get("RELUCENT_GOLDENS") or "../shared/goldens")
DEMO = Path("index_tools/demo")
DATA = Path(os.environ.get("RELUCENT_TEST_DATA") or "../shared/data")


def run(*arguments, stdin=None, timeout=600, **environment):
    """Runs the program; the result has returncode, stdout and stderr as text."""
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", timeout=timeout, env={**os.environ, **environment},
                          **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="relucent-program-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def expect(self, result, code):
        self.assertEqual(result.returncode, code, f"{result.args}\nstdout: {result.stdout}\nstderr: {result.stderr}")
        return result

    def expect_error(self, code, *parts, arguments, **options):
        """The program ends with the code and one message on standard error that has all the parts."""
        result = self.expect(run(*arguments, **options), code)
        self.assertIn("relucent: error: ", result.stderr)
        for part in parts:
            self.assertIn(str(part), result.stderr)
        return result

    def help_of(self, *command):
        return self.expect(run(*command, "--help"), 0).stdout

    def commands(self, *above):
        """Every command below this one as a tuple of names, as the help lists them."""
        listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", self.help_of(*above), flags=re.MULTILINE)
        for name in re.findall(r"^  (\S+)", listed.group(1), flags=re.MULTILINE) if listed else ():
            yield (*above, name)
            yield from self.commands(*above, name)


class DemoIndexTest(ProgramTest):
    """The tests of a class share an index of the demo collection."""

    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="relucent-program-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.index = cls.shared / "demo.index"
        result = run("index", "--corpus", "tsv", "--input", DEMO / "collection.tsv", "--index", cls.index)
        if result.returncode != 0:
            raise RuntimeError(result.stderr)


def main():
    program = unittest.main(argv=[sys.argv[0]] + sys.argv[2:], exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    # All skipped is told to CTest as such.
    sys.exit(77 if result.testsRun > 0 and len(result.skipped) == result.testsRun else 0)
