#!/usr/bin/env bash
# Formatting, includes and clang-tidy, as continuous integration checks them.
#   cmake/check-style.sh [BASE]    format and includes everywhere; clang-tidy on the sources changed since BASE (default: origin/main)
#   cmake/check-style.sh --all     clang-tidy on every source (an hour on two cores)
# Needs clang-format and clang-tidy 14, and for clang-tidy a configured build in build/dev.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-origin/main}

# Generated tables keep the generator's layout.
mapfile -t sources < <(git ls-files '*.cpp' '*.h' '*.cu' '*.inl')
clang-format --style=file --dry-run -Werror "${sources[@]}"
echo "format: ${#sources[@]} files are clean"

python3 cmake/check_includes.py

if [ "$base" = --all ]; then
  mapfile -t changed < <(git ls-files '*.cpp')
else
  mapfile -t changed < <(git diff --name-only --diff-filter=d "$(git merge-base "$base" HEAD)" -- '*.cpp')
fi
[ ${#changed[@]} -eq 0 ] && { echo "clang-tidy: no source has changed"; exit 0; }
[ -f build/dev/compile_commands.json ] || cmake --preset dev -DRELUCENT_PCH=OFF >/dev/null
printf '%s\n' "${changed[@]}" | xargs -P 2 -n 4 clang-tidy -p build/dev --quiet
echo "clang-tidy: ${#changed[@]} sources are clean"
