#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/graphs/document_graph.h"
#include "plugin/second_stage/graph_maker.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

/// Where graphs take the weights of words and the entities from.
struct GraphNotesJob {
  enum class Weights {
    tfidf,
    query_log,  ///< of the queries of a log that find a document, how many have the term
    file        ///< a DocumentNotes of weights
  };
  Weights weights = Weights::tfidf;
  std::filesystem::path weights_file;
  std::vector<std::string> log_queries;
  int log_hits = 10;                    ///< a query finds its best so many documents
  std::filesystem::path entities_file;  ///< empty: no entities

  GraphOrigins origins() const;
};

/// The notes of texts from elsewhere, by their ids. For the weights of a query log, the index must have the texts under
/// the same ids; tf * idf for others, as for documents that no query finds. Throws Error; `interrupted` for `stop`.
///
/// @param config   [index] and [first_stage]
/// @param threads  0: one per core
std::shared_ptr<const TextNotes> open_text_notes(const GraphNotesJob& job, const std::filesystem::path& index,
                                                 const Config& config, int threads, bool quiet, const StopSignal& stop);

}  // namespace relucent::index_tools
