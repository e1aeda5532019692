#pragma once

#include <SegmentReader.h>
#include <SegmentTermDocs.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugin/index_format/posting_kernels.h"

namespace relucent::bm25 {

/// Reads one term's postings in one segment, block by block, including deleted documents. Reads the .frq file in large
/// pieces and decodes them itself, several times as fast as Lucene++'s next().
class Postings {
 public:
  static constexpr std::int32_t kBlock = 512;

  explicit Postings(const Lucene::SegmentReaderPtr& segment);

  /// Both position the reader before the first posting.
  void seek(const Lucene::TermPtr& term);
  void seek(const Lucene::TermEnumPtr& term);

  std::int32_t document_frequency() const;
  /// The segment's deleted documents as they were at construction; null if there are none.
  Lucene::BitVectorPtr deletions() const;

  /// Decodes the next block, of at most kBlock postings; returns false after the last one. Throws Error `invalid_data`
  /// if the list is damaged.
  bool next_block();
  /// The block's documents, ascending, and their frequencies.
  std::span<const std::int32_t> documents() const { return {documents_.data(), static_cast<std::size_t>(size_)}; }
  std::span<const std::int32_t> frequencies() const { return {frequencies_.data(), static_cast<std::size_t>(size_)}; }

 private:
  class Access;

  void start();
  void fill(std::size_t wanted);
  [[noreturn]] void damaged() const;

  boost::shared_ptr<Access> access_;
  Lucene::IndexInputPtr input_;
  std::int32_t max_document_;
  std::int64_t unread_ = 0;  ///< bytes of the file not yet in the buffer
  std::int32_t left_ = 0;    ///< postings not yet decoded
  std::int32_t document_ = 0;
  bool frequencies_omitted_ = false;
  std::vector<std::uint8_t> buffer_;
  std::size_t position_ = 0, filled_ = 0;
  std::int32_t size_ = 0;
  const PostingKernels& kernels_ = best_posting_kernels();
  std::array<std::int32_t, kBlock + PostingKernels::kWriteAhead> documents_, frequencies_;
};

}  // namespace relucent::bm25
