# Tests of the room `base`.
relucent_test(base_tests LABELS unit fault base
              SOURCES base/file_test.cpp base/text_test.cpp base/utf8_test.cpp
              LIBRARIES relucent_base)
add_test(NAME includes COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/base/check_includes_test.py
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(includes PROPERTIES LABELS "unit;base")
