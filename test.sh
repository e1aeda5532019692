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
#                          address   every test under AddressSanitizer, also those that take long there
#                          threads   the concurrent tests under ThreadSanitizer
#                          cuda      the CUDA module for every architecture: no kernel may spill registers
#                          faults    each file system call of every command that writes fails once
#                          kills     2,000 kills of every command that writes
#                          packages  ./package.sh all --check: what is published, tried in fresh Debian systems
#                          clients   other projects' clients from PyPI, as it has them today, against the server
#                          aarch64   cross-compiled for 64-bit Arm: the kernels' tests, all golden answers and the demo
#                                    under QEMU
#                          compilers the fast suite with Clang 16 and Clang 19, where a warning is an error
#                          coverage  the lines of each folder that the fast suite reaches, and those that it does not
#                          fuzz      ten minutes of coverage-guided fuzzing, with clang; each run adds to one table;
#                                    then planted bugs that the targets must find
#                          growth    the cost of every kind of input as it grows, at sixteen times the suite's sizes
#                          load      an hour of load on replicas of the server that reload and are killed; a million
#                                    generated requests under AddressSanitizer
#                          differential  random encoders against ref, random collections against Java Lucene
# With RELUCENT_TEST_MINUTES=N in the environment, a sanitizer that would not end within N minutes does not begin: a
# message names it and the part of --long that runs it.
# docs/testing.md explains the kinds of tests, and what the sanitizer runs skip and why.
set -euo pipefail
cd "$(dirname "$0")"
export LC_ALL=C.UTF-8
case ${1:-} in
  "" | --fast | --long) ;;
  --help | -h) sed -n '2,/^# docs/s/^# \{0,1\}//p' "$0"; exit ;;
  *) echo "test.sh: unknown option \"$1\"; see ./test.sh --help" >&2; exit 2 ;;
esac

# shellcheck source=cmake/install-packages.sh
source cmake/install-packages.sh
install_packages "$PWD"

install_python_packages() {  # FILE
  timeout 900 "$venv/bin/pip" install --quiet --no-compile --disable-pip-version-check --retries 1 --timeout 10 \
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
    if [ "$free" -lt 15 ] || ! install_python_packages requirements-training.txt; then
      echo "== PyTorch could not be installed (it and all builds need 15 GB, $free GB are free): see the skipped tests"
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

build() {  # PRESET TARGET...
  local preset=$1 log=build/$1/build.log
  shift
  mkdir -p "build/$preset"
  echo "== $preset: building (log in $log)"
  { cmake --preset "$preset" ${RELUCENT_PYTHON:+"-DRELUCENT_PYTHON=$RELUCENT_PYTHON"} &&
    cmake --build --preset "$preset" --target "$@"; } >"$log" 2>&1 ||
    { tail -60 "$log"; echo "FAILED: building $preset"; exit 1; }
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

address_part() {
  build asan all long_tests
  echo "== asan: every test under AddressSanitizer and UndefinedBehaviorSanitizer"
  run asan -j2 -LE 'install|heavy'
}

# The registers and spills of each kernel.
print_kernels() {
  ctest --preset release -R '^cuda_resources$' -V | sed -n 's/^[0-9]*: //; /^registers/,/ problems$/p'
}

threads_part() {
  build tsan threads_tests
  echo "== tsan: concurrent tests under ThreadSanitizer"
  TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp" run tsan -j2 -L threads
}

# langchain-cohere wants an older cohere than today's, and Dify older versions of what most others use.
clients_part() {
  build release relucent_program
  local folder=build/release/clients
  try_clients() {  # ENVIRONMENT CLIENT...
    echo "== ${1##*/}"
    "$1/bin/python" tests/clients/serve_clients.py build/release/bin/relucent "${@:2}"
  }
  make_environment() {  # ENVIRONMENT PIP-ARGUMENTS...
    [ -x "$1/bin/python" ] || python3 -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check --upgrade "${@:2}"
  }
  make_environment "$folder/all" -r tests/clients/requirements.txt
  make_environment "$folder/all" --no-deps -r tests/clients/requirements-alone.txt
  make_environment "$folder/cohere" cohere
  make_environment "$folder/dify" cohere dify_plugin
  try_clients "$folder/all" && try_clients "$folder/cohere" cohere_v1 cohere_v2 && try_clients "$folder/dify" dify
}

# Builds TARGET, and runs COMMAND unless it has passed as NAME since PROGRAM was linked.
aarch64_step() {  # TARGET PROGRAM NAME COMMAND...
  local target=$1 program=build/aarch64/$2 name=$3 stamp=build/aarch64/passed/$3
  shift 3
  cmake --build --preset aarch64 --target "$target"
  [ ! "$stamp" -nt "$program" ] || { echo "== aarch64: $name has passed"; return 0; }
  echo "== aarch64: $name"
  "$@"
  touch "$stamp"
}

# The kernels' tests, all golden answers and the demo. Emulated, a program takes hours: it runs in shares. QEMU is
# slowest in floating point, so the demo reranks ten hits in int8.
aarch64_part() {
  local missing=() tests test share shares=8 relucent=build/aarch64/relucent
  command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
  command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
  [ ${#missing[@]} -eq 0 ] || install_packages "$PWD" "${missing[@]}"
  cmake/aarch64-root.sh "$PWD/build/aarch64/sysroot"
  cmake --preset aarch64 >build/aarch64/configure.log || { tail -60 build/aarch64/configure.log; exit 1; }
  mkdir -p build/aarch64/passed
  printf '#!/bin/sh\nexec qemu-aarch64-static -cpu max -L "%s" "%s" "$@"\n' \
    "$PWD/build/aarch64/sysroot" "$PWD/build/aarch64/bin/relucent" >$relucent
  chmod +x $relucent
  aarch64_step relucent_program bin/relucent demo ./demo.sh --program $relucent --precision int8 --window 10
  tests=$(ctest --preset aarch64 -N -L '^(kernels|golden)$' -LE '^(cuda|cli)$' | sed -n 's/^ *Test *#[0-9]*: //p')
  for test in $tests model_tests; do
    for ((share = 0; share < shares; ++share)); do
      GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$share \
        aarch64_step "$test" "tests/$test" "$test, share $((share + 1)) of $shares" run aarch64 -R "^$test\$"
    done
  done
}

fast_suite=(-LE 'cuda|heavy|install|python' -E '^headers$')

compilers_part() {
  local version
  for version in 16 19; do
    install_packages "$PWD" "clang-$version"
    build "clang-$version" all
    echo "== clang-$version: the fast suite"
    run "clang-$version" -j2 "${fast_suite[@]}"
  done
}

coverage_part() {
  install_packages "$PWD" gcovr
  build coverage all
  find build/coverage -name '*.gcda' -delete
  echo "== coverage: the fast suite"
  run coverage -j2 "${fast_suite[@]}"
  # Counts of branches, which threads may make negative, are not used.
  gcovr --root . --object-directory build/coverage --gcov-ignore-parse-errors -j 2 \
    --exclude 'tests/' --exclude 'build/' \
    --json-summary build/coverage/summary.json --html-details build/coverage/index.html
  python3 tests/coverage_by_folder.py build/coverage/summary.json
}

fuzz_part() {
  if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer - -o /dev/null 2>/dev/null; then
    echo "SKIPPED: there is no clang++ with libFuzzer (apt-get install clang)"
    return 0
  fi
  build fuzz fuzz_targets
  work_in_memory  # a target writes a file for each input
  nice python3 tests/fuzz/run_targets.py build/fuzz
  nice python3 tests/fuzz/planted_bugs.py build/fuzz --jobs 2 --enough
}

faults_part() {
  build release all
  python3 tests/faults/system_call_faults_test.py build/release/bin/relucent build/release/tests/system_call_faults \
    --state build/faults/faults.jsonl
}

# 200 kills and 60 power cuts of `index`, 300 kills of `index --update` and `delete`, then 85 of each writer.
kills_part() {
  local name
  build release all
  mkdir -p build/faults
  for name in indexing updates; do
    [ -e "build/faults/$name.done" ] ||
      python3 "tests/index_tools/program/${name}_kills_test.py" build/release/bin/relucent
    touch "build/faults/$name.done"
  done
  python3 tests/faults/kills_test.py build/release/bin/relucent --kills 85 --state build/faults/kills.jsonl
}

# The counts of the soaks are kept, and which blocks of requests are done.
load_part() {
  local state=build/load block
  build release relucent_program
  mkdir -p "$state"
  python3 tests/server/soak.py build/release/bin/relucent --minutes 60 --state "$state/soak.jsonl"
  build asan relucent_program
  for ((block = $(cat "$state/blocks" 2>/dev/null || echo 1); block <= 100; ++block)); do
    python3 tests/server/serve_faults_test.py build/asan/bin/relucent --fuzz 10000 --seed "$block" Hostile
    echo $((block + 1)) >"$state/blocks"
  done
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
    address) address_part ;;
    threads) threads_part ;;
    faults) faults_part ;;
    kills) kills_part ;;
    cuda)
      cmake --preset release -UCMAKE_CUDA_ARCHITECTURES
      cmake --build --preset release --target relucent_cuda
      print_kernels
      ;;
    packages) ./package.sh all --check ;;
    growth)
      build release cost_growth
      tests/growth/run.sh build/release
      ;;
    differential)
      build release differential_programs
      tests/differential.sh build/release
      ;;
    compilers) compilers_part ;;
    coverage) coverage_part ;;
    fuzz) fuzz_part ;;
    load) load_part ;;
    aarch64) aarch64_part ;;
    clients) clients_part ;;
    *)
      echo "unknown part \"$1\" of --long; there are:" >&2
      sed -n '/^#   .*--long PART/,/^# With/s/^# \{26\}/  /p' "$0" >&2
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
  run fast -j3 "${fast_suite[@]}"
  exit
fi

prepare_python
build release all
await_python_extras
echo "== release: tests"
run release -j3 -LE '^sanitized$'
print_kernels

# Whether a sanitizer that takes so many minutes would not end in time. Then a message names the part that runs it.
too_late() {  # NAME PART MINUTES
  local passed=$((SECONDS / 60))
  [ $((passed + $3)) -ge "${RELUCENT_TEST_MINUTES:-1000000}" ] || return 1
  echo "== $1: SKIPPED: the tests have taken $passed minutes, and this would take about $3 more, of" \
    "$RELUCENT_TEST_MINUTES; ./test.sh --long $2 runs it"
}

if ! too_late asan address $((SECONDS * 6 / 10 / 60)); then  # six tenths of what comes before it
  work_in_memory
  build asan all
  echo "== asan: tests under AddressSanitizer and UndefinedBehaviorSanitizer"
  run asan -j3 -LE 'install|heavy|long'
fi
too_late tsan threads 25 || threads_part
