# Tests of the room `plugin`: its first stage. The second stage is in rescoring.cmake.
relucent_test(first_stage_analyzer LABELS golden plugin
              SOURCES plugin/index_format/analyzer_golden.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_test(first_stage_languages LABELS golden plugin
              SOURCES plugin/index_format/languages_golden.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_test(first_stage_language_ranks LABELS golden unit plugin
              SOURCES plugin/lucene/bm25/languages_golden.cpp
                      plugin/lucene/bm25/fields_golden.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_test(first_stage_bm25 LABELS golden plugin
              SOURCES plugin/lucene/bm25/bm25_golden.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json LibArchive::LibArchive)
if(RELUCENT_SANITIZE)  # two collections suffice for them
  set_property(TEST first_stage_bm25 APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-*/cranfield:*/vaswani")
endif()
relucent_test(first_stage_anserini LABELS golden plugin
              SOURCES plugin/lucene/bm25/anserini_golden.cpp plugin/lucene/bm25/relevance_model_unit.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_test(first_stage_paths LABELS property plugin
              SOURCES plugin/lucene/bm25/paths_property.cpp
              LIBRARIES relucent_lucene)
relucent_test(first_stage_shards LABELS property plugin
              SOURCES plugin/lucene/bm25/shards_property.cpp
              LIBRARIES relucent_lucene)
relucent_test(first_stage_postings LABELS property plugin
              SOURCES plugin/lucene/bm25/postings_property.cpp
              LIBRARIES relucent_lucene)
relucent_test(passage_graphs LABELS golden property plugin
              SOURCES plugin/second_stage/graphs_golden.cpp
              LIBRARIES relucent_second_stage relucent_model nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_cuda_runs(cuda_mir_whole passage_graphs 256M *WholePaths* *WholePaths* mir)
relucent_test(shared_objects LABELS unit plugin
              SOURCES plugin/lucene/shared_objects_unit.cpp
              LIBRARIES relucent_lucene)
relucent_test(search_session LABELS unit property golden fault plugin
              SOURCES plugin/lucene/search/search_session_results_unit.cpp
                      plugin/lucene/search/search_session_outcomes_unit.cpp
                      plugin/lucene/search/search_session_texts_unit.cpp
                      plugin/lucene/search/search_session_combine_property.cpp
                      plugin/lucene/search/search_session_stages_unit.cpp
                      plugin/lucene/search/search_session_pages_property.cpp
                      plugin/lucene/search/search_session_explain_unit.cpp
                      plugin/lucene/search/search_session_model_golden.cpp
                      plugin/lucene/search/search_session_sets_golden.cpp
                      plugin/lucene/search/search_session_deadlines_fault.cpp
                      plugin/lucene/search/search_session_errors_fault.cpp
                      plugin/lucene/search/search_session_threads_property.cpp
                      support/session_support.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json)
relucent_test(search_fields LABELS property fault plugin
              SOURCES plugin/lucene/search/fields_property.cpp
              LIBRARIES relucent_lucene nlohmann_json::nlohmann_json LibArchive::LibArchive)
relucent_test(segment_records LABELS unit fault plugin
              SOURCES plugin/index_format/segment_records_fault.cpp
                      plugin/second_stage/embeddings_unit.cpp
              LIBRARIES relucent_second_stage)
relucent_test(index_segments LABELS property plugin threads
              SOURCES plugin/index_format/segments_property.cpp
                      plugin/lucene/index/removals_property.cpp
              LIBRARIES relucent_lucene LibArchive::LibArchive)
relucent_test(first_stage_faults LABELS fault property plugin
              SOURCES plugin/lucene/bm25/faults_fault.cpp
                      plugin/lucene/bm25/resources_fault.cpp
                      plugin/lucene/bm25/lengths_fault.cpp
                      plugin/lucene/index/file_directory_fault.cpp
                      plugin/lucene/index/large_files_fault.cpp
                      plugin/index_format/structure_property.cpp
              LIBRARIES relucent_lucene ${CMAKE_DL_LIBS})
foreach(locale C xx_XX.nonsense)
  add_test(NAME first_stage_locale_${locale} COMMAND first_stage_faults --gtest_filter=FirstStageLocale.*)
  set_tests_properties(first_stage_locale_${locale} PROPERTIES LABELS "fault;plugin" ENVIRONMENT "LC_ALL=${locale}")
endforeach()
relucent_threads_test(first_stage_threads first_stage_paths *Threads*)
relucent_threads_test(search_session_threads search_session *Threads*:*Refresh*)
relucent_lucenepp_programs(first_stage_bm25 first_stage_language_ranks first_stage_paths first_stage_postings
                           first_stage_shards first_stage_faults index_segments shared_objects search_fields
                           search_session)
