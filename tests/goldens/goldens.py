"""What the generators share: golden files in and out, and --check."""
import base64
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
CHECK = "--check" in sys.argv[1:]
wrong = 0


def read_lines(path):
    """The lines of a plain or compressed file; only U+000A ends one."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return text.removesuffix("\n").split("\n")


def read_json_lines(path):
    return [json.loads(line) for line in read_lines(path)]


def differ(path, row, old, new):
    """Counts a difference from the stored answers and prints the first ones."""
    global wrong
    wrong += 1
    if wrong <= 10:
        print(f"{path}:{row}: stored {str(old)[:200]}, computed {str(new)[:200]}", file=sys.stderr)


def write_lines(path, lines):
    """Replaces the file, or with --check compares it line by line."""
    lines = list(lines)
    if CHECK:
        old = read_lines(path)
        if len(old) != len(lines):
            differ(path, 0, f"{len(old)} lines", f"{len(lines)} lines")
        for row, (stored, computed) in enumerate(zip(old, lines), 1):
            if stored != computed:
                differ(path, row, stored, computed)
        return
    data = "".join(line + "\n" for line in lines).encode("utf-8")
    if path.suffix == ".gz":
        data = gzip.compress(data, 9, mtime=0)
    path.write_bytes(data)


def write_json_lines(path, rows, **options):
    write_lines(path, (json.dumps(row, **options) for row in rows))


def encoded(text):
    return base64.b64encode(text.encode("utf-16-be", "surrogatepass")).decode("ascii")


def java_lucene(*arguments, lines):
    """What JavaLucene.java answers to these lines. LUCENE_JARS names the directory of the jars, Debian's otherwise."""
    jars = os.environ.get("LUCENE_JARS") or "/usr/share/java"
    program = ["java", "-cp", f"{jars}/lucene-core-8.7.0.jar:{jars}/lucene-analyzers-common-8.7.0.jar"
               f":{jars}/lucene-analyzers-kuromoji-8.7.0.jar",
               str(FOLDER / "JavaLucene.java"), *arguments]
    answer = subprocess.run(program, input="".join(line + "\n" for line in lines), stdout=subprocess.PIPE, text=True,
                            check=True)
    return answer.stdout.removesuffix("\n").split("\n")


def finish():
    print(f"{wrong} differences" if CHECK else "written")
    sys.exit(1 if wrong else 0)
