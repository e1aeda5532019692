#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relucent {

/// How MIR cuts documents into passages and which of their tokens become pivots. (Fu et al., "Leveraging Multi-view
/// Inter-passage Interactions for Neural Document Ranking", WSDM 2022.)
struct GraphSettings {
  std::int32_t window = 128, stride = 96;  ///< of passages, in pieces; 1 <= stride <= window
  std::int32_t max_document_tokens = 2048;
  std::int32_t max_sentence_nodes = 64, max_token_nodes = 256;
  std::int32_t max_terms = 10;          ///< of a document that become mentions
  std::int32_t passage_neighbours = 5;  ///< most similar passages that a passage is linked to
  double entity_min_score = 0.1;

  friend bool operator==(const GraphSettings&, const GraphSettings&) = default;
};

/// What graphs take the weights of words from, and whether they have entities.
struct GraphOrigins {
  static constexpr const char *kTfidf = "tfidf", *kQueryLog = "prf", *kFile = "file";
  std::string weights = kTfidf;
  bool entities = false;

  friend bool operator==(const GraphOrigins&, const GraphOrigins&) = default;
};

/// An occurrence of a term or an entity in a document: pieces [first, first + size).
struct Mention {
  std::int32_t first = 0, size = 0;
  std::int32_t key = 0;  ///< mentions of the same term or entity have the same one

  friend bool operator==(const Mention&, const Mention&) = default;
};

/// What of a document's graphs does not follow from anything else. Known before any query arrives.
struct DocumentGraph {
  std::int32_t pieces = 0;            ///< of the document that count; 0: there is no passage, nothing can be scored
  std::vector<bool> sentence_starts;  ///< [pieces]: whether the piece is the first one of a sentence
  /// Those with a node, in order of place; they share no piece. Keys count from 0 in order of first appearance.
  std::vector<Mention> mentions;
  std::vector<std::pair<std::int32_t, std::int32_t>> passage_links;  ///< i < j, ascending

  friend bool operator==(const DocumentGraph&, const DocumentGraph&) = default;
};

/// Pieces [begin, end) of a document.
struct Passage {
  std::int32_t begin = 0, end = 0;
};
std::vector<Passage> passages_of(const GraphSettings& settings, std::int32_t pieces);
/// The passages [first, second) of a document of so many pieces that hold the pieces [begin, end) whole.
std::pair<std::int32_t, std::int32_t> passages_with(const GraphSettings& settings, std::int32_t pieces,
                                                    std::int32_t begin, std::int32_t end);

/// The nodes that each node of a graph sees, itself included, ascending. Nodes that see the same may share a list.
class Adjacency {
 public:
  std::size_t nodes() const noexcept { return ranges_.size(); }
  std::span<const std::int32_t> seen_by(std::size_t node) const {
    return std::span(seen_).subspan(ranges_[node].first, ranges_[node].second);
  }

  /// Adds a list that nodes may see, and returns its number.
  std::size_t add_list(std::span<const std::int32_t> nodes);
  /// Adds a node that sees a list.
  void add_node(std::size_t list) { ranges_.push_back(lists_[list]); }

 private:
  std::vector<std::int32_t> seen_;
  std::vector<std::pair<std::size_t, std::size_t>> lists_, ranges_;
};

/// The pivots of a document and what they see of each other.
struct PivotGraphs {
  /// The token in front of the pieces that belong to one sentence in a passage.
  struct SentenceNode {
    std::int32_t passage = 0, piece = 0;  ///< of the passage, that it stands before
  };
  /// A mention in a passage.
  struct TokenNode {
    std::int32_t passage = 0, first = 0, size = 0, key = 0;  ///< first: piece of the passage
  };
  std::vector<Passage> passages;  ///< each is also a node
  std::vector<SentenceNode> sentences;
  std::vector<TokenNode> tokens;
  Adjacency between_passages, between_sentences, between_tokens;
};

/// What follows from a document's graph: nodes in order of passage and place, as far as the settings allow. Passages
/// see those that they are linked to, sentences those with a mention of the same key, tokens those of the same key.
PivotGraphs pivot_graphs(const GraphSettings& settings, const DocumentGraph& graph);

/// Where a passage's input has a sentence's token: before these of its pieces, ascending. The first is 0.
std::vector<std::int32_t> sentence_starts(const DocumentGraph& graph, const Passage& passage);

/// The graph as bytes: small numbers in one byte, others in several (LEB128), and a bit per piece and per pair of
/// passages; about 1 KB for a document of 2,048 pieces.
std::string encode_graph(const GraphSettings& settings, const DocumentGraph& graph);
/// The graph that encode_graph() wrote with the same settings. Throws Error `invalid_data` naming `place` for bytes
/// that it cannot have written.
DocumentGraph decode_graph(const GraphSettings& settings, std::string_view bytes, const std::string& place);

}  // namespace relucent
