#pragma once

#include <cstddef>
#include <vector>

#include "relucent/model/cross_encoder.h"

namespace relucent {

/// A stretch of a document's word pieces.
struct Chunk {
  std::size_t begin = 0, size = 0;
};

/// How a document of `pieces` word pieces is shown to a model that has room for `room` of them (without
/// [SEP]). One that fits is one chunk, whatever the mode. Otherwise truncate gives the first `room` pieces;
/// the other modes give chunks of min(chunk, room) pieces, one every min(stride, chunk size), the last one
/// being what is left; firstp only the first.
std::vector<Chunk> document_chunks(std::size_t pieces, std::size_t room, const CrossEncoderOptions& options);

/// How many of a document's word pieces can matter; those behind need not be computed.
std::size_t pieces_wanted(std::size_t room, const CrossEncoderOptions& options);

}  // namespace relucent
