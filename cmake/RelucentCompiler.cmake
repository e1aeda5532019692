# Compiler settings of Relucent's own targets. relucent_target(NAME) gives a target the language level, the
# warnings, the sanitizers and {fmt}; nothing here leaks to projects that use the library.

# Not cache entries: project() has already made them. The kernels ask for -O3 themselves.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_DEV "" CACHE STRING "Linker flags of the Dev build type")
endforeach()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# A second build of an unchanged source takes no time where ccache is installed, in another clone of the project too.
option(RELUCENT_CCACHE "Compile through ccache where it is installed" ON)
find_program(RELUCENT_CCACHE_PROGRAM ccache)
mark_as_advanced(RELUCENT_CCACHE_PROGRAM)
if(RELUCENT_CCACHE AND RELUCENT_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the sources; precompiled headers compared by contents; all locales share the results.
  set(sloppiness pch_defines,time_macros,include_file_mtime,include_file_ctime,locale)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=${sloppiness} ${RELUCENT_CCACHE_PROGRAM})
endif()

option(RELUCENT_HARDENING "Compile with the checks that distributions compile their packages with" ON)
function(relucent_harden name)
  # As Debian hardens its packages. FORTIFY needs an optimizing build.
  set(fortify "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong;${fortify}>")
  target_link_options(${name} PRIVATE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endfunction()

function(relucent_target name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE fmt::fmt)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  # GCC 12 sees overflows that are not there in its own std::string operator+ (GCC bugs 105329 and 105651).
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-stringop-overflow>")
  # GCC frees memory less often, which saves a fifteenth of its time and takes at most 200 MB more.
  target_compile_options(${name} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-expand=200;--param=ggc-min-heapsize=500000>")
  # Clang 19 names what GCC 12's own std::stable_sort() calls deprecated. GCC sees what this project calls.
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>")
  # BM25 scores are compared bit for bit: no fused multiply-add unless written as such.
  set(options -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off
              $<$<BOOL:${RELUCENT_WERROR}>:-Werror>)
  target_compile_options(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")
  if(RELUCENT_SANITIZE)
    # With sanitizers GCC 12 takes parts of std::regex and std::function for uninitialized.
    target_compile_options(${name} PRIVATE -fsanitize=${RELUCENT_SANITIZE} -fno-omit-frame-pointer
                                           -fno-sanitize-recover=all
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    if(RELUCENT_SANITIZE MATCHES address)
      # AddressSanitizer finds what these find, and they take a third of the compiler's time.
      target_compile_options(${name} PRIVATE -fno-sanitize=null,pointer-overflow,object-size)
    endif()
    target_link_options(${name} PUBLIC -fsanitize=${RELUCENT_SANITIZE})
  elseif(RELUCENT_HARDENING)
    relucent_harden(${name})
  endif()
endfunction()
