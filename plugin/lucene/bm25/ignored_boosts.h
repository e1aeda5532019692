#pragma once

#include <cstdint>
#include <span>

namespace relucent::bm25 {

/// Whether the norms of a segment hold more than the documents' lengths: index-time boosts, or the length norm of the
/// writer's own Similarity. BM25 uses only the length and ignores the rest. Lucene++ also loses a boost that is too
/// small to change a norm's byte.
/// @param norms    Lucene++'s norm bytes, one per document
/// @param lengths  length bytes (bm25/length_byte.h), one per document
bool norms_have_boosts(std::span<const std::uint8_t> norms, std::span<const std::uint8_t> lengths);

}  // namespace relucent::bm25
