# An overlay port, which builds the checkout that contains it:
#   vcpkg install relucent --overlay-ports=cmake/packages/vcpkg
# vcpkg has no port of Lucene++, and the libraries of one process must be built with the same Boost. Therefore all that
# Relucent needs comes from the distribution: packages.txt has the Debian packages.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
set(VCPKG_BUILD_TYPE release)
set(VCPKG_POLICY_MISMATCHED_NUMBER_OF_BINARIES enabled)  # there is no debug build
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DRELUCENT_TESTS=OFF -DRELUCENT_TOOLS=OFF -DRELUCENT_CUDA=off -DCMAKE_UNITY_BUILD=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/Relucent)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
