# shellcheck shell=bash disable=SC2154
# Sourced by package.sh: builds for another release of Debian than this machine's, in a system of that release.
# shellcheck source=cmake/packages/debian_root.sh
source cmake/packages/debian_root.sh

# What package.sh itself needs, in addition to the tools and libraries of packages.txt.
build_root_tools=(autopkgtest ca-certificates debhelper debootstrap doxygen dpkg-dev fakeroot git lintian python3-dev
  python3-venv)

# package_in_build_root ARGUMENTS...: runs package.sh with these arguments in the system, which is kept. It sees this
# checkout and the compiler's cache where they are here, and trusts the certificates that this machine trusts.
package_in_build_root() {
  local root=$roots/build-$suite packages cache=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
  mapfile -t packages < <(sed '/^# tests/,$d; /^#/d' packages.txt)
  if [ ! -f "$root/ready" ] || [ packages.txt -nt "$root/ready" ]; then
    rm -rf "$root"
    fresh_root "$suite" "$root"
    install_in_root "$root" "${packages[@]}" "${build_root_tools[@]}"
    touch "$root/ready"
  fi
  [ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$cache" "$root$PWD" "$root$cache"
  # The root is mounted on itself, because systems are made inside it, for which it must be a mount point.
  # shellcheck disable=SC2016
  unshare --mount --fork bash -c 'set -e
    root=$0 checkout=$1 cache=$2; shift 2
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
    mount --bind "$checkout" "$root$checkout"; mount --bind "$cache" "$root$cache"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CCACHE_DIR="$cache" \
      RELUCENT_JOBS="${RELUCENT_JOBS:-2}" PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
      chroot "$root" bash -c "cd \"\$0\" && exec ./package.sh \"\$@\"" "$checkout" "$@"' "$root" "$PWD" "$cache" "$@"
}
