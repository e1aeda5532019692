#!/usr/bin/env bash
# Fine-tunes the bundled checkpoint on the judgments of the bundled collection, three times: each time on two thirds of
# the queries, and then it reranks the other third. So every query is reranked by a model that has not seen it. Takes
# about five minutes on two cores. Needs `pip install './python[train]'` and ./demo.sh (or ./test.sh) before it.
#   docs/examples/training/train.sh [FOLDER] [SECTION.KEY=VALUE ...]
# FOLDER (default: build/training-example) is replaced.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$root"
export LC_ALL=C.UTF-8
work=${1:-build/training-example}
shift || true
relucent=build/release/bin/relucent
demo=index_tools/demo
rm -rf "$work" && mkdir -p "$work"

$relucent index --quiet --corpus tsv --input $demo/collection.tsv --index "$work/index"
for fold in 0 1 2; do
  part=$work/fold$fold
  mkdir "$part"
  awk -F'\t' -v fold=$fold -v train="$part/train.tsv" -v test="$part/test.tsv" \
    '{ print > ($1 % 3 == fold ? test : train) }' $demo/queries.tsv
  $relucent search --index "$work/index" --no-rescore --topics "$part/train.tsv" --run "$part/train.run"
  $relucent search --index "$work/index" --topics "$part/test.tsv" --run "$part/before.run" --tag before
  relucent-train docs/examples/training/recipe.toml output="$part/model" program="$PWD/$relucent" \
    model.base="$PWD/model/relucent-minilm-l6-w4" data.run="$part/train.run" data.qrels=$demo/qrels.txt \
    data.queries="$part/train.tsv" data.documents=$demo/collection.tsv "$@"
  $relucent search --index "$work/index" --topics "$part/test.tsv" --run "$part/after.run" --tag after \
    --model "$part/model"
done
cat "$work"/fold?/before.run >"$work/before.run"
cat "$work"/fold?/after.run >"$work/after.run"
$relucent evaluate --qrels $demo/qrels.txt --run "$work/before.run" "$work/after.run" --measures nDCG@10,RR@10 --compare
