#!/usr/bin/env python3
"""Computes the tokens and the BM25 ranks of every language again, or with --check compares them:

    python3 tests/goldens/languages/make.py [--check]
    python3 tests/goldens/languages/make.py --texts COUNT --seed SEED --out DIRECTORY [--words DIRECTORY] [LANGUAGE...]

The second form writes another set, which the tests read in $RELUCENT_GOLDENS/languages. --words names a directory with
LANGUAGE.txt, one word per line. Needs Debian's liblucene8-java 8.8.1-4 and OpenJDK 17.
"""
import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import encoded, finish, java_lucene, read_json_lines, read_lines, write_json_lines, write_lines
from texts import LANGUAGES, Writer

here = Path(__file__).parent
OWN = sorted(set(LANGUAGES) - {"japanese", "thai"})  # these two differ
RANKED = ["arabic", "chinese", "german"]


def answered(language, texts):
    answers = java_lucene("analyze", language, lines=[encoded(text) for text in texts])
    return [{"text": text, **json.loads(answer)} for text, answer in zip(texts, answers, strict=True)]


def write(path, rows):
    write_json_lines(path, rows, separators=(",", ":"))


def documents_of(language, seed):
    """A small collection whose documents share words, and questions of its words."""
    writer = Writer(language, seed)
    words = [writer.word() for _ in range(400)]
    common = [1 / (rank + 3) for rank in range(len(words))]

    def text(least, most):
        count = writer.random.randint(least, most)
        return " ".join(writer.random.choices(words, common, k=count))

    documents = [{"id": f"d{i}", "text": text(0, 60) + (" " + writer.text() if i % 3 else "")} for i in range(300)]
    return documents, [(f"q{i}", text(1, 6)) for i in range(60)]


def rank(language, folder, generate):
    """BM25's ranks of a collection in this language."""
    documents_file, queries_file = folder / f"{language}.{name}.docs.jsonl.gz", folder / f"{language}.{name}.queries.tsv"
    if generate:
        documents, queries = documents_of(language, arguments.seed)
        write(documents_file, documents)
        write_lines(queries_file, (f"{number}\t{text}" for number, text in queries))
    documents = read_json_lines(documents_file)
    queries = [line.split("\t") for line in read_lines(queries_file)]
    lines = [f"D {row['id']} {encoded(row['text'])}" for row in documents]
    lines += [f"Q {number} {encoded(text)}" for number, text in queries]
    ranks = java_lucene("bm25", "0.9", "0.4", "all", language, lines=lines)
    write_lines(folder / f"{language}.{name}.k0.9-b0.4.tsv.gz", ranks)


parser = argparse.ArgumentParser()
parser.add_argument("--check", action="store_true")
parser.add_argument("--texts", type=int)
parser.add_argument("--seed", default="1")
parser.add_argument("--out", type=Path, default=here)
parser.add_argument("--words", type=Path)
parser.add_argument("languages", nargs="*")
arguments = parser.parse_args()
name = f"seed-{arguments.seed}" if arguments.texts else "generated"

for language in arguments.languages or (LANGUAGES if arguments.texts else OWN):
    path = arguments.out / f"{language}.{name}.tokens.jsonl.gz"
    if arguments.texts:
        words = arguments.words / f"{language}.txt" if arguments.words else None
        vocabulary = words.read_text(encoding="utf-8").split("\n") if words and words.exists() else ()
        writer = Writer(language, arguments.seed, vocabulary)
        texts = [writer.text() for _ in range(arguments.texts)]
    else:
        texts = [row["text"] for row in read_json_lines(path)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(path, answered(language, texts))
for language in RANKED:
    if not arguments.languages or language in arguments.languages:
        rank(language, arguments.out, arguments.texts)
finish()
