#include "plugin/second_stage/graph_maker.h"

#include <utility>
#include <vector>

namespace relucent {

BuiltGraph GraphMaker::build(std::string_view text, const StopSignal& stop, const TermWeights* weights,
                             std::span<const EntityPlace> entities) const {
  std::vector<TermPlace> terms;
  for (IndexTerm& term : index_->terms_of(text)) terms.push_back({std::move(term.term), {term.begin, term.end}});
  stop.throw_if_due("making a graph");
  const TermStatistics statistics{index_->documents(),
                                  [this](std::string_view term) { return index_->frequency(term); }};
  return build_graph(form_.settings, {text, terms, entities, weights}, statistics, *form_.tokenizer, stop);
}

std::string GraphMaker::make(std::string_view text, const StopSignal& stop, const TermWeights* weights,
                             std::span<const EntityPlace> entities) const {
  return encode_graph(form_.settings, build(text, stop, weights, entities).graph);
}

}  // namespace relucent
