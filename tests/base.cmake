# Tests of the room `base`.
relucent_test(base_tests LABELS unit property fault threads base
              SOURCES base/file_fault.cpp
                      base/file_unit.cpp
                      base/json_tree_property.cpp
                      base/keyed_hash_unit.cpp
                      base/text_unit.cpp
                      base/thread_pool_unit.cpp
                      base/utf8_property.cpp
                      base/utf8_unit.cpp
              LIBRARIES relucent_base nlohmann_json::nlohmann_json)

# What follows reads sources and runs none of the compiled code: once is enough, so not under sanitizers.
if(RELUCENT_SANITIZE)
  return()
endif()
add_test(NAME includes COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/base/check_includes_test.py
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(includes PROPERTIES LABELS "unit;base")
# Every installed header compiles alone (cmake/RelucentHeaders.cmake).
add_test(NAME headers COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target all_verify_interface_header_sets
                              --parallel 2)
set_tests_properties(headers PROPERTIES LABELS "unit;base" TIMEOUT 1800 PROCESSORS 2)
# Layout only: clang-tidy needs minutes (cmake/check-style.sh --tidy).
add_test(NAME style COMMAND ${PROJECT_SOURCE_DIR}/cmake/check-style.sh)
set_tests_properties(style PROPERTIES LABELS "unit;base" SKIP_RETURN_CODE 77)
# The habits of CONTRIBUTING.md under "English", in every tracked file.
add_test(NAME style_english COMMAND ${PROJECT_SOURCE_DIR}/cmake/check-english.sh)
set_tests_properties(style_english PROPERTIES LABELS "unit;base" SKIP_RETURN_CODE 77)
add_test(NAME documentation_links COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/base/documentation_links_test.py)
set_tests_properties(documentation_links PROPERTIES LABELS "unit;base")
# The comments of the public headers, and the API reference that doxygen makes of them.
add_test(NAME api_reference COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/base/api_reference_test.py
                                    ${PROJECT_BINARY_DIR}/Doxyfile
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(api_reference PROPERTIES LABELS "unit;base" SKIP_RETURN_CODE 77)
