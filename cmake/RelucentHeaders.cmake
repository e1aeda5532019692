# relucent_headers(TARGET PATTERN... [EXCEPT FILE...]): declares the headers that other targets include as public file
# sets. Patterns are relative to the target's folder. The target all_verify_interface_header_sets compiles each header
# alone, with the usage requirements of its target and nothing else: those that are installed, which the test `headers`
# builds, or all of them (./test.sh --long headers).

set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ${RELUCENT_TESTS})
option(RELUCENT_VERIFY_ALL_HEADERS "Compile every header alone, not only those that are installed" OFF)

function(relucent_headers target)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_EXCEPT)
    list(REMOVE_ITEM headers ${ARG_EXCEPT})
  endif()
  set(public ${headers})
  list(FILTER public INCLUDE REGEX "^include/")
  list(FILTER headers EXCLUDE REGEX "^include/")
  if(NOT public AND NOT RELUCENT_VERIFY_ALL_HEADERS)
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
  elseif(NOT RELUCENT_VERIFY_ALL_HEADERS)
    set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  endif()
  if(public)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${public})
  endif()
  if(headers)  # included by their path from the root of the sources
    target_sources(${target} PUBLIC FILE_SET private_headers TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                                    FILES ${headers})
  endif()
endfunction()
