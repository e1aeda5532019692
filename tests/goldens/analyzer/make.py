#!/usr/bin/env python3
"""Computes tokens and stems again, or with --check compares them: python3 tests/goldens/analyzer/make.py [--check]

Needs Debian's liblucene8-java 8.8.1-4 and OpenJDK 17. The texts and words stay as they are.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import FOLDER, encoded, finish, java_lucene, read_json_lines, write_json_lines

here = FOLDER / "analyzer"
COMPACT = {"separators": (",", ":")}

rows = read_json_lines(here / "generated.fuzz.jsonl.gz")
for row, answer in zip(rows, java_lucene("analyze", lines=[encoded(row["text"]) for row in rows]), strict=True):
    answers = json.loads(answer)
    for word in answers["raw"]:
        word[2] = word[2].strip("<>")
    row.update(answers)
write_json_lines(here / "generated.fuzz.jsonl.gz", rows, **COMPACT)

words = [word for word, _ in read_json_lines(here / "stems.jsonl.gz")]
stems = java_lucene("stem", lines=[encoded(word) for word in words])
write_json_lines(here / "stems.jsonl.gz", ([word, json.loads(stem)] for word, stem in zip(words, stems, strict=True)))
finish()
