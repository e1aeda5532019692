#include "kernels/relative_positions.h"

namespace relucent {

std::vector<float> relative_states(const EncoderDescription& description, const EncoderWeights& weights) {
  std::vector<float> states = weights.relative_embeddings.to_f32();
  if (weights.relative_norm.gamma.data == nullptr) return states;
  const std::vector<float> gamma = weights.relative_norm.gamma.to_f32(), beta = weights.relative_norm.beta_to_f32();
  const std::size_t size = gamma.size();
  for (std::size_t first = 0; first < states.size(); first += size) {
    float* const row = states.data() + first;
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < size; ++i) mean += row[i];
    mean /= static_cast<double>(size);
    for (std::size_t i = 0; i < size; ++i) variance += (row[i] - mean) * (row[i] - mean);
    const double scale = 1 / std::sqrt(variance / static_cast<double>(size) + description.norm_epsilon);
    for (std::size_t i = 0; i < size; ++i) row[i] = static_cast<float>((row[i] - mean) * scale * gamma[i] + beta[i]);
  }
  return states;
}

}  // namespace relucent
