#!/usr/bin/env bash
# Times Relucent's CPU backend against sentence-transformers, ONNX Runtime, OpenVINO and PyTorch on the same checkpoint
# and pairs, in turns, and prints a Markdown table. Makes a Python environment in build/peers (or $RELUCENT_PEERS) on
# the first run (about 6 GB); a peer that cannot be installed is left out by name.
#   tests/benchmarks/peers/compare.sh [--candidates 100] [--tokens 174] [--rounds 5] [--peers "OpenVINO bf16,..."] ...
# A peer's fastest setting is searched for, which takes minutes: --save-settings FILE writes what was found, and
# --settings FILE runs with it without a search. --help lists all options.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
environment=${RELUCENT_PEERS:-$root/build/peers}
[ -x "$root/build/release/bin/relucent" ] ||
  { echo "Build the release preset first: ./demo.sh or ./test.sh" >&2; exit 1; }
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  grep -v '^#' "$here/requirements.txt" | while read -r package; do
    "$environment/bin/pip" install --quiet "$package" || echo "not installed: $package" >&2
  done
fi
# The same memory for everybody: huge pages, and nothing given back between runs.
most=1099511627776
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=$most:glibc.malloc.mmap_threshold=$most
exec "$environment/bin/python" "$here/compare.py" --program "$root/build/release/bin/relucent" \
  --model "$root/model/relucent-minilm-l6-w4" "$@"
