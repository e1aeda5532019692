#include "model/input/text_head.h"

#include <algorithm>
#include <cmath>

namespace relucent {
namespace {

/// Those that modules have (model/checkpoint/modules.cpp).
double activated(double x, Activation activation) {
  switch (activation) {
    case Activation::tanh: return std::tanh(x);
    case Activation::relu: return std::max(x, 0.0);
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu_erf: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::none:
    case Activation::gelu_tanh:
    case Activation::gelu_10:
    case Activation::quick_gelu:
    case Activation::mish: break;
  }
  return x;
}

void normalize(std::vector<float>& x, const std::vector<float>& gamma, const std::vector<float>& beta, float epsilon) {
  double mean = 0, variance = 0;
  for (const float value : x) mean += value;
  mean /= static_cast<double>(x.size());
  for (const float value : x) variance += (value - mean) * (value - mean);
  const double scale = 1 / std::sqrt(variance / static_cast<double>(x.size()) + epsilon);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((x[i] - mean) * scale * gamma[i] + beta[i]);
}

}  // namespace

TextHead::TextHead(const FamilyConfiguration& configuration)
    : unit_(configuration.late->unit_vectors), size_(configuration.description.hidden_size) {
  const LateForm& form = *configuration.late;
  const auto linear = [](const LinearWeights& from) {
    return from.weight.data == nullptr ? Linear() : Linear{from.weight.to_f32(), from.bias_to_f32()};
  };
  for (std::size_t i = 0; i < form.steps.size(); ++i) {
    const HeadStepWeights& from = form.step_weights.at(i);
    Step& to = steps_.emplace_back(Step{form.steps[i], linear(from.dense), linear(from.residual), {}, {}});
    if (to.form.norm) to.gamma = from.norm.gamma.to_f32(), to.beta = from.norm.beta_to_f32();
    if (to.form.size > 0) size_ = to.form.size;
  }
}

std::vector<float> TextHead::Linear::operator()(std::span<const float> x) const {
  std::vector<float> y(bias);
  for (std::size_t row = 0; row < y.size(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(weight[row * x.size() + i]) * x[i];
    y[row] += static_cast<float>(sum);
  }
  return y;
}

std::vector<float> TextHead::operator()(std::span<const float> state) const {
  std::vector<float> x(state.begin(), state.end());
  for (const Step& step : steps_) {
    std::vector<float> y = step.form.size > 0 ? step.dense(x) : x;
    for (float& value : y) value = static_cast<float>(activated(value, step.form.activation));
    if (step.form.residual != HeadStep::Residual::none) {
      const std::vector<float> more = step.form.residual == HeadStep::Residual::input ? x : step.residual(x);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += more[i];
    }
    if (step.form.norm) normalize(y, step.gamma, step.beta, step.form.norm_epsilon);
    x = std::move(y);
  }
  if (!unit_) return x;
  double squares = 0;
  for (const float value : x) squares += static_cast<double>(value) * value;
  constexpr double kShortest = 1e-12;  // as in PyTorch's normalize()
  const double length = std::max(std::sqrt(squares), kShortest);
  for (float& value : x) value = static_cast<float>(value / length);
  return x;
}

}  // namespace relucent
