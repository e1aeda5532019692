# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by package.sh: the Python package with the library, the model and every shared library that these need. The
# library is that of the Debian packages.
# shellcheck source=cmake/packages/debian_root.sh
source cmake/packages/debian_root.sh
# shellcheck source=cmake/packages/components.sh
source cmake/packages/components.sh
wheel_components=$out/relucent_search-$version.spdx.json
wheel_python=$out/wheel-python

package_wheel() {
  local python=$wheel_python raw=$out/wheel/raw unpacked=$out/wheel/unpacked
  rm -rf "$out/wheel" "$out"/relucent_search-*.whl
  mkdir -p "$raw" "$unpacked"
  [ -x "$python/bin/auditwheel" ] || {
    need python3 python3-venv
    python3 -m venv "$python"
    logged wheel-pip "$python/bin/pip" install --disable-pip-version-check -r cmake/packages/requirements-wheel.txt
  }
  logged wheel "$python/bin/pip" wheel --no-deps --no-build-isolation --disable-pip-version-check -w "$raw" \
    "$debian_source/python" --config-settings="cmake.define.Relucent_DIR=$debian_build"
  # The libraries are copied from this system with names of their own, so that they cannot meet the machine's.
  PATH=$python/bin:$PATH logged wheel-repair "$python/bin/auditwheel" repair -w "$out/wheel/repaired" "$raw"/*.whl
  finish_wheel "$out/wheel/repaired" "$unpacked"
}

# finish_wheel REPAIRED UNPACKED [ROOT]: adds the licences and the list of components. ROOT: where packages of another
# architecture have been unpacked, whose files are in ROOT.apt/archives.
finish_wheel() {
  local repaired=("$1"/*.whl) unpacked=$2 root=${3:-}
  logged wheel-unpack "$wheel_python/bin/wheel" unpack -d "$unpacked" "${repaired[0]}"
  add_licences "$unpacked"/* "$root"
  add_components "$unpacked"/* "${root:+$root.apt/archives}"
  logged wheel-pack "$wheel_python/bin/wheel" pack -d "$out" "$unpacked"/*
  made "$out/$(basename "${repaired[0]}")" "$wheel_components"
}

# add_licences FOLDER [ROOT]: the copyright files of the Debian packages whose libraries the unpacked wheel contains,
# from this system or from another root. A library without one is an error.
add_licences() {
  local folder=$1 root=${2:-} library name package
  mkdir -p "$folder"/relucent_search/share/relucent/licences
  for library in "$folder"/relucent_search.libs/*.so*; do
    # auditwheel has put a part of the checksum into the name: libfmt-1a2b3c4d.so.9.1.0
    name=$(basename "$library" | sed -E 's/-[0-9a-f]{8}(\.so)/\1/')
    package=$(dpkg-query -S "*/$(g++ -print-multiarch)/$name" | head -1 | cut -d: -f1)
    cp "$root/usr/share/doc/$package/copyright" "$folder/relucent_search/share/relucent/licences/$package"
  done
}

# add_components FOLDER [ARCHIVES]: the list of these packages, in the wheel where PEP 770 wants it, and next to the
# wheel. ARCHIVES: a folder with the packages' files, if they are not installed here.
add_components() {
  local folder=$1 archives=${2:-} package inside
  for package in "$folder"/relucent_search/share/relucent/licences/*; do
    package=$(basename "$package")
    if [ -n "$archives" ]; then
      echo "Status: install ok installed"
      dpkg-deb --field "$archives/${package}_"*.deb
    else
      dpkg-query --status "$package:$(dpkg --print-architecture)"
    fi
    echo
  done |
    list_components "$wheel_components" --name relucent-search --version "$version" --purpose LIBRARY
  inside=$(echo "$folder"/relucent_search-*.dist-info)/sboms
  mkdir -p "$inside"
  cp "$wheel_components" "$inside/relucent.spdx.json"
}

# In a fresh Debian 12 with Python and nothing else: predict, index and search from an empty virtual environment.
check_wheel() {
  local root=$out/wheel-root
  check_components "$wheel_components"
  rm -rf "$root"
  fresh_root "$suite" "$root"
  install_in_root "$root" python3-venv
  mkdir "$root/try"
  cp "$out"/relucent_search-*.whl index_tools/demo/collection.tsv cmake/packages/try_wheel.py "$root/try"
  # What the wheel depends on is downloaded out here: a fresh system may lack the certificates for it.
  logged wheel-download "$out/wheel-python/bin/pip" download --disable-pip-version-check --only-binary :all: \
    -d "$root/try/wheels" "$out"/relucent_search-*.whl
  logged wheel-install in_root "$root" bash -c 'python3 -m venv /try/venv &&
    /try/venv/bin/pip install --disable-pip-version-check --no-index --find-links /try/wheels /try/*.whl'
  in_root "$root" /try/venv/bin/python /try/try_wheel.py /try/collection.tsv
  rm -rf "$root"
}
