# Sourced by demo.sh and test.sh. install_packages ROOT [PACKAGE...] installs the Debian packages of ROOT/packages.txt,
# and further ones, that are missing, and lists them.
install_packages() {
  local root=$1 missing=() package sudo=()
  shift
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "No dpkg here: please install the equivalents of the packages in packages.txt yourself." >&2
    return 0
  fi
  while read -r package; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
  done < <(grep -vE '^[[:space:]]*(#|$)' "$root/packages.txt"; [ $# -eq 0 ] || printf '%s\n' "$@")
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "Missing Debian packages: ${missing[*]}" >&2
      echo "Install them as root (apt-get install ...), or install sudo, then run this again." >&2
      return 1
    fi
    sudo=(sudo)
  fi
  echo "Installing the missing Debian packages: ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq >&2 &&
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}
