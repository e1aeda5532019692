#pragma once

#include <IndexReader.h>
#include <Term.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "plugin/lucene/bm25/skipping_postings.h"
#include "relucent/bm25.h"
#include "relucent/config.h"

namespace relucent::bm25 {

/// What [first_stage] sets of the scoring, in the types with which Lucene computes.
struct ScoringSettings {
  ScoringSettings() = default;
  explicit ScoringSettings(const FirstStageConfig& config)
      : scoring(config.scoring),
        k1(static_cast<float>(config.k1)),
        b(static_cast<float>(config.b)),
        mu(static_cast<float>(config.mu)),
        lambda(static_cast<float>(config.lambda)) {}

  FirstStageScoring scoring = FirstStageScoring::bm25;
  float k1 = 0.9F, b = 0.4F;
  float mu = 1000;      ///< of qld
  float lambda = 0.1F;  ///< of qljm
};

/// Caches, for terms of one field in one segment, the largest frequency · length factor of any posting. A contribution
/// grows with it, so it gives the term's largest contribution for any weight. Thread-safe.
class TermMaxima {
 public:
  std::optional<float> find(const Lucene::String& term) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(term);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const Lucene::String& term, float largest) {
    const std::lock_guard lock(mutex_);
    known_.emplace(term, largest);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Lucene::String, float> known_;
};

/// One field's data for scoring: its statistics, the parameters and the length byte of every document. Immutable once
/// built, except for the caches of terms.
class FieldModel {
 public:
  FieldModel(const FieldStatistics& statistics, const ScoringSettings& settings);
  /// The same documents, of which the bytes are shared, with other statistics.
  FieldModel(const FieldModel& documents, const FieldStatistics& statistics);

  /// Sets a leaf's length bytes: the reader's norms, or `lengths`. If they are null or empty, every document of the
  /// leaf has length 1, as in modern Lucene for a field without norms. Reads all of them once, to find the longest.
  void add_norms(const Lucene::IndexReaderPtr& leaf, const Lucene::ByteArray& norms);
  void add_lengths(const Lucene::IndexReaderPtr& leaf, std::vector<std::uint8_t> lengths);

  /// One byte per document of the leaf; null: every length is 1. Throws Error `usage` for a reader of another index.
  const std::uint8_t* lengths(const Lucene::IndexReader* leaf) const;

  const FieldStatistics& statistics() const { return statistics_; }
  const ScoringSettings& settings() const { return settings_; }
  float average_length() const { return average_length_; }
  /// bm25::length_factors(), by length byte.
  const std::array<float, 256>& factors() const { return factors_; }
  /// The length byte of the longest document, and its factor.
  std::uint8_t longest() const { return longest_; }
  float smallest_factor() const { return factors_[longest_]; }
  /// The cached maxima of terms in this leaf. Throws like lengths().
  TermMaxima& maxima(const Lucene::IndexReader* leaf) const { return *known(leaf).maxima; }
  /// What SkippingPostings of a leaf may take in memory, per document of the leaf and at least.
  static constexpr std::size_t kSkippingBytesPerDocument = 64, kSkippingBytes = std::size_t{4} << 20;
  /// The term's postings in this leaf; null if they are many and not worth making now (SkippingPostingsCache). Throws
  /// like lengths(). @param document_frequency  at least the term's in the leaf
  std::shared_ptr<const SkippingPostings> postings(const Lucene::SegmentReaderPtr& leaf, const Lucene::TermPtr& term,
                                                   std::int32_t document_frequency) const;

 private:
  void add(const Lucene::IndexReaderPtr& leaf, const std::uint8_t* bytes);

  struct Leaf {
    Lucene::ByteArray norms;
    std::shared_ptr<const std::vector<std::uint8_t>> own;
    const std::uint8_t* bytes = nullptr;
    std::unique_ptr<TermMaxima> maxima = std::make_unique<TermMaxima>();
    std::unique_ptr<SkippingPostingsCache> postings = std::make_unique<SkippingPostingsCache>();
  };
  const Leaf& known(const Lucene::IndexReader* leaf) const;

  FieldStatistics statistics_;
  ScoringSettings settings_;
  float average_length_;
  std::array<float, 256> factors_;
  std::uint8_t longest_ = 1;  ///< length byte
  std::unordered_map<const Lucene::IndexReader*, Leaf> leaves_;
};

}  // namespace relucent::bm25
