#pragma once

#include <cstdint>
#include <span>

namespace relucent::bm25 {

/// Whether the norms of a segment say more than the documents' lengths: index-time boosts, or the length norm of a
/// Similarity of the writer's own. BM25 takes nothing but the length, so that this is lost. A boost too small to change
/// a norm's byte is none for Lucene++ either.
/// @param norms    Lucene++'s norm bytes, one per document
/// @param lengths  length bytes (bm25/length_byte.h), as many
bool norms_have_boosts(std::span<const std::uint8_t> norms, std::span<const std::uint8_t> lengths);

}  // namespace relucent::bm25
