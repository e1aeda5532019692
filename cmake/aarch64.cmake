# Toolchain: cross-compiles for 64-bit Arm with Debian's compiler, against a root folder of arm64 packages, and runs the
# programs under QEMU. `./test.sh --long aarch64` makes the folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(default_root ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64/sysroot ABSOLUTE)
set(RELUCENT_SYSROOT ${default_root} CACHE PATH "Root folder with the arm64 packages of packages.txt")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RELUCENT_SYSROOT)
set(CMAKE_SYSROOT ${RELUCENT_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# `max` has every feature that QEMU emulates: dot products, matrices of 8-bit and 16-bit numbers, SVE.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-cpu;max;-L;${CMAKE_SYSROOT} CACHE STRING "Runs the programs")
