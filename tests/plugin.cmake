# Tests of the room `plugin`: its first stage. The second stage is in rescoring.cmake.
relucent_test(first_stage_analyzer LABELS golden plugin
              SOURCES golden/first_stage_analyzer.cpp
              LIBRARIES relucent_plugin nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_test(first_stage_bm25 LABELS golden plugin
              SOURCES golden/first_stage_bm25.cpp
              LIBRARIES relucent_plugin nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_test(first_stage_paths LABELS property plugin
              SOURCES property/first_stage_paths.cpp
              LIBRARIES relucent_plugin)
relucent_test(first_stage_postings LABELS property plugin
              SOURCES property/first_stage_postings.cpp
              LIBRARIES relucent_plugin)
relucent_test(index_segments LABELS property plugin threads
              SOURCES property/index_segments.cpp
              LIBRARIES relucent_plugin LibArchive::LibArchive)
relucent_test(first_stage_faults LABELS fault property plugin
              SOURCES fault/first_stage_faults.cpp
                      fault/first_stage_resources.cpp
                      fault/first_stage_lengths.cpp
                      property/index_structure.cpp
              LIBRARIES relucent_plugin)
foreach(locale C xx_XX.nonsense)
  add_test(NAME first_stage_locale_${locale} COMMAND first_stage_faults --gtest_filter=FirstStageLocale.*)
  set_tests_properties(first_stage_locale_${locale} PROPERTIES LABELS "fault;plugin" ENVIRONMENT "LC_ALL=${locale}")
endforeach()
relucent_threads_test(first_stage_threads first_stage_paths *Threads*)
relucent_lucenepp_programs(first_stage_bm25 first_stage_paths first_stage_postings first_stage_faults index_segments)
