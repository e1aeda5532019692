# The script that builds packages, as far as it takes seconds; ./test.sh --long packages runs it.
add_test(NAME package_script COMMAND ${PROJECT_SOURCE_DIR}/tests/install/package_script_test.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(package_script PROPERTIES LABELS "unit;install" TIMEOUT 120)
# What is installed, as it was built; not the CUDA module, which nvcc compiles with options of its own.
if(RELUCENT_HARDENING AND RELUCENT_TOOLS AND NOT RELUCENT_SANITIZE)
  add_test(NAME hardening
           COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/install/hardening_test.py ${CMAKE_CXX_COMPILER}
                   $<TARGET_FILE:relucent_program> $<TARGET_FILE:relucent>)
  set_tests_properties(hardening PROPERTIES LABELS "unit;install" TIMEOUT 120)
endif()
# The installed tree, as a user of the library meets it. Not for sanitizer builds: the consumer is built without them.
if(RELUCENT_TOOLS AND NOT RELUCENT_SANITIZE)
  add_test(NAME install_consumer
           COMMAND ${PROJECT_SOURCE_DIR}/tests/install/consumer_test.sh ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CXX_COMPILER})
  set_tests_properties(install_consumer PROPERTIES LABELS "install" TIMEOUT 900)
  # The page's commands in a root of their own. On a copy of the sources: ./test.sh --long install.
  add_test(NAME installation_page
           COMMAND ${PROJECT_SOURCE_DIR}/tests/install/installation_page_test.sh ${PROJECT_BINARY_DIR}
                   ${PROJECT_SOURCE_DIR})
  set_tests_properties(installation_page PROPERTIES LABELS "install" TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
