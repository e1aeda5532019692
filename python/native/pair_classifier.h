#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/model/classifier.h"

namespace relucent::python {

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
