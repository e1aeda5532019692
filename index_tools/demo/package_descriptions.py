#!/usr/bin/env python3
"""Turns `apt-cache dumpavail` (standard input) into a TSV collection: package name, TAB, its description on one line.

A package that is available in several versions is taken once. Where apt keeps the long descriptions apart, the short
one is what dumpavail has, and what is written.
"""
import sys


def main() -> None:
    seen: set[str] = set()
    name, lines, in_description = "", [], False

    def flush() -> None:
        if name and lines and name not in seen:
            seen.add(name)
            text = " ".join(" ".join(lines).split())
            print(f"{name}\t{name}: {text}")

    for line in sys.stdin:
        line = line.rstrip("\n")
        if not line:
            flush()
            name, lines, in_description = "", [], False
        elif line.startswith("Package:"):
            name, in_description = line.split(":", 1)[1].strip(), False
        elif line.startswith(("Description:", "Description-en:")):
            lines, in_description = [line.split(":", 1)[1].strip()], True
        elif in_description and line.startswith(" "):
            lines.append("" if line.strip() == "." else line.strip())
        else:
            in_description = False
    flush()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(0)
