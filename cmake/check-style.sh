#!/usr/bin/env bash
# Checks the layout of tracked files, and with --tidy the code by clang-tidy. Prints what is wrong and exits with 1, or
# with 77 if nothing is wrong but a check could not be made.
#   cmake/check-style.sh                      clang-format, lines over 120 columns, trailing white space
#   cmake/check-style.sh --tidy [FILE...]     clang-tidy on these files, or on all
#   cmake/check-style.sh --tidy --changed REF clang-tidy on the files that differ from REF
# Version 14 of both, as Debian 12 has it: other versions lay code out differently. CLANG_FORMAT and CLANG_TIDY name
# them where they have other names. clang-tidy reads compile commands: build/dev's for single files, and for all the
# release build's, whose files contain several sources each, so that it takes half an hour and not hours.
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
inputs=(':!tests/**/golden_*' ':!tests/goldens' ':!tests/fuzz/corpus')

check_layout() {
  local status=0 format
  format=$(find_tool clang-format "${CLANG_FORMAT:-}")
  if [ -z "$format" ]; then
    echo "SKIPPED: clang-format 14 is not installed (apt-get install clang-format-14)"
    status=77
  else
    git ls-files -z -- '*.cpp' '*.cu' '*.h' '*.inl' "${inputs[@]}" | xargs -0 "$format" --dry-run -Werror || status=1
  fi
  # One table row, link or paragraph of Markdown, one generated comment of a profile and one string of JSON is one line;
  # tables and plots are data.
  local -a long=(':!*.md' ':!config/*.toml' ':!*.json' ':!*.svg' ':!*.tsv' ':!*.inc' ':!LICENSE')
  if git grep -nIE '.{121,}' -- . "${inputs[@]}" "${long[@]}"; then
    echo "FAILED: the lines above have more than 120 columns" >&2
    status=1
  fi
  if git grep -nIE '[[:space:]]+$' -- . "${inputs[@]}"; then
    echo "FAILED: the lines above end in white space" >&2
    status=1
  fi
  return $status
}

# write_database PRESET FOLDER: the compile commands with Lucene++'s headers in place of GCC's precompiled ones. Prints
# the files of ours that clang 14 can read: not the emulator, which defines CUDA's names and half precision.
write_database() {
  if [ ! -f "build/$1/compile_commands.json" ]; then
    echo "build/$1/compile_commands.json is missing: run cmake --preset $1 first" >&2
    return 1
  fi
  python3 - "build/$1/compile_commands.json" "$2/compile_commands.json" <<'PYTHON'
import json, re, sys
commands = json.load(open(sys.argv[1]))
for command in commands:
    command["command"] = re.sub(r"-Winvalid-pch -include \S+", "-include LuceneHeaders.h",
                                re.sub(r"-Werror\b", "", command["command"]))
json.dump(commands, open(sys.argv[2], "w"))
for name in sorted({command["file"] for command in commands}):
    if name.endswith((".cpp", ".cxx")) and not re.search(r"emulator|cmake_pch|_verify_interface_header_sets", name):
        print(name)
PYTHON
}

# check_code PRESET FILE...: clang-tidy on these files, or on all.
check_code() {
  local tidy preset=$1
  shift
  tidy=$(find_tool clang-tidy "${CLANG_TIDY:-}")
  if [ -z "$tidy" ]; then
    echo "SKIPPED: clang-tidy 14 is not installed (apt-get install clang-tidy-14)"
    return 77
  fi
  database=$(mktemp -d)
  trap 'rm -rf "$database"' EXIT
  write_database "$preset" "$database" >"$database/files"
  if [ $# -gt 0 ]; then printf '%s\n' "$@" >"$database/files"; fi
  # A file of several sources includes them by their names.
  # shellcheck disable=SC2016
  xargs -a "$database/files" -d '\n' -n 1 -P "$(nproc)" sh -c '
    if ! "$0" --quiet -p "$1" --checks=-bugprone-suspicious-include "$2" >"$1/$$" 2>&1; then
      grep -v "warnings\? generated" "$1/$$" >&2; exit 1
    fi
    echo "clang-tidy: $2"' "$tidy" "$database"
}

case ${1:-} in
  "") check_layout ;;
  --tidy)
    shift
    preset=dev
    if [ "${1:-}" = --changed ]; then
      # pip, not the presets, compiles python/native, so there are no commands for it.
      mapfile -t files < <(git diff --name-only --diff-filter=d "${2:?--changed needs a commit}" -- '*.cpp' '*.h' \
        ':!python/native')
      if [ ${#files[@]} -eq 0 ]; then exit 0; fi
    elif [ $# -gt 0 ]; then
      files=("$@")
    else
      files=()
      preset=release
    fi
    check_code "$preset" "${files[@]}"
    ;;
  *) sed -n '4,6s/^#   //p' "$0" >&2; exit 2 ;;
esac
