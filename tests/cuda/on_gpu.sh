#!/usr/bin/env bash
# Runs a test on this machine's GPU:
#   tests/cuda/on_gpu.sh [--needs FOLDER]... -- COMMAND...
# If a GPU is listed, it has to work: RELUCENT_REQUIRE_DEVICE=1 makes every skipped test, and a run of no test, a
# failure. Exit code 77 (skipped) if none is listed, or if FOLDER, of golden answers or test data, is not there.
set -uo pipefail
needs=()
while [ "$1" = --needs ]; do
  needs+=("$2")
  shift 2
done
shift
# A GPU that nvidia-smi cannot talk to has its file in /dev all the same.
if ! { nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || compgen -G '/dev/nvidia[0-9]*' >/dev/null; }; then
  echo "SKIPPED: no GPU is listed, neither by nvidia-smi nor in /dev"
  exit 77
fi
for folder in "${needs[@]}"; do
  found=
  for place in tests/goldens "${RELUCENT_GOLDENS:-../shared/goldens}" "${RELUCENT_TEST_DATA:-../shared/data}"; do
    [ -e "$place/$folder" ] && found=1
  done
  if [ -z "$found" ]; then
    echo "SKIPPED: needs $folder (set RELUCENT_GOLDENS or RELUCENT_TEST_DATA)"
    exit 77
  fi
done
RELUCENT_REQUIRE_DEVICE=1 exec "$@"
