#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/input/document_chunks.h"
#include "relucent/stop.h"

namespace relucent {

/// Chooses the chunks of a long document that the model reads if it may not read all: the first chunk, and those that
/// share most with the query. Each distinct word piece t of the query adds idf(t) * tf / (tf + 1.2) to the score of a
/// chunk that contains it tf times; idf(t) = log(1 + (N - n + 0.5) / (n + 0.5)), where n of the document's N chunks
/// contain t. On ties the earlier chunk wins, so the choice depends only on the query and the document. (Selecting
/// blocks by their match with the query before a cross-encoder: Li and Gaussier, "KeyBLD", SIGIR 2021.)
class ChunkChoice {
 public:
  /// @param query  word pieces, without special tokens; ids of the vocabulary
  /// @param most   chunks per document, at least 1
  ChunkChoice(std::span<const std::int32_t> query, std::int32_t vocabulary_size, std::size_t most);

  /// At most `most` of the `chunks` of a document with these word pieces, in order. Throws Error when `stop` is due.
  std::vector<Chunk> choose(std::vector<Chunk> chunks, std::span<const std::int32_t> pieces,
                            const StopSignal& stop) const;

 private:
  std::vector<double> match(const std::vector<Chunk>& chunks, std::span<const std::int32_t> pieces,
                            const StopSignal& stop) const;

  std::size_t most_;
  std::uint32_t terms_ = 0;
  std::vector<std::uint16_t> term_of_;  ///< by id: 1.. for the query's distinct pieces, 0 for others
};

}  // namespace relucent
