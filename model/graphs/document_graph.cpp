#include "model/graphs/document_graph.h"

#include <algorithm>
#include <map>

namespace relucent {
namespace {

std::size_t to_index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// The passages' links as what each passage sees.
Adjacency see_linked_passages(std::size_t passages, const DocumentGraph& graph) {
  std::vector<std::vector<std::int32_t>> seen(passages);
  for (std::size_t i = 0; i < passages; ++i) seen[i].push_back(static_cast<std::int32_t>(i));
  for (const auto& [one, other] : graph.passage_links) {
    seen[to_index(one)].push_back(other);
    seen[to_index(other)].push_back(one);
  }
  Adjacency result;
  for (std::vector<std::int32_t>& list : seen) {
    std::sort(list.begin(), list.end());
    result.add_node(result.add_list(list));
  }
  return result;
}

/// Tokens by key, in order.
std::map<std::int32_t, std::vector<std::int32_t>> tokens_by_key(const std::vector<PivotGraphs::TokenNode>& tokens) {
  std::map<std::int32_t, std::vector<std::int32_t>> by_key;
  for (std::size_t i = 0; i < tokens.size(); ++i) by_key[tokens[i].key].push_back(static_cast<std::int32_t>(i));
  return by_key;
}

Adjacency see_equal_keys(const std::vector<PivotGraphs::TokenNode>& tokens) {
  Adjacency result;
  std::map<std::int32_t, std::size_t> list_of;
  for (const auto& [key, nodes] : tokens_by_key(tokens)) list_of[key] = result.add_list(nodes);
  for (const PivotGraphs::TokenNode& token : tokens) result.add_node(list_of[token.key]);
  return result;
}

/// Sentences that hold tokens of the same key see each other. Only the first `count` are nodes.
Adjacency see_shared_keys(const std::vector<PivotGraphs::SentenceNode>& sentences, std::size_t count,
                          const std::vector<PivotGraphs::TokenNode>& tokens) {
  std::vector<std::vector<bool>> sees(count, std::vector<bool>(count));
  for (std::size_t i = 0; i < count; ++i) sees[i][i] = true;
  for (const auto& [key, nodes] : tokens_by_key(tokens)) {
    std::vector<std::size_t> holding;
    for (const std::int32_t node : nodes) {
      const PivotGraphs::TokenNode& token = tokens[to_index(node)];
      const auto after = std::upper_bound(
          sentences.begin(), sentences.end(), token, [](const auto& of, const PivotGraphs::SentenceNode& sentence) {
            return std::pair(of.passage, of.first) < std::pair(sentence.passage, sentence.piece);
          });
      const auto end = static_cast<std::size_t>(after - sentences.begin());
      // Beyond the limit, or in a passage whose sentences all are.
      if (end == 0 || end > count || std::prev(after)->passage != token.passage) continue;
      const std::size_t sentence = end - 1;
      if (holding.empty() || holding.back() != sentence) holding.push_back(sentence);
    }
    for (const std::size_t one : holding) {
      for (const std::size_t other : holding) sees[one][other] = true;
    }
  }
  Adjacency result;
  std::vector<std::int32_t> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.clear();
    for (std::size_t j = 0; j < count; ++j) {
      if (sees[i][j]) list.push_back(static_cast<std::int32_t>(j));
    }
    result.add_node(result.add_list(list));
  }
  return result;
}

}  // namespace

std::size_t Adjacency::add_list(std::span<const std::int32_t> nodes) {
  lists_.emplace_back(seen_.size(), nodes.size());
  seen_.insert(seen_.end(), nodes.begin(), nodes.end());
  return lists_.size() - 1;
}

std::vector<Passage> passages_of(const GraphSettings& settings, std::int32_t pieces) {
  std::vector<Passage> passages;
  if (pieces == 0) return passages;
  for (std::int32_t begin = 0;; begin += settings.stride) {
    passages.push_back({begin, std::min(begin + settings.window, pieces)});
    if (passages.back().end == pieces) return passages;
  }
}

std::pair<std::int32_t, std::int32_t> passages_with(const GraphSettings& settings, std::int32_t pieces,
                                                    std::int32_t begin, std::int32_t end) {
  const auto up = [&](std::int32_t count) { return count <= 0 ? 0 : (count + settings.stride - 1) / settings.stride; };
  const std::int32_t passages = pieces == 0 ? 0 : 1 + up(pieces - settings.window);
  return {up(end - settings.window), std::min(begin / settings.stride + 1, passages)};
}

std::vector<std::int32_t> sentence_starts(const DocumentGraph& graph, const Passage& passage) {
  std::vector<std::int32_t> starts;
  for (std::int32_t piece = passage.begin; piece < passage.end; ++piece) {
    if (piece == passage.begin || graph.sentence_starts[to_index(piece)]) starts.push_back(piece - passage.begin);
  }
  return starts;
}

PivotGraphs pivot_graphs(const GraphSettings& settings, const DocumentGraph& graph) {
  PivotGraphs result;
  result.passages = passages_of(settings, graph.pieces);
  auto next = graph.mentions.begin();  // the first one that does not begin before the passage
  for (std::size_t j = 0; j < result.passages.size(); ++j) {
    const Passage& passage = result.passages[j];
    const auto number = static_cast<std::int32_t>(j);
    if (result.sentences.size() < to_index(settings.max_sentence_nodes)) {
      for (const std::int32_t piece : sentence_starts(graph, passage)) result.sentences.push_back({number, piece});
    }
    while (next != graph.mentions.end() && next->first < passage.begin) ++next;
    for (auto mention = next; mention != graph.mentions.end() && mention->first < passage.end; ++mention) {
      if (mention->first + mention->size > passage.end || result.tokens.size() == to_index(settings.max_token_nodes))
        break;
      result.tokens.push_back({number, mention->first - passage.begin, mention->size, mention->key});
    }
  }
  const std::size_t sentences = std::min(result.sentences.size(), to_index(settings.max_sentence_nodes));
  result.between_passages = see_linked_passages(result.passages.size(), graph);
  result.between_sentences = see_shared_keys(result.sentences, sentences, result.tokens);
  result.sentences.resize(sentences);
  result.between_tokens = see_equal_keys(result.tokens);
  return result;
}

}  // namespace relucent
