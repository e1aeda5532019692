#!/usr/bin/env python3
"""Random collections and queries, searched by Java Lucene and by the test program first_stage_bm25: the same documents,
order and bits from both of its paths, in one segment and in seven, with and without deletions and after a merge.

  java_differential.py BUILD [--first SEED] [--collections N] [--queries N] [--state FILE]

Needs Debian's liblucene8-java and OpenJDK 17. With --state, the next seed is kept there, so that a run resumes. A
collection on which the two differ stays where the last line names it.
"""
import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests/goldens"))

parser = argparse.ArgumentParser()
parser.add_argument("build", type=Path)
parser.add_argument("--first", type=int, default=1)
parser.add_argument("--collections", type=int, default=10)
parser.add_argument("--queries", type=int, default=1000)
parser.add_argument("--state", type=Path)
options = parser.parse_args()
sys.argv = sys.argv[:1]  # goldens.py looks at the arguments
from goldens import encoded, java_lucene  # noqa: E402

WORDS = ("the of a and in it is was".split() + [f"w{i}" for i in range(60)] +
         "running runs runner happily's caresses ponies O'Neil's été 中文 naïve I'm 3.14 a.b x_y U.S. 😀".split())
PARAMETERS = [("0.9", "0.4"), ("1.2", "0.75"), ("0.0", "0.0"), ("2.0", "1.0"), ("0.5", "0.0")]


def word(source):
    """Frequent ones first; now and then one that no other text has."""
    if source.random() < 0.02:
        return f"rare{source.randrange(10**6)}"
    return WORDS[min(len(WORDS) - 1, int(len(WORDS) * source.random() ** 2))]


def text(source, longest):
    kind = source.random()
    length = 0 if kind < 0.04 else source.randrange(1, 3000) if kind > 0.985 else source.randrange(1, longest)
    return source.choice([" ", " ", ", ", "\n"]).join(word(source) for _ in range(length))


def write(path, lines):
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_collection(seed, folder):
    source = random.Random(seed)
    name = f"random{seed}"
    documents = [(f"d{i}", text(source, 40)) for i in range(source.choice([49, 70, 300, 900]))]
    write(folder / f"{name}.docs.jsonl.gz", (json.dumps({"id": i, "text": t}) for i, t in documents))
    queries = []
    for i in range(options.queries):
        words = [word(source) for _ in range(source.choice([0, 1, 2, 3, 4, 5, 8, 30]))]
        if words and source.random() < 0.2:
            words += [source.choice(words)] * source.randrange(1, 5)
        queries.append((f"q{i}", " ".join(words)))
    write(folder / f"{name}.queries.tsv", (f"{i}\t{t}" for i, t in queries))
    lines = [f"D {i} {encoded(t)}" for i, t in documents] + [f"Q {i} {encoded(t)}" for i, t in queries]
    k1, b = source.choice(PARAMETERS)
    rows = 0
    for state in ("all", "deleted10", "deleted10-merged"):
        answer = [line for line in java_lucene("bm25", k1, b, state, lines=lines) if line]
        rows += len(answer)
        write(folder / f"{name}.k{k1}-b{b}{'' if state == 'all' else '.' + state}.tsv.gz", answer)
    return name, len(documents), rows


first = options.first
if options.state and options.state.exists():
    first = int(options.state.read_text())
last = options.first + options.collections
collections = rows = 0
for seed in range(first, last):
    folder = Path(tempfile.mkdtemp(prefix="relucent-java-"))
    (folder / "bm25").mkdir()
    name, documents, answered = write_collection(seed, folder / "bm25")
    tests = ":".join(f"*BM25Golden.{test}*/{name}" for test in ("OwnIndex", "IndexOfAnotherProgram"))
    result = subprocess.run([options.build.resolve() / "tests/first_stage_bm25", "--gtest_brief=1",
                             f"--gtest_filter={tests}"], cwd=ROOT, env={**os.environ, "RELUCENT_GOLDENS": str(folder)},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0 or "4 tests" not in result.stdout:
        print(result.stdout[-4000:])
        print(f"seed {seed} ({documents} documents): Java Lucene differs on {folder}")
        sys.exit(1)
    shutil.rmtree(folder)
    collections += 1
    rows += answered
    if options.state:
        options.state.parent.mkdir(parents=True, exist_ok=True)
        options.state.write_text(str(seed + 1))
    print(f"seed {seed}: {documents} documents, {options.queries} queries, {answered} rows are equal", flush=True)
print(f"{collections} collections, {collections * options.queries} queries in three states, {rows} rows of Java "
      "Lucene: each is equal on both paths, in one segment and in seven, of both writers")
