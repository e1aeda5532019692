# System calls that fail and kills, in every command that writes. ./test.sh --long faults and --long kills do all; the
# suite a few of each. The tracer knows the registers of one processor.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR RELUCENT_SANITIZE)  # sanitizers make calls of their own
  return()
endif()
add_executable(system_call_faults faults/system_call_faults.cpp)
relucent_target(system_call_faults)
relucent_test_options(system_call_faults)
set_target_properties(system_call_faults PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
# The same for commands that are forks of their caller.
add_library(system_call_faults_module MODULE faults/system_call_faults.cpp)
relucent_target(system_call_faults_module)
relucent_test_options(system_call_faults_module)
set_target_properties(system_call_faults_module PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
                                                           PREFIX "" OUTPUT_NAME system_call_faults)
add_test(NAME system_call_faults
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/faults/system_call_faults_test.py $<TARGET_FILE:relucent_program>
                 $<TARGET_FILE:system_call_faults> --at-most 2
                 --writers delete "model convert" "run convert to .gz" experiment
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME writers_kills
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/faults/kills_test.py $<TARGET_FILE:relucent_program> --kills 3
                 --writers snapshot graphs experiment "model convert"
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME training_faults
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/faults/system_call_faults_test.py $<TARGET_FILE:relucent_program>
                 $<TARGET_FILE:system_call_faults> --at-most 1 --writers relucent-train
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
foreach(test system_call_faults writers_kills training_faults)
  set_tests_properties(${test} PROPERTIES LABELS "cli;fault;index_tools" TIMEOUT 300 SKIP_RETURN_CODE 77)
  relucent_without_gpu(${test} "fault")
endforeach()
set_property(TEST training_faults APPEND PROPERTY LABELS python)
set_property(TEST training_faults APPEND PROPERTY ENVIRONMENT RELUCENT_PYTHON=${RELUCENT_PYTHON})
