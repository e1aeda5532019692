#!/usr/bin/env bash
# Checks the layout of tracked files, and with --tidy the code by clang-tidy. Prints what is wrong and exits with 1, or
# with 77 if nothing is wrong but a check could not be made.
#   cmake/check-style.sh                      clang-format, lines over 120 columns, trailing white space
#   cmake/check-style.sh --tidy [FILE...]     clang-tidy on these files, or on all
#   cmake/check-style.sh --tidy --changed REF clang-tidy on the files that differ from REF
# Version 14 of both, as Debian 12 has it: other versions lay code out differently. CLANG_FORMAT and CLANG_TIDY name
# them where they have other names. clang-tidy reads build/dev/compile_commands.json.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

# In containers the checkout may belong to another user.
git() { command git -c safe.directory="$PWD" "$@"; }
if ! git rev-parse --git-dir >/dev/null 2>&1; then
  echo "SKIPPED: not a git checkout, so the files to check are unknown"
  exit 77
fi

# find_tool NAME PROGRAM: the path of version 14, or nothing.
find_tool() {
  local candidate
  for candidate in "${2:-$1-14}" "$1"; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then echo "$candidate"; return; fi
  done
}

# Inputs and answers of tests are kept byte for byte.
inputs=(':!tests/**/golden_*' ':!tests/goldens')

check_layout() {
  local status=0 format
  format=$(find_tool clang-format "${CLANG_FORMAT:-}")
  if [ -z "$format" ]; then
    echo "SKIPPED: clang-format 14 is not installed (apt-get install clang-format-14)"
    status=77
  else
    git ls-files -z -- '*.cpp' '*.cu' '*.h' '*.inl' "${inputs[@]}" | xargs -0 "$format" --dry-run -Werror || status=1
  fi
  # One table row, link or paragraph of Markdown and one generated comment of a profile is one line; tables are data.
  if git grep -nIE '.{121,}' -- . "${inputs[@]}" ':!*.md' ':!config/*.toml' ':!*.tsv' ':!*.inc' ':!LICENSE'; then
    echo "FAILED: the lines above have more than 120 columns" >&2
    status=1
  fi
  if git grep -nIE '[[:space:]]+$' -- . "${inputs[@]}"; then
    echo "FAILED: the lines above end in white space" >&2
    status=1
  fi
  return $status
}

# write_database FOLDER: the compile commands without what only GCC understands, its precompiled headers.
write_database() {
  python3 - build/dev/compile_commands.json "$1/compile_commands.json" <<'PYTHON'
import json, re, sys
commands = json.load(open(sys.argv[1]))
for command in commands:
    command["command"] = re.sub(r"-Winvalid-pch -include \S+|-Werror\b", "", command["command"])
json.dump(commands, open(sys.argv[2], "w"))
PYTHON
}

# check_code FILE...: clang-tidy, a file at a time.
check_code() {
  local tidy file status=0
  tidy=$(find_tool clang-tidy "${CLANG_TIDY:-}")
  if [ -z "$tidy" ]; then
    echo "SKIPPED: clang-tidy 14 is not installed (apt-get install clang-tidy-14)"
    return 77
  fi
  if [ ! -f build/dev/compile_commands.json ]; then
    echo "build/dev/compile_commands.json is missing: run cmake --preset dev first" >&2
    return 1
  fi
  database=$(mktemp -d)
  trap 'rm -rf "$database"' EXIT
  write_database "$database"
  for file in "$@"; do
    echo "clang-tidy $file"
    "$tidy" --quiet -p "$database" "$file" 2>"$database/messages" && continue
    grep -v 'warnings\? generated' "$database/messages" >&2 || true
    status=1
  done
  return $status
}

case ${1:-} in
  "") check_layout ;;
  --tidy)
    shift
    if [ "${1:-}" = --changed ]; then
      mapfile -t files < <(git diff --name-only --diff-filter=d "${2:?--changed needs a commit}" -- '*.cpp' '*.h')
    elif [ $# -gt 0 ]; then
      files=("$@")
    else
      # The emulator defines CUDA's names, and half precision, which clang 14 lacks on x86.
      mapfile -t files < <(git ls-files -- '*.cpp' "${inputs[@]}" ':!tests/cuda_emulator' ':!tests/kernels/emulator')
    fi
    check_code "${files[@]}"
    ;;
  *) sed -n '4,6s/^#   //p' "$0" >&2; exit 2 ;;
esac
