#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ref/attention.h"
#include "kernels/ref/parts.h"
#include "relucent/kernels/backend.h"
#include "relucent/kernels/encoder.h"

namespace relucent::ref {

/// The row that some rows of x give together.
std::vector<float> pooled(const Matrix& x, std::vector<std::size_t> rows, Pooling pooling);

/// The states of all tokens of some candidates on their way through the stacks.
class States {
 public:
  States(const EncoderDescription& description, Matrix embedded, std::vector<Token> tokens);

  void start_stack(std::size_t stack);
  void run(std::size_t layer, const LayerParts& parts);

  /// `inputs`: all tokens' states before the first layer.
  void convolve(const ConvolutionParts& parts, const Matrix& inputs);
  void end_stack(const Norm& final_norm);

  /// Fills the tokens of a derived group that have no states of their own.
  void derive(const Derivation& derivation, const std::vector<float>& codes);

  const Matrix& x() const { return x_; }
  /// All states before a layer of a group's stack, if the head reads such ones.
  const Matrix& entered(std::int32_t group, std::int32_t layer) const {
    return entered_[stack_of_[static_cast<std::size_t>(group)]][static_cast<std::size_t>(layer)];
  }
  Matrix& x() { return x_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  /// The rows of a candidate's tokens of a group.
  std::vector<std::size_t> rows_of(std::int32_t group, std::size_t candidate) const;

 private:
  struct Kept {
    Matrix key, value;
  };

  /// The hint of the gated token in row `row` of this stack's.
  std::vector<float> hint_of(const GatedToken& gated, const Matrix& input, std::size_t row) const;
  bool is_gated(const GatedToken& gated, std::size_t row) const {
    return tokens_[rows_[row]].group == static_cast<std::size_t>(gated.group);
  }

  /// Overwrites what the residual connection made of the gated tokens in `x`.
  void pass_gate(const GatedToken& gated, const Linear& gate, const Matrix& before, const Matrix& input,
                 const Matrix& result, Matrix& x) const;
  Matrix gathered() const;
  void scatter(const Matrix& own) {
    for (std::size_t i = 0; i < rows_.size(); ++i) std::copy_n(own[i], x_.columns, x_[rows_[i]]);
  }

  /// `input` has this stack's tokens; those of other stacks show their last states, or the keys of one of their layers.
  Matrix attention(const Matrix& input, const Attention& form, const AttentionParts& parts, Kept* keep);

  const EncoderDescription& d_;
  Matrix x_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> stack_of_, rows_;
  std::vector<std::vector<Kept>> kept_;       // [stack][layer]: what its first attention showed
  std::vector<std::vector<Matrix>> entered_;  // [stack][layer]: all states before it, if the head may read them
  std::size_t stack_ = 0;
};

/// The pivots of a document and the rows of its states that each is the mean of.
struct PivotRows {
  std::vector<Token> pivots;
  std::vector<std::vector<std::size_t>> rows;

  PivotRows(const EncoderDescription& description, const DocumentPassages& document, const std::vector<Token>& tokens);

  /// The means of the tokens' states.
  Matrix gather(const Matrix& x) const;

  /// Every token takes up its pivot's state.
  void combine(Matrix& x, const Matrix& states, const Linear& with) const;
};

}  // namespace relucent::ref
