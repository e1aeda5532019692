"""The comments of the public headers: Doxygen makes the API reference from them without a warning, and the names in
them exist.

Usage: api_reference_test.py DOXYFILE [unittest's arguments]: DOXYFILE is the build folder's.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DOXYFILE = Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/Doxyfile").absolute()
DOXYGEN = shutil.which("doxygen")
# Names of C++ and of Lucene++ in comments.
FOREIGN = {"std::bad_alloc", "what()", "BooleanQuery::getMaxClauseCount()", "StringUtils::toUnicode"}
REFERENCE = re.compile(r"(?<![\w:.\"])(?:\w+::)*~?\w+(?:\(\))?")  # a::b, a::b() or b(); other words are passed over


def doxygen(*more):
    """Runs Doxygen with the build's Doxyfile and `more` settings."""
    settings = DOXYFILE.read_text() + "".join(line + "\n" for line in more)
    return subprocess.run([DOXYGEN, "-"], input=settings, capture_output=True, text=True)


def names_that_do_not_exist(headers):
    """[(file, line, name)] of `::` and `()` in comments, for names that occur in no header's code."""
    names, found = set(), []
    lines = [(header, number, *line.partition("//")[::2]) for header in headers
             for number, line in enumerate(header.read_text().splitlines(), 1)]
    for _, _, code, _ in lines:
        names.update(re.findall(r"\w+", code))
    for header, number, _, comment in lines:
        for reference in REFERENCE.findall(comment):
            if ("::" in reference or "()" in reference) and reference not in FOREIGN \
                    and not names.issuperset(re.findall(r"\w+", reference)):
                found.append((header.name, number, reference))
    return found


class ApiReference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def header(self, comment):
        path = self.folder / "wrong.h"
        path.write_text(f"/// Documented.\nnamespace relucent {{\n{comment}\nint closest(int rank);\n}}\n")
        return path

    def test_comments_name_what_exists(self):
        headers = sorted(Path().glob("*/include/relucent/**/*.h"))
        self.assertGreater(len(headers), 40)
        self.assertEqual(names_that_do_not_exist(headers), [])

    def test_a_name_that_does_not_exist_is_found(self):
        header = self.header("/// As closest() and Scorer::passage(), unlike std::min() and farthest(rank).\n"
                             "/// what() is known, closest::hit is not.")
        self.assertEqual(names_that_do_not_exist([header]),
                         [("wrong.h", 3, "Scorer::passage()"), ("wrong.h", 3, "std::min()"),
                          ("wrong.h", 4, "closest::hit")])

    @unittest.skipUnless(DOXYGEN, "doxygen is not installed")
    def test_the_public_headers_give_no_warning(self):
        result = doxygen()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        pages = DOXYFILE.parent / "api/html"
        self.assertIn("openSearcher", (pages / "namespacerelucent.html").read_text())
        self.assertIn("Second-stage scorer", (pages / "classrelucent_1_1Scorer.html").read_text())

    @unittest.skipUnless(DOXYGEN, "doxygen is not installed")
    def test_wrong_comments_are_errors(self):
        for comment, named in (("/// @param place from 1", "place"), ("/// See @ref farthest.", "farthest"),
                               ("/// See #farthest.", "farthest"), ("/// <b>Bold", "</b>"),
                               ("/// @parm rank from 1", "parm")):
            with self.subTest(comment):
                result = doxygen(f'OUTPUT_DIRECTORY = "{self.folder}"', f'INPUT = "{self.header(comment)}"')
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, rf"wrong\.h:\d+: (error|warning): .*{named}")


if __name__ == "__main__":
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    if program.result.skipped:
        print("SKIPPED: doxygen is not installed (apt-get install doxygen)")
        sys.exit(77)
