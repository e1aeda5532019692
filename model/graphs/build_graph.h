#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/graphs/document_graph.h"
#include "model/tokenizer/wordpiece.h"
#include "relucent/stop.h"

namespace relucent {

/// A term of a text, as the index's analyzer makes it, in the text's order.
struct TermPlace {
  std::string term;
  CodePoints place;  ///< of the word
};

/// An entity that an annotator found in a text.
struct EntityPlace {
  CodePoints place;
  std::string id;
  double score = 1;
};

/// Weights of a document's terms, from elsewhere than the index. Terms that are missing have weight 0.
using TermWeights = std::map<std::string, double, std::less<>>;

struct TermStatistics {
  std::uint64_t documents = 0;  ///< with at least one term
  /// How many of them have the term; 0 for an unknown one.
  std::function<std::uint64_t(std::string_view term)> frequency;
};

/// A document that a graph is made of.
struct GraphInput {
  std::string_view text;             ///< UTF-8; a malformed sequence counts as U+FFFD, one code point
  std::span<const TermPlace> terms;  ///< of the text
  std::span<const EntityPlace> entities = {};
  const TermWeights* weights = nullptr;  ///< null: tf * idf
};

/// A document's graph and what it was made of.
struct BuiltGraph {
  DocumentGraph graph;
  std::vector<std::int32_t> ids;       ///< of the document's pieces, as many as count
  std::vector<CodePoints> places;      ///< of these pieces
  std::vector<std::size_t> sentences;  ///< where sentences begin inside the text, as far as the pieces reach
  std::vector<std::pair<std::string, std::int32_t>> terms;  ///< selected ones, with how often they occur; best first
  struct NamedMention {
    std::int32_t first = 0, end = 0;
    bool entity = false;
    std::string name;  ///< the entity's id, or the term
  };
  std::vector<NamedMention> mentions;  ///< all, in order of place
};

/// Makes a document's graph. The result depends on the arguments alone. Throws Error when `stop` is due.
BuiltGraph build_graph(const GraphSettings& settings, const GraphInput& input, const TermStatistics& statistics,
                       const WordPieceTokenizer& tokenizer, const StopSignal& stop = {});

}  // namespace relucent
