#!/usr/bin/env bash
# Times Relucent's late interaction against PyLate's, or its embedding models against sentence-transformers', on models
# of usual sizes with random weights, in turns, and prints a Markdown table. Needs no download but a Python environment
# with PyLate, which is build/pylate or $RELUCENT_PYLATE, or that of compare.sh, build/peers or $RELUCENT_PEERS; it is
# made where it is missing.
#   tests/benchmarks/peers/late_interaction.sh [--library sentence-transformers] [--precision int8]
#     [--sizes minilm,base] [--candidates 1000] [--rounds 3] [--json] ...
# --help lists all options.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
case " $* " in
  *" sentence-transformers "* | *"=sentence-transformers "*)
    environment=${RELUCENT_PEERS:-$root/build/peers} package=sentence-transformers==6.2.0 ;;
  *) environment=${RELUCENT_PYLATE:-$root/build/pylate} package=pylate==1.6.0 ;;
esac
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet "$package"
fi
# The same memory for everybody, as in compare.sh: huge pages, and nothing given back between runs.
most=1099511627776
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=$most:glibc.malloc.mmap_threshold=$most
exec "$environment/bin/python" "$here/late_interaction.py" --program "$root/build/release/bin/relucent" \
  --vocabulary "$root/model/relucent-minilm-l6-w4/vocab.txt" "$@"
