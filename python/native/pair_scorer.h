#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/model/classifier.h"
#include "relucent/rescore_candidates.h"
#include "relucent/times.h"

namespace relucent::python {

/// One entry per pair.
struct PairResults {
  std::vector<float> scores;            ///< raw; NaN for a document that has nothing the model reads
  std::vector<std::int32_t> tokens;     ///< of the model's input; 0 if the scorer does not count them
  std::vector<std::uint8_t> truncated;  ///< whether the model did not see the end of the document
  bool query_truncated = false;         ///< whether it did not see the end of a query
  std::string fallback;                 ///< why a fallback scored instead of the configured device; empty if none did
  StageTimes times;                     ///< tokenize, encode (the rest) and device, summed over queries
};

/// Scores pairs of texts with the scorer of [rescorer]. Thread-safe.
class PairScorer {
 public:
  /// Throws Error, `unsupported` for several stages and for a model that reads more than texts.
  explicit PairScorer(const SecondStageConfig& config);

  /// queries[i] is the query of documents[i]; pairs with the same query are computed together, which changes no score.
  PairResults score(std::span<const std::string_view> queries, std::span<const std::string_view> documents,
                    const std::stop_token& stop) const;

  const Scorer& scorer() const noexcept { return *stage_.scorer; }

 private:
  RescoringStage stage_;
};

/// Gives the logits of a classifier's labels for pairs of texts. Thread-safe.
class PairClassifier {
 public:
  /// Throws Error, `unsupported` for a model that scores.
  explicit PairClassifier(const SecondStageConfig& config);

  /// [pairs][labels]: queries[i] is the first text of the pair, documents[i] the second one.
  std::vector<float> classify(std::span<const std::string_view> queries, std::span<const std::string_view> documents,
                              const std::stop_token& stop) const;

  const std::vector<std::string>& labels() const noexcept { return classifier_->labels(); }
  std::string describe() const;

 private:
  std::string name_;
  std::shared_ptr<const Classifier> classifier_;
};

}  // namespace relucent::python
