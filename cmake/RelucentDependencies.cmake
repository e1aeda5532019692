# Everything Relucent uses from the system; packages.txt names the Debian packages.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n data)
find_package(Boost REQUIRED COMPONENTS filesystem system)
pkg_check_modules(LUCENEPP REQUIRED liblucene++)
find_library(RELUCENT_SENTENCEPIECE sentencepiece REQUIRED)
find_path(RELUCENT_SENTENCEPIECE_INCLUDE sentencepiece_processor.h REQUIRED)
mark_as_advanced(RELUCENT_SENTENCEPIECE RELUCENT_SENTENCEPIECE_INCLUDE)

# Its pkg-config file would also link the trainer.
add_library(relucent_sentencepiece INTERFACE)
target_include_directories(relucent_sentencepiece SYSTEM INTERFACE ${RELUCENT_SENTENCEPIECE_INCLUDE})
target_link_libraries(relucent_sentencepiece INTERFACE ${RELUCENT_SENTENCEPIECE})

# Lucene++ is a system library to us: its headers' warnings are not ours.
add_library(relucent_lucenepp INTERFACE)
target_include_directories(relucent_lucenepp SYSTEM INTERFACE ${LUCENEPP_INCLUDE_DIRS})
target_link_libraries(relucent_lucenepp INTERFACE ${LUCENEPP_LINK_LIBRARIES} Boost::filesystem Boost::system)

# relucent_use_lucenepp(TARGET PUBLIC|PRIVATE): links Lucene++ and precompiles its headers (10 s a file otherwise), once
# for all libraries and once for all executables, whose code is position-independent in another way.
function(relucent_use_lucenepp target scope)
  target_link_libraries(${target} ${scope} relucent_lucenepp)
  get_target_property(kind ${target} TYPE)
  get_property(first GLOBAL PROPERTY relucent_precompiled_for_${kind})
  if(NOT RELUCENT_PCH)
    return()
  elseif(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE <LuceneHeaders.h>)
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
