#!/usr/bin/env bash
# Installs the build tree into a fresh prefix and builds and runs a project of somebody else's against it, once through
# find_package(Relucent) and once through pkg-config.
# usage: consumer_test.sh BUILD_DIR SOURCE_DIR CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
fail() { echo "FAILED: $1" >&2; exit 1; }
unset LD_LIBRARY_PATH  # a program linked as documented must run without it

# Licence, documentation and manual page are there, and no page links to a file that is not.
documentation=$work/prefix/share/doc/relucent
for file in LICENSE NOTICE README.md CHANGELOG.md docs/README.md docs/examples/plain_search.cpp; do
  [ -s "$documentation/$file" ] || fail "$file is not installed"
done
cmp "$source/LICENSE" "$documentation/LICENSE"
while IFS= read -r page; do
  while IFS= read -r link; do
    [ -e "$(dirname "$page")/$link" ] || fail "$page links to $link, which is not installed"
  done < <(grep -o '](\([^)#:]*\)[)#]' "$page" | sed 's/^](//; s/[)#]$//' | grep .)
done < <(find "$documentation" -name '*.md')
[ -s "$work/prefix/share/man/man1/relucent.1" ] || fail "relucent.1 is not installed"
[ "$("$work/prefix/bin/relucent" --man)" = "$(cat "$work/prefix/share/man/man1/relucent.1")" ] ||
  fail "relucent.1 is not the installed program's"

# The containers of the documentation install what runtime_packages.sh prints: all that the program is linked with.
if command -v dpkg-query >/dev/null; then
  packages=$("$source/cmake/packages/runtime_packages.sh" "$work/prefix")
  for library in $(readelf -d "$work/prefix/bin/relucent" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    package=$(dpkg-query -S "*/$(g++ -print-multiarch)/$library" 2>/dev/null | head -1 | cut -d: -f1)
    case $package in "" | libc6* | libgcc-s1 | libstdc++6) continue ;; esac
    grep -qxF "$package" <<<"$packages" || fail "runtime_packages.sh does not print $package"
  done
  for file in serving/Containerfile tirex.Dockerfile; do
    grep -qF "cmake/packages/runtime_packages.sh /relucent " "$source/docs/examples/$file" ||
      fail "docs/examples/$file does not call runtime_packages.sh"
  done
fi

check() {  # PROGRAM NAME
  local output
  rm -rf "$work/index"
  output=$("$1" "$work/index")
  echo "$2:"; echo "$output"
  [ "$(sed -n 2p <<<"$output" | cut -d' ' -f1)" = answer ] || fail "the answer is not first"
}

cmake -S "$source/tests/install/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$cxx" >/dev/null
cmake --build "$work/build" >/dev/null
check "$work/build/consumer" "find_package"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name relucent.pc)")
export PKG_CONFIG_PATH
# The line of docs/embedding.md.
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$source/tests/install/consumer/consumer.cpp" -o "$work/by-pkg-config" \
  $(pkg-config --cflags --libs relucent liblucene++)
check "$work/by-pkg-config" "pkg-config"

# The documentation's program for an index that changes, on the index that the consumer wrote.
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$documentation/docs/examples/current_search.cpp" -o "$work/current_search" \
  $(pkg-config --cflags --libs relucent liblucene++)
answers=$(printf 'how do I keep bread fresh\noil for a bicycle\n' | "$work/current_search" "$work/index")
echo "current_search:"; echo "$answers"
[ "$(sed -n 2p <<<"$answers" | cut -f2)" = answer ] || fail "current_search does not find the answer"
[ "$(tail -1 <<<"$answers" | cut -f2)" = other ] || fail "current_search does not find the second answer"

# The documentation's program without Lucene++'s headers.
# shellcheck disable=SC2046
"$cxx" -std=c++20 "$documentation/docs/examples/session_search.cpp" -o "$work/session_search" \
  $(pkg-config --cflags --libs relucent)
answers=$("$work/session_search" "$work/index" 'how do I keep bread fresh')
echo "session_search:"; echo "$answers"
[ "$(head -1 <<<"$answers" | cut -f1,2)" = $'1\tanswer' ] || fail "session_search does not find the answer"

"$work/prefix/bin/relucent" --version

# The CUDA module, where there is one, is found next to the library wherever the tree lies.
if [ -f "$build/lib/librelucent_cuda.so" ]; then
  mv "$work/prefix" "$work/moved"
  devices=$(env -u RELUCENT_CUDA_MODULE "$work/moved/bin/relucent" model info --device)
  echo "$devices"
  ! grep -qE 'not installed|cannot be loaded' <<<"$devices" || fail "the CUDA module is not found"
else
  echo "SKIPPED: this build has no CUDA module to install"
fi
