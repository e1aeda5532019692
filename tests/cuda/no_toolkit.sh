#!/usr/bin/env bash
# Stands for the tests on the CUDA toolkit's libraries in a build without the CUDA module:
#   tests/cuda/no_toolkit.sh REASON
# reports that they are skipped, and fails if this machine has a toolkit that the build should have used.
set -uo pipefail
for nvcc in "${CUDACXX:-}" nvcc /usr/local/cuda/bin/nvcc; do
  version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  case $version in
    12 | 13)
      echo "FAILED: this build has no CUDA module ($1), but $nvcc belongs to a toolkit of version $version;"
      echo "configure with -DRELUCENT_CUDA=on to see what is missing"
      exit 1
      ;;
  esac
done
echo "SKIPPED: built without a CUDA toolkit ($1)"
