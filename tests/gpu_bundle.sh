#!/usr/bin/env bash
# Makes one folder that is all a machine with a Hopper GPU needs to run tests/gpu.sh, for machines to which no checkout
# fits and which can fetch nothing:
#   tests/gpu_bundle.sh [DIR]      (default: build/gpu-bundle; replaced)
# It builds build/gpu-release for 90-real and 90a-real, and packs its programs, the shared libraries that a bare machine
# lacks, the tests' data and the bundled checkpoint. cuBLAS is not in it: it comes from that machine's toolkit. There:
#   DIR/tests/gpu.sh --smoke OUT
# Checked here: DIR takes at most 60 MiB, and every program starts and gives this machine's scores in an otherwise empty
# root (needs root, bwrap or user namespaces). RELUCENT_GPU_BUILD names a finished build to pack instead.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
out=${1:-build/gpu-bundle}
build=${RELUCENT_GPU_BUILD:-build/gpu-release}
most=$((60 << 20))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
programs=(kernels_agreement kernels_determinism kernels_exchanges kernels_host_contexts kernels_mix_encoder kernels_soak
  model_golden model_queries_golden model_mir model_mixencoder_golden)

fail() { echo "FAILED: $1" >&2; exit 1; }

if [ -z "${RELUCENT_GPU_BUILD:-}" ]; then
  cmake --preset cuda -B "$build" "-DCMAKE_CUDA_ARCHITECTURES=90-real;90a-real"
  cmake --build "$build" -j "$(nproc)" --target relucent_program relucent_cuda "${programs[@]}"
fi
module=$build/lib/librelucent_cuda.so
for file in "$build/bin/relucent" "$module" "${programs[@]/#/$build/tests/}"; do
  [ -e "$file" ] || fail "$file is not built"
done
# The toolkit's own tools list what is in the module; nothing else may be in it, for its size.
cuobjdump=$(command -v cuobjdump || echo /usr/local/cuda/bin/cuobjdump)
if [ -x "$cuobjdump" ]; then
  found=$("$cuobjdump" --list-elf "$module" | grep -o 'sm_[0-9a-z]*' | sort -u | xargs)
  [ "$found" = "sm_90 sm_90a" ] || fail "$module has code for ${found:-no GPU}, not for sm_90 and sm_90a"
else
  grep -q '^CMAKE_CUDA_ARCHITECTURES:[A-Z]*=90-real;90a-real$' "$build/CMakeCache.txt" ||
    fail "$build is configured for other GPUs than 90-real;90a-real"
fi

# ---- the tree, as in a checkout ----

tree=$scratch/tree
mkdir -p "$tree"/build/release/{bin,lib,tests} "$tree"/system/{cxx,glibc} "$tree"/tests/benchmarks "$tree"/model
strip -s -o "$tree/build/release/bin/relucent" "$build/bin/relucent"
strip -s -o "$tree/build/release/lib/librelucent_cuda.so" "$module"
for program in "${programs[@]}"; do strip -s -o "$tree/build/release/tests/$program" "$build/tests/$program"; done
cp -r model/relucent-minilm-l6-w4 "$tree/model/"
cp -r tests/benchmarks/gpu tests/benchmarks/peers "$tree/tests/benchmarks/"
# Only the families that the CUDA backend computes.
mkdir -p "$tree/tests/goldens/families" "$tree/shared/goldens"
cp -r tests/goldens/sparse tests/goldens/queries "$tree/tests/goldens/"
for family in tests/goldens/families/*/; do
  case $family in */t5*/ | */longformer/) ;; *) cp -r "$family" "$tree/tests/goldens/families/" ;; esac
done
for set in mir mixencoder; do
  from=${RELUCENT_GOLDENS:-../shared/goldens}/$set
  [ -d "$from" ] || fail "$from is missing: its tests belong to tests/gpu.sh"
  cp -rL "$from" "$tree/shared/goldens/"
done
find "$tree" \( -name __pycache__ -o -name '*.md' \) -prune -exec rm -rf {} +

# ---- shared libraries ----

libraries() {  # FILE...: the paths of what they load
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/.*ld-linux/ { print $1 }' | sort -u
}
while read -r library; do
  case $(basename "$library") in
    libcublas*) ;;  # of the machine's toolkit
    librelucent*) cp -L "$library" "$tree/build/release/lib/" ;;
    ld-linux* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.*)
      cp -L "$library" "$tree/system/glibc/" ;;
    libstdc++.so.* | libgcc_s.so.*) cp -L "$library" "$tree/system/cxx/" ;;
    *) cp -L "$library" "$tree/system/" ;;
  esac
done < <(libraries "$build/bin/relucent" "$module" "${programs[@]/#/$build/tests/}")
find "$tree/build/release/lib" -name 'librelucent*.so*' -exec strip -s {} +

# Half of all libraries is ICU's data about languages. Relucent needs its normalization forms and word boundaries.
shrink_icu() {
  local library name version
  library=$(echo "$tree"/system/libicudata.so.*)
  name=$(basename "$library") version=${library##*.}
  command -v icupkg >/dev/null && command -v gcc >/dev/null || return 0
  python3 - "$library" "icudt${version}_dat" "$scratch/icudt${version}l.dat" <<'PYTHON' || return 0
import re, subprocess, sys
library, symbol, out = sys.argv[1:]
words = next(line.split() for line in subprocess.run(["readelf", "-W", "--dyn-syms", library], check=True, text=True,
             capture_output=True).stdout.splitlines() if re.search(rf"\b{symbol}\b", line))
address, size = int(words[1], 16), int(words[2], 0)
sections = subprocess.run(["readelf", "-W", "-S", library], check=True, text=True, capture_output=True).stdout
for line in sections.splitlines():
    found = re.match(r"\s*\[ *\d+\] \S+\s+\S+\s+([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+)", line)
    if found and int(found[1], 16) <= address < int(found[1], 16) + int(found[3], 16):
        start = int(found[2], 16) + address - int(found[1], 16)
        break
data = open(library, "rb").read()
open(out, "wb").write(data[start:] if size == 0 else data[start:start + size])
PYTHON
  icupkg -l "$scratch/icudt${version}l.dat" |
    grep -vE -e '\.nrm$' -e '^(cnvalias|uemoji|ulayout)\.icu$' -e '^(brkitr/)?(root|pool|res_index)\.res$' \
      -e '^brkitr/(char|line|sent|word)\.brk$' \
      >"$scratch/remove.txt" || return 0
  # ICU looks for the items by the package's name, which icupkg takes from the file's.
  mkdir -p "$scratch/small"
  icupkg --ignore-deps -r "$scratch/remove.txt" "$scratch/icudt${version}l.dat" "$scratch/small/icudt${version}l.dat"
  printf '.section .rodata\n.balign 16\n.globl %s\n.type %s, @object\n%s: .incbin "%s"\n.size %s, . - %s\n%s\n' \
    "icudt${version}_dat" "icudt${version}_dat" "icudt${version}_dat" "$scratch/small/icudt${version}l.dat" \
    "icudt${version}_dat" "icudt${version}_dat" '.section .note.GNU-stack,"",@progbits' >"$scratch/small.s"
  gcc -shared -nostdlib -Wl,-soname,"$name" -o "$library" "$scratch/small.s"
}
shrink_icu

# ---- the folder ----

rm -rf "$out"
mkdir -p "$out/tests"
cp tests/gpu.sh "$out/tests/"
pack() {  # NAME FILTERS FOLDER...
  local name=$1 filters=$2
  shift 2
  # shellcheck disable=SC2086
  tar -C "$tree" --owner=0 --group=0 -cf - "$@" | xz -T1 $filters >"$out/$name.tar.xz"
}
pack programs "--x86 --lzma2=preset=9e,dict=64MiB" system build tests/benchmarks
pack data "--lzma2=preset=9,dict=8MiB,lc=2,lp=1,pb=1" tests/goldens shared model  # mostly 16-bit weights
bytes=$(find "$out" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
echo "$out: $bytes bytes of at most $most"
[ "$bytes" -le "$most" ] ||
  fail "$out is larger than 60 MiB: $(du -sb "$tree"/* | sort -n | awk '{ print $1, $2 }' | xargs)"

# ---- does it start elsewhere? ----

empty=$scratch/empty
mkdir -p "$empty/tmp"
for archive in "$out"/*.tar.xz; do tar -C "$empty" -xJf "$archive"; done
in_empty_root() {  # PROGRAM ARGUMENTS...: by the bundle's own loader; nothing of this machine is there
  local loader=/system/glibc/ld-linux-x86-64.so.2
  local command=("$loader" --library-path /build/release/lib:/system:/system/cxx:/system/glibc "$@")
  if [ "$(id -u)" = 0 ]; then
    env -i PATH="$PATH" RELUCENT_CUDA_MODULE="${cuda:-none}" chroot "$empty" "${command[@]}"
  elif command -v bwrap >/dev/null; then
    bwrap --unshare-all --clearenv --setenv RELUCENT_CUDA_MODULE "${cuda:-none}" --bind "$empty" / --chdir / \
      "${command[@]}"
  else
    unshare -r env -i PATH="$PATH" RELUCENT_CUDA_MODULE="${cuda:-none}" chroot "$empty" "${command[@]}"
  fi
}
printf '%s\n' '{"qid": "1", "query": "what do cats eat", "docno": "a", "text": "Cats eat fish and mice."}' \
  '{"qid": "1", "query": "what do cats eat", "docno": "b", "text": "The caf\u00e9 opens at nine; it rains."}' \
  >"$empty/pairs.jsonl"
options=(--model model/relucent-minilm-l6-w4 --device cpu --precision fp32)
RELUCENT_CUDA_MODULE=none "$build/bin/relucent" rerank --input "$empty/pairs.jsonl" --output "$scratch/here.tsv" \
  "${options[@]}" >/dev/null || fail "this machine's program does not rerank"
in_empty_root /build/release/bin/relucent rerank --input pairs.jsonl --output there.tsv "${options[@]}" >/dev/null ||
  fail "the program does not start in an empty root"
cmp "$scratch/here.tsv" "$empty/there.tsv" || fail "scores in an empty root are others than here"
for program in "${programs[@]}"; do
  in_empty_root "/build/release/tests/$program" --gtest_list_tests >"$scratch/list.txt" ||
    fail "$program does not start"
  [ -s "$scratch/list.txt" ] || fail "$program has no tests"
done
in_empty_root /build/release/tests/model_golden --gtest_filter='*FamiliesGolden*plain_fp32' --gtest_brief=1 \
  >"$scratch/golden.txt" || { tail -5 "$scratch/golden.txt" >&2; fail "the goldens do not pass in an empty root"; }
grep '\[  PASSED  \] [1-9]' "$scratch/golden.txt" || fail "no golden ran in an empty root"
# Some of these tokenizers need the data of ICU that are left.
in_empty_root /build/release/tests/model_queries_golden --gtest_filter='*/ref' --gtest_brief=1 \
  >"$scratch/queries.txt" || { tail -5 "$scratch/queries.txt" >&2; fail "a tokenizer does not work in an empty root"; }
grep '\[  PASSED  \] [1-9]' "$scratch/queries.txt" || fail "no golden of queries ran in an empty root"
# All that the module lacks there is the toolkit's library and the driver.
packed=/build/release/lib/librelucent_cuda.so
why=$(cuda=$packed in_empty_root /build/release/bin/relucent model info --device 2>&1 || true)
case $why in
  *libcublasLt*) echo "in an empty root the CUDA module asks for libcublasLt alone" ;;
  *) fail "in an empty root the CUDA module reports: $why" ;;
esac
echo "$out starts in an empty root and gives this machine's scores"
