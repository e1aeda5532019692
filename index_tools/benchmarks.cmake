# Sources of the command bench.
set(benchmarks_without_lucenepp
  benchmarks/generated_collection.cpp
  benchmarks/measurement.cpp
  benchmarks/model_benchmark.cpp
  program/bench_command.cpp
)
target_sources(relucent_index_tools PRIVATE
  ${benchmarks_without_lucenepp}
  benchmarks/bm25_benchmark.cpp
  benchmarks/index_benchmark.cpp
  benchmarks/pipeline_benchmark.cpp
)
set_source_files_properties(${benchmarks_without_lucenepp} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
