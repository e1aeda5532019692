#!/usr/bin/env bash
# Trains and computes tables of the papers in small, on the bundled collection: Table 1 of the sparse cross-encoder's
# paper in its two stages, and the ablations of MixEncoder and MIR. Each row is trained for STEPS steps from the first
# two layers of the bundled checkpoint. Such small models repeat none of the papers' figures, but every step is theirs.
# The same command resumes it. STEPS=4, which only tries every step out, takes minutes on two cores. Needs
# `pip install './python[train]'` and ./demo.sh before it.
#   docs/examples/training/tables.sh [FOLDER] [STEPS]
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$root"
export LC_ALL=C.UTF-8
work=$(realpath -m "${1:-build/tables-example}")
steps=${2:-200}
relucent=$root/build/release/bin/relucent
demo=$root/index_tools/demo
mkdir -p "$work/training"

# Two thirds of the queries train, the others measure.
awk -F'\t' -v train="$work/training/queries.tsv" -v test="$work/test.tsv" '{ print > ($1 % 3 == 0 ? test : train) }' \
  "$demo/queries.tsv"
[ -d "$work/index" ] || $relucent index --quiet --corpus tsv --input "$demo/collection.tsv" --index "$work/index"
cp "$demo/qrels.txt" "$work/training/qrels.txt"
cp "$demo/collection.tsv" "$work/training/collection.tsv"
$relucent search --index "$work/index" --no-rescore --topics "$work/training/queries.tsv" \
  --run "$work/training/bm25.run" --rerank-file "$work/training/candidates.jsonl"
$relucent search --index "$work/index" --no-rescore --topics "$work/test.tsv" --run "$work/bm25.run" \
  --rerank-file "$work/test.jsonl"
$relucent rerank --quiet --input "$work/training/candidates.jsonl" --output "$work/training/teacher.tsv"
# Scored triples: each relevant document with each of BM25's other first ten.
awk -F'\t' 'NR == FNR { score[$1, $2] = $3; if (++rank[$1] <= 10) near[$1] = near[$1] " " $2; next }
  { split($0, of, " "); if (of[4] > 0) relevant[of[1], of[3]] = 1; judged[++n] = $0 }
  END { for (i = 1; i <= n; i++) { split(judged[i], of, " "); if (of[4] < 1 || !((of[1], of[3]) in score)) continue
          count = split(near[of[1]], documents, " ")
          for (j = 1; j <= count; j++) if (!((of[1], documents[j]) in relevant))
            print score[of[1], of[3]] "\t" score[of[1], documents[j]] "\t" of[1] "\t" of[3] "\t" documents[j] } }' \
  "$work/training/teacher.tsv" "$work/training/qrels.txt" >"$work/training/scored.tsv"

python3 - "$root" "$work" "$steps" "$relucent" <<'PYTHON'
"""The first two layers of the bundled checkpoint, with and without positions for longer texts; the plans and tables."""
import json
import pathlib
import re
import shutil
import sys

from safetensors.torch import load_file, save_file

root, work, steps, relucent = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
base = work / "base"
if not base.exists():
    shutil.copytree(root / "model/relucent-minilm-l6-w4", base)
    config = json.loads((base / "config.json").read_text())
    plain = {key: value for key, value in config.items() if "attention" not in key or key == "num_attention_heads"}
    (base / "config.json").write_text(json.dumps({**plain, "num_hidden_layers": 2, "model_type": "bert",
                                                  "architectures": ["BertForSequenceClassification"]}))
    tensors = {name: tensor for name, tensor in load_file(base / "model.safetensors").items()
               if not re.search(r"layer\.[2-9]\.", name)}
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
common = (f"training = {{ steps = {steps}, queries = 4, learning_rate = 5e-5, log_every = {max(1, steps // 4)}, "
          f"save_every = {max(1, steps // 4)} }}")
texts = 'queries = "training/queries.tsv", documents = "training/collection.tsv"'
judged = f'run = "training/bm25.run", qrels = "training/qrels.txt", {texts}'
data = {"scored": f'data = {{ scored_triples = "training/scored.tsv", {texts} }}',
        "judged": f"data = {{ {judged}, bands = [[1, 1, 1], [2, 20, 1]] }}",
        "mir": f'data = {{ index = "index", {judged}, bands = [[1, 1, 1], [2, 20, 3]] }}'}


def table(name: str, title: str, rows: dict[str, str], reference: str, statistics: bool) -> None:
    lines = [f'title = "{title}, in small"', 'measures = ["nDCG@10"]', f'reference = "{reference}"', "[[tasks]]",
             'name = "bundled"', 'candidates = "test.jsonl"', f'qrels = "{root}/index_tools/demo/qrels.txt"',
             *(['statistics = "index"'] if statistics else []), "[[rows]]", 'name = "BM25"', 'kind = "first stage"']
    for row, folder in rows.items():
        pattern = '\npatterns = ["qds"]' if row.startswith("qds") else ""
        lines += ["[[models]]", f'name = "{folder}"', f'folder = "models/{folder}"', "[[rows]]", f'name = "{row}"',
                  f'models = ["{folder}"]{pattern}']
    (work / f"{name}.toml").write_text("\n".join(lines) + "\n")


def plan(name: str, stages: str, rows: str) -> None:
    (work / f"plan-{name}.toml").write_text(f'base = "base"\nexperiments = ["{name}.toml"]\n{stages}\n{rows}\n')


shipped = (root / "config/training/ecir2024-table1.toml").read_text()
rows = shipped[shipped.index("[[rows]]"):]
names = re.findall(r'^name = "(.*)"', rows, re.M)
recipes = root / "config/training"
plan("table1", f'[[stages]]\nname = "512"\nrecipe = "{recipes}/ecir2024-passages.toml"\n{data["scored"]}\n{common}\n'
     f'[[stages]]\nname = "4096"\npositions = 1024\nrecipe = "{recipes}/ecir2024-documents.toml"\n'
     f'model = {{ max_length = 1024 }}\n{data["judged"]}\n{common}', rows)
short = {name: f"{name}-512" for name in names}
long = {f"{name}, documents": f"{name}-4096" for name in names if not name.endswith(("inf", "full"))}
table("table1", "ECIR 2024, Table 1", {**short, **long}, "full", False)
for name, of_data, reference in (("mixencoder", "judged", "layer-1"), ("mir", "mir", "mir-full")):
    shipped = (root / f"config/training/{name}-ablations.toml").read_text()
    rows = shipped[shipped.index("[[rows]]"):]
    for old, new in (("6,7,8,9,10,11", "0,1"), ("9,10,11", "0,1"), ("10,11", "0,1"), ('"7,9"', '"0"'), ('"11"', '"1"'),
                     ("layer-11", "layer-1"), ('"--as", "mir"', '"--as", "mir", "--window", "96", "--stride", "72"')):
        rows = rows.replace(old, new)
    names = re.findall(r'^name = "(.*)"', rows, re.M)
    plan(name, f'[[stages]]\nname = "small"\nrecipe = "{recipes}/{name}.toml"\n{data[of_data]}\n'
         f'{common}', rows)
    table(name, f"{name}'s ablations", {row: f"{row}-small" for row in names}, reference, name == "mir")
PYTHON
for name in table1 mixencoder mir; do
  relucent-train --plan "$work/plan-$name.toml" "program=$relucent"
done
