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

    def test_parts_of_a_room_have_an_order(self):
        upward = {"plugin/second_stage/combine.cpp": "plugin/lucene/errors.h",
                  "plugin/index_format/length_byte.cpp": "plugin/second_stage/embeddings.h",
                  "plugin/lucene/index/stored_fields.cpp": "plugin/lucene/bm25/weights.h",
                  "plugin/lucene/bm25/searcher.cpp": "relucent/rescorer.h",
                  "model/families/bert.cpp": "model/input/mix_input.h",
                  "kernels/cpu/encoder.cpp": "kernels/cuda/encoder.h"}
        for file, header in upward.items():
            path = header.replace("relucent/", "plugin/include/relucent/") if header.startswith("relucent/") else header
            with self.subTest(file=file):
                root = self.tree({file: f'#include "{header}"\n', path: ""})
                self.assertIn(f'{file}:1: {Path(file).parent} may not include "{header}"', check(root).stdout)

    def test_a_new_part_must_be_placed(self):
        for file in ("plugin/reranking/new.h", "plugin/include/relucent/new.h"):
            with self.subTest(file=file):
                user = {"plugin/lucene/search/rescorer.cpp": '#include "relucent/new.h"\n'}
                found = check(self.tree({file: "", **user})).stdout
                self.assertIn(f"{file}: cmake/check_includes.py does not know", found)

    def test_includes_are_paths_from_the_root(self):
        root = self.tree({"model/input.h": "", "model/input.cpp": '#include "input.h"\n'})
        self.assertIn('"input.h" is not a path from the root of the sources', check(root).stdout)

    def test_kernels_name_no_model_family(self):
        root = self.tree({"kernels/plan.cpp": "// a MixEncoder's\n", "model/mir.cpp": "// MIR\n"})
        self.assertEqual(check(root).stdout, "kernels/plan.cpp:1: kernels may not name a model family (MixEncoder)\n")

    def test_kernels_wait_for_what_was_started_before(self):
        source = "template <typename T>\n__global__ void __launch_bounds__(128)\n    f(T* x) {\n%s  x[0] = 1;\n}\n"
        hasty = check(self.tree({"kernels/cuda/f.cu": source % ""}))
        self.assertEqual(hasty.stdout, "kernels/cuda/f.cu:4: a kernel must begin with wait_for_previous()\n")
        self.assertEqual(check(self.tree({"kernels/cuda/f.cu": source % "  wait_for_previous();\n"})).returncode, 0)

    def test_families_are_those_that_model_declares(self):
        for name in ("CamemBERT", "electra", "mix_encoder", "ModernBERT", "XLM-RoBERTa"):
            with self.subTest(family=name):
                found = check(self.tree({"kernels/plan.cpp": f"// as in {name}\n"})).stdout
                self.assertEqual(found, f"kernels/plan.cpp:1: kernels may not name a model family ({name})\n")
        self.assertEqual(check(self.tree({"kernels/plan.cpp": "// BERT's form, and T5's\n"})).returncode, 0)


if __name__ == "__main__":
    unittest.main()
