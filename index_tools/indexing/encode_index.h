#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "plugin/second_stage/embeddings.h"
#include "relucent/config.h"
#include "relucent/scorer.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

struct EncodeJob {
  std::filesystem::path index;
  IndexConfig fields;
  std::shared_ptr<const Scorer> scorer;  ///< reads embeddings
  EmbeddingNumbers numbers = EmbeddingNumbers::fp16;
  bool quiet = false;
  StopSignal stop = {};
};

struct EncodeSummary {
  std::int64_t documents = 0;     ///< of the index, without deleted ones
  std::int64_t encoded = 0;       ///< by this run
  std::int64_t resumed = 0;       ///< records that an interrupted run left
  std::int64_t without_text = 0;  ///< of the documents that this run read
  std::int32_t segments = 0, kept_segments = 0;
  std::int64_t bytes = 0;              ///< of all embedding files
  std::size_t bytes_per_document = 0;  ///< of the numbers; if documents have different numbers of vectors, on average
  std::vector<std::string> removed;    ///< files of segments that the index no longer has
  std::chrono::nanoseconds time{0};
};

/// Encodes the documents of every segment that has no embeddings of this form yet, and removes the embeddings of
/// segments that are gone. Continues where an interrupted run stopped; the files are the same, byte for byte. Segments
/// that are committed meanwhile are also encoded. Throws Error: `interrupted` or `deadline` when `stop` is due, after
/// saving what is done, `io` if a file cannot be written, and what open_reader() and the scorer throw.
EncodeSummary encode_index(const EncodeJob& job);

/// The state of an index's embeddings.
struct EmbeddingsCheck {
  std::int64_t documents = 0;          ///< including deleted ones, of the segments with sound embeddings
  std::int32_t segments = 0;           ///< of the index
  std::vector<EmbeddingForm> forms;    ///< those that occur; none: the index has no embeddings
  std::vector<std::string> damaged;    ///< errors of files of this index's segments
  std::vector<std::string> missing;    ///< segments without a file
  std::vector<std::string> left_over;  ///< files of other segments
};

/// Reads the embeddings of all segments. Throws Error `io`, and what open_reader() throws.
EmbeddingsCheck check_embeddings(const std::filesystem::path& index, bool quiet);

}  // namespace relucent::index_tools
