"""What the site's pages need beyond Markdown: links to folders, which a repository's web page lists and a site does
not."""

import posixpath
import re
from pathlib import Path

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)#:\s]+)\)")
LIST_ITEM = re.compile(r"^\s*([-*]|\d+\.) ")


def on_page_markdown(markdown, page, config, files):
    """Points a link to a folder at the folder's README.md; without one, only the text remains. Puts the empty line
    before a list that other readers of Markdown do not need."""
    here = posixpath.dirname(page.file.src_uri)

    def follow(match):
        text, target = match.groups()
        folder = posixpath.normpath(posixpath.join(here, target))
        if not (Path(config.docs_dir) / folder).is_dir():
            return match.group(0)
        readme = posixpath.join(folder, "README.md")
        return f"[{text}]({posixpath.relpath(readme, here or '.')})" if files.get_file_from_path(readme) else text

    lines, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        before = lines[-1] if lines else ""
        if not fenced and LIST_ITEM.match(line) and before.strip() and not (
                LIST_ITEM.match(before) or before.startswith(" ")):
            lines.append("")
        lines.append(line if fenced else LINK.sub(follow, line))
    return "\n".join(lines)
