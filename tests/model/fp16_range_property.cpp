// That no input makes an activation of the bundled checkpoint leave the range of fp16, which the GPU computes in. What
// LayerNorm gives is gamma * z + beta with |z| <= sqrt(hidden) in the Euclidean norm, whatever it is given, so each
// product behind it has a bound that follows from the weights alone (Cauchy and Schwarz):
// |w (gamma * z + beta) + b| <= sqrt(hidden) |w * gamma| + |w beta + b|.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/checkpoint/checkpoint_reader.h"

namespace relucent::testing {
namespace {

using Values = std::vector<double>;

constexpr double kMaxInFp16 = 65504;

Values values(const TensorView& tensor) {
  const std::vector<float> floats = tensor.to_f32();
  return {floats.begin(), floats.end()};
}

double largest(const Values& of) {
  double most = 0;
  for (const double value : of) most = std::isnan(value) ? INFINITY : std::max(most, std::abs(value));
  return most;
}

double largest(const TensorView& tensor) { return largest(values(tensor)); }

/// What a LayerNorm's output cannot exceed, by feature.
Values bounds(const NormWeights& norm) {
  Values bound = values(norm.gamma);
  const Values beta = values(norm.beta);
  const double longest = std::sqrt(static_cast<double>(bound.size()));
  for (std::size_t i = 0; i < bound.size(); ++i) bound[i] = longest * std::abs(bound[i]) + std::abs(beta[i]);
  return bound;
}

/// What a product with a LayerNorm's output cannot exceed, by output.
Values bounds(const LinearWeights& linear, const NormWeights& norm) {
  const Values weight = values(linear.weight), gamma = values(norm.gamma), beta = values(norm.beta);
  Values bound = values(linear.bias);
  const double longest = std::sqrt(static_cast<double>(gamma.size()));
  for (std::size_t out = 0; out < bound.size(); ++out) {
    double squares = 0;
    for (std::size_t in = 0; in < gamma.size(); ++in) {
      const double w = weight[out * gamma.size() + in];
      squares += w * gamma[in] * w * gamma[in];
      bound[out] += w * beta[in];
    }
    bound[out] = longest * std::sqrt(squares) + std::abs(bound[out]);
  }
  return bound;
}

/// What a product with any vector within `input` cannot exceed, by output.
Values bounds(const LinearWeights& linear, const Values& input) {
  const Values weight = values(linear.weight);
  Values bound = values(linear.bias);
  for (std::size_t out = 0; out < bound.size(); ++out) {
    bound[out] = std::abs(bound[out]);
    for (std::size_t in = 0; in < input.size(); ++in) {
      bound[out] += std::abs(weight[out * input.size() + in]) * input[in];
    }
  }
  return bound;
}

TEST(Fp16Range, NoInputTakesTheBundledCheckpointBeyondIt) {
  const Checkpoint checkpoint = read_checkpoint("model/relucent-minilm-l6-w4");
  const EncoderWeights& weights = checkpoint.weights.weights;
  const int heads = checkpoint.configuration.description.heads;
  double most = std::max(
      {largest(weights.word_embeddings), largest(weights.position_embeddings), largest(weights.token_type_embeddings)});
  const auto hold = [&most](const std::string& what, const Values& bound) {
    EXPECT_LT(largest(bound), kMaxInFp16) << what;
    most = std::max(most, largest(bound));
  };
  const NormWeights* input = &weights.embedding_norm;
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerWeights& layer = weights.layers[i];
    const std::string name = "layer " + std::to_string(i) + ", ";
    hold(name + "input", bounds(*input));
    hold(name + "query", bounds(layer.query, *input));
    hold(name + "key", bounds(layer.key, *input));
    // The last layer applies W_K to the queries of each head: absorbed[j] = sum of W_K[k][j] q[k] over its features k.
    const Values query = bounds(layer.query, *input), key_weight = values(layer.key.weight);
    const std::size_t hidden = query.size(), head_size = hidden / static_cast<std::size_t>(heads);
    for (std::size_t first = 0; first < hidden; first += head_size) {
      Values absorbed(hidden);
      for (std::size_t k = first; k < first + head_size; ++k) {
        for (std::size_t j = 0; j < hidden; ++j) absorbed[j] += std::abs(key_weight[k * hidden + j]) * query[k];
      }
      hold(name + "keys applied to the query", absorbed);
    }
    // What attention gives is a mean of values.
    const Values value = bounds(layer.value, *input);
    hold(name + "value", value);
    hold(name + "attention output", bounds(layer.attention_output, value));
    hold(name + "attention norm", bounds(layer.attention_norm));
    // GELU takes no number further from zero.
    const Values intermediate = bounds(layer.intermediate, layer.attention_norm);
    hold(name + "intermediate", intermediate);
    hold(name + "output", bounds(layer.output, intermediate));
    input = &layer.output_norm;
  }
  hold("the last layer's output", bounds(*input));
  std::cout << "no activation beyond " << most << "\n";
}

}  // namespace
}  // namespace relucent::testing
