// Tokens in panels, and products of them: the arithmetic of places that all parts of an encoder share.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/memory.h"
#include "kernels/cpu/packed_linear.h"
#include "kernels/cpu/vector_kernels.h"

namespace relucent::cpu {

/// What follows from the width of a kernel's vectors and panels; see VectorKernels for the layouts.
class Panels {
 public:
  explicit Panels(const VectorKernels& kernels) : kernels_(kernels) {}

  const VectorKernels& kernels() const { return kernels_; }
  /// Vectors of a panel.
  std::size_t wide() const { return kernels_.panel / kernels_.lanes; }
  std::size_t whole_vectors(std::size_t tokens) const { return (tokens + kernels_.lanes - 1) / kernels_.lanes; }
  /// Tokens, rounded up to whole vectors.
  std::size_t whole(std::size_t tokens) const { return whole_vectors(tokens) * kernels_.lanes; }
  std::size_t panels(std::size_t vectors) const { return (vectors + wide() - 1) / wide(); }
  /// The number of vectors in the panels [first_panel, first_panel + count).
  std::size_t vectors_of(std::size_t first_panel, std::size_t count, std::size_t vectors) const {
    return std::min(vectors - first_panel * wide(), count * wide());
  }
  /// Where a token's first feature is in an activation.
  template <typename Number>
  Number* place(Number* activation, std::size_t features, std::size_t token) const {
    return activation + token / kernels_.panel * padded(features) * kernels_.panel + token % kernels_.panel;
  }
  /// Columns [first, first + tokens) of an activation as rows with `stride`.
  void copy_tokens(const float* activation, std::size_t features, std::size_t first, std::size_t tokens, float* rows,
                   std::size_t stride) const;
  void put_token(const float* values, float* activation, std::size_t features, std::size_t token) const;

  OperandOut operand(Arithmetic arithmetic, std::size_t features, std::size_t vectors, Buffer<float>& units,
                     Buffer<float>& token_scales) const;
  /// The part of an activation's operand that starts at a panel.
  OperandOut from_panel(const OperandOut& out, std::size_t features, std::size_t panel) const;
  /// Multiplies an operand of `vectors` vectors: to = W operand + b, or to += that.
  void multiply(const PackedLinear& linear, const OperandOut& packed, std::size_t vectors, Product::Output output,
                float* to, std::size_t to_features) const;

 protected:
  const VectorKernels& kernels_;
};

}  // namespace relucent::cpu
