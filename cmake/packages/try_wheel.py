"""Predicts, indexes and searches with the installed package: try_wheel.py COLLECTION.tsv (package.sh wheel --check)."""

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

folder = Path(relucent_search.__file__).parent
libraries = sorted((folder.parent / "relucent_search.libs").iterdir())
licences = sorted((folder / "share/relucent/licences").iterdir())
print(len(libraries), "libraries,", len(licences), "licences:", *(licence.name for licence in licences))
assert libraries and licences and (folder / "share/relucent/LICENSE").is_file()
