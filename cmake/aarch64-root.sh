#!/usr/bin/env bash
# Makes a folder with the arm64 packages that Relucent compiles against and runs with: the libraries of packages.txt and
# what they need. A package manager of its own resolves and downloads them; this machine's packages stay as they are.
# usage: aarch64-root.sh ROOT [PACKAGE...]           PACKAGE: further ones
#        aarch64-root.sh ROOT --only PACKAGE...      these and what they need, nothing else
set -euo pipefail
root=$1
shift
sources=$(cd "$(dirname "$0")/.." && pwd)
packages=()
if [ "${1:-}" = --only ]; then
  shift
else
  mapfile -t packages < <(grep -E '^[a-z0-9.+-]+-dev$' "$sources/packages.txt" | grep -v '^python3-dev$')
  packages+=(libc6-dev libstdc++-12-dev)
fi
packages+=("$@")
wanted=$(printf '%s\n' "${packages[@]}" | sort)
[ "$wanted" != "$(cat "$root/packages" 2>/dev/null)" ] || exit 0

state=$root.apt
mkdir -p "$state"/{lists/partial,archives/partial} "$root"
touch "$state/status"
cat >"$state/apt.conf" <<END
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state";
Dir::Log "$state";
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
END
export APT_CONFIG=$state/apt.conf
echo "== aarch64: packages for $root"
apt-get update -qq
apt-get install -y -qq --download-only "${packages[@]}" >"$state/download.log" || { cat "$state/download.log"; exit 1; }
for package in "$state"/archives/*.deb; do dpkg -x "$package" "$root"; done
# Links to absolute places lead out of the folder.
find "$root" -type l -lname '/*' | while read -r link; do ln -sfn "$root$(readlink "$link")" "$link"; done
printf '%s\n' "$wanted" >"$root/packages"
