# Sourced by package.sh: the Debian packages. They are built in a folder that is always the same, so that ccache finds
# what it has compiled.
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
    cd "$debian_source"
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
