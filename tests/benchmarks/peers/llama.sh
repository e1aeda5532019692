#!/usr/bin/env bash
# Times Relucent's decoders against llama.cpp on a checkpoint with random weights, in turns, and prints a Markdown
# table. Uses the Python environment of compare.sh, build/peers or $RELUCENT_PEERS, and adds llama-cpp-python, which
# compiles llama.cpp for this processor (some ten minutes), and gguf.
#   tests/benchmarks/peers/llama.sh [--tokens 174] [--candidates 8] [--rounds 3] ...
# --help lists all options.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
environment=${RELUCENT_PEERS:-$root/build/peers}
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet torch transformers==5.23.0
fi
"$environment/bin/python" -c 'import gguf, llama_cpp' 2>/dev/null ||
  CMAKE_ARGS=-DGGML_NATIVE=ON "$environment/bin/pip" install --quiet llama-cpp-python gguf
most=1099511627776
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=$most:glibc.malloc.mmap_threshold=$most
exec "$environment/bin/python" "$here/llama.py" --program "$root/build/release/bin/relucent" \
  --vocabulary "$root/model/relucent-minilm-l6-w4/vocab.txt" "$@"
