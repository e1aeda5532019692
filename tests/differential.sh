#!/usr/bin/env bash
# What the suite compares on a few inputs, on many: tests/differential.sh BUILD
# Resumes: BUILD/differential has the next seed of each comparison, and the output of those that failed.
#   plans     100,000 random encoders: every instruction set against ref
#   emulator  1,000 random encoders: the CUDA backend on the emulator against ref, where the build has the emulator
#   bm25      20 seeds: the paths of BM25 against each other and against a plain computation, and segments against those
#             of Lucene++'s writer, byte for byte
#   java      10 random collections with 1,000 queries each against Java Lucene
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.."
state=$build/differential
mkdir -p "$state"

# Calls `$2 SEED` for the seeds from the stored one up to $3, $4 apart.
each_seed() {  # NAME FUNCTION LAST STEP
  local seed
  seed=$(cat "$state/$1" 2>/dev/null || echo 1)
  for (( ; seed <= $3; seed += $4)); do
    "$2" "$seed" >"$state/$1.log" 2>&1 || {
      cp "$state/$1.log" "$state/$1.$seed.failed"
      tail -40 "$state/$1.log"
      echo "FAILED: $1, seed $seed: $state/$1.$seed.failed"
      exit 1
    }
    echo "$((seed + $4))" >"$state/$1"
    echo "$1, seed $seed: $(grep -E 'plans:|PASSED' "$state/$1.log" | head -1)"
  done
}
plans() {
  RELUCENT_PLANS=1000 RELUCENT_PLANS_FIRST=$1 "$build/tests/kernels_random_plans"
}
emulator() {
  RELUCENT_PLANS=20 RELUCENT_PLANS_FIRST=$1 RELUCENT_TEST_DEVICE=cuda:0 RELUCENT_CUDA_EMULATOR=memory=64M \
    RELUCENT_CUDA_MODULE=$build/lib/librelucent_cuda_emulated.so "$build/tests/kernels_random_plans"
}
bm25() {
  RELUCENT_TEST_SEED=$1 "$build/tests/first_stage_paths" --gtest_filter='-*Threads*' &&
    RELUCENT_TEST_SEED=$1 "$build/tests/index_segments" \
      --gtest_filter='Segments.AreByteForByte*:Segments.Merged*:IndexBuilders.OfAny*'
}

each_seed plans plans 100000 1000
if [ -e "$build/lib/librelucent_cuda_emulated.so" ]; then
  each_seed emulator emulator 1000 20
else
  echo "SKIPPED: the build has no CUDA emulator"
fi
each_seed bm25 bm25 20 1
if [ -x "$(command -v java)" ] && [ -e "${LUCENE_JARS:-/usr/share/java}/lucene-core-8.7.0.jar" ]; then
  python3 tests/plugin/lucene/bm25/java_differential.py "$build" --state "$state/java"
else
  echo "java: SKIPPED: needs OpenJDK 17 and Debian's liblucene8-java"
fi
