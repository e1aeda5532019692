#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "model/families/family.h"
#include "model/graphs/document_graph.h"
#include "relucent/kernels/backend.h"

namespace relucent {

/// A query and documents as the batch that MIR's encoder takes: the passages of all documents, and their pivots.
class PassageBatch {
 public:
  /// A passage's pieces, and before which of them a sentence's token stands: ascending, the first is 0.
  struct Pieces {
    std::span<const std::int32_t> ids, sentence_starts;
  };

  /// `query`: at most form.max_query_tokens pieces; may be empty. `form` must outlive the batch.
  PassageBatch(const PassageForm& form, std::span<const std::int32_t> query);

  /// Adds a document with at least one passage. Nodes' places are pieces of their passage. Returns how many tokens the
  /// encoder reads of it and, in each passage, of the query.
  std::int32_t add(std::span<const Pieces> passages, const PivotGraphs& pivots);
  /// The same with the pieces of the whole document, graph.pieces of them.
  std::int32_t add(std::span<const std::int32_t> pieces, const DocumentGraph& graph);

  /// Valid until the next add().
  ScoringBatch batch();
  /// Tokens of a passage: what the encoder reads of a query and a document.
  std::vector<std::int32_t> ids_of(std::size_t passage) const;
  std::size_t documents() const noexcept { return documents_.size(); }

 private:
  struct Passage {
    std::vector<std::int32_t> ids, positions;
    Segment segment;
  };
  /// Pivots of one group with what their spans refer to.
  struct PivotList {
    std::vector<Pivots::Pivot> pivots;
    std::vector<std::int32_t> tokens, seen;
    /// Adds a pivot that sees what `links` states of the `nodes` of its view.
    void add(std::size_t candidate, std::span<const std::int32_t> places, const Adjacency& graph, PivotLinks links);
  };
  struct Document {
    std::size_t passages = 0;
    PivotList lists[3];
    std::vector<Pivots> pivots;
  };

  const PassageForm& form_;
  std::vector<std::int32_t> query_, shared_positions_;
  std::vector<Segment> shared_;
  std::deque<Passage> passages_;
  std::deque<Document> documents_;
  std::vector<std::span<const Segment>> candidates_;
  std::vector<DocumentPassages> in_order_;
};

}  // namespace relucent
