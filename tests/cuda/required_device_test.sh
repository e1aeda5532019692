#!/usr/bin/env bash
# A device that is required and is not there fails its tests; otherwise they are skipped:
#   tests/cuda/required_device_test.sh BUILD/tests
set -uo pipefail
programs=$1
failed=0
export RELUCENT_TEST_DEVICE=cuda:0 RELUCENT_CUDA_MODULE=none
unset RELUCENT_REQUIRE_DEVICE RELUCENT_CUDA_EMULATOR

expect() {  # passes|fails WORDS [NAME=VALUE]... PROGRAM FILTER
  local wanted=$1 words=$2 program got=passes output
  shift 2
  program=${*: -2:1}
  output=$(env "${@:1:$#-2}" "$programs/$program" "--gtest_filter=${*: -1}" 2>&1) || got=fails
  [ "$got" = "$wanted" ] && grep -q "$words" <<<"$output" && return
  echo "FAILED: $* $got, expected: $wanted with \"$words\""
  tail -5 <<<"$output"
  failed=1
}

while read -r program filter; do
  expect passes "SKIPPED" "$program" "$filter"
  expect fails "SKIPPED\|is disabled by" RELUCENT_REQUIRE_DEVICE=1 "$program" "$filter"
done <<'PROGRAMS'
kernels_agreement *LongInputs*
kernels_determinism *SameBits*fp16
kernels_exchanges *Exchanges*fp16
kernels_mix_encoder *Mix*
kernels_soak *Soak*16
model_golden *SparseGolden*cuda*fp16
model_golden *FamiliesGolden*cuda*fp16
model_queries_golden *cuda*
model_mir *cuda*fp16
model_mixencoder_golden *cuda*fp16
model_trained_golden *Cuda*
passage_graphs *WholePaths*
PROGRAMS

# The emulator is always there: a module that cannot be loaded fails, and data that is missing is skipped.
expect fails "is disabled by" RELUCENT_CUDA_EMULATOR=memory=16M kernels_agreement '*LongInputs*'
expect passes "SKIPPED: needs" RELUCENT_CUDA_EMULATOR=memory=16M RELUCENT_GOLDENS=/nonexistent model_mir '*cuda*fp16'
# A filter that selects nothing, and a test that is skipped for another reason.
expect passes "0 tests" kernels_agreement '*NoSuchTest*'
expect fails "no test was selected" RELUCENT_CUDA_EMULATOR=memory=16M kernels_agreement '*NoSuchTest*'
expect fails "no test was selected" RELUCENT_REQUIRE_DEVICE=1 kernels_agreement '*NoSuchTest*'
expect fails "tests were skipped" RELUCENT_REQUIRE_DEVICE=1 RELUCENT_GOLDENS=/nonexistent model_mir '*cuda*fp16'

# As CTest runs the same program where a GPU is listed, and where none is.
fake=$(mktemp -d)
trap 'rm -rf "$fake"' EXIT
expect_on_gpu() {  # EXIT_CODE WORDS [--needs FOLDER]
  local wanted=$1 words=$2 code=0
  shift 2
  PATH=$fake:$PATH tests/cuda/on_gpu.sh "$@" -- "$programs/kernels_agreement" '--gtest_filter=*LongInputs*' \
    >"$fake/log" 2>&1 || code=$?
  if [ $code != "$wanted" ] || ! grep -q "$words" "$fake/log"; then
    echo "FAILED: on_gpu.sh $* ended with $code, expected: $wanted with \"$words\""
    failed=1
  fi
}
printf '#!/bin/sh\nexit 9\n' >"$fake/nvidia-smi"
chmod +x "$fake/nvidia-smi"
compgen -G '/dev/nvidia[0-9]*' >/dev/null || expect_on_gpu 77 "SKIPPED: no GPU is listed"
printf '#!/bin/sh\necho "GPU 0: NVIDIA H100 (UUID: GPU-0)"\n' >"$fake/nvidia-smi"
expect_on_gpu 1 "is disabled by"
expect_on_gpu 77 "SKIPPED: needs no/such/folder" --needs no/such/folder
exit $failed
