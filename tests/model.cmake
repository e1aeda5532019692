# Tests of the room `model`.
# relucent_model_test(NAME ...): relucent_test with the room's own headers and what its tests read files with.
function(relucent_model_test name)
  relucent_test(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/model)
  target_link_libraries(${name} PRIVATE relucent_model nlohmann_json::nlohmann_json LibArchive::LibArchive)
endfunction()

relucent_model_test(model_golden LABELS golden model
  SOURCES golden/model_tokenizer_test.cpp golden/model_sparse_test.cpp)
