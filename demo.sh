#!/usr/bin/env bash
# Installs missing packages, builds Relucent, indexes the bundled collection, and shows BM25's order next to the
# reranked one. Nothing it prints is canned.
#   ./demo.sh [--device auto|cpu|cuda:N] [--precision P] [--window N] [--program PROGRAM]
# The first three are those of `relucent search`. PROGRAM is one that is built already; without it, one is built.
set -euo pipefail
cd "$(dirname "$0")"
export LC_ALL=C.UTF-8

device=auto settings=() relucent='' work=build/demo targets=(relucent_installed)
while [ $# -gt 0 ]; do
  case $1${2:+=} in
    --device=) device=$2 ;;
    --precision= | --window=) settings+=("$1" "$2") ;;
    --program=) relucent=$2 ;;
    *) sed -n 's/^#   /usage: /p' demo.sh >&2; exit 2 ;;
  esac
  shift 2
done
case $device in cuda*) targets+=(relucent_cuda) ;; esac  # needs a CUDA toolkit: docs/installation.md

build_program() {
  # shellcheck source=cmake/install-packages.sh
  source cmake/install-packages.sh
  install_packages "$PWD"
  echo "Building the release program in build/release (a few minutes the first time) ..." >&2
  local log=build/release/demo-build.log
  mkdir -p build/release
  { cmake --preset release && cmake --build --preset release --target "${targets[@]}"; } >"$log" 2>&1 ||
    { tail -40 "$log" >&2; echo "The build failed; the whole log is in $log" >&2; exit 1; }
  relucent=build/release/bin/relucent work=build/release/demo
}
[ -n "$relucent" ] || build_program

demo=index_tools/demo
rm -rf "$work" && mkdir -p "$work"

[ "$device" = auto ] || settings+=(--device "$device")

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
show() { printf '\n$ %s\n' "$*"; "$@" || [ $? -eq 4 ]; }  # 4: answered, but not on the requested device

step "1. Index the bundled collection ($(wc -l <$demo/collection.tsv) passages)"
show "$relucent" index --corpus tsv --input $demo/collection.tsv --index $work/index
show "$relucent" verify --index $work/index

step "2. Three queries: BM25's rank and score next to the reranked order"
while IFS= read -r query; do
  show "$relucent" search --index $work/index "${settings[@]}" --hits 5 "$query"
done <$demo/showcase.txt

step "3. All $(wc -l <$demo/queries.tsv) queries, judged: reranked (A) against BM25 alone (B)"
show "$relucent" search --index $work/index --no-rescore --topics $demo/queries.tsv --run $work/bm25.run --tag bm25
show "$relucent" search --index $work/index "${settings[@]}" --topics $demo/queries.tsv --run $work/reranked.run \
  --tag reranked
show "$relucent" evaluate --qrels $demo/qrels.txt --run $work/reranked.run $work/bm25.run \
  --measures nDCG@10,RR@10 --compare

step "What next"
cat <<EOF
Ask your own question:
  $relucent search --index $work/index "your question"
Index something big that every Debian machine has, the package descriptions (about 60,000):
  apt-cache dumpavail | index_tools/demo/package_descriptions.py > $work/packages.tsv
  $relucent index --corpus tsv --input $work/packages.tsv --index $work/packages
  $relucent search --index $work/packages "remove metadata from photos"
Index your own files: a folder of text or html, or a file of many documents: tsv, csv or jsonl ($relucent index --help):
  $relucent index --corpus text --input FOLDER --index DIR
Use it from your own Lucene++ program: docs/embedding.md. All commands: $relucent --help
EOF
