# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by package.sh: the source archive.
tarball=$out/relucent-$version.tar.gz

package_tarball() {
  git archive --format=tar --prefix="relucent-$version/" HEAD | gzip -n >"$tarball.new"
  mv "$tarball.new" "$tarball"
  made "$tarball"
}

# Builds the program from the archive, with no git repository around it, and searches with it.
check_tarball() {
  local work
  work=$(mktemp -d)
  tar -C "$work" -xf "$tarball"
  (
    cd "$work/relucent-$version" || exit
    export GIT_CEILING_DIRECTORIES=$work
    logged tarball-build bash -c 'cmake --preset release -DRELUCENT_TESTS=OFF -DRELUCENT_CUDA=off &&
      cmake --build --preset release --target relucent_installed && cmake --install build/release --prefix ../prefix'
    debian/tests/search ../prefix/bin/relucent ../prefix/share/relucent/demo
  )
  rm -rf "$work"
}
