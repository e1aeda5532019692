# Everything Relucent uses from the system; packages.txt names the Debian packages.
find_package(Threads REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n data)
# Boost's own package: newer versions of CMake warn of the module for Boost that they still have.
find_package(Boost CONFIG REQUIRED COMPONENTS filesystem system)
pkg_check_modules(LUCENEPP REQUIRED liblucene++)
find_library(RELUCENT_SENTENCEPIECE sentencepiece REQUIRED)
find_path(RELUCENT_SENTENCEPIECE_INCLUDE sentencepiece_processor.h REQUIRED)
find_library(RELUCENT_STEMMER stemmer REQUIRED)
find_path(RELUCENT_STEMMER_INCLUDE libstemmer.h REQUIRED)
mark_as_advanced(RELUCENT_SENTENCEPIECE RELUCENT_SENTENCEPIECE_INCLUDE RELUCENT_STEMMER RELUCENT_STEMMER_INCLUDE)

# relucent_system_includes(TARGET FOLDER...): what is installed names the folders as they are where it will run, without
# the root folder that a cross compiler reads.
function(relucent_system_includes target)
  set(installed ${ARGN})
  if(CMAKE_SYSROOT)
    string(REPLACE "${CMAKE_SYSROOT}/" "/" installed "${ARGN}")
  endif()
  target_include_directories(${target} SYSTEM INTERFACE
    "$<BUILD_INTERFACE:${ARGN}>" "$<INSTALL_INTERFACE:${installed}>")
endfunction()

# Its pkg-config file would also link the trainer.
add_library(relucent_sentencepiece INTERFACE)
relucent_system_includes(relucent_sentencepiece ${RELUCENT_SENTENCEPIECE_INCLUDE})
target_link_libraries(relucent_sentencepiece INTERFACE ${RELUCENT_SENTENCEPIECE})

add_library(relucent_stemmer INTERFACE)
relucent_system_includes(relucent_stemmer ${RELUCENT_STEMMER_INCLUDE})
target_link_libraries(relucent_stemmer INTERFACE ${RELUCENT_STEMMER})

# Lucene++ is a system library to us: its headers' warnings are not ours.
add_library(relucent_lucenepp INTERFACE)
relucent_system_includes(relucent_lucenepp ${LUCENEPP_INCLUDE_DIRS})
target_link_libraries(relucent_lucenepp INTERFACE ${LUCENEPP_LINK_LIBRARIES} Boost::filesystem Boost::system)

# Precompiled headers, where they save time: for libraries without Lucene++ by relucent_common_headers, and with it
# (10 s a file otherwise) once for all libraries and once for all executables, whose code is position-independent in
# another way.
set(common_headers <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <filesystem> <fstream> <functional> <map>
                   <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map>
                   <variant> <vector> <fmt/core.h> <nlohmann/json.hpp>)
add_library(relucent_common_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
relucent_target(relucent_common_headers)
target_link_libraries(relucent_common_headers PRIVATE nlohmann_json::nlohmann_json)
if(RELUCENT_PCH)
  target_precompile_headers(relucent_common_headers PRIVATE ${common_headers})
endif()

# relucent_use_common_headers(TARGET): the library's files include most of common_headers.
function(relucent_use_common_headers target)
  if(RELUCENT_PCH)
    target_precompile_headers(${target} REUSE_FROM relucent_common_headers)
  endif()
endfunction()

# relucent_use_lucenepp(TARGET PUBLIC|PRIVATE): links Lucene++.
function(relucent_use_lucenepp target scope)
  target_link_libraries(${target} ${scope} relucent_lucenepp)
  get_target_property(kind ${target} TYPE)
  get_property(first GLOBAL PROPERTY relucent_precompiled_for_${kind})
  if(RELUCENT_FUZZ)  # clang's check of objects' types needs those of classes that Lucene++ does not export
    target_compile_options(${target} PRIVATE -fno-sanitize=vptr)
  endif()
  if(NOT RELUCENT_PCH)
    target_compile_options(${target} PRIVATE "SHELL:-include Lucene.h")  # its other headers need this one first
  elseif(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE <LuceneHeaders.h> <fmt/core.h> <nlohmann/json.hpp>)
    set_property(GLOBAL PROPERTY relucent_precompiled_for_${kind} ${target})
  endif()
endfunction()

if(RELUCENT_TOOLS)
  find_package(CLI11 REQUIRED)
  find_package(LibArchive REQUIRED)
  pkg_check_modules(LIBEDIT REQUIRED IMPORTED_TARGET libedit)
endif()
if(RELUCENT_TESTS)
  find_package(GTest REQUIRED)
endif()
