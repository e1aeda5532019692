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
  fresh_root bookworm "$root"
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

# Unpacks the image as an engine does and starts it as its user: the server answers a query.
check_image() {
  local work=$out/image/check
  check_components "$image_components"
  rm -rf "$work"
  mkdir -p "$work/root"
  tar -C "$work" --exclude=root -xf "$image"
  tar -C "$work/root" --numeric-owner -xzf "$work/$(python3 -c 'import json, sys
index = json.load(open(sys.argv[1] + "/index.json"))["manifests"][0]["digest"]
manifest = json.load(open(sys.argv[1] + "/blobs/" + index.replace(":", "/")))
print("blobs/" + manifest["layers"][0]["digest"].replace(":", "/"))' "$work")"
  in_root "$work/root" bash -c '
    relucent index --corpus tsv --input /usr/share/relucent/demo/collection.tsv --index /index 2>/dev/null
    chmod -R a+rX /index
    setpriv --reuid relucent --clear-groups env XDG_CACHE_HOME=/cache \
      relucent serve --host 127.0.0.1 --port 8089 --index /index 2>/tmp/messages & server=$!
    for second in $(seq 120); do
      if { exec 3<>/dev/tcp/127.0.0.1/8089; } 2>/dev/null; then break; fi
      sleep 1
    done
    body="{\"query\": \"how to treat a burn\", \"k\": 1}"
    printf "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" \
      ${#body} >&3
    printf "Connection: close\r\n\r\n%s" "$body" >&3
    answer=$(cat <&3)
    kill $server; wait $server
    grep -q 1101 <<<"$answer" || { cat /tmp/messages; echo "$answer" | head -20; echo "FAILED: no answer"; exit 1; } >&2
    echo "the image answers with ${#answer} bytes, document 1101 among them"'
  rm -rf "$work"
}
