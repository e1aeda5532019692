# Tests of python/. They need Python packages (docs/testing.md), which the build does not: RELUCENT_PYTHON names a
# Python that has them.
set(RELUCENT_PYTHON python3 CACHE STRING "The Python of the tests that need packages from PyPI")
# With huggingface_hub the cache is tested in both directions.
relucent_program_test(program_fetch PYTHON ${RELUCENT_PYTHON} LABELS cli fault index_tools TIMEOUT 300)
# Not for sanitizer builds: what training runs of the program is tested there by itself, in a fraction of the time.
if(NOT RELUCENT_SANITIZE)
  add_test(NAME python_training COMMAND ${RELUCENT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/run_tests.py
                                        $<TARGET_FILE:relucent_program>)
  set_tests_properties(python_training PROPERTIES LABELS "unit;cli;python" TIMEOUT 1800 SKIP_RETURN_CODE 77)
  relucent_without_gpu(python_training "")
endif()

# The package with the compiled library, built as a wheel and installed. Not for sanitizer builds: the interpreter is
# built without them.
if(RELUCENT_TOOLS AND NOT RELUCENT_SANITIZE)
  add_test(NAME python_package COMMAND ${RELUCENT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/package/run_tests.py
                                       $<TARGET_FILE:relucent_program> ${PROJECT_BINARY_DIR})
  set_tests_properties(python_package PROPERTIES LABELS "cli;install;python" TIMEOUT 1800 SKIP_RETURN_CODE 77)
  relucent_without_gpu(python_package "")
endif()
