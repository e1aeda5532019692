#!/usr/bin/env bash
# Installs the build tree into a fresh prefix and builds and runs a project of somebody else's against it, once through
# find_package(Relucent) and once through pkg-config.
# usage: consumer_test.sh BUILD_DIR SOURCE_DIR CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null

check() {  # PROGRAM NAME
  local output
  rm -rf "$work/index"
  output=$("$1" "$work/index")
  echo "$2:"; echo "$output"
  [ "$(sed -n 2p <<<"$output" | cut -d' ' -f1)" = answer ] || { echo "FAILED: the answer is not first" >&2; exit 1; }
}

cmake -S "$source/tests/install/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  >/dev/null
cmake --build "$work/build" >/dev/null
check "$work/build/consumer" "find_package"

libdir=$(dirname "$(find "$work/prefix" -name relucent.pc)")
export PKG_CONFIG_PATH=$libdir
# shellcheck disable=SC2046
"$cxx" "$source/tests/install/consumer/consumer.cpp" -o "$work/by-pkg-config" \
  $(pkg-config --cflags --libs relucent) -Wl,-rpath,"$(dirname "$libdir")"
check "$work/by-pkg-config" "pkg-config"

"$work/prefix/bin/relucent" --version

# The CUDA module, where there is one, is found beside the library wherever the tree lies.
if [ -f "$build/lib/librelucent_cuda.so" ]; then
  mv "$work/prefix" "$work/moved"
  devices=$(env -u RELUCENT_CUDA_MODULE "$work/moved/bin/relucent" model info --device)
  echo "$devices"
  ! grep -qE 'not installed|cannot be loaded' <<<"$devices" || { echo "FAILED: the CUDA module is not found" >&2; exit 1; }
else
  echo "SKIPPED: this build has no CUDA module to install"
fi
