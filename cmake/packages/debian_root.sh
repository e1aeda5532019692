# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the parts of package.sh that try or ship what they built in a Debian system that has nothing else.

# fresh_root SUITE FOLDER: a minimal Debian system in a new folder. The systems are kept in build/packages/roots, so
# that only the first call of a suite downloads.
fresh_root() {
  local suite=$1 folder=$2 archive=$roots/$1.tar
  need debootstrap debootstrap
  [ "$(id -u)" = 0 ] || { echo "package.sh: a Debian system can be made by root only" >&2; exit 1; }
  if [ ! -f "$archive" ]; then
    mkdir -p "$roots"
    rm -rf "$archive.new.d"
    PATH=$PATH:/usr/sbin logged "debootstrap-$suite" debootstrap --variant=minbase "$suite" "$archive.new.d"
    rm -rf "$archive.new.d"/var/cache/apt/archives/*.deb
    tar -C "$archive.new.d" --numeric-owner -cf "$archive.new" .
    mv "$archive.new" "$archive"
    rm -rf "$archive.new.d"
  fi
  mkdir -p "$folder"
  tar -C "$folder" --numeric-owner -xf "$archive"
}

# with_system_folders FOLDER COMMAND...: runs a command of this machine while the system has /proc and /dev, which
# disappear with the command.
with_system_folders() {
  # shellcheck disable=SC2016
  unshare --mount --fork bash -c 'set -e; mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; exec "$@"' "$@"
}

# in_root FOLDER COMMAND...: runs a command in the system.
in_root() {
  local folder=$1
  shift
  with_system_folders "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive chroot "$folder" "$@"
}

# install_in_root FOLDER PACKAGE...: installs Debian packages, by name or by a pattern of files inside the root, without
# what is only recommended.
install_in_root() {
  local folder=$1
  shift
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  logged root-apt in_root "$folder" bash -c \
    'apt-get update -qq && apt-get install -y -qq --no-install-recommends $*' - "$@"
}
