# Files of the second stage, added to relucent_plugin.
set(rescoring_without_lucene
  rescoring/combine.cpp
  rescoring/cross_encoder_scorer.cpp
  rescoring/device_fallback.cpp
  rescoring/loaded_encoder.cpp
  rescoring/make_scorer.cpp
  rescoring/restore_words.cpp
)
set(rescoring_with_lucene
  rescoring/candidate_texts.cpp
  rescoring/open_searcher.cpp
  rescoring/query_text.cpp
  rescoring/rescore_query.cpp
  rescoring/rescore_weight.cpp
  rescoring/rescored_top_docs.cpp
  rescoring/rescorer.cpp
  rescoring/rescorer_explain.cpp
  rescoring/rescoring_query_parser.cpp
  rescoring/rescoring_searcher.cpp
  rescoring/second_stage.cpp
  rescoring/text_query.cpp
)
target_sources(relucent_plugin PRIVATE ${rescoring_without_lucene} ${rescoring_with_lucene})
target_link_libraries(relucent_plugin PRIVATE ${CMAKE_DL_LIBS})
set_source_files_properties(${rescoring_without_lucene} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
