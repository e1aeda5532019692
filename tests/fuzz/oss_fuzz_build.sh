#!/usr/bin/env bash
# Builds the fuzz targets as OSS-Fuzz does: with its compiler ($CXX), flags ($CXXFLAGS) and engine
# ($LIB_FUZZING_ENGINE), into $OUT, each with TARGET_seed_corpus.zip, TARGET.dict and TARGET.options. The libraries of
# packages.txt must be installed; copies of those that a target loads are put next to it. To try it by hand:
#   CXX=clang++ CXXFLAGS="-O1 -g -fsanitize=address,fuzzer-no-link" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#     OUT=/tmp/out tests/fuzz/oss_fuzz_build.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${OUT:?is the folder for the targets}" "${CXX:=clang++}" "${CXXFLAGS:=}" "${LIB_FUZZING_ENGINE:=-fsanitize=fuzzer}"
work=${WORK:-build}/oss-fuzz

# shellcheck disable=SC2016
cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Dev -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="$CXXFLAGS" \
  -DCMAKE_BUILD_RPATH='$ORIGIN/lib' -DCMAKE_UNITY_BUILD=ON -DRELUCENT_FUZZ=ON \
  -DRELUCENT_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DRELUCENT_TESTS=OFF -DRELUCENT_PCH=OFF -DRELUCENT_CUDA=off
cmake --build "$work" --target fuzz_targets

mkdir -p "$OUT/lib"
python3 tests/fuzz/make_seeds.py "$work/seeds"
for target in "$work"/fuzz/fuzz_*; do
  name=${target##*/fuzz_}
  cp "$target" "$OUT/"
  # What the base image of OSS-Fuzz, where targets run, does not have.
  ldd "$target" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' |
    { grep -vE '/(libc|libm|libpthread|libdl|librt|ld-linux[^/]*)\.' || true; } | xargs -r cp -nL -t "$OUT/lib"
  [ ! -d "tests/fuzz/corpus/$name" ] || cp "tests/fuzz/corpus/$name"/* "$work/seeds/$name/"
  rm -f "$OUT/fuzz_${name}_seed_corpus.zip"
  (cd "$work/seeds/$name" && python3 -m zipfile -c "$OUT/fuzz_${name}_seed_corpus.zip" ./*)
  cp "$work/seeds/$name.dict" "$OUT/fuzz_$name.dict"
  printf '[libfuzzer]\nmax_len = 20000\ntimeout = 20\nrss_limit_mb = 2048\n' >"$OUT/fuzz_$name.options"
done
