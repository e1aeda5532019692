#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/families/family.h"

namespace relucent {

/// What follows the pooling of an embedding model (LateForm::steps), on the host. Immutable.
class TextHead {
 public:
  /// The configuration's description must have Head::per_text.
  explicit TextHead(const FamilyConfiguration& configuration);

  std::int32_t size() const noexcept { return size_; }  ///< numbers of a vector
  /// The vector of a text whose pooled state this is: [hidden size].
  std::vector<float> operator()(std::span<const float> state) const;

 private:
  struct Linear {
    std::vector<float> weight, bias;
    std::vector<float> operator()(std::span<const float> x) const;
  };
  struct Step {
    HeadStep form;
    Linear dense, residual;
    std::vector<float> gamma, beta;
  };

  std::vector<Step> steps_;
  bool unit_;
  std::int32_t size_;
};

}  // namespace relucent
