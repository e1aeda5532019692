# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by package.sh: a container image, which is a minimal Debian system with the Debian packages. Made without a
# container engine; docs/examples/serving has recipes for those that have one.
# shellcheck source=cmake/packages/debian_root.sh
source cmake/packages/debian_root.sh
# shellcheck source=cmake/packages/components.sh
source cmake/packages/components.sh
image=$out/relucent-$version-image.tar
image_components=$out/relucent-$version-image.spdx.json

package_image() {
  local root=$out/image/root
  local packages=("/packages/relucent_*.deb" "/packages/librelucent0.1_*.deb" "/packages/relucent-model_*.deb")
  [ -z "$cuda" ] || packages+=("/packages/relucent-cuda_*.deb")
  rm -rf "$out/image" "$image"
  fresh_root "$suite" "$root"
  mkdir "$root/packages"
  cp "$out"/*.deb "$root/packages"
  install_in_root "$root" "${packages[@]}"
  in_root "$root" bash -c 'useradd --system --no-create-home relucent && install -d -o relucent /cache'
  rm -rf "$root"/packages "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/* "$root"/tmp/* \
    "$root"/usr/share/doc/*/*.gz "$root"/usr/share/man/*
  : >"$root/etc/resolv.conf"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) logged image python3 cmake/packages/oci_image.py "$root" "$image" \
    --name "relucent:$version" --user relucent --volume /cache --port 8080 --env XDG_CACHE_HOME=/cache \
    --entrypoint "relucent serve --host 0.0.0.0" --cmd="--index /index"
  list_components "$image_components" --name relucent-image --version "$version" --purpose CONTAINER \
    --status "$root/var/lib/dpkg/status"
  rm -rf "$root"
  made "$image" "$image_components"
}

# Runs the image as an engine does: its user, a read-only root, its entry point.
check_image() {
  local work=$out/image/check
  check_components "$image_components"
  rm -rf "$work"
  mkdir -p "$work"
  unshare --mount --net --ipc --uts --pid --fork --mount-proc \
    python3 cmake/packages/try_image.py "$image" "$work" index_tools/demo/collection.tsv
  rm -rf "$work"
}
