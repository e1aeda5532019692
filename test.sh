#!/usr/bin/env bash
# Runs every test: installs missing packages, builds, and runs the whole suite in the release build, then the relevant
# parts under AddressSanitizer + UndefinedBehaviorSanitizer and under ThreadSanitizer.
#   ./test.sh              everything
#   ./test.sh --fast       a part of the release suite that takes minutes: no CUDA, no installation, no Python package,
#                          no tests that start the program or the server many times
#   ./test.sh --long PART  what takes longer than continuous integration may; run again, it resumes. Parts:
#                          mutants   every CUDA kernel broken in every place, on the emulator
#                          install   docs/installation.md on a copy of the sources, in a root of its own
#                          headers   every header compiles alone, not only those that are installed
#                          threads   the concurrent tests under ThreadSanitizer
#                          packages  ./package.sh all --check: what is published, tried in fresh Debian systems
#                          growth    the cost of every kind of input as it grows, at sixteen times the suite's sizes
#                          differential  random encoders against ref, random collections against Java Lucene
# With RELUCENT_TEST_MINUTES=N in the environment, ThreadSanitizer is skipped if the rest has taken longer than that.
# docs/testing.md explains the kinds of tests, and what the sanitizer runs skip and why.
set -euo pipefail
cd "$(dirname "$0")"
export LC_ALL=C.UTF-8

# shellcheck source=cmake/install-packages.sh
source cmake/install-packages.sh
install_packages "$PWD"

install_python_packages() {  # FILE
  timeout 900 "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 10 \
    -r "tests/python/package/$1"
}

# The tests of the Python package need packages from PyPI: installs them, where it can be reached, for a Python of their
# own. A Python of yours, named by RELUCENT_PYTHON or by the release build's cache, is left alone. With
# RELUCENT_PYTHON_EXTRAS=all it also installs what the integrations and Spark need; with RELUCENT_PYTHON_EXTRAS=none it
# spares the 5 GB of PyTorch, which training needs. Tests say what they miss.
prepare_python() {
  local venv=$PWD/build/test-python cached
  cached=$(sed -n 's/^RELUCENT_PYTHON:STRING=//p' build/release/CMakeCache.txt 2>/dev/null || true)
  case ${RELUCENT_PYTHON:-$cached} in "" | python3 | "$venv"/*) ;; *) return 0 ;; esac
  if { [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; } &&
    install_python_packages requirements.txt; then
    RELUCENT_PYTHON=$venv/bin/python
    install_python_extras "${RELUCENT_PYTHON_EXTRAS:-training}" >"$python_log" 2>&1 &
    python_extras=$!
  else
    echo "== Packages for the tests of python/ could not be installed: see the skipped tests"
  fi
}

# The large packages arrive while the release build compiles.
python_log=build/test-python.log
python_extras=
install_python_extras() {  # all | training | none
  local free
  if [ "$1" != none ]; then
    free=$(df --output=avail -BG . | tail -1 | tr -dc 0-9)
    if [ "$free" -lt 12 ] || ! install_python_packages requirements-training.txt; then
      echo "== PyTorch could not be installed (12 GB are needed, $free GB are free): see the skipped tests"
    fi
  fi
  [ "$1" != all ] || install_python_packages requirements-all.txt ||
    echo "== What the integrations need could not be installed: see the skipped tests"
}
await_python_extras() {
  [ -n "$python_extras" ] || return 0
  wait "$python_extras" || true
  cat "$python_log"
}

build() {  # PRESET TARGET
  local log=build/$1/build.log
  mkdir -p "build/$1"
  echo "== $1: building (log in $log)"
  { cmake --preset "$1" ${RELUCENT_PYTHON:+"-DRELUCENT_PYTHON=$RELUCENT_PYTHON"} &&
    cmake --build --preset "$1" --target "$2"; } >"$log" 2>&1 ||
    { tail -60 "$log"; echo "FAILED: building $1"; exit 1; }
}

run() {  # PRESET CTEST-ARGUMENTS...
  local preset=$1 status=0 log=build/$1/Testing/Temporary/LastTest.log
  shift
  ctest --preset "$preset" "$@" || status=$?
  # Only a program's output names its skipped tests: list them with the reasons.
  if grep -aq '^\[  SKIPPED \]\|SKIPPED:' "$log"; then
    echo "Skipped within these:"
    grep -ahoE 'SKIPPED: .*|^\[  SKIPPED \] [A-Za-z].*' "$log" | sed 's/ ([0-9]* ms)$//' | sort | uniq -c
  fi
  return $status
}

# The tests write thousands of small files and mostly wait for the disk. The release suite uses the disk, as users do;
# the sanitizer runs look for other faults and use memory if there is room.
work_in_memory() {
  [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] || return 0
  [ "$(df --output=avail -B1M /dev/shm | tail -1)" -ge 4096 ] || return 0
  TMPDIR=$(mktemp -d /dev/shm/relucent-tests-XXXXXX)
  chmod 755 "$TMPDIR"  # some tests drop root privileges temporarily
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
}

threads_part() {
  build tsan threads_tests
  echo "== tsan: concurrent tests under ThreadSanitizer"
  TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp" run tsan -j2 -L threads
}

# Parts of --long keep what they have done below build/release, so that a part that was interrupted resumes.
long_part() {  # PART
  case $1 in
    mutants)
      build release cuda_mutant_programs
      python3 tests/kernels/emulator/mutants.py build/release
      ;;
    install) tests/install/installation_page_test.sh --fresh . ;;
    headers)
      cmake --preset fast -DRELUCENT_VERIFY_ALL_HEADERS=ON
      cmake --build --preset fast --target all_verify_interface_header_sets
      ;;
    threads) threads_part ;;
    packages) ./package.sh all --check ;;
    growth)
      build release cost_growth
      tests/growth/run.sh build/release
      ;;
    differential)
      build release differential_programs
      tests/differential.sh build/release
      ;;
    *)
      echo "unknown part \"$1\" of --long; there are: mutants, install, headers, threads, packages, growth," \
        "differential" >&2
      exit 2
      ;;
  esac
}
if [ "${1:-}" = --long ]; then
  long_part "${2:-}"
  exit
fi

if [ "${1:-}" = --fast ]; then
  build fast all
  echo "== fast: tests"
  run fast -j2 -LE 'cuda|heavy|install|python' -E '^headers$'
  exit
fi

prepare_python
build release all
await_python_extras
echo "== release: tests"
run release -j2 -LE '^sanitized$'
# The registers and spills of each kernel.
ctest --preset release -R '^cuda_resources$' -V | sed -n 's/^[0-9]*: //; /^registers/,/ problems$/p'

work_in_memory
build asan all
echo "== asan: tests under AddressSanitizer and UndefinedBehaviorSanitizer"
run asan -j2 -LE 'install|heavy'

if [ "$SECONDS" -ge $((60 * ${RELUCENT_TEST_MINUTES:-1000000})) ]; then
  echo "== tsan: SKIPPED: the tests have taken $((SECONDS / 60)) minutes of $RELUCENT_TEST_MINUTES;" \
    "./test.sh --long threads runs these"
  exit
fi
threads_part
