"""What the tests of the package share: the program `relucent`, an index and candidates of the bundled collection."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEMO = ROOT / "index_tools/demo"


class Program:
    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments):
        return subprocess.run([self.path, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def program():
    return Program(os.environ["RELUCENT_PROGRAM"])


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def index(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "index"
    program("index", "--corpus", "tsv", "--input", DEMO / "collection.tsv", "--index", folder, "--quiet")
    return folder


@pytest.fixture(scope="session")
def topics():
    return dict(line.split("\t") for line in (DEMO / "queries.tsv").read_text().splitlines())


@pytest.fixture(scope="session")
def documents():
    return dict(line.split("\t") for line in (DEMO / "collection.tsv").read_text().splitlines())


@pytest.fixture(scope="session")
def candidates_file(program, index, tmp_path_factory):
    """BM25's best 20 of every query of the bundled collection, as a rerank file."""
    file = tmp_path_factory.mktemp("candidates") / "rerank.jsonl"
    program("search", "--index", index, "--topics", DEMO / "queries.tsv", "--hits", 20, "--rerank-file", file)
    return file


@pytest.fixture(scope="session")
def candidates(candidates_file):
    return [json.loads(line) for line in candidates_file.read_text().splitlines()]


@pytest.fixture(scope="session")
def logits(program, candidates_file, tmp_path_factory):
    """{(qid, docno): logit} as `relucent rerank` writes it, with all digits."""
    file = tmp_path_factory.mktemp("logits") / "logits.tsv"
    program("rerank", "--input", candidates_file, "--output", file, "--quiet")
    rows = [line.split("\t") for line in file.read_text().splitlines()]
    return {(qid, docno): float(np.float32(logit)) for qid, docno, logit in rows}
