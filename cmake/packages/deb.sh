# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by package.sh: the Debian packages. They are built in a folder that is always the same, so that ccache finds
# what it has compiled.
# shellcheck source=cmake/packages/debian_root.sh
source cmake/packages/debian_root.sh
debian_source=$out/deb/relucent-$version
debian_build=$debian_source/build/package

package_deb() {
  local profiles=()
  need dpkg-buildpackage dpkg-dev
  need dh debhelper
  [ -z "$cuda" ] || profiles=(--build-profiles=pkg.relucent.cuda)
  rm -rf "$out/deb" "$out"/*.deb
  mkdir -p "$out/deb"
  tar -C "$out/deb" -xf "$tarball"
  (
    cd "$debian_source" || exit
    # debhelper gives the build a home folder of its own; the compiler's cache is outside it.
    export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
    export DEB_BUILD_OPTIONS="noautodbgsym parallel=${RELUCENT_JOBS:-2}"
    SOURCE_DATE_EPOCH=$(git -C "$OLDPWD" -c safe.directory="$OLDPWD" log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    logged deb dpkg-buildpackage --build=binary --no-sign --no-pre-clean "${profiles[@]}"
  )
  mv "$out"/deb/*.deb "$out"
  made "$out"/*.deb
}

# files_of FOLDER: all files of a system but those in which apt and dpkg keep what they know.
files_of() {
  (cd "$1" && find . -xdev \( -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./var/log \
    -o -path ./tmp -o -path ./packages \) -prune -o -print | sort)
}

# Lintian finds no error. In a fresh system, `apt install` of the files gives the program with its completions, the
# demo runs, and purging them and what they brought leaves no file. autopkgtest runs debian/tests, each in a system with
# nothing but what the test depends on.
check_deb() {
  local root=$out/deb-root test
  need lintian lintian
  need autopkgtest autopkgtest
  logged lintian lintian --fail-on error --allow-root "$out"/*.deb
  rm -rf "$root"
  fresh_root "$suite" "$root"
  mkdir "$root/packages"
  cp "$out"/*.deb "$root/packages"
  cp /etc/resolv.conf "$root/etc/resolv.conf"  # as install_in_root does
  files_of "$root" >"$out/logs/files-before"
  install_in_root "$root" "/packages/relucent_*.deb" "/packages/librelucent0.1_*.deb" "/packages/relucent-model_*.deb"
  in_root "$root" bash -c 'for part in bash-completion/completions/relucent zsh/vendor-completions/_relucent \
    fish/vendor_completions.d/relucent.fish man/man1/relucent.1.gz; do test -s "/usr/share/$part" || exit 1; done'
  in_root "$root" env XDG_CACHE_HOME=/tmp sh -s relucent /usr/share/relucent/demo <"$debian_source/debian/tests/search"
  logged purge in_root "$root" bash -c 'apt-get purge -y relucent librelucent0.1 relucent-model &&
    apt-get autoremove -y --purge'
  files_of "$root" | diff "$out/logs/files-before" - || { echo "FAILED: purging leaves other files" >&2; exit 1; }
  echo "installed, used and purged: no file is left"
  for test in $(sed -n 's/^Features: test-name=//p; s/^Tests: //p' "$debian_source/debian/tests/control"); do
    rm -rf "$root"
    fresh_root "$suite" "$root"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    logged "autopkgtest-$test" with_system_folders "$root" autopkgtest --test-name="$test" --no-built-binaries \
      "$out"/*.deb "$debian_source/" -- chroot "$root"
    grep -q "^$test *PASS" "$out/logs/autopkgtest-$test.log" || { echo "FAILED: $test did not run" >&2; exit 1; }
    echo "autopkgtest: $test passed"
  done
  rm -rf "$root"
}
