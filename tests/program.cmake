# Tests of topics, judgments, runs and measures, of benchmarks and of the program `relucent`.
relucent_test(evaluation_tests LABELS unit property fault fuzz index_tools
              SOURCES index_tools/evaluation/formats_unit.cpp
                      index_tools/evaluation/fusion_unit.cpp
                      index_tools/evaluation/plot_unit.cpp
                      index_tools/evaluation/forms_fuzz.cpp
                      index_tools/program/benchmarks_measurement_unit.cpp index_tools/program/energy_meter_unit.cpp
                      index_tools/program/pattern_drawing_unit.cpp index_tools/program/snippet_unit.cpp
                      index_tools/evaluation/conversion_property.cpp
                      index_tools/evaluation/run_order_property.cpp
              LIBRARIES relucent_commands)
relucent_test(evaluation_golden LABELS golden index_tools
              SOURCES index_tools/evaluation/fusion_golden.cpp
                      index_tools/evaluation/measures_golden.cpp
                      index_tools/evaluation/more_measures_golden.cpp
                      index_tools/evaluation/reports_golden.cpp
                      index_tools/evaluation/real_files_golden.cpp
              LIBRARIES relucent_commands)

relucent_test(graphs_golden LABELS golden index_tools
              SOURCES index_tools/indexing/graph_pass_golden.cpp
              LIBRARIES relucent_commands nlohmann_json::nlohmann_json LibArchive::LibArchive)

relucent_test(graphs_tests LABELS unit fault index_tools
              SOURCES index_tools/indexing/graph_pass_unit.cpp
              LIBRARIES relucent_commands nlohmann_json::nlohmann_json)
relucent_lucenepp_programs(graphs_tests)

relucent_test(experiment_tests LABELS unit fault golden index_tools
              SOURCES index_tools/experiments/cost_study_unit.cpp
                      index_tools/experiments/experiment_file_unit.cpp
                      index_tools/experiments/generated_texts_unit.cpp
                      index_tools/experiments/result_cache_fault.cpp
                      index_tools/experiments/significance_golden.cpp
                      index_tools/experiments/study_report_unit.cpp
              LIBRARIES relucent_commands)

relucent_test(program_jobs_tests LABELS unit threads index_tools SOURCES index_tools/indexing/ordered_jobs_unit.cpp
              LIBRARIES Threads::Threads)

# relucent_program_test(NAME [PYTHON p] LABELS l...): index_tools/program/NAME_test.py with the program's path as its
# argument.
function(relucent_program_test name)
  cmake_parse_arguments(ARG "" "PYTHON;TIMEOUT" "LABELS" ${ARGN})
  if(NOT ARG_PYTHON)
    set(ARG_PYTHON python3)
  endif()
  if(RELUCENT_SANITIZE)
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")  # the model is several times slower there
  endif()
  add_test(NAME ${name}
           COMMAND ${ARG_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/index_tools/program/${name}_test.py
                   $<TARGET_FILE:relucent_program>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
  relucent_without_gpu(${name} "${ARG_LABELS}")
endfunction()
relucent_program_test(program_commands LABELS cli index_tools TIMEOUT 900)
relucent_program_test(program_completion LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_experiment LABELS cli fault heavy index_tools TIMEOUT 900)
relucent_program_test(program_formats LABELS cli fault golden index_tools TIMEOUT 300)
relucent_program_test(program_files LABELS cli fault index_tools TIMEOUT 300)
relucent_program_test(program_forms LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_man_page LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_metadata LABELS cli fault index_tools TIMEOUT 900)
relucent_program_test(program_search LABELS cli index_tools TIMEOUT 900)
relucent_program_test(program_terminal LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_languages LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_fields LABELS cli index_tools TIMEOUT 300)
relucent_program_test(program_token_ids LABELS cli index_tools TIMEOUT 900)
relucent_program_test(program_updates LABELS cli fault index_tools TIMEOUT 900)
relucent_program_test(program_compare LABELS cli fault index_tools TIMEOUT 300)
relucent_program_test(program_encode LABELS cli fault heavy index_tools TIMEOUT 900)
relucent_program_test(program_devices LABELS cli fault cuda index_tools TIMEOUT 600)
set(environment RELUCENT_FAKE_CUDA_MODULES=${PROJECT_BINARY_DIR}/tests/cuda)
if(TARGET relucent_cuda_emulated)
  list(APPEND environment RELUCENT_CUDA_EMULATED=$<TARGET_FILE:relucent_cuda_emulated>)
endif()
set_tests_properties(program_devices PROPERTIES ENVIRONMENT "${environment}")
relucent_program_test(gpu_compare LABELS cli cuda benchmarks TIMEOUT 300)
set_tests_properties(gpu_compare PROPERTIES ENVIRONMENT "RELUCENT_FAKE_CUDA_MODULES=${PROJECT_BINARY_DIR}/tests/cuda")
relucent_program_test(program_graphs LABELS cli fault golden heavy index_tools TIMEOUT 1200)
relucent_program_test(program_rerank LABELS cli fault index_tools TIMEOUT 900)
relucent_program_test(program_trained LABELS cli golden heavy index_tools TIMEOUT 2400)
