"""The examples of docs/python.md run as they are written."""
import importlib.util
import os
import re
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def folder(root, program, tmp_path_factory):
    """A stand-in for the root of the sources, so that the examples' output lands elsewhere."""
    folder = tmp_path_factory.mktemp("root")
    for name in ("config", "index_tools", "docs"):
        (folder / name).symlink_to(root / name)
    (folder / "build/release/bin").mkdir(parents=True)
    (folder / "build/release/bin/relucent").symlink_to(program.path)
    return folder


def test_the_examples_of_the_page_run(root, folder, capsys):
    text = (root / "docs/python.md").read_text()
    blocks = re.findall(r"^```(\w+) ?([\w_-]*)\n(.*?)^```$", text, re.S | re.M)
    ran, names = 0, {"__name__": "example"}
    here = os.getcwd()
    os.chdir(folder)
    try:
        for language, needs, code in blocks:
            if language == "sh" and "pip install" not in code:
                subprocess.run(["bash", "-ec", code], check=True, capture_output=True)
                ran += 1
            elif language == "python" and needs != "notest":
                if needs and importlib.util.find_spec({"langchain": "langchain_core"}.get(needs, needs)) is None:
                    continue
                exec(compile(code, f"docs/python.md ({code.splitlines()[0]})", "exec"), names)
                ran += 1
    finally:
        os.chdir(here)
    assert ran >= 6
    printed = capsys.readouterr().out
    assert "rescored False" in printed and "Cool the burn with water." in printed


def test_the_example_of_scoring_texts(root):
    texts = ["Burning calories takes time.", "Hold the burn under cool running water for twenty minutes."]
    example = root / "docs/examples/score_texts.py"
    lines = subprocess.run([sys.executable, example, "how to treat a burn"], input="\n".join(texts), check=True,
                           capture_output=True, text=True).stdout.splitlines()
    assert [line.split("\t")[1] for line in lines] == texts[::-1]
    assert float(lines[0].split("\t")[0]) > float(lines[1].split("\t")[0])
