#!/usr/bin/env python3
"""Prints the share of lines that the tests reached, for each folder and in all, and the files with most others.

Usage: coverage_by_folder.py SUMMARY [FILES]: gcovr's --json-summary; how many files to name (20).
"""

import argparse
import collections
import json
from pathlib import PurePosixPath

# Folders whose own folders are rooms too.
WIDE = ("index_tools", "plugin", "kernels", "model")


def folder_of(file: str) -> str:
    parts = PurePosixPath(file).parts
    return "/".join(parts[:2]) if parts[0] in WIDE and len(parts) > 2 else parts[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("summary")
    parser.add_argument("files", type=int, nargs="?", default=20)
    given = parser.parse_args()
    with open(given.summary, encoding="utf-8") as stream:
        files = json.load(stream)["files"]
    folders = collections.defaultdict(lambda: [0, 0])
    for file in files:
        for name in (folder_of(file["filename"]), "in all"):
            folders[name][0] += file["line_covered"]
            folders[name][1] += file["line_total"]
    total = folders.pop("in all")
    print("| folder | lines of code | reached |\n|---|---|---|")
    for name, (reached, lines) in [*sorted(folders.items()), ("in all", total)]:
        print(f"| {name} | {lines} | {100 * reached / max(lines, 1):.1f} % |")
    print("\nLines that no test reached, by file:")
    unreached = sorted(files, key=lambda file: file["line_covered"] - file["line_total"])
    for file in unreached[: given.files]:
        print(f"{file['line_total'] - file['line_covered']:6} of {file['line_total']:5}  {file['filename']}")


if __name__ == "__main__":
    main()
