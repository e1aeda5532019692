#include "plugin/lucene/graphs/graph_maker.h"

#include <vector>

#include "plugin/lucene/analysis/analyzer_places.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/graphs/index_statistics.h"
#include "relucent/index_reader.h"

namespace relucent {

std::shared_ptr<const IndexStatistics> open_statistics(const std::filesystem::path& index, const Config& config) {
  return with_errors(index.string(), "reading the index's statistics", [&] {
    struct Opened {
      Lucene::IndexReaderPtr reader;
      IndexStatistics statistics;
    };
    const Lucene::IndexReaderPtr reader = open_reader(index, config.index.verify);
    const auto opened =
        std::shared_ptr<const Opened>(new Opened{reader, IndexStatistics(reader, config.index, config.first_stage)});
    return std::shared_ptr<const IndexStatistics>(opened, &opened->statistics);
  });
}

BuiltGraph GraphMaker::build(std::string_view text, const StopSignal& stop, const TermWeights* weights,
                             std::span<const EntityPlace> entities) const {
  return with_errors("graphs", "making a graph", [&] {
    const std::vector<TermPlace> terms = term_places(first_stage_, text);
    stop.throw_if_due("making a graph");
    return build_graph(form_.settings, {text, terms, entities, weights}, statistics_->terms(), *form_.tokenizer, stop);
  });
}

std::string GraphMaker::make(std::string_view text, const StopSignal& stop, const TermWeights* weights,
                             std::span<const EntityPlace> entities) const {
  return encode_graph(form_.settings, build(text, stop, weights, entities).graph);
}

}  // namespace relucent
