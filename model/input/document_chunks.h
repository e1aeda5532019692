#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "relucent/model/cross_encoder.h"

namespace relucent {

/// A range of a document's word pieces.
struct Chunk {
  std::size_t begin = 0, size = 0;
};

/// How to split a document of `pieces` word pieces for a model that has room for `room` of them (without [SEP]).
/// A document that fits is one chunk in every mode. Otherwise truncate gives the first `room` pieces, firstp the first
/// min(chunk, room); the other modes give chunks of that size, one every min(stride, chunk size), and a shorter last
/// one.
std::vector<Chunk> document_chunks(std::size_t pieces, std::size_t room, const CrossEncoderOptions& options);

/// The same for a document that does not fit and has sentences that end after so many pieces (never decreasing): each
/// chunk takes as many sentences as fit into min(chunk, room) pieces. A longer sentence is cut into chunks of that
/// size; its rest is the beginning of the next chunk.
std::vector<Chunk> sentence_chunks(std::span<const std::size_t> ends, std::size_t room,
                                   const CrossEncoderOptions& options);

/// How many of a document's word pieces can matter; the tokenizer may skip the rest.
std::size_t pieces_wanted(std::size_t room, const CrossEncoderOptions& options);

}  // namespace relucent
