#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "index_tools/indexing/graph_notes.h"

namespace relucent::program {

/// --weights, --topics, --topic-text, --log-hits, --weights-file and --entities: what a MIR's graphs are made of
/// besides texts.
struct GraphNoteFlags {
  index_tools::GraphNotesJob job;
  std::string weights = "tfidf", topics, topic_text = "title";

  /// @param when  begins the help texts
  void add_to(CLI::App& command, const std::string& when = {});
  /// Whether any differs from the usual tf * idf without entities.
  bool given() const;
  /// Reads the log's queries. Throws Error `usage` for flags that contradict each other.
  index_tools::GraphNotesJob read() const;
};

}  // namespace relucent::program
