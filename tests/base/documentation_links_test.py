"""Every link of a Markdown file to a file of the repository, or to a heading of one, leads somewhere."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def markdown_files():
    """The tracked ones; without git, those of the root, docs and the folders with a page of their own."""
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "*.md"], cwd=ROOT, capture_output=True,
                            text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [ROOT / name for name in names if (ROOT / name).exists()] or [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), flags=re.MULTILINE)
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") for text in texts}


def dead_links(page):
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(f"{page.relative_to(ROOT)}: {link}")
    return dead


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        pages = markdown_files()
        self.assertGreater(len(pages), 30)
        self.assertEqual([link for page in pages for link in dead_links(page)], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
