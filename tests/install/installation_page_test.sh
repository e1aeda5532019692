#!/usr/bin/env bash
# Runs the commands of docs/installation.md as a new user does, in a root of its own: the machine's system, read-only,
# with nothing in /usr/local, /home, /root, /opt and /tmp. Then compiles and runs the guide's program there.
#   installation_page_test.sh BUILD_DIR SOURCE_DIR     the page's last command, on a tree that is built
#   installation_page_test.sh --fresh SOURCE_DIR       on a copy of the sources: ./demo.sh, the page's commands after it
# Packages are the machine's: the page's first command is not run. Needs the right to mount; else prints SKIPPED.
set -euo pipefail
fail() { echo "FAILED: $1" >&2; exit 1; }

if [ "${1:-}" != --inside ]; then
  build=$1 source=$(cd "$2" && pwd)
  # Without root, a user namespace gives the right to mount; some systems and containers allow neither.
  enter=(unshare --mount)
  [ "$(id -u)" = 0 ] || enter+=(--user --map-root-user)
  if ! "${enter[@]}" mount -t tmpfs none /mnt 2>/dev/null; then
    echo "SKIPPED: this system does not let the test mount a root of its own"
    exit 77
  fi
  [[ $(command -v cmake) == /usr/bin/* ]] || { echo "SKIPPED: cmake is not the system's"; exit 77; }
  if [ "$build" != --fresh ] && [ -f "$build/build.ninja" ]; then
    targets=$(sed -n 's/.*targets=(\(.*\))$/\1/p' "$source/demo.sh")
    # shellcheck disable=SC2086
    ninja -C "$build" -t inputs $targets | grep '^lib/librelucent\.so' >/dev/null ||
      fail "./demo.sh builds $targets, without the library that cmake --install needs"
  fi
  root=$(mktemp -d)
  trap 'rmdir "$root"' EXIT
  "${enter[@]}" "$0" --inside "$build" "$source" "$root"
  exit
fi

build=$2 source=$3 root=$4
mount -t tmpfs -o mode=755 none "$root"
mkdir -p "$root"/{usr,etc,proc,dev,sys,tmp,root,home,opt,var,run}
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"; elif [ -d "/$name" ]; then
    mkdir "$root/$name" && mount --rbind "/$name" "$root/$name"
  fi
done
for name in usr etc proc dev sys var; do mount --rbind "/$name" "$root/$name"; done
mount -o remount,bind,ro "$root/usr"
mount -t tmpfs -o mode=755 none "$root/usr/local"
mkdir -p "$root/$source"
if [ "$build" = --fresh ]; then
  git -C "$source" -c safe.directory="$source" ls-files -z --cached --others --exclude-standard |
    tar -C "$source" --null -cT - | tar -C "$root/$source" -x
  # Objects that were compiled before are not compiled again.
  cache=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
  if [ -d "$cache" ]; then mkdir "$root/root/ccache" && mount --rbind "$cache" "$root/root/ccache"; fi
else
  mount --rbind "$source" "$root/$source"
  case $build in "$source"/*) ;; *) mkdir -p "$root/$build" && mount --rbind "$build" "$root/$build" ;; esac
fi

cat >"$root/root/as_the_page_says.sh" <<'END'
set -euo pipefail
fail() { echo "FAILED: $1" >&2; exit 1; }
sudo() { "$@"; }  # already root
build=$1
commands=$(sed -n '/^```sh$/,/^```$/p' docs/installation.md | sed '/^```/d; /apt-get/d')
grep -q '^sudo cmake --install build/release' <<<"$commands" || fail "docs/installation.md has other commands"
if [ "$build" = --fresh ]; then
  ./demo.sh >/root/demo.log || { tail -20 /root/demo.log; fail "./demo.sh"; }
  # First what follows ./demo.sh, then every command of the page.
  eval "$(grep '^sudo cmake --install' <<<"$commands")" >/dev/null
  eval "$commands" >/dev/null
else
  eval "$(grep '^sudo cmake --install' <<<"$commands" | sed "s|build/release|'$build'|")" >/dev/null
fi
cd /home
relucent --version
[ "$(command -v relucent)" = /usr/local/bin/relucent ] || fail "relucent is not in /usr/local/bin"
[ -s /usr/local/share/man/man1/relucent.1 ] || fail "the manual page is not installed"
relucent index --corpus tsv --input /usr/local/share/relucent/demo/collection.tsv --index index >/dev/null
relucent search --index index --hits 1 "how to treat a burn" | grep -q ' 1101$' || fail "the program finds no answer"
# The command of docs/embedding.md.
pages=/usr/local/share/doc/relucent/docs
grep -qF 'g++ -std=c++20 my_program.cpp $(pkg-config --cflags --libs relucent liblucene++)' $pages/embedding.md ||
  fail "docs/embedding.md has another command"
cp $pages/examples/plain_search.cpp my_program.cpp
g++ -std=c++20 my_program.cpp $(pkg-config --cflags --libs relucent liblucene++)
./a.out index "treating burns" | grep -q 110 || fail "the guide's program finds nothing"
echo ok
END
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb CCACHE_DIR=/root/ccache \
  chroot "$root" bash -c 'cd "$1" && bash /root/as_the_page_says.sh "$2"' - "$source" "$build"
