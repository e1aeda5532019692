#include "model/input/document_chunks.h"

#include <algorithm>
#include <limits>

namespace relucent {

std::vector<Chunk> document_chunks(std::size_t pieces, std::size_t room, const CrossEncoderOptions& options) {
  if (pieces <= room) return {{0, pieces}};
  if (options.long_documents == LongDocuments::truncate || room == 0) return {{0, room}};
  const std::size_t size = std::min(static_cast<std::size_t>(options.chunk), room);
  if (options.long_documents == LongDocuments::firstp) return {{0, size}};
  const std::size_t step = std::min(static_cast<std::size_t>(options.stride), size);
  std::vector<Chunk> chunks;
  for (std::size_t begin = 0;; begin += step) {
    chunks.push_back({begin, std::min(size, pieces - begin)});
    if (begin + size >= pieces) return chunks;
  }
}

std::vector<Chunk> sentence_chunks(std::span<const std::size_t> ends, std::size_t room,
                                   const CrossEncoderOptions& options) {
  const std::size_t size = std::min(static_cast<std::size_t>(options.chunk), room);
  std::vector<Chunk> chunks;
  std::size_t begin = 0, end = 0;  // of the chunk that is being filled
  const auto finish = [&](std::size_t at) {
    chunks.push_back({begin, at - begin});
    begin = at;
  };
  for (const std::size_t sentence : ends) {
    if (sentence - begin > size && end > begin) finish(end);
    while (sentence - begin > size) finish(begin + size);
    end = sentence;
  }
  if (end > begin) finish(end);
  if (options.long_documents == LongDocuments::firstp && chunks.size() > 1) chunks.resize(1);
  return chunks;
}

std::size_t pieces_wanted(std::size_t room, const CrossEncoderOptions& options) {
  const bool only_first =
      options.long_documents == LongDocuments::truncate || options.long_documents == LongDocuments::firstp;
  return only_first || room == 0 ? room : std::numeric_limits<std::size_t>::max() / 2;
}

}  // namespace relucent
