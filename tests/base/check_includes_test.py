"""cmake/check_includes.py passes these sources, and names a forbidden or unfindable include when there is one."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path("cmake/check_includes.py").absolute()


def check(root):
    return subprocess.run([sys.executable, CHECK, str(root)], capture_output=True, text=True)


class Includes(unittest.TestCase):
    def tree(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = Path(folder.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder.name

    def test_these_sources_are_clean(self):
        result = check(Path.cwd())
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_room_must_not_include_what_stands_above_it(self):
        root = self.tree({"model/input.h": "", "kernels/plan.cpp": '#include <vector>\n#include "model/input.h"\n'})
        result = check(root)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, 'kernels/plan.cpp:2: kernels may not include "model/input.h" of model\n')

    def test_public_headers_count_for_their_room(self):
        root = self.tree({"plugin/include/relucent/scorer.h": "", "model/input.cpp": '#include "relucent/scorer.h"\n'})
        self.assertIn("model may not include", check(root).stdout)

    def test_includes_are_paths_from_the_root(self):
        root = self.tree({"model/input.h": "", "model/input.cpp": '#include "input.h"\n'})
        self.assertIn('"input.h" is not a path from the root of the sources', check(root).stdout)

    def test_kernels_name_no_model_family(self):
        root = self.tree({"kernels/plan.cpp": "// a MixEncoder's\n", "model/mir.cpp": "// MIR\n"})
        self.assertEqual(check(root).stdout, "kernels/plan.cpp:1: kernels may not name a model family (MixEncoder)\n")


if __name__ == "__main__":
    unittest.main()
