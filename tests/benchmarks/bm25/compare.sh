#!/usr/bin/env bash
# Times `relucent bench bm25` against Java Lucene (Debian's liblucene8-java) on the same generated texts and queries, in
# turns, and compares every hit and score bit for bit. Ends without an error where Java or Lucene's jars are missing.
#   tests/benchmarks/bm25/compare.sh [DOCUMENTS] [TURNS]
# Makes its indexes in $RELUCENT_BM25_BENCHMARK (default build/bench-bm25; about 0.8 GB for a million documents).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
documents=${1:-1000000} turns=${2:-3} hits=100 rounds=5
work=${RELUCENT_BM25_BENCHMARK:-$root/build/bench-bm25}/$documents
program=${RELUCENT:-$root/build/release/bin/relucent}
[ -x "$program" ] || { echo "Build the release preset first: ./demo.sh or ./test.sh" >&2; exit 1; }

jars=$(cd /usr/share/java && ls "$PWD"/lucene-core-8*.jar "$PWD"/lucene-analyzers-common-8*.jar 2>/dev/null |
  paste -sd:) || true
command -v javac >/dev/null && command -v java >/dev/null ||
  { echo "SKIPPED: no Java (Debian: default-jdk-headless)"; exit 0; }
[ -n "$jars" ] || { echo "SKIPPED: no Lucene in /usr/share/java (Debian: liblucene8-java)"; exit 0; }

mkdir -p "$work/classes"
javac -cp "$jars" -d "$work/classes" "$here/JavaLucene.java"
relucent() {
  "$program" bench bm25 --documents "$documents" --hits "$hits" --runs "$rounds" --index "$work/index" "$@"
}
[ -d "$work/java" ] && texts=() || texts=(--write-texts "$work/texts.txt")
relucent --json --write-queries "$work/queries.txt" --write-hits "$work/hits.txt" "${texts[@]}" >/dev/null
rm -f "$work"/turn-*
for turn in $(seq "$turns"); do
  relucent --json >"$work/turn-$turn.relucent.json"
  java -Xmx3g -cp "$jars:$work/classes" JavaLucene "$work/texts.txt" "$work/queries.txt" "$work/java" \
    "$hits" "$rounds" "$work/java-hits.txt" >"$work/turn-$turn.java.txt"
done
rm -f "$work/texts.txt"
cmp "$work/hits.txt" "$work/java-hits.txt" ||
  { echo "The hits differ: $work/hits.txt, $work/java-hits.txt" >&2; exit 1; }

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
print("The same hits, scores and counts from Java Lucene and Relucent, to the last bit.")
print(f"{'contender':28} median ms     min ms     max ms   times Relucent's")
for contender, turns in times.items():
    median = statistics.median(f[0] for f in turns)
    least, most = min(f[1] for f in turns), max(f[2] for f in turns)
    print(f"{contender:28}{median:10.3f} {least:10.3f} {most:10.3f} {median / ours:9.2f}")
PYTHON
