"""`relucent index --corpus files`: a folder of documents of many formats."""

import json
import shutil

from program_support import ProgramTest, main, run


class Files(ProgramTest):
    def setUp(self):
        super().setUp()
        self.documents = self.folder / "in"
        (self.documents / "notes").mkdir(parents=True)
        (self.documents / "a b.txt").write_text("boil the rice", encoding="utf-8")
        (self.documents / "notes" / "c.md").write_text("# Onions\n\nmake you cry", encoding="utf-8")
        (self.documents / "broken.docx").write_bytes(b"PK nothing")
        (self.documents / "paper.pdf").write_bytes(b"%PDF-1.4 nothing")
        (self.documents / "picture.png").write_bytes(b"PNG")
        self.index = self.folder / "index"

    def indexed(self, *flags, **environment):
        return run("index", "--corpus", "files", "--input", self.documents, "--index", self.index, *flags,
                   **environment)

    def test_what_can_be_read_is_found_and_the_rest_is_told(self):
        nothing = self.folder / "nothing"
        nothing.mkdir()
        result = self.expect(self.indexed(PATH=str(nothing)), 4)
        self.assertIn("Indexed 2 documents of files", result.stdout)
        self.assertIn("1 other file in the directories skipped", result.stdout)
        self.assertIn("2 files skipped: PDFs need pdftotext: apt-get install poppler-utils", result.stdout)
        self.assertIn("a DOCX without word/document.xml", result.stdout)
        self.assertIn("degraded: 2 files were not indexed", result.stderr)
        found = json.loads(run("search", "--index", self.index, "--no-rescore", "--json", "onions rice").stdout)
        self.assertEqual({hit["id"] for hit in found["hits"]}, {"a%20b.txt", "notes/c.md"})

    def test_the_summary_in_json_has_the_reasons(self):
        summary = json.loads(self.expect(self.indexed("--json", "--overwrite", PATH=str(self.folder)), 4).stdout)
        self.assertEqual((summary["documents"], summary["skipped_files"], summary["files_left_out"]), (2, 2, 1))
        self.assertEqual(summary["skipped"]["a DOCX without word/document.xml"]["count"], 1)
        self.assertTrue(summary["skipped"]["a DOCX without word/document.xml"]["examples"][0].endswith("broken.docx"))

    def test_a_damaged_pdf_is_told(self):
        if shutil.which("pdftotext") is None:
            self.skipTest("SKIPPED: needs pdftotext of poppler-utils")
        result = self.expect(self.indexed(), 4)
        self.assertIn("a PDF that pdftotext cannot read: damaged, or with a password", result.stdout)

    def test_strict_runs_end_at_the_first_file_that_cannot_be_read(self):
        self.expect_error(3, "broken.docx", arguments=("index", "--corpus", "files", "--input", self.documents,
                                                       "--index", self.index, "--strict"))


if __name__ == "__main__":
    main()
