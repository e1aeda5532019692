#include "index_tools/program/graph_export.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "index_tools/corpora/corpora.h"
#include "index_tools/corpora/corpus_reader.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/indexing/ordered_jobs.h"
#include "index_tools/indexing/progress.h"
#include "model/graphs/document_graph.h"
#include "model/mir/passage_model.h"
#include "plugin/lucene/graphs/index_statistics.h"
#include "plugin/second_stage/graph_maker.h"
#include "relucent/threads.h"

namespace relucent::program {
namespace {

using index_tools::CorpusReader;
using index_tools::Document;

/// Documents that a thread takes at a time, and that are in memory per thread.
constexpr std::size_t kDocumentsPerPiece = 16, kInMemory = 256;

/// Pairs i < j of nodes that see each other.
nlohmann::json links(const Adjacency& graph) {
  nlohmann::json pairs = nlohmann::json::array();
  for (std::size_t i = 0; i < graph.nodes(); ++i) {
    for (const std::int32_t j : graph.seen_by(i)) {
      if (static_cast<std::size_t>(j) > i) pairs.push_back({i, j});
    }
  }
  return pairs;
}

std::string to_line(const Document& document, const TextNotes& notes, const GraphMaker& maker, const StopSignal& stop) {
  const std::optional<TermWeights> weights = notes.weights_of(document.id);
  const std::vector<EntityPlace> entities = notes.entities_of(document.id);
  const BuiltGraph built = maker.build(document.text, stop, weights ? &*weights : nullptr, entities);
  const PivotGraphs pivots = pivot_graphs(maker.settings(), built.graph);
  nlohmann::json passages = nlohmann::json::array(), sentences = nlohmann::json::array(),
                 tokens = nlohmann::json::array();
  for (const Passage& passage : pivots.passages) {
    passages.push_back({passage.begin, passage.end, sentence_starts(built.graph, passage)});
  }
  for (const auto& sentence : pivots.sentences) sentences.push_back({sentence.passage, sentence.piece});
  for (const auto& token : pivots.tokens) tokens.push_back({token.passage, token.first, token.size, token.key});
  const nlohmann::json record = {{"id", document.id},
                                 {"pieces", built.ids},
                                 {"passages", std::move(passages)},
                                 {"sentences", std::move(sentences)},
                                 {"tokens", std::move(tokens)},
                                 {"passage_links", links(pivots.between_passages)},
                                 {"sentence_links", links(pivots.between_sentences)}};
  return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::int64_t export_graphs(const index_tools::GraphJob& job, const std::string& input, const std::string& output_name,
                           const StopSignal& stop) {
  const GraphMaker maker(load_graph_form(job.config.rescorer.model), open_statistics(job.index, job.config));
  const int threads = job.threads > 0 ? job.threads : available_cores();
  const auto notes = index_tools::open_text_notes(job.notes, job.index, job.config, threads, job.quiet, stop);
  const index_tools::Corpus& corpus = index_tools::find_corpus("jsonl");
  CorpusReader reader(corpus, index_tools::find_input_files({input}, corpus.names).files, {}, true);
  index_tools::OutputFile output(output_name);
  index_tools::Progress progress("making graphs", index_tools::Progress::Unit::documents, 0, job.quiet);
  std::int64_t made = 0;
  for (bool more = true; more;) {
    std::vector<Document> documents;
    Document document;
    while (documents.size() < kInMemory * static_cast<std::size_t>(threads) && (more = reader.next(document))) {
      documents.push_back(std::move(document));
    }
    const std::size_t pieces = (documents.size() + kDocumentsPerPiece - 1) / kDocumentsPerPiece;
    index_tools::OrderedJobs<std::string> jobs(pieces, threads, [&](std::size_t piece) {
      std::string lines;
      const std::size_t end = std::min(documents.size(), (piece + 1) * kDocumentsPerPiece);
      for (std::size_t i = piece * kDocumentsPerPiece; i < end; ++i)
        lines += to_line(documents[i], *notes, maker, stop);
      return lines;
    });
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      output.write(jobs.next([&] { stop.throw_if_due("making graphs"); }));
    }
    made += static_cast<std::int64_t>(documents.size());
    progress.update(made, made);
  }
  output.commit();
  return made;
}

}  // namespace relucent::program
