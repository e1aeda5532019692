#!/usr/bin/env bash
# Everything that wants a GPU, in one command, from a finished release build; logs into DIR (default: build/gpu):
#   tests/gpu.sh [--soak SECONDS] [DIR]
# the tests of every backend, the same under compute-sanitizer, searches of changing shapes for SECONDS a precision
# (default 450: half an hour in all), `relucent bench model` over lengths and windows. Ends with a table of what passed;
# exit code 1 if anything did not. What it needs of the build: build/release/{bin,lib,tests}.
set -uo pipefail
cd "$(dirname "$0")/.."
soak=450
if [ "${1:-}" = --soak ]; then soak=$2; shift 2; fi
out=${1:-build/gpu}
build=build/release
mkdir -p "$out"
if [ ! -e $build/lib/librelucent_cuda.so ]; then
  echo "SKIPPED: $build/lib/librelucent_cuda.so is not there; build the release preset with a CUDA toolkit" >&2
  exit 0
fi
if ! nvidia-smi >"$out/nvidia-smi.log" 2>&1; then
  echo "SKIPPED: nvidia-smi finds no GPU on this machine" >&2
  exit 0
fi
export RELUCENT_TEST_DEVICE=cuda:0 RELUCENT_CUDA_MODULE=$PWD/$build/lib/librelucent_cuda.so
table=()
failed=0

step() {  # NAME COMMAND...
  local name=$1 begin=$SECONDS status=0 summary
  shift
  "$@" >"$out/$name.log" 2>&1 || status=$?
  summary=$(grep -aE '\[  (PASSED|FAILED|SKIPPED) *\]|ERROR SUMMARY|tests? ran' "$out/$name.log" | tail -1) || true
  table+=("$(printf '%-28s %-7s %5d s  %s' "$name" "$([ $status -eq 0 ] && echo passed || echo FAILED)" \
    $((SECONDS - begin)) "$summary")")
  echo "${table[-1]}"
  [ $status -eq 0 ] || failed=1
}

step products $build/bin/relucent model check --device cuda:0
step agreement $build/tests/kernels_agreement --gtest_filter='*AgreesWith*'
step determinism $build/tests/kernels_determinism --gtest_filter='*SameBits*-*NumberOfThreads*'
step mix_encoder $build/tests/kernels_mix_encoder --gtest_filter='*Mix*'
step exchanges $build/tests/kernels_exchanges
step sparse_goldens $build/tests/model_golden --gtest_filter='*SparseGolden*cuda*'
step mixencoder_goldens $build/tests/model_mixencoder_golden --gtest_filter='*cuda*'
step mir_goldens $build/tests/model_mir --gtest_filter='*cuda*'
step trained_goldens $build/tests/model_trained_golden --gtest_filter='*Cuda*'
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck synccheck; do
    step "$tool" compute-sanitizer --tool $tool --error-exitcode 1 $build/tests/kernels_agreement \
      --gtest_filter='*PatternsThatDiffer*:*ManySizes*:*EveryLength*:*LongInputs*'
  done
else
  table+=("compute-sanitizer            SKIPPED: it is not installed")
fi
step soak env RELUCENT_SOAK_SECONDS="$soak" $build/tests/kernels_soak
for precision in fp16 bf16; do
  for window in -1 64 16 4 1 0; do
    for tokens in 16 64 174 512 1024 4096; do
      step "bench_${precision}_w${window}_${tokens}" $build/bin/relucent bench model --device cuda:0 --candidates 100 \
        --tokens $tokens --attention-window $window --precision $precision --json
    done
  done
done
printf '%s\n' "${table[@]}" >"$out/table.txt"
exit $failed
