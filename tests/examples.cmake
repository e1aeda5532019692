# The small programs of docs/examples, linked as a user links them, and run on the bundled collection. The others are in
# rescoring.cmake (my_scorer, plain_search, rescored_search), tests/install (current_search) and tests/python.
set(example_programs best_passage build_index cascade_search custom_combine deadline_search explain_hit own_scorer
                     rerank_texts session_search shards_search topics_to_run)
set(lucenepp_examples existing_searcher filtered_search)
foreach(example ${example_programs} ${lucenepp_examples})
  add_executable(example_${example} ${PROJECT_SOURCE_DIR}/docs/examples/${example}.cpp)
  relucent_target(example_${example})
  target_link_libraries(example_${example} PRIVATE relucent)
  set_target_properties(example_${example} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/examples
                                                      OUTPUT_NAME ${example})
endforeach()
foreach(example ${lucenepp_examples})
  target_link_libraries(example_${example} PRIVATE relucent_lucenepp)
endforeach()
add_test(NAME examples
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/examples/examples_test.py ${PROJECT_BINARY_DIR}/tests/examples
                 $<TARGET_FILE:relucent_program>
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(examples PROPERTIES LABELS "cli;heavy;plugin" TIMEOUT 600)
relucent_without_gpu(examples "cli")
