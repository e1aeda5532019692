#!/usr/bin/env bash
# Times `relucent bench model` against sentence-transformers' CrossEncoder on the same checkpoint and pairs, in turns.
# Makes a Python environment in build/peers on the first run (about 6 GB).
#   tests/benchmarks/peers/compare.sh [--candidates 100] [--tokens 174] [--rounds 5] [--precisions fp32,bf16] ...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
environment=${RELUCENT_PEERS:-$root/build/peers}
[ -x "$root/build/release/bin/relucent" ] || { echo "Build the release preset first: ./demo.sh or ./test.sh" >&2; exit 1; }
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet -r "$here/requirements.txt"
fi
# The same memory for everybody: huge pages, and nothing given back between runs.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=1099511627776:glibc.malloc.mmap_threshold=1099511627776
exec "$environment/bin/python" "$here/compare.py" --program "$root/build/release/bin/relucent" \
  --model "$root/model/relucent-minilm-l6-w4" "$@"
