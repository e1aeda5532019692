#!/usr/bin/env python3
"""Searches Cranfield again, or with --check compares the hits: python3 tests/goldens/bm25/make.py [--check]

Needs Debian's liblucene8-java 8.8.1-4 and OpenJDK 17. Documents, queries, lengths and statistics stay as they are.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import FOLDER, encoded, finish, java_lucene, read_json_lines, read_lines, write_lines

here = FOLDER / "bm25"
NAME = re.compile(r"cranfield\.(edge\.)?k([0-9.]+)-b([0-9.]+?)(?:\.([a-z][a-z0-9-]*))?\.tsv\.gz")
documents = [f"D {row['id']} {encoded(row['text'])}" for row in read_json_lines(here / "cranfield.docs.jsonl.gz")]
for file in sorted(here.glob("cranfield.*.tsv.gz")):
    match = NAME.fullmatch(file.name)
    if match is None:
        continue
    edge, k1, b, state = match.groups(default="")
    queries = [line.partition("\t") for line in read_lines(here / f"cranfield.{edge}queries.tsv")]
    lines = [*documents, *(f"Q {query} {encoded(text)}" for query, _, text in queries)]
    write_lines(file, java_lucene("bm25", k1, b, state or "all", lines=lines))
finish()
