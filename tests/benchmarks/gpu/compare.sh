#!/usr/bin/env bash
# Times Relucent's CUDA backend on one GPU against PyTorch (transformers with eager attention, SDPA and torch.compile,
# and the checkpoint's own mask in eager attention, SDPA and FlexAttention, in fp16 and bf16) and sentence-transformers
# in bf16 on the same checkpoint and texts, in turns in one run, and prints a Markdown table: time from text to logits,
# the GPU's own time, share of its measured peak, memory per candidate. Makes a Python environment in build/gpu-peers
# (or $RELUCENT_GPU_PEERS) on the first run (about 8 GB).
#   tests/benchmarks/gpu/compare.sh [--device cuda:0] [--tokens 16,64,174,...] [--windows=-1,64,16,4,1,0] [--peers ...]
# --help lists all options. Without a usable GPU it prints SKIPPED and why.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
program=${RELUCENT_PROGRAM:-$root/build/release/bin/relucent}
environment=${RELUCENT_GPU_PEERS:-$root/build/gpu-peers}
[ -x "$program" ] || { echo "Build the release preset first: ./demo.sh or ./test.sh" >&2; exit 1; }
# Wrong arguments and a missing GPU are known before gigabytes are fetched.
status=0
python3 "$here/compare.py" --program "$program" --check "$@" || status=$?
[ $status -eq 0 ] || exit $((status == 77 ? 0 : status))
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  grep -v '^#' "$here/requirements.txt" | while read -r package; do
    "$environment/bin/pip" install --quiet "$package" || echo "not installed: $package" >&2
  done
fi
exec "$environment/bin/python" "$here/compare.py" --program "$program" "$@"
