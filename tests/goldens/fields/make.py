#!/usr/bin/env python3
"""Computes the ranks of weighted fields again, or with --check compares them:

    python3 tests/goldens/fields/make.py [--check]
    python3 tests/goldens/fields/make.py --seed SEED --out DIRECTORY [--documents COUNT] [--queries COUNT]

The second form writes another set, which the test reads in $RELUCENT_GOLDENS/fields. Needs Debian's liblucene8-java
8.8.1-4 and OpenJDK 17.
"""
import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import encoded, finish, java_lucene, read_json_lines, read_lines, write_json_lines, write_lines

WEIGHTS = ["1", "2", "0.5", "3.7", "0.1", "17.25", "1000", "0.001"]
RUNS = [("bm25-0.9-0.4", "all"), ("bm25-0.9-0.4", "deleted10"), ("bm25-0.9-0.4", "deleted10-merged"),
        ("bm25-1.2-0.75", "all"), ("qld-1000", "all")]


def generated(seed, documents, queries):
    chance = random.Random(f"fields {seed}")
    letters = "abcdefghiklmnoprstuvwz"
    words = ["".join(chance.choices(letters, k=chance.randint(1, 9))) for _ in range(300)]
    words += ["the", "of", "running", "Runner's", "été", "中文", "x-ray", "U.S.A.", "2020"]
    common = [1 / (rank + 2) for rank in range(len(words))]

    def text(least, most):
        return " ".join(chance.choices(words, common, k=chance.randint(least, most)))

    def document(number):
        row = {"id": f"d{number}", "text": text(0, 80)}
        if chance.random() < 0.8:
            row["title"] = text(0, 9)
        elif chance.random() < 0.3:
            row["title"] = [text(0, 4) for _ in range(chance.randint(0, 3))]
        if chance.random() < 0.35:
            row["notes"] = chance.choice(["", "the", text(1, 600), text(1, 12)])
        return row

    def fields():
        chosen = chance.sample(["contents", "title", "notes"], k=chance.randint(1, 3))
        return ",".join(f"{name}^{chance.choice(WEIGHTS)}" for name in chosen)

    return ([document(i) for i in range(documents)], [f"q{i}\t{fields()}\t{text(1, 7)}" for i in range(queries)])


def texts_of(row):
    """The fields of a document as Java Lucene gets them."""
    fields = [("contents", row["text"])]
    for name in ("title", "notes"):
        value = row.get(name, [])
        fields += [(name, text) for text in (value if isinstance(value, list) else [value])]
    return fields


parser = argparse.ArgumentParser()
parser.add_argument("--check", action="store_true")
parser.add_argument("--seed")
parser.add_argument("--documents", type=int, default=400)
parser.add_argument("--queries", type=int, default=60)
parser.add_argument("--out", type=Path, default=Path(__file__).parent)
arguments = parser.parse_args()
name = f"seed-{arguments.seed}" if arguments.seed else "generated"
documents_file = arguments.out / f"{name}.docs.jsonl.gz"
queries_file = arguments.out / f"{name}.queries.tsv"

if arguments.seed or not documents_file.exists():
    arguments.out.mkdir(parents=True, exist_ok=True)
    made = generated(arguments.seed, arguments.documents, arguments.queries)
    write_json_lines(documents_file, made[0], ensure_ascii=False)
    write_lines(queries_file, made[1])
lines = []
for row in read_json_lines(documents_file):
    lines.append(" ".join(["D", row["id"], *(f"{field}:{encoded(text)}" for field, text in texts_of(row))]))
for line in read_lines(queries_file):
    number, fields, text = line.split("\t")
    lines.append(f"Q {number} {fields} {encoded(text)}")
for similarity, state in RUNS:
    write_lines(arguments.out / f"{name}.{state}.{similarity}.tsv.gz",
                java_lucene("fields", similarity, state, lines=lines))
finish()
