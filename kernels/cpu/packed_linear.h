#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/memory.h"
#include "kernels/cpu/vector_kernels.h"

namespace relucent::cpu {

/// A linear map's weights as VectorKernels::product reads them, packed once: blocks of output features, inputs in the
/// arithmetic's units; both sides padded with zeros. Immutable, shared by threads.
class PackedLinear {
 public:
  PackedLinear() = default;
  /// @param weight [out, in] row-major, @param bias [out] or empty for none
  PackedLinear(Arithmetic arithmetic, WeightLayout layout, const std::vector<float>& weight, std::vector<float> bias,
               std::size_t inputs);

  Arithmetic arithmetic() const noexcept { return arithmetic_; }
  std::size_t features() const noexcept { return features_; }  ///< padded outputs
  std::size_t steps() const noexcept { return steps_; }

  /// The product for the output features [first, first + count), multiples of kFeatureBlock. The caller sets the
  /// operand and the output.
  Product product(std::size_t first, std::size_t count) const;
  Product product() const { return product(0, features_); }

 private:
  Arithmetic arithmetic_ = Arithmetic::fp32;
  std::size_t features_ = 0, steps_ = 0;
  std::size_t block_units_ = 0;  // of one block of features
  Buffer<std::uint32_t> units_;  // see WeightLayout
  std::vector<float> bias_;
  bool biased_ = false;
  std::vector<float> scales_;              // int16, int8
  std::vector<std::int32_t> corrections_;  // int8
};

}  // namespace relucent::cpu
