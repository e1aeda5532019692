#!/usr/bin/env bash
# Everything that wants a GPU, from a finished release build or from the folder that tests/gpu_bundle.sh makes:
#   tests/gpu.sh [--smoke] [--sanitize] [--bench] [--compare] [DIR]
#   --smoke      the tests of every backend on the GPU, and searches of changing shapes
#   --sanitize   the same kernels under compute-sanitizer, with less work: memcheck, racecheck, initcheck, synccheck
#   --bench      `relucent bench model` over lengths, windows and precisions
#   --compare    the same checkpoint and texts in PyTorch, by this machine's own Python: nothing is installed
# Without a part, all four in this order. Each ends within 8 minutes: every step has a limit of its own, and a step for
# which no time is left fails. One line per step goes to DIR/table.txt (default: build/gpu) as soon as it is known; at
# the end everything is in DIR/logs.tar.gz.
# Exit code: 0 if everything passed; 1 if anything did not; 77 if there is no GPU or nothing to run here, or 1 then too
# with RELUCENT_REQUIRE_DEVICE=1. Variables: RELUCENT_GPU_PYTHON, the Python of --compare (default: the first of python3
# and /opt/*/.venv/bin/python3 that has torch); RELUCENT_CUBLAS_FOLDER, the folder of libcublasLt, if it is not found.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8
parts=()
out=
for argument in "$@"; do
  case $argument in
    --smoke | --sanitize | --bench | --compare) parts+=("${argument#--}") ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) echo "unknown option $argument; --help lists all" >&2; exit 2 ;;
    *) [ -z "$out" ] || { echo "two folders: $out and $argument" >&2; exit 2; }; out=$argument ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=(smoke sanitize bench compare)
out=${out:-build/gpu}
mkdir -p "$out/logs" || exit 1
out=$(cd "$out" && pwd)
table=$out/table.txt
: >"$table"
PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin

leave_out() {  # WHY: nothing can run
  echo "SKIPPED: $1" | tee -a "$table" >&2
  [ "${RELUCENT_REQUIRE_DEVICE:-}" != 1 ] || exit 1
  exit 77
}

# ---- the build ----

build=$PWD/build/release
for archive in programs data; do  # of a bundle, unpacked once
  if [ ! -e $archive.tar.xz ] || [ -e $archive.unpacked ]; then continue; fi
  { tar -xJf $archive.tar.xz || python3 -m tarfile -e $archive.tar.xz .; } 2>"$out/logs/unpack.log" || {
    tail -1 "$out/logs/unpack.log" >&2
    echo "FAILED: $archive.tar.xz cannot be unpacked; it takes 200 MB, and tar with xz, or Python" | tee -a "$table" >&2
    exit 1
  }
  touch $archive.unpacked
done
module=$build/lib/librelucent_cuda.so
[ -x "$build/bin/relucent" ] && [ -e "$module" ] ||
  leave_out "$module or $build/bin/relucent is missing; build the release preset with a CUDA toolkit"

# The folder of the toolkit's cublasLt, wherever it lies.
find_cublas() {
  local name folder
  name=$(grep -aom1 'libcublasLt\.so\.[0-9]*' "$module")
  {
    echo "${RELUCENT_CUBLAS_FOLDER:-}"
    ldconfig -p 2>/dev/null | sed -n "s,.*=> \(.*\)/$name\$,\1,p"
    printf '%s\n' "${CUDA_HOME:-/none}"/lib64 "${CUDA_PATH:-/none}"/lib64 /usr/local/cuda*/lib64 \
      /usr/local/cuda*/targets/*/lib /opt/cuda*/lib64 /usr/lib/x86_64-linux-gnu
    printf '%s\n' /opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib \
      /usr/local/lib/python3*/*-packages/nvidia/*/lib /usr/lib/python3/dist-packages/nvidia/*/lib
  } | while read -r folder; do
    if [ -n "$folder" ] && [ -e "$folder/$name" ]; then echo "$folder"; break; fi
  done | grep . || timeout 60 find / -xdev -name "$name" -printf '%h\n' -quit 2>/dev/null
}

# In a bundle, `system` has the libraries that a bare machine lacks, `system/cxx` those of the compiler, for machines
# without any, and `system/glibc` a C library, for machines whose own is too old. Only Relucent's programs get them.
libraries=$build/lib
if [ -d system ]; then
  libraries+=:$PWD/system:/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu:$PWD/system/cxx
fi
cublas=$(find_cublas)
libraries+=${cublas:+:$cublas}:/usr/local/nvidia/lib64
libraries=(env LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
loader=()
if ! "${libraries[@]}" "$build/bin/relucent" --version >"$out/logs/version.log" 2>&1; then
  [ ! -d system/glibc ] || loader=("$PWD/system/glibc/ld-linux-x86-64.so.2" --library-path
    "$build/lib:$PWD/system:$PWD/system/cxx:$PWD/system/glibc${cublas:+:$cublas}:/usr/local/nvidia/lib64")
  "${loader[@]}" "$build/bin/relucent" --version >"$out/logs/version.log" 2>&1 || {
    tail -3 "$out/logs/version.log" >&2
    echo "FAILED: $build/bin/relucent does not start" | tee -a "$table" >&2
    exit 1
  }
fi
here=("${libraries[@]}" "${loader[@]}")

# ---- the GPU ----

nvidia-smi -L >"$out/logs/nvidia-smi.log" 2>&1 && grep -q '^GPU ' "$out/logs/nvidia-smi.log" ||
  leave_out "nvidia-smi lists no GPU on this machine"
nvidia-smi >>"$out/logs/nvidia-smi.log" 2>&1
export RELUCENT_REQUIRE_DEVICE=1 RELUCENT_TEST_DEVICE=cuda:0 RELUCENT_CUDA_MODULE=$module
[ ! -d shared/goldens ] || export RELUCENT_GOLDENS=$PWD/shared/goldens
model=$PWD/model/relucent-minilm-l6-w4
failed=0
{
  sed -n 's/^GPU 0: \(.*\) (UUID.*/\1/p' "$out/logs/nvidia-smi.log" | head -1
  cat "$out/logs/version.log"
  printf '%-34s %-7s %5s  %s\n' step result s 'in short'
} | tee -a "$table"

row() {  # NAME RESULT SECONDS WORDS
  printf '%-34s %-7s %5d  %s\n' "$@" | tee -a "$table"
  [ "$2" = passed ] || failed=1
}

# A step passes if its command does within LIMIT seconds, and if no test of it was skipped or was not there.
step() {  # NAME LIMIT COMMAND...
  local name=$1 limit=$2 begin=$SECONDS status=0 left log=$out/logs/$1.log words
  shift 2
  left=$((deadline - SECONDS))
  if [ $left -lt 5 ]; then row "$name" FAILED 0 "no time left in this part"; return; fi
  if [ "$limit" -gt $left ]; then limit=$left; fi
  timeout -k 5 "$limit" "$@" >"$log" 2>&1 || status=$?
  words=$(grep -aE '\[  (PASSED|FAILED) *\]|ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -2 | tr '\n' ' ')
  if [ $status -eq 124 ] || [ $status -eq 137 ]; then
    row "$name" FAILED $((SECONDS - begin)) "ran longer than $limit s"
  elif [ $status -ne 0 ]; then
    row "$name" FAILED $((SECONDS - begin)) "exit code $status: ${words:-$(tail -1 "$log")}"
  elif grep -aqE '\[  SKIPPED \]|\[  PASSED  \] 0 tests|^SKIPPED' "$log"; then
    row "$name" FAILED $((SECONDS - begin)) "$(grep -aoE 'SKIPPED: .*|\[  PASSED  \] 0 tests' "$log" | head -1)"
  else
    row "$name" passed $((SECONDS - begin)) "${words:-$(summary "$log")}"
  fi
}

summary() {  # LOG: of `relucent bench model`, the GPU's own time and rate; otherwise its last line
  grep -aE '^ *device ' "$1" | head -1 | grep . || tail -1 "$1"
}

tests=$build/tests

smoke() {
  step products 60 "${here[@]}" "$build/bin/relucent" model check "$model" --device cuda:0
  step agreement 120 "${here[@]}" "$tests/kernels_agreement" --gtest_filter='*AgreesWith*'
  step exchanges 60 "${here[@]}" "$tests/kernels_exchanges" --gtest_filter='*Exchanges*'
  step mix_encoder 60 "${here[@]}" "$tests/kernels_mix_encoder" --gtest_filter='*Mix*:-*OtherForms*'
  step determinism 120 "${here[@]}" "$tests/kernels_determinism" --gtest_filter='*SameBits*-*Threads*'
  step host_contexts 60 "${here[@]}" "$tests/kernels_host_contexts"
  step sparse_goldens 60 "${here[@]}" "$tests/model_golden" --gtest_filter='*SparseGolden*cuda*'
  step families_goldens 60 "${here[@]}" "$tests/model_golden" --gtest_filter='*FamiliesGolden*cuda*'
  step queries_goldens 60 "${here[@]}" "$tests/model_queries_golden" --gtest_filter='*cuda*'
  if [ -d "${RELUCENT_GOLDENS:-../shared/goldens}" ]; then
    step mixencoder_goldens 60 "${here[@]}" "$tests/model_mixencoder_golden" --gtest_filter='*cuda*'
    step mir_goldens 60 "${here[@]}" "$tests/model_mir" --gtest_filter='*cuda*'
  else
    row mixencoder_and_mir_goldens FAILED 0 "${RELUCENT_GOLDENS:-../shared/goldens} is missing"
  fi
  step soak 100 env RELUCENT_SOAK_SECONDS=10 "${here[@]}" "$tests/kernels_soak" --gtest_filter='*Soak*'
}

# Global tokens, RoPE (in what other families need), windows between any groups and [CLS] of long documents are among
# the agreement's tests; pivots are MIR's.
sanitize() {
  local tool
  command -v compute-sanitizer >/dev/null ||
    { row sanitizers FAILED 0 "compute-sanitizer is not installed; it comes with the CUDA toolkit"; return; }
  export RELUCENT_TEST_SLOW_DEVICE=1
  for tool in memcheck racecheck synccheck initcheck; do
    local under=("${libraries[@]}" compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all
      "${loader[@]}")
    step "${tool}_mir" 60 "${under[@]}" "$tests/kernels_exchanges" --gtest_filter='*AreThose*fp16'
    step "${tool}_mixencoder" 60 "${under[@]}" "$tests/kernels_mix_encoder" --gtest_filter='*Compute*fp16'
    step "${tool}_globals" 60 "${under[@]}" "$tests/kernels_agreement" --gtest_filter='*OfGlobalTokens*fp16'
    step "${tool}_rope" 60 "${under[@]}" "$tests/kernels_agreement" --gtest_filter='*OtherFamilies*fp16'
    step "${tool}_long" 60 "${under[@]}" "$tests/kernels_agreement" --gtest_filter='*LongAndShort*fp16'
    step "${tool}_sizes" 60 "${under[@]}" "$tests/kernels_agreement" \
      --gtest_filter='*ManySizes*fp16:*ManySizes*fp32'
  done
}

one_bench() {  # PRECISION WINDOW TOKENS CANDIDATES MODEL [off: without graphs]
  step "bench_$1_w$2_$4x$3${6:+_graphs_off}" 40 env RELUCENT_CUDA_GRAPHS="${6:-}" "${here[@]}" "$build/bin/relucent" \
    bench model --model "$5" --device cuda:0 --precision "$1" "--attention-window=$2" --tokens "$3" --candidates "$4"
}

bench() {
  local tokens window longer=$out/longer
  rm -rf "$longer"
  step extend 60 "${here[@]}" "$build/bin/relucent" model extend "$model" "$longer" --positions 4096
  # What matters most comes first.
  for window in 4 -1; do one_bench fp16 $window 174 100 "$model"; done
  for tokens in 64 174; do
    one_bench fp16 4 $tokens 10 "$model"
    one_bench fp16 4 $tokens 10 "$model" off
  done
  for tokens in 16 64 512; do one_bench fp16 4 $tokens 100 "$model"; done
  for tokens in 1024 4096; do one_bench fp16 4 $tokens 100 "$longer"; done
  one_bench fp16 4 4096 1 "$longer"
  one_bench fp16 4 174 1 "$model"
  one_bench fp16 4 174 1 "$model" off
  one_bench bf16 4 174 100 "$model"
  one_bench tf32 4 174 100 "$model"
  one_bench fp32 4 174 100 "$model"
  for window in -1 64 16 1 0; do
    for tokens in 16 64 174 512; do
      [ "$window $tokens" = "-1 174" ] || one_bench fp16 $window $tokens 100 "$model"
    done
    for tokens in 1024 4096; do one_bench fp16 $window $tokens 100 "$longer"; done
  done
}

compare() {
  local python candidate
  for candidate in "${RELUCENT_GPU_PYTHON:-python3}" /opt/*/.venv/bin/python3; do
    if "$candidate" -c 'import torch, transformers' >/dev/null 2>&1; then python=$candidate; break; fi
  done
  [ -n "${python:-}" ] || { row compare FAILED 0 "no python3 here has torch and transformers"; return; }
  # compare.py starts the program by its path.
  printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$(printf '"%s" ' "${here[@]}")" "$build/bin/relucent" >"$out/relucent"
  chmod +x "$out/relucent"
  local tokens peers="transformers eager fp16,transformers SDPA fp16,transformers SDPA bf16"
  peers+=",sentence-transformers bf16,PyTorch SDPA with the mask fp16"
  for tokens in 174 512 64; do
    step "compare_$tokens" 150 env HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 "$python" tests/benchmarks/gpu/compare.py \
      --program "$out/relucent" --model "$model" --tokens $tokens --windows=-1,4 --rounds 2 --runs 7 \
      --peers "$peers"
    grep -a '^|' "$out/logs/compare_$tokens.log" | tee -a "$table"
  done
}

for part in "${parts[@]}"; do
  deadline=$((SECONDS + 465))
  echo "== $part" | tee -a "$table"
  $part
done
[ $failed -eq 0 ] && echo "everything passed" | tee -a "$table"
tar -czf "$out/logs.tar.gz" -C "$out" table.txt logs
exit $failed
