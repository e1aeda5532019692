#!/usr/bin/env bash
# Builds what is published, from the last commit, never from the working tree, in build/packages.
#   ./package.sh PART...      these parts, in this order whatever order is given:
#     docs      the documentation as a web site, with the API reference  site/ and relucent-VERSION-docs.tar.gz
#     tarball   the sources; they build without git                      relucent-VERSION.tar.gz
#     deb       the Debian packages, built from the tarball              *.deb
#     wheel     the Python package with every library that it needs      relucent_search-VERSION-...-manylinux_*.whl
#     wheel-aarch64  the same for 64-bit Arm, cross-compiled           relucent_search-VERSION-...-aarch64.whl
#     image     a container image with the Debian packages               relucent-VERSION-image.tar
#   ./package.sh all          every part but wheel-aarch64, for which the library is compiled again
#   --check                   also tries each artifact where nothing else of Relucent is: the tarball is built, the
#                             packages and the wheel are installed in fresh Debian systems, the image is run
#   --cuda                    deb and image with the CUDA module, which needs a CUDA toolkit
#   --suite NAME              for another release of Debian than this machine's, such as trixie (Debian 13): builds and
#                             checks everything in a system of that release; the artifacts are in build/packages/NAME
#   --help                    prints this
# The program is compiled once, by deb; wheel and image take it from there, so they imply deb, and deb implies tarball.
# With ccache, a second run compiles nothing that has not changed. docs/packaging.md describes the artifacts.
# shellcheck disable=SC2034  # the parts, which are sourced, read these variables
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")"
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

order=(docs tarball deb wheel wheel-aarch64 image)
usage() { sed -n '2,/^# shellcheck/{/^# shellcheck/d; s/^# \{0,1\}//; p}' "$0"; }
wrong_usage() { echo "package.sh: $1; see ./package.sh --help" >&2; exit 2; }

wanted=" " check='' cuda='' given_suite=''
given=("$@")
while [ $# -gt 0 ]; do
  word=$1
  shift
  case $word in
    --help | -h) usage; exit ;;
    --check) check=1 ;;
    --cuda) cuda=1 ;;
    --suite)
      [[ ${1:-} =~ ^[a-z]+$ ]] || wrong_usage "--suite needs the name of a release, such as trixie"
      given_suite=$1
      shift
      ;;
    all) wanted+="docs tarball deb wheel image " ;;
    docs | tarball | deb | wheel | wheel-aarch64 | image) wanted+="$word " ;;
    *) wrong_usage "unknown part \"$word\"; there are: ${order[*]}, all" ;;
  esac
done
[ "$wanted" != " " ] || wrong_usage "no part is given"
wants() { [[ $wanted == *" $1 "* ]]; }
if wants wheel-aarch64; then wanted+="wheel "; fi
if wants wheel || wants image; then wanted+="deb "; fi
if wants deb; then wanted+="tarball "; fi

# In containers the checkout may belong to another user.
git() { command git -c safe.directory="$PWD" "$@"; }
git rev-parse --verify -q HEAD >/dev/null || { echo "package.sh: needs a git checkout with a commit" >&2; exit 1; }

version=$(git show HEAD:CMakeLists.txt | sed -n 's/^project(Relucent VERSION \([0-9.]*\).*/\1/p')
roots=$PWD/build/packages/roots
out=$PWD/build/packages${given_suite:+/$given_suite}
mkdir -p "$out/logs"
# What is built here fits this machine's release of Debian; it is tried in fresh systems of the same.
here=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
suite=${given_suite:-$here}
[ -z "$(git status --porcelain)" ] || echo "Note: changes that are not committed are not packaged" >&2

# logged NAME COMMAND...: runs the command with its output in logs/NAME.log; shows the end of it on failure.
logged() {
  local log=$out/logs/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; echo "FAILED: $1; the whole log is in $log" >&2; exit 1; }
}
# need COMMAND PACKAGE: an error that names the Debian package of a missing command.
need() {
  PATH=$PATH:/usr/sbin command -v "$1" >/dev/null || { echo "package.sh: needs $1: apt-get install $2" >&2; exit 1; }
}
# made FILE...: prints each artifact with its size.
made() {
  local file
  for file in "$@"; do printf '%9s KB  %s\n' "$(($(stat -c %s "$file") / 1000))" "${file#"$out"/}"; done
}

if [ "$suite" != "$here" ]; then
  # shellcheck source=cmake/packages/build_root.sh
  source cmake/packages/build_root.sh
  package_in_build_root "${given[@]}"
  exit
fi

for part in "${order[@]}"; do
  if wants "$part"; then
    echo "== $part"
    # shellcheck source=/dev/null
    source "cmake/packages/$part.sh"
    "package_$part"
    if [ -n "$check" ]; then "check_$part"; fi
  fi
done
