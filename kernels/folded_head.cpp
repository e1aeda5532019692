#include "kernels/folded_head.h"

#include <cstddef>
#include <span>

namespace relucent {

FoldedHead fold_head(const EncoderDescription& description, const EncoderWeights& weights) {
  using Numbers = std::vector<double>;
  const auto hidden = static_cast<std::size_t>(description.hidden_size);
  const PivotPooling& form = *description.head.pivots;
  // W^T v over rows [first, first + v.size()) and columns [column, column + hidden) of a matrix.
  const auto transposed = [&](const std::vector<float>& matrix, std::size_t columns, std::size_t column,
                              std::size_t first, std::span<const double> v) {
    Numbers result(hidden);
    for (std::size_t row = 0; row < v.size(); ++row) {
      for (std::size_t f = 0; f < hidden; ++f) result[f] += v[row] * matrix[(first + row) * columns + column + f];
    }
    return result;
  };
  const auto dot = [](std::span<const double> a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  const auto append = [](std::vector<float>& to, const Numbers& more) {
    for (const double value : more) to.push_back(static_cast<float>(value));
  };
  const std::vector<float> row = weights.head_output.weight.to_f32();
  const Numbers output(row.begin(), row.end());
  const std::size_t groups = weights.head_pooling.size();
  FoldedHead head;
  head.bias = weights.head_output.bias_to_f32().front();
  std::vector<float> dense;  // empty: the output takes the only group's state
  if (!weights.head_steps.empty()) {
    const LinearWeights& first = weights.head_steps.front().dense;
    dense = first.weight.to_f32();
    head.bias += dot(output, first.bias_to_f32());
  }
  for (std::size_t g = 0; g < groups; ++g) {
    const Numbers r = dense.empty() ? output : transposed(dense, groups * hidden, g * hidden, 0, output);
    FoldedPooling& to = head.groups.emplace_back();
    switch (form.kind) {
      case PivotPooling::Kind::attention: break;
      case PivotPooling::Kind::maximum:
      case PivotPooling::Kind::layers: append(to.values, r); continue;
    }
    const auto heads = static_cast<std::size_t>(form.heads), size = hidden / heads;
    const PoolingWeights& from = weights.head_pooling[g];
    const std::vector<float> vector = from.vector.to_f32(), query = from.query.weight.to_f32(),
                             key = from.key.weight.to_f32(), value = from.value.weight.to_f32(),
                             query_bias = from.query.bias_to_f32();
    Numbers q(hidden);
    for (std::size_t i = 0; i < hidden; ++i) {
      q[i] = query_bias[i];
      for (std::size_t f = 0; f < hidden; ++f) q[i] += static_cast<double>(query[i * hidden + f]) * vector[f];
    }
    const Numbers s = transposed(from.output.weight.to_f32(), hidden, 0, 0, r);
    // The keys' bias adds the same to every product and cancels in the softmax, whose shares of the values' add up
    // to 1.
    to.bias = dot(r, from.output.bias_to_f32()) + dot(s, from.value.bias_to_f32());
    for (std::size_t i = 0; i < heads; ++i) {
      append(to.weighing, transposed(key, hidden, 0, i * size, std::span(q).subspan(i * size, size)));
      append(to.values, transposed(value, hidden, 0, i * size, std::span(s).subspan(i * size, size)));
    }
  }
  return head;
}

}  // namespace relucent
