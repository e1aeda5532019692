# Tests of the room `index_tools`: readers, indexer, verify. The rest of the room is in program.cmake.
relucent_test(indexing_tests LABELS unit property fault fuzz index_tools
              SOURCES unit/indexing_inputs.cpp
                      unit/indexing_markup.cpp
                      unit/indexing_corpora.cpp
                      unit/indexing_readers.cpp
                      property/indexing_building_blocks.cpp
                      property/indexing_records.cpp
                      fault/indexing_foreign.cpp
                      fault/indexing_inputs.cpp
                      fault/indexing_runs.cpp
                      fault/indexing_token_ids.cpp
                      fault/markup_memory.cpp
                      fuzz/indexing_truncation.cpp
                      fuzz/markup_truncation.cpp
              LIBRARIES relucent_index_tools LibArchive::LibArchive)
relucent_test(index_damage LABELS fuzz index_tools
              SOURCES fuzz/index_damage.cpp
              LIBRARIES relucent_index_tools LibArchive::LibArchive)
# Everything that reads JSON or TOML, in whatever room.
relucent_test(nesting_tests LABELS unit fuzz index_tools
              SOURCES unit/base_nesting.cpp
                      fuzz/nesting_fuzz.cpp
              LIBRARIES relucent_index_tools LibArchive::LibArchive)
relucent_test(indexing_golden LABELS golden index_tools
              SOURCES golden/indexing_bm25.cpp
                      golden/indexing_corpora.cpp
                      golden/indexing_documents.cpp
                      golden/indexing_markup.cpp
              LIBRARIES relucent_index_tools LibArchive::LibArchive)
if(TARGET relucent_program)
  add_test(NAME indexing_cli
           COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/indexing_faults.py $<TARGET_FILE:relucent_program>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(indexing_cli PROPERTIES LABELS "cli;fault;index_tools" TIMEOUT 900)
  # By hand with its defaults: 200 kills and 60 power cuts. As many commits as there, of fewer documents; a sanitizer looks
  # for faults in the code that runs on, which a few of each reach.
  set(kills --kills 30 --power-cuts 15)
  if(RELUCENT_SANITIZE)
    set(kills --kills 12 --power-cuts 6)
  endif()
  add_test(NAME indexing_kills
           COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/indexing_kills.py $<TARGET_FILE:relucent_program>
                   ${kills} --documents 15000 --commit-every 150
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(indexing_kills PROPERTIES LABELS "cli;fault;index_tools" TIMEOUT 900 COST 200)
endif()
