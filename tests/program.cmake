# Tests of topics, judgments, runs and measures, of benchmarks and of the program `relucent`.
relucent_test(evaluation_tests LABELS unit property fault fuzz index_tools
              SOURCES unit/evaluation_formats.cpp
                      unit/evaluation_fusion.cpp
                      unit/evaluation_plot.cpp
                      fuzz/evaluation_forms_fuzz.cpp
                      unit/benchmarks_measurement.cpp
                      unit/program_snippet.cpp
                      property/evaluation_conversion.cpp
                      property/evaluation_run_order.cpp
              LIBRARIES relucent_index_tools)
relucent_test(evaluation_golden LABELS golden index_tools
              SOURCES golden/evaluation_fusion.cpp
                      golden/evaluation_measures.cpp
                      golden/evaluation_more_measures.cpp
                      golden/evaluation_reports.cpp
                      golden/evaluation_real_files.cpp
              LIBRARIES relucent_index_tools)

relucent_test(program_jobs_tests LABELS unit threads index_tools SOURCES unit/program_ordered_jobs.cpp
              LIBRARIES Threads::Threads)

# relucent_program_test(NAME LABELS l...): cli/NAME.py with the program's path as its argument.
function(relucent_program_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py $<TARGET_FILE:relucent_program>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
  relucent_without_gpu(${name} "${ARG_LABELS}")
endfunction()
relucent_program_test(program_commands LABELS cli index_tools TIMEOUT 900)
relucent_program_test(program_forms LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_man_page LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_search LABELS cli index_tools TIMEOUT 900)
relucent_program_test(program_token_ids LABELS cli index_tools TIMEOUT 900)
relucent_program_test(program_devices LABELS cli fault cuda index_tools TIMEOUT 600)
set_tests_properties(program_devices PROPERTIES ENVIRONMENT
  "RELUCENT_FAKE_CUDA_MODULES=${PROJECT_BINARY_DIR}/tests/cuda;RELUCENT_CUDA_EMULATED=${PROJECT_BINARY_DIR}/lib/librelucent_cuda_emulated.so")
relucent_program_test(gpu_compare LABELS cli cuda benchmarks TIMEOUT 300)
set_tests_properties(gpu_compare PROPERTIES ENVIRONMENT "RELUCENT_FAKE_CUDA_MODULES=${PROJECT_BINARY_DIR}/tests/cuda")
relucent_program_test(program_rerank LABELS cli fault index_tools TIMEOUT 900)
relucent_program_test(program_trained LABELS cli golden heavy index_tools TIMEOUT 2400)
set_tests_properties(program_trained PROPERTIES COST 150)
