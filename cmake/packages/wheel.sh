# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by package.sh: the Python package with the library, the model and every shared library that these need. The
# library is that of the Debian packages.
# shellcheck source=cmake/packages/debian_root.sh
source cmake/packages/debian_root.sh
# shellcheck source=cmake/packages/components.sh
source cmake/packages/components.sh
wheel_components=$out/relucent_search-$version.spdx.json

package_wheel() {
  local python=$out/wheel-python raw=$out/wheel/raw unpacked=$out/wheel/unpacked
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
  logged wheel-unpack "$python/bin/wheel" unpack -d "$unpacked" "$out"/wheel/repaired/*.whl
  add_licences "$unpacked"/*
  add_components "$unpacked"/*
  logged wheel-pack "$python/bin/wheel" pack -d "$out" "$unpacked"/*
  made "$out"/relucent_search-*.whl "$wheel_components"
}

# add_licences FOLDER: the copyright files of the Debian packages whose libraries the unpacked wheel contains. A library
# without one is an error.
add_licences() {
  local folder=$1 library name package
  mkdir -p "$folder"/relucent_search/share/relucent/licences
  for library in "$folder"/relucent_search.libs/*.so*; do
    # auditwheel has put a part of the checksum into the name: libfmt-1a2b3c4d.so.9.1.0
    name=$(basename "$library" | sed -E 's/-[0-9a-f]{8}(\.so)/\1/')
    package=$(dpkg-query -S "*/$(g++ -print-multiarch)/$name" | head -1 | cut -d: -f1)
    cp "/usr/share/doc/$package/copyright" "$folder/relucent_search/share/relucent/licences/$package"
  done
}

# add_components FOLDER: the list of these packages, in the wheel where PEP 770 wants it, and next to the wheel.
add_components() {
  local folder=$1 package packages=() inside
  for package in "$folder"/relucent_search/share/relucent/licences/*; do
    packages+=("$(basename "$package"):$(dpkg --print-architecture)")
  done
  dpkg-query --status "${packages[@]}" |
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
