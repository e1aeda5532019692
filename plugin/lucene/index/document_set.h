#pragma once

#include <DocIdSet.h>
#include <IndexReader.h>
#include <Term.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/lucene/index/postings.h"

namespace relucent {

/// Lucene::DocIdSetIterator::NO_MORE_DOCS.
inline constexpr std::int32_t kNoDocument = std::numeric_limits<std::int32_t>::max();

/// Documents of one segment, as bits.
class DocumentSet {
 public:
  explicit DocumentSet(std::int32_t documents) : words_((static_cast<std::size_t>(documents) + 63) / 64) {}

  void add(std::int32_t document) { words_[static_cast<std::size_t>(document) / 64] |= bit(document); }
  void remove(std::int32_t document) { words_[static_cast<std::size_t>(document) / 64] &= ~bit(document); }
  bool has(std::int32_t document) const {
    return (words_[static_cast<std::size_t>(document) / 64] & bit(document)) != 0;
  }
  void keep_those_in(const DocumentSet& other);
  /// The first document from `start` on; kNoDocument if there is none.
  std::int32_t next(std::int32_t start) const noexcept;

 private:
  static std::uint64_t bit(std::int32_t document) { return std::uint64_t{1} << (static_cast<unsigned>(document) % 64); }

  std::vector<std::uint64_t> words_;
};

/// As Lucene++ takes it.
Lucene::DocIdSetPtr to_lucene_set(std::shared_ptr<const DocumentSet> documents);

/// Reads the documents of terms of one leaf reader, including deleted ones. One thread at a time.
class TermDocuments {
 public:
  explicit TermDocuments(Lucene::IndexReaderPtr leaf);

  using Use = std::function<void(std::span<const std::int32_t> documents)>;
  /// Calls `use` with the term's documents, piece by piece. Throws Error and what Lucene++ throws.
  void of_term(const Lucene::String& field, const Lucene::String& term, const Use& use);
  /// The same for all terms of the field from `first` to `last`, both included. `start` is told each term before.
  void of_terms(const Lucene::String& field, const Lucene::String& first, const std::optional<Lucene::String>& last,
                const std::function<void(const Lucene::String& term)>& start, const Use& use);

 private:
  template <typename Place>
  void read(const Place& place, const Use& use);

  Lucene::IndexReaderPtr leaf_;
  std::unique_ptr<bm25::Postings> postings_;  ///< null: Lucene++ reads
};

}  // namespace relucent
