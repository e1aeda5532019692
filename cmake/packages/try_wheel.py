"""Predicts, indexes, searches and asks for training with the installed package (package.sh wheel --check):
try_wheel.py COLLECTION.tsv"""

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

import relucent_search

pairs = [("how to boil an egg", "Boil the egg for seven minutes."), ("how to boil an egg", "Paris is in France.")]
scores = relucent_search.CrossEncoder().predict(pairs)
print("predict:", scores)
assert scores[0] > scores[1], scores

with tempfile.TemporaryDirectory() as folder:
    index = Path(folder) / "index"
    with relucent_search.IndexBuilder(index) as builder:
        lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
        for line in lines:
            builder.add(*line.split("\t"))
    result = relucent_search.Searcher(index).search("how to treat a burn", 3)
    print("search:", [hit.id for hit in result], "of", len(lines), "documents")
    assert result[0].id == "1101" and not result.degraded, result

# Training needs PyTorch, which the package does not bring: its program names what to install.
train = subprocess.run([Path(sys.executable).with_name("relucent-train"), "run.toml"], capture_output=True, text=True)
print("train:", train.stderr.strip())
assert train.returncode == 1 and "pip install 'relucent-search[train]'" in train.stderr, train
assert "train" in importlib.metadata.metadata("relucent-search").get_all("Provides-Extra")

folder = Path(relucent_search.__file__).parent
libraries = sorted((folder.parent / "relucent_search.libs").iterdir())
licences = sorted((folder / "share/relucent/licences").iterdir())
print(len(libraries), "libraries,", len(licences), "licences:", *(licence.name for licence in licences))
assert libraries and licences and (folder / "share/relucent/LICENSE").is_file()
