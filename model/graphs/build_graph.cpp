#include "model/graphs/build_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "model/tokenizer/sentences.h"

namespace relucent {
namespace {

std::size_t to_size(std::int32_t i) { return static_cast<std::size_t>(i); }

/// Weights and similarities are compared as these whole numbers, so that rounding never decides.
std::int64_t grid(double x) {
  const double scaled = std::floor(x * 1e9 + 0.5);
  constexpr double most = 9e18;
  return static_cast<std::int64_t>(std::clamp(scaled, -most, most));
}

/// PieceSpan [begin, end).
struct PieceSpan {
  std::int32_t begin = 0, end = 0;
};

class GraphBuilder {
 public:
  GraphBuilder(const GraphSettings& settings, const GraphInput& input, const TermStatistics& statistics,
               const WordPieceTokenizer& tokenizer, const StopSignal& stop)
      : settings_(settings), input_(input), statistics_(statistics), tokenizer_(tokenizer), stop_(stop) {}

  BuiltGraph build() {
    tokenize();
    if (graph().pieces > 0) {
      find_sentences();
      count_terms();
      select_terms();
      find_mentions();
      keep_mentions();
      link_passages();
    }
    result_.places.resize(to_size(graph().pieces));
    return std::move(result_);
  }

 private:
  struct Term {
    std::string_view text;
    double idf = 0;
    std::int32_t occurrences = 0;
    std::size_t first = 0;  // number of its first valid occurrence
    bool selected = false;
  };
  struct Occurrence {
    std::size_t term = 0;
    PieceSpan pieces;
  };

  DocumentGraph& graph() { return result_.graph; }

  void tokenize() {
    // One piece more shows which occurrences reach beyond the last one that counts.
    const std::size_t most = to_size(settings_.max_document_tokens);
    tokenizer_.encode_with_places(input_.text, most + 1, result_.ids, result_.places, stop_);
    graph().pieces = static_cast<std::int32_t>(std::min(result_.ids.size(), most));
    result_.ids.resize(to_size(graph().pieces));
  }

  void find_sentences() {
    const std::size_t last = result_.places[to_size(graph().pieces) - 1].begin;
    result_.sentences = sentence_boundaries(input_.text, last);
    while (!result_.sentences.empty() && result_.sentences.back() > last) result_.sentences.pop_back();
    const auto sentence_of = [&](std::size_t piece) {
      return std::upper_bound(result_.sentences.begin(), result_.sentences.end(), result_.places[piece].begin) -
             result_.sentences.begin();
    };
    graph().sentence_starts.assign(to_size(graph().pieces), true);
    for (std::size_t i = 1; i < graph().sentence_starts.size(); ++i) {
      graph().sentence_starts[i] = sentence_of(i) != sentence_of(i - 1);
    }
  }

  /// The pieces that meet a place; none if there are none, or if one of them does not count.
  PieceSpan valid_pieces(const CodePoints& place) const {
    const auto& places = result_.places;
    const auto first = std::partition_point(places.begin(), places.end(),
                                            [&](const CodePoints& piece) { return piece.end <= place.begin; });
    const auto end =
        std::partition_point(first, places.end(), [&](const CodePoints& piece) { return piece.begin < place.end; });
    const PieceSpan pieces{static_cast<std::int32_t>(first - places.begin()),
                           static_cast<std::int32_t>(end - places.begin())};
    return pieces.end > result_.graph.pieces || place.begin >= place.end ? PieceSpan() : pieces;
  }

  void count_terms() {
    std::unordered_map<std::string_view, std::size_t> known;
    for (const TermPlace& token : input_.terms) {
      const PieceSpan pieces = valid_pieces(token.place);
      if (pieces.begin >= pieces.end) continue;
      const auto [at, is_new] = known.try_emplace(token.term, terms_.size());
      if (is_new) {
        const auto frequency = static_cast<double>(statistics_.frequency(token.term));
        const auto documents = static_cast<double>(statistics_.documents);
        terms_.push_back({.text = token.term,
                          .idf = std::log(1 + (documents - frequency + 0.5) / (frequency + 0.5)),
                          .first = occurrences_.size()});
      }
      ++terms_[at->second].occurrences;
      occurrences_.push_back({at->second, pieces});
    }
  }

  void select_terms() {
    struct WeighedTerm {
      std::int64_t weight, tf_idf;
      std::size_t first, term;
    };
    std::vector<WeighedTerm> candidates;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const double tf_idf = terms_[i].occurrences * terms_[i].idf;
      double weight = tf_idf;
      if (input_.weights != nullptr) {
        const auto found = input_.weights->find(terms_[i].text);
        if (found == input_.weights->end() || !(found->second > 0)) continue;
        weight = found->second;
      }
      candidates.push_back({grid(weight), grid(tf_idf), terms_[i].first, i});
    }
    std::sort(candidates.begin(), candidates.end(), [](const WeighedTerm& a, const WeighedTerm& b) {
      return std::tuple(b.weight, b.tf_idf, a.first) < std::tuple(a.weight, a.tf_idf, b.first);
    });
    candidates.resize(std::min(candidates.size(), to_size(settings_.max_terms)));
    for (const WeighedTerm& candidate : candidates) {
      Term& term = terms_[candidate.term];
      term.selected = true;
      result_.terms.emplace_back(term.text, term.occurrences);
    }
  }

  /// Entities first, then the selected terms' occurrences, as far as their pieces are free.
  void find_mentions() {
    std::vector<bool> taken(to_size(graph().pieces));
    const auto add = [&](const PieceSpan& pieces, bool entity, std::string_view name) {
      if (pieces.begin >= pieces.end) return;
      for (std::int32_t i = pieces.begin; i < pieces.end; ++i) {
        if (taken[to_size(i)]) return;
      }
      std::fill(taken.begin() + pieces.begin, taken.begin() + pieces.end, true);
      result_.mentions.push_back({pieces.begin, pieces.end, entity, std::string(name)});
    };
    std::vector<const EntityPlace*> entities;
    for (const EntityPlace& entity : input_.entities) {
      if (entity.score >= settings_.entity_min_score) entities.push_back(&entity);
    }
    std::stable_sort(entities.begin(), entities.end(), [](const EntityPlace* a, const EntityPlace* b) {
      return std::pair(a->place.begin, b->place.end) < std::pair(b->place.begin, a->place.end);
    });
    for (const EntityPlace* entity : entities) add(valid_pieces(entity->place), true, entity->id);
    for (const Occurrence& occurrence : occurrences_) {
      const Term& term = terms_[occurrence.term];
      if (term.selected) add(occurrence.pieces, false, term.text);
    }
    std::sort(result_.mentions.begin(), result_.mentions.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  /// Those with a node.
  void keep_mentions() {
    std::vector<Mention> all;
    for (const auto& mention : result_.mentions) all.push_back({mention.first, mention.end - mention.first, 0});
    std::vector<bool> has_node(all.size());
    const DocumentGraph every{graph().pieces, graph().sentence_starts, all, {}};
    const PivotGraphs pivots = pivot_graphs(settings_, every);
    for (const PivotGraphs::TokenNode& node : pivots.tokens) {
      const std::int32_t first = pivots.passages[to_size(node.passage)].begin + node.first;
      const auto at = std::lower_bound(all.begin(), all.end(), first, [](const Mention& mention, std::int32_t piece) {
        return mention.first < piece;
      });
      has_node[static_cast<std::size_t>(at - all.begin())] = true;
    }
    std::map<std::pair<bool, std::string_view>, std::int32_t> keys;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!has_node[i]) continue;
      const std::pair<bool, std::string_view> name{result_.mentions[i].entity, result_.mentions[i].name};
      all[i].key = keys.try_emplace(name, static_cast<std::int32_t>(keys.size())).first->second;
      graph().mentions.push_back(all[i]);
    }
  }

  /// Links passages with those that are most similar by the cosine of their terms' tf * idf.
  void link_passages() {
    struct Value {
      std::size_t term;
      double value;
    };
    const std::size_t passages = passages_of(settings_, graph().pieces).size();
    std::vector<std::map<std::size_t, std::int32_t>> counts(passages);
    for (const Occurrence& occurrence : occurrences_) {
      const auto [first, end] =
          passages_with(settings_, graph().pieces, occurrence.pieces.begin, occurrence.pieces.end);
      for (std::int32_t j = first; j < end; ++j) ++counts[to_size(j)][occurrence.term];
    }
    std::vector<std::vector<Value>> values(passages);
    std::vector<double> squares(passages);
    for (std::size_t j = 0; j < passages; ++j) {
      for (const auto& [term, count] : counts[j]) {
        values[j].push_back({term, terms_[term].idf * count});
        squares[j] += values[j].back().value * values[j].back().value;
      }
    }
    std::vector<double> of_other(terms_.size());
    std::vector<std::pair<std::int64_t, std::size_t>> similar;  // minus the similarity, passage
    std::vector<std::pair<std::int32_t, std::int32_t>>& links = graph().passage_links;
    for (std::size_t i = 0; i < passages; ++i) {
      stop_.throw_if_due("linking passages");
      for (const Value& value : values[i]) of_other[value.term] = value.value;
      similar.clear();
      for (std::size_t j = 0; j < passages; ++j) {
        double product = 0;
        for (const Value& value : values[j]) product += value.value * of_other[value.term];
        const std::int64_t cosine = product > 0 ? grid(product / std::sqrt(squares[i] * squares[j])) : 0;
        if (j != i && cosine > 0) similar.emplace_back(-cosine, j);
      }
      for (const Value& value : values[i]) of_other[value.term] = 0;
      const std::size_t best = std::min(similar.size(), to_size(settings_.passage_neighbours));
      std::partial_sort(similar.begin(), similar.begin() + static_cast<std::ptrdiff_t>(best), similar.end());
      for (std::size_t n = 0; n < best; ++n) {
        const auto [low, high] = std::minmax(i, similar[n].second);
        links.emplace_back(static_cast<std::int32_t>(low), static_cast<std::int32_t>(high));
      }
    }
    std::sort(links.begin(), links.end());
    links.erase(std::unique(links.begin(), links.end()), links.end());
  }

  const GraphSettings& settings_;
  const GraphInput& input_;
  const TermStatistics& statistics_;
  const WordPieceTokenizer& tokenizer_;
  const StopSignal& stop_;
  std::vector<Term> terms_;
  std::vector<Occurrence> occurrences_;  // valid ones, in the analyzer's order
  BuiltGraph result_;
};

}  // namespace

BuiltGraph build_graph(const GraphSettings& settings, const GraphInput& input, const TermStatistics& statistics,
                       const WordPieceTokenizer& tokenizer, const StopSignal& stop) {
  return GraphBuilder(settings, input, statistics, tokenizer, stop).build();
}

}  // namespace relucent
