# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by package.sh: the wheel for 64-bit Arm, cross-compiled against Debian's arm64 packages and tried under QEMU.
# shellcheck source=cmake/packages/wheel.sh
source cmake/packages/wheel.sh
wheel_components=$out/relucent_search-$version-aarch64.spdx.json
arm=$out/aarch64
arm_system=$arm/system

package_wheel-aarch64() {
  local source=$arm/relucent-$version python_headers library_folder
  need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
  need unzip unzip
  rm -rf "$source" "$arm"/{raw,repaired,unpacked,wheel} "$out"/relucent_search-*aarch64.whl
  mkdir -p "$arm"/{raw,unpacked}
  tar -C "$arm" -xf "$tarball"
  logged aarch64-packages cmake/aarch64-root.sh "$arm_system" libpython3.11-dev
  python_headers=$arm_system/usr/include/python3.11
  library_folder=$arm_system/usr/lib/aarch64-linux-gnu
  logged aarch64-configure cmake -S "$source" -B "$arm/library" -G Ninja \
    --toolchain "$source/cmake/aarch64.cmake" -DRELUCENT_SYSROOT="$arm_system" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_UNITY_BUILD=ON -DRELUCENT_TESTS=OFF -DRELUCENT_TOOLS=OFF -DRELUCENT_CUDA=off
  logged aarch64-library cmake --build "$arm/library" -j "${RELUCENT_JOBS:-2}"
  # The module's description is that of the other wheel, because the module itself cannot be loaded here.
  mkdir "$arm/wheel"
  logged aarch64-stub unzip -q -j "$out"/relucent_search-*x86_64.whl '*/_native.pyi' -d "$arm/wheel"
  _PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so \
    logged aarch64-wheel "$wheel_python/bin/pip" wheel --no-deps --no-build-isolation --disable-pip-version-check \
    -w "$arm/raw" "$source/python" --config-settings="build-dir=$arm/wheel/build" \
    --config-settings="cmake.args=--toolchain=$source/cmake/aarch64.cmake" \
    --config-settings="cmake.define.RELUCENT_SYSROOT=$arm_system" \
    --config-settings="cmake.define.Relucent_DIR=$arm/library" \
    --config-settings="cmake.define.Python_INCLUDE_DIR=$python_headers" \
    --config-settings="cmake.define.nanobind_DIR=$("$wheel_python/bin/python" -m nanobind --cmake_dir)" \
    --config-settings="cmake.define.RELUCENT_STUB=$arm/wheel/_native.pyi"
  PATH=$wheel_python/bin:$PATH logged aarch64-repair "$wheel_python/bin/auditwheel" repair \
    --ldpaths "$library_folder:$arm_system/lib/aarch64-linux-gnu" -w "$arm/repaired" "$arm"/raw/*.whl
  finish_wheel "$arm/repaired" "$arm/unpacked" "$arm_system"
}

# In a folder with Debian's Python for arm64 and numpy, and no other library: predict, index and search under QEMU,
# which needs seconds for a text.
check_wheel-aarch64() {
  local system=$arm/python
  need qemu-aarch64-static qemu-user-static
  check_components "$wheel_components"
  logged aarch64-python cmake/aarch64-root.sh "$system" --only python3-minimal libpython3-stdlib libstdc++6
  rm -rf "$arm/try"
  mkdir -p "$arm/try/wheels"
  logged aarch64-numpy "$wheel_python/bin/pip" download --disable-pip-version-check --only-binary :all: \
    --python-version 3.11 --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 -d "$arm/try/wheels" numpy
  local wheel
  for wheel in "$arm"/try/wheels/*.whl "$out"/relucent_search-*aarch64.whl; do unzip -q -o "$wheel" -d "$arm/try"; done
  grep -E '^(1101|1102|1106|1110)\s' index_tools/demo/collection.tsv >"$arm/try/collection.tsv"
  env -i PYTHONHOME="$system/usr" PYTHONPATH="$arm/try" LC_ALL=C.UTF-8 qemu-aarch64-static -cpu max -L "$system" \
    "$system/usr/bin/python3.11" cmake/packages/try_wheel.py "$arm/try/collection.tsv"
  rm -rf "$arm/try"
}
