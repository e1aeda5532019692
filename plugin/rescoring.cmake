# Files of the second stage, added to relucent_plugin.
set(rescoring_without_lucene
  rescoring/combine.cpp
)
set(rescoring_with_lucene
)
target_sources(relucent_plugin PRIVATE ${rescoring_without_lucene} ${rescoring_with_lucene})
set_source_files_properties(${rescoring_without_lucene} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
