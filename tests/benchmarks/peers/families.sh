#!/usr/bin/env bash
# Times Relucent's CPU backend against transformers on checkpoints of usual sizes with random weights, one of each
# family, in turns, and prints a Markdown table. Needs no download but the Python environment of compare.sh, which is
# build/peers or $RELUCENT_PEERS, or makes one there with the same packages.
#   tests/benchmarks/peers/families.sh [--families bert,t5] [--lengths 32,512] [--candidates 8] [--rounds 3] [--json]
#     [--program PATH] ...
# --help lists all options.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
environment=${RELUCENT_PEERS:-$root/build/peers}
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  grep -v '^#' "$here/requirements.txt" | while read -r package; do
    "$environment/bin/pip" install --quiet "$package" || echo "not installed: $package" >&2
  done
fi
# The same memory for everybody, as in compare.sh: huge pages, and nothing given back between runs.
most=1099511627776
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=$most:glibc.malloc.mmap_threshold=$most
exec "$environment/bin/python" "$here/families.py" --program "$root/build/release/bin/relucent" \
  --vocabulary "$root/model/relucent-minilm-l6-w4/vocab.txt" "$@"
