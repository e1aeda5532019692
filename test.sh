#!/usr/bin/env bash
# Every test in one command: installs what is missing, builds, and runs the whole suite in the release build, then the
# parts that pay under AddressSanitizer + UndefinedBehaviorSanitizer and under ThreadSanitizer.
#   ./test.sh            all of it
#   ./test.sh --fast     the release suite alone
# docs/testing.md says what each kind of test is, and what is left out under the sanitizers and why.
set -euo pipefail
cd "$(dirname "$0")"
export LC_ALL=C.UTF-8

# shellcheck source=cmake/install-packages.sh
source cmake/install-packages.sh
install_packages "$PWD"

build() {  # PRESET
  local log
  mkdir -p "build/$1"
  log=build/$1/build.log
  echo "== $1: building (log in $log)"
  { cmake --preset "$1" && cmake --build --preset "$1"; } >"$log" 2>&1 || { tail -60 "$log"; echo "FAILED: building $1"; exit 1; }
}

build release
echo "== release: tests"
ctest --preset release -j2
if [ "${1:-}" = --fast ]; then exit 0; fi

build asan
echo "== asan: tests under AddressSanitizer and UndefinedBehaviorSanitizer"
ctest --preset asan -j2 -LE 'install|heavy'

build tsan
echo "== tsan: concurrent tests under ThreadSanitizer"
ctest --preset tsan -j2 -L threads
