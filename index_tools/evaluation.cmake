# Sources of topics, judgments, runs and measures, and of the commands about them.
set(evaluation
  evaluation/comparison.cpp
  evaluation/difference_plot.cpp
  evaluation/fusion.cpp
  evaluation/json_fields.cpp
  evaluation/markup_topics.cpp
  evaluation/measure_names.cpp
  evaluation/measures.cpp
  evaluation/output_file.cpp
  evaluation/qrels.cpp
  evaluation/qrels_writer.cpp
  evaluation/report_csv.cpp
  evaluation/report_json.cpp
  evaluation/report_latex.cpp
  evaluation/report_text.cpp
  evaluation/rerank_input.cpp
  evaluation/rerank_output.cpp
  evaluation/run.cpp
  evaluation/run_forms.cpp
  evaluation/significance.cpp
  evaluation/text_lines.cpp
  evaluation/topic_writer.cpp
  evaluation/topics.cpp
)
set(commands
  program/config_command.cpp
  program/evaluate_command.cpp
  program/interrupt_stop.cpp
  program/man_page.cpp
  program/model_command.cpp
  program/profile.cpp
  program/program.cpp
  program/qrels_command.cpp
  program/rerank_command.cpp
  program/run_command.cpp
  program/run_fuse_command.cpp
  program/search_command.cpp
  program/search_output.cpp
  program/snippet.cpp
  program/terminal.cpp
  program/text_output.cpp
  program/topics_command.cpp
)
target_sources(relucent_index_tools PRIVATE ${evaluation} ${commands} program/search_session.cpp)
target_link_libraries(relucent_index_tools PRIVATE tomlplusplus::tomlplusplus)
# No Lucene++ in these (all but search_session.cpp): its precompiled header would only cost time.
set_source_files_properties(${evaluation} ${commands} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
include(program.cmake)
