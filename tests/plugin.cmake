# Tests of the room `plugin`: its first stage. The second stage is in rescoring.cmake.
relucent_test(first_stage_analyzer LABELS golden plugin
              SOURCES golden/first_stage_analyzer.cpp
              LIBRARIES relucent_plugin nlohmann_json::nlohmann_json LibArchive::LibArchive)
target_include_directories(first_stage_analyzer PRIVATE ${PROJECT_SOURCE_DIR}/plugin)
relucent_test(first_stage_bm25 LABELS golden plugin
              SOURCES golden/first_stage_bm25.cpp
              LIBRARIES relucent_plugin nlohmann_json::nlohmann_json LibArchive::LibArchive)
target_include_directories(first_stage_bm25 PRIVATE ${PROJECT_SOURCE_DIR}/plugin)
