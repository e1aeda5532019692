# Tests of python/. They need PyTorch, which the build does not: RELUCENT_PYTHON names a Python that has it.
set(RELUCENT_PYTHON python3 CACHE STRING "The Python that runs the tests of python/")
add_test(NAME python_training COMMAND ${RELUCENT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/run_tests.py
                                      $<TARGET_FILE:relucent_program>)
set_tests_properties(python_training PROPERTIES LABELS "unit;cli;python" TIMEOUT 1800 SKIP_RETURN_CODE 77)
relucent_without_gpu(python_training "")
