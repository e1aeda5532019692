# Tests of the second stage in the room `plugin`.
relucent_test(rescoring_combine_tests LABELS unit property plugin
              SOURCES plugin/second_stage/combine_unit.cpp
                      plugin/second_stage/combine_property.cpp
                      plugin/second_stage/candidates_unit.cpp
                      plugin/second_stage/mir_unit.cpp
                      plugin/second_stage/mix_encoder_unit.cpp
                      plugin/second_stage/stages_unit.cpp
              LIBRARIES relucent_second_stage nlohmann_json::nlohmann_json)

relucent_test(rescoring_tests LABELS unit fault plugin
              SOURCES plugin/lucene/search/passages_unit.cpp
                      plugin/lucene/search/query_unit.cpp
                      plugin/lucene/search/rescorer_unit.cpp
                      plugin/lucene/search/searcher_unit.cpp
                      plugin/lucene/search/searcher_stages_unit.cpp
                      plugin/lucene/search/token_ids_unit.cpp
                      plugin/lucene/search/what_changes_unit.cpp
                      plugin/second_stage/words_unit.cpp
                      plugin/lucene/search/deadlines_fault.cpp
                      plugin/lucene/search/device_fault.cpp
                      plugin/lucene/search/failures_fault.cpp
                      plugin/lucene/search/modules_fault.cpp
                      plugin/lucene/search/open_fault.cpp
                      plugin/lucene/search/texts_fault.cpp
              LIBRARIES relucent_lucene)

relucent_test(rescoring_thread_tests LABELS property threads plugin
              SOURCES plugin/lucene/search/threads_property.cpp
                      plugin/lucene/search/searcher_manager_property.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json)

relucent_test(rescoring_cache_tests LABELS unit property threads plugin
              SOURCES plugin/second_stage/score_cache_property.cpp
              LIBRARIES relucent_second_stage nlohmann_json::nlohmann_json)

relucent_test(rescoring_golden LABELS golden heavy plugin
              SOURCES plugin/lucene/search/fusion_golden.cpp
                      plugin/lucene/search/trained_golden.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json LibArchive::LibArchive)

# Scorer modules: the documentation's example, and ones that go wrong.
set(modules ${PROJECT_BINARY_DIR}/tests/modules)
add_library(my_scorer MODULE ${PROJECT_SOURCE_DIR}/docs/examples/my_scorer.cpp)
add_library(notes_module MODULE plugin/second_stage/notes_module.cpp)
foreach(variant NO_SYMBOLS NO_FACTORY OTHER_ABI THROWS THROWS_ERROR THROWS_INTEGER RETURNS_NULL HANGS)
  string(TOLOWER rescoring_module_${variant} module)
  add_library(${module} MODULE plugin/lucene/search/module_fault.cpp)
  target_compile_definitions(${module} PRIVATE VARIANT=${variant})
  list(APPEND broken_modules ${module})
endforeach()
target_link_libraries(rescoring_module_throws_error PRIVATE relucent_base)
target_link_libraries(notes_module PRIVATE relucent_base)
foreach(module my_scorer notes_module ${broken_modules})
  relucent_target(${module})
  # Headers alone: a module needs no library of ours.
  target_include_directories(${module} PRIVATE ${PROJECT_SOURCE_DIR}/plugin/include ${PROJECT_SOURCE_DIR}/config/include
                                               ${PROJECT_SOURCE_DIR}/model/include ${PROJECT_SOURCE_DIR}/kernels/include
                                               ${PROJECT_SOURCE_DIR}/base/include)
  set_target_properties(${module} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${modules})
  add_dependencies(rescoring_tests ${module})
endforeach()
target_compile_definitions(rescoring_tests PRIVATE RELUCENT_MODULES="${modules}"
                                                   RELUCENT_FAKE_CUDA_MODULES="${PROJECT_BINARY_DIR}/tests/cuda")
target_compile_definitions(rescoring_combine_tests PRIVATE
                           RELUCENT_FAKE_CUDA_MODULES="${PROJECT_BINARY_DIR}/tests/cuda")
add_dependencies(rescoring_combine_tests fake_cuda_modules)
add_dependencies(rescoring_tests fake_cuda_modules)

# A kind of input from tests alone, through search, rerank, the cache and the server's engine.
relucent_test(rescoring_new_input LABELS unit plugin server
              SOURCES plugin/second_stage/new_input_unit.cpp support/session_support.cpp
              LIBRARIES relucent_engine)
add_dependencies(rescoring_new_input notes_module)
target_compile_definitions(rescoring_new_input PRIVATE RELUCENT_NOTES_MODULE="$<TARGET_FILE:notes_module>")

# The documentation's programs, linked as a user links them.
relucent_test(rescoring_examples LABELS unit plugin
              SOURCES plugin/lucene/search/examples_unit.cpp
              LIBRARIES relucent_lucene)
foreach(example plain_search rescored_search)
  add_executable(${example} ${PROJECT_SOURCE_DIR}/docs/examples/${example}.cpp)
  relucent_target(${example})
  target_link_libraries(${example} PRIVATE relucent relucent_lucenepp)
  set_target_properties(${example} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(rescoring_examples ${example})
endforeach()
target_compile_definitions(rescoring_examples PRIVATE RELUCENT_PLAIN_SEARCH="$<TARGET_FILE:plain_search>"
                                                      RELUCENT_RESCORED_SEARCH="$<TARGET_FILE:rescored_search>")

relucent_lucenepp_programs(rescoring_tests rescoring_thread_tests rescoring_golden rescoring_new_input
                           rescoring_examples)
