# Tests of the room `index_tools`: readers, indexer, verify. The rest of the room is in program.cmake.
find_package(LibXml2 REQUIRED)
relucent_test(indexing_tests LABELS unit property fault fuzz index_tools
              SOURCES index_tools/corpora/inputs_unit.cpp
                      index_tools/corpora/markup_unit.cpp
                      index_tools/corpora/corpora_unit.cpp
                      index_tools/corpora/readers_unit.cpp
                      index_tools/indexing/building_blocks_property.cpp
                      index_tools/corpora/records_property.cpp
                      index_tools/indexing/foreign_fault.cpp
                      index_tools/indexing/foreign_fuzz.cpp
                      index_tools/corpora/inputs_fault.cpp
                      index_tools/indexing/runs_fault.cpp
                      index_tools/indexing/snapshot_fault.cpp
                      index_tools/indexing/token_ids_fault.cpp
                      index_tools/corpora/markup_memory_fault.cpp
                      index_tools/corpora/truncation_fuzz.cpp
                      index_tools/corpora/markup_truncation_fuzz.cpp
              LIBRARIES relucent_commands LibArchive::LibArchive)
relucent_test(files_corpus LABELS unit property fault fuzz index_tools
              SOURCES index_tools/corpora/files_unit.cpp
                      index_tools/corpora/attribute_names_property.cpp
              LIBRARIES relucent_indexing LibArchive::LibArchive LibXml2::LibXml2)
relucent_test(pytorch_weights LABELS unit fault fuzz index_tools
              SOURCES index_tools/pytorch/convert_pytorch_fault.cpp
              LIBRARIES relucent_pytorch nlohmann_json::nlohmann_json)
relucent_test(index_embeddings LABELS unit fault threads index_tools
              SOURCES index_tools/indexing/embeddings_fault.cpp
              LIBRARIES relucent_indexing)
relucent_lucenepp_programs(index_embeddings)
relucent_test(index_damage LABELS fuzz index_tools
              SOURCES plugin/lucene/index/damage_fuzz.cpp
              LIBRARIES relucent_commands LibArchive::LibArchive)
# Everything that reads JSON or TOML, in whatever room.
relucent_test(nesting_tests LABELS unit fuzz index_tools
              SOURCES base/nesting_unit.cpp
                      base/nesting_fuzz.cpp
              LIBRARIES relucent_commands LibArchive::LibArchive)
relucent_test(indexing_golden LABELS golden index_tools
              SOURCES index_tools/indexing/bm25_golden.cpp
                      index_tools/corpora/corpora_golden.cpp
                      index_tools/indexing/documents_golden.cpp
                      index_tools/corpora/markup_golden.cpp
              LIBRARIES relucent_commands LibArchive::LibArchive)
if(TARGET relucent_program)
  add_test(NAME indexing_cli
           COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/index_tools/program/indexing_faults_test.py
                   $<TARGET_FILE:relucent_program>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(indexing_cli PROPERTIES LABELS "cli;fault;index_tools" TIMEOUT 900)
  # By hand with its defaults: 200 kills and 60 power cuts. As many commits as there, of fewer documents; a sanitizer
  # looks for faults in the code that runs on, which a few of each reach.
  set(kills --kills 30 --power-cuts 15)
  if(RELUCENT_SANITIZE)
    set(kills --kills 12 --power-cuts 6)
  endif()
  add_test(NAME indexing_kills
           COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/index_tools/program/indexing_kills_test.py
                   $<TARGET_FILE:relucent_program>
                   ${kills} --documents 15000 --commit-every 150
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(indexing_kills PROPERTIES LABELS "cli;fault;index_tools" TIMEOUT 900)
  # By hand with its defaults: 300 kills.
  set(kills --kills 25)
  if(RELUCENT_SANITIZE)
    set(kills --kills 10)
  endif()
  add_test(NAME updates_kills
           COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/index_tools/program/updates_kills_test.py
                   $<TARGET_FILE:relucent_program> ${kills} --documents 600 --commit-every 20
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(updates_kills PROPERTIES LABELS "cli;fault;index_tools" TIMEOUT 900)
endif()
