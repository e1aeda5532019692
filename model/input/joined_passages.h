#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/families/family.h"
#include "model/input/document_chunks.h"
#include "relucent/kernels/backend.h"

namespace relucent {

/// The passages of a document of `pieces` word pieces: one every split.stride pieces, up to the first that reaches the
/// end. An empty document has one without pieces.
std::vector<Chunk> split_document(std::size_t pieces, const PassageSplit& split);

/// At most split.most of a document's passages: the first and the last one, and others at even distances between.
std::vector<Chunk> spread_passages(std::vector<Chunk> passages, const PassageSplit& split);

/// Documents whose passages are candidates of a batch, as an encoder takes them that pools the passages' [CLS].
class JoinedPassages {
 public:
  /// @param description  with one group of pivots
  /// @param counts       passages of each document
  JoinedPassages(const EncoderDescription& description, std::span<const std::size_t> counts);

  std::span<const DocumentPassages> documents() const { return documents_; }

 private:
  static constexpr std::int32_t kFirstToken = 0;
  std::vector<Pivots::Pivot> pivots_;  // of the document with most passages
  std::vector<std::int32_t> seen_;
  std::vector<Pivots> groups_;  // [documents]
  std::vector<DocumentPassages> documents_;
};

}  // namespace relucent
