#include "model/mir/passage_batch.h"

#include <algorithm>
#include <numeric>

#include "model/families/families.h"

namespace relucent {

PassageBatch::PassageBatch(const PassageForm& form, std::span<const std::int32_t> query)
    : form_(form), query_(query.begin(), query.end()), shared_positions_(1 + query.size()) {
  std::iota(shared_positions_.begin(), shared_positions_.end(), 0);
  const std::span<const std::int32_t> positions(shared_positions_);
  shared_.push_back({kCls, {&form_.passage_token, 1}, positions.first(1), 0});
  if (!query_.empty()) shared_.push_back({kQuery, query_, positions.subspan(1), 0});
}

void PassageBatch::PivotList::add(std::size_t candidate, std::span<const std::int32_t> places, const Adjacency& graph,
                                  PivotLinks links) {
  const std::size_t number = pivots.size();
  pivots.push_back({candidate, tokens.size(), places.size(), seen.size(), 0});
  tokens.insert(tokens.end(), places.begin(), places.end());
  switch (links) {
    case PivotLinks::graph: {
      const std::span<const std::int32_t> sees = graph.seen_by(number);
      seen.insert(seen.end(), sees.begin(), sees.end());
      break;
    }
    case PivotLinks::none: seen.push_back(static_cast<std::int32_t>(number)); break;
    case PivotLinks::all:
      if (number == 0) {
        seen.resize(graph.nodes());
        std::iota(seen.begin(), seen.end(), 0);
      }
      pivots.back().first_seen = 0;
      pivots.back().seen = graph.nodes();
      return;
  }
  pivots.back().seen = seen.size() - pivots.back().first_seen;
}

std::int32_t PassageBatch::add(std::span<const Pieces> passages, const PivotGraphs& pivots) {
  Document& document = documents_.emplace_back();
  std::size_t tokens = 0;
  document.passages = passages.size();
  std::vector<std::vector<std::int32_t>> token_of(passages.size());  // [passages][pieces]: its place in the segment
  const auto add_pivot = [&](std::int32_t view, std::size_t passage, std::span<const std::int32_t> places,
                             const Adjacency& graph) {
    const auto of = std::ranges::find(form_.views, view, &PassageForm::View::number);
    if (of != form_.views.end()) document.lists[view].add(passage, places, graph, of->links);
  };
  for (std::size_t j = 0; j < passages.size(); ++j) {
    Passage& passage = passages_.emplace_back();
    auto start = passages[j].sentence_starts.begin();
    for (std::size_t i = 0; i < passages[j].ids.size(); ++i) {
      if (start != passages[j].sentence_starts.end() && *start == static_cast<std::int32_t>(i)) {
        passage.ids.push_back(form_.sentence_token);
        ++start;
      }
      token_of[j].push_back(static_cast<std::int32_t>(passage.ids.size()));
      passage.ids.push_back(passages[j].ids[i]);
    }
    passage.positions.resize(passage.ids.size());
    std::iota(passage.positions.begin(), passage.positions.end(), static_cast<std::int32_t>(shared_positions_.size()));
    passage.segment = {kDocument, passage.ids, passage.positions, 1};
    tokens += shared_positions_.size() + passage.ids.size();
    constexpr std::int32_t first = 0;
    add_pivot(0, j, {&first, 1}, pivots.between_passages);
  }
  for (const PivotGraphs::SentenceNode& node : pivots.sentences) {
    const auto passage = static_cast<std::size_t>(node.passage);
    const std::int32_t before = token_of[passage][static_cast<std::size_t>(node.piece)] - 1;
    add_pivot(1, passage, {&before, 1}, pivots.between_sentences);
  }
  for (const PivotGraphs::TokenNode& node : pivots.tokens) {
    const auto passage = static_cast<std::size_t>(node.passage);
    add_pivot(
        2, passage,
        std::span(token_of[passage]).subspan(static_cast<std::size_t>(node.first), static_cast<std::size_t>(node.size)),
        pivots.between_tokens);
  }
  return static_cast<std::int32_t>(tokens);
}

std::int32_t PassageBatch::add(std::span<const std::int32_t> pieces, const DocumentGraph& graph) {
  const PivotGraphs pivots = pivot_graphs(form_.graphs, graph);
  std::vector<std::vector<std::int32_t>> starts;
  std::vector<Pieces> passages;
  starts.reserve(pivots.passages.size());
  for (const auto& passage : pivots.passages) {
    starts.push_back(sentence_starts(graph, passage));
    const auto begin = static_cast<std::size_t>(passage.begin), size = static_cast<std::size_t>(passage.end) - begin;
    passages.push_back({pieces.subspan(begin, size), starts.back()});
  }
  return add(passages, pivots);
}

ScoringBatch PassageBatch::batch() {
  candidates_.clear();
  for (const Passage& passage : passages_) candidates_.emplace_back(&passage.segment, 1);
  in_order_.clear();
  for (Document& document : documents_) {
    document.pivots.clear();
    for (std::int32_t group = kPassagePivots; const PassageForm::View& view : form_.views) {
      const PivotList& list = document.lists[view.number];
      document.pivots.push_back({group++, list.pivots, list.tokens, list.seen});
    }
    in_order_.push_back({document.passages, document.pivots});
  }
  return {shared_, candidates_, in_order_};
}

std::vector<std::int32_t> PassageBatch::ids_of(std::size_t passage) const {
  std::vector<std::int32_t> ids{form_.passage_token};
  ids.insert(ids.end(), query_.begin(), query_.end());
  ids.insert(ids.end(), passages_[passage].ids.begin(), passages_[passage].ids.end());
  return ids;
}

}  // namespace relucent
