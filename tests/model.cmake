# Tests of the room `model`.
# relucent_model_test(NAME ...): relucent_test with the room's own headers and what its tests read files with.
function(relucent_model_test name)
  relucent_test(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE relucent_model nlohmann_json::nlohmann_json LibArchive::LibArchive)
endfunction()

relucent_model_test(model_golden LABELS golden model
  SOURCES model/families_golden.cpp model/tokenizer_golden.cpp model/sparse_golden.cpp)
relucent_model_test(model_queries_golden LABELS golden model SOURCES model/queries_golden.cpp)
relucent_model_test(model_rerankers_golden LABELS golden model
  SOURCES model/rerankers_golden.cpp model/rerankers_fault.cpp)
relucent_model_test(model_late_interaction_golden LABELS golden model
  SOURCES model/late_interaction_golden.cpp model/late_interaction_fault.cpp model/poly_encoder_golden.cpp)
relucent_model_test(model_parade_golden LABELS golden model SOURCES model/parade_golden.cpp)
relucent_model_test(model_deformer_golden LABELS golden model SOURCES model/deformer_golden.cpp)
relucent_model_test(model_embedding_golden LABELS golden model
  SOURCES model/classifier_golden.cpp model/embedding_golden.cpp model/labels_golden.cpp)
relucent_model_test(model_mixencoder_golden LABELS golden model SOURCES model/mixencoder_golden.cpp)
relucent_model_test(model_mir LABELS golden model SOURCES model/mir_golden.cpp model/mir_unit.cpp)
relucent_threads_test(model_mir_threads model_mir Mir.*)
relucent_model_test(model_settings LABELS golden model SOURCES model/settings_golden.cpp)
relucent_model_test(model_tokenizers_golden LABELS golden model SOURCES model/tokenizers_golden.cpp)
if(RELUCENT_SANITIZE)
  # Every golden on every instruction set is for the release build to show. The sanitizers watch each of them, and the
  # slow reference, in kernels_agreement.
  foreach(test model_golden model_queries_golden model_rerankers_golden model_late_interaction_golden
          model_embedding_golden
          model_mixencoder_golden model_mir model_parade_golden model_deformer_golden)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
                 "GTEST_FILTER=-*/ref*:*plain*:*amx_emulated*:*avx512*")
  endforeach()
endif()
# Thousands of real passages through the bundled model: apart, so that slow builds can leave it out.
relucent_model_test(model_trained_golden LABELS golden heavy model SOURCES model/trained_golden.cpp)
relucent_model_test(model_tests LABELS unit property model
  SOURCES model/bert_config_unit.cpp model/check_unit.cpp model/formats_unit.cpp model/hub_cache_unit.cpp
          model/mix_encoder_unit.cpp model/rewrite_unit.cpp model/wordpiece_unit.cpp model/cross_encoder_property.cpp
          model/fp16_range_property.cpp model/passages_property.cpp model/wordpiece_property.cpp)
relucent_model_test(model_fault_tests LABELS fault model SOURCES model/load_fault.cpp)
relucent_model_test(model_memory_tests LABELS fault model SOURCES model/memory_fault.cpp support/failing_memory.cpp)
relucent_model_test(model_tokenizer_faults LABELS fault fuzz model
  SOURCES model/tokenizer_fault.cpp model/tokenizer_fuzz.cpp model/unicode_form_property.cpp)
target_link_libraries(model_tokenizer_faults PRIVATE ICU::uc)
relucent_model_test(model_fuzz LABELS fuzz model SOURCES model/checkpoint_fuzz.cpp)
