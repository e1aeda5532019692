#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/activate.h"
#include "relucent/kernels/encoder.h"

// The parts of an encoder with their weights in fp32, one row after the other and sums in double.

namespace relucent::ref {

/// [rows, columns], row-major.
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  float* operator[](std::size_t row) { return values.data() + row * columns; }
  const float* operator[](std::size_t row) const { return values.data() + row * columns; }
};

inline std::vector<float> to_f32(const TensorView& tensor) {
  return tensor.data != nullptr ? tensor.to_f32() : std::vector<float>();
}

/// y = x W^T + b
struct Linear {
  Matrix weight;            // [out, in]
  std::vector<float> bias;  // [out]

  explicit Linear(const LinearWeights& from) {
    if (from.weight.data == nullptr) return;  // absent
    bias = from.bias_to_f32();
    weight.rows = bias.size();
    weight.values = from.weight.to_f32();
    weight.columns = weight.values.size() / weight.rows;
  }

  Matrix operator()(const Matrix& x) const {
    Matrix y(x.rows, weight.rows);
    for (std::size_t row = 0; row < x.rows; ++row) {
      for (std::size_t out = 0; out < weight.rows; ++out) {
        double sum = bias[out];
        for (std::size_t in = 0; in < x.columns; ++in) sum += static_cast<double>(x[row][in]) * weight[out][in];
        y[row][out] = static_cast<float>(sum);
      }
    }
    return y;
  }
};

struct Norm {
  std::vector<float> gamma, beta;
  NormKind kind;
  double epsilon;

  Norm(const NormWeights& from, const EncoderDescription& d) : Norm(from, d.norm_kind, d.norm_epsilon) {}
  Norm(const NormWeights& from, NormKind its_kind, double its_epsilon) : kind(its_kind), epsilon(its_epsilon) {
    if (from.gamma.data == nullptr) return;  // absent
    gamma = from.gamma.to_f32();
    beta = from.beta_to_f32();
  }

  void operator()(Matrix& x) const {
    for (std::size_t row = 0; row < x.rows; ++row) {
      float* values = x[row];
      const auto size = static_cast<double>(x.columns);
      double mean = 0, variance = 0;
      switch (kind) {
        case NormKind::layer:
          for (std::size_t i = 0; i < x.columns; ++i) mean += values[i];
          mean /= size;
          break;
        case NormKind::rms: break;  // about 0
      }
      for (std::size_t i = 0; i < x.columns; ++i) variance += (values[i] - mean) * (values[i] - mean);
      variance /= size;
      const double scale = 1 / std::sqrt(variance + epsilon);
      for (std::size_t i = 0; i < x.columns; ++i) {
        values[i] = static_cast<float>((values[i] - mean) * scale * gamma[i] + beta[i]);
      }
    }
  }
};

inline void add(Matrix& x, const Matrix& y) {
  std::transform(x.values.begin(), x.values.end(), y.values.begin(), x.values.begin(), std::plus<>());
}

inline void activate(Matrix& x, Activation activation) {
  for (float& value : x.values) value = relucent::activate(value, activation);
}

/// x <- x + f(x) with a norm after or before f. `f` takes and returns rows of x. `join(x, input, f(input))` replaces
/// the addition.
template <typename Work, typename Join>
void sub_block(Matrix& x, NormPlacement placement, const Norm& norm, const Work& f, const Join& join) {
  Matrix input = x;
  if (placement == NormPlacement::before) norm(input);
  join(x, input, f(input));
  if (placement == NormPlacement::after) norm(x);
}

inline void add_result(Matrix& x, const Matrix&, const Matrix& result) { add(x, result); }

/// An RMSNorm of each head's part of each row.
struct HeadNorm {
  std::vector<float> gamma;
  double epsilon;

  HeadNorm(const TensorView& from, double its_epsilon) : gamma(to_f32(from)), epsilon(its_epsilon) {}

  void operator()(Matrix& x) const {
    const std::size_t size = gamma.size();
    for (float* values = x.values.data(); values < x.values.data() + x.values.size(); values += size) {
      double squares = 0;
      for (std::size_t i = 0; i < size; ++i) squares += static_cast<double>(values[i]) * values[i];
      const double scale = 1 / std::sqrt(squares / static_cast<double>(size) + epsilon);
      for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(values[i] * scale * gamma[i]);
    }
  }
};

struct AttentionParts {
  Norm norm;
  Linear query, key, value, output;
  HeadNorm query_norm, key_norm;
  std::vector<float> relative_bias;        // [buckets, heads]
  Matrix relative_keys, relative_queries;  // [buckets, heads * head_size] of disentangled attention
  Linear gated_query, gate;

  AttentionParts(const AttentionWeights& w, const EncoderDescription& d)
      : norm(w.norm, d),
        query(w.query),
        key(w.key),
        value(w.value),
        output(w.output),
        query_norm(w.query_norm, d.norm_epsilon),
        key_norm(w.key_norm, d.norm_epsilon),
        relative_bias(to_f32(w.relative_bias)),
        gated_query(w.gated_query),
        gate(w.gate) {}
};

struct FeedForwardParts {
  Norm norm;
  Linear in, gate, out;

  FeedForwardParts(const FeedForwardWeights& w, const EncoderDescription& d)
      : norm(w.norm, d), in(w.in), gate(w.gate), out(w.out) {}

  Matrix operator()(const Matrix& x, const FeedForward& form) const {
    Matrix wide = in(x);
    activate(wide, form.activation);
    if (form.gated) {
      const Matrix factor = gate(x);
      std::transform(wide.values.begin(), wide.values.end(), factor.values.begin(), wide.values.begin(),
                     std::multiplies<>());
    }
    return out(wide);
  }
};

struct LayerParts {
  std::vector<AttentionParts> attentions;
  FeedForwardParts feed_forward;

  LayerParts(const LayerWeights& w, const EncoderDescription& d) : feed_forward(w.feed_forward, d) {
    for (const AttentionWeights& attention : w.attentions) attentions.emplace_back(attention, d);
  }
};

struct ExchangeParts {
  EncoderDescription description;  // the exchange's layer as an encoder of pivots
  LayerParts layer;
  Linear combine;

  ExchangeParts(const ExchangeWeights& w, const Exchange& form, const EncoderDescription& d)
      : description(d), layer(w.layer, d), combine(w.combine) {
    description.stacks = {{form.groups, {form.layer}}};
  }
};

struct ConvolutionParts {
  Convolution form;
  std::vector<float> weight, bias;  // [out, in, size]
  Norm norm;

  ConvolutionParts(const StackWeights& w, const Convolution& convolution, const EncoderDescription& d)
      : form(convolution),
        weight(w.convolution.weight.to_f32()),
        bias(w.convolution.bias_to_f32()),
        norm(w.convolution_norm, d) {}

  /// What is added to row `at` of some consecutive tokens.
  std::vector<float> operator()(const Matrix& tokens, std::size_t at) const {
    const auto size = static_cast<std::size_t>(form.size), half = size / 2;
    std::vector<float> result = bias;
    for (std::size_t out = 0; out < result.size(); ++out) {
      double sum = bias[out];
      for (std::size_t k = 0; k < size; ++k) {
        if (at + k < half || at + k - half >= tokens.rows) continue;
        const float* const token = tokens[at + k - half];
        for (std::size_t in = 0; in < tokens.columns; ++in) {
          sum += static_cast<double>(token[in]) * weight[(out * tokens.columns + in) * size + k];
        }
      }
      result[out] = relucent::activate(static_cast<float>(sum), form.activation);
    }
    return result;
  }
};

struct StackParts {
  std::vector<LayerParts> layers;
  Norm final_norm;
  std::vector<ExchangeParts> exchanges;
  std::optional<ConvolutionParts> convolution;

  StackParts(const StackWeights& w, const Stack& form, const EncoderDescription& d) : final_norm(w.final_norm, d) {
    for (const LayerWeights& layer : w.layers) layers.emplace_back(layer, d);
    for (std::size_t i = 0; i < w.exchanges.size(); ++i) exchanges.emplace_back(w.exchanges[i], form.exchanges[i], d);
    if (form.convolution) convolution.emplace(w, *form.convolution, d);
  }
};

/// What pools a group's pivots.
struct PoolingParts {
  EncoderDescription description;  // the layers as an encoder of pivots
  std::vector<float> vector, positions;
  Linear query, key, value, output;
  std::vector<LayerParts> layers;

  PoolingParts(const PoolingWeights& w, const EncoderDescription& d)
      : description(d),
        vector(to_f32(w.vector)),
        positions(to_f32(w.positions)),
        query(w.query),
        key(w.key),
        value(w.value),
        output(w.output) {
    for (const LayerWeights& layer : w.layers) layers.emplace_back(layer, d);
    description.stacks = {Stack{.groups = {0}, .layers = d.head.pivots->layers}};
    for (Layer& layer : description.stacks.front().layers) layer.attentions.front().views = {{{View::Kind::all}}};
  }
};

struct HeadStepParts {
  HeadStep form;
  Linear dense, residual;
  Norm norm;

  HeadStepParts(const HeadStepWeights& w, const HeadStep& step, const EncoderDescription& d)
      : form(step), dense(w.dense), residual(w.residual), norm(w.norm, d.norm_kind, d.epsilon_of(step)) {}

  Matrix operator()(const Matrix& x) const {
    Matrix y = form.size > 0 ? dense(x) : x;
    activate(y, form.activation);
    switch (form.residual) {
      case HeadStep::Residual::none: break;
      case HeadStep::Residual::input: add(y, x); break;
      case HeadStep::Residual::projected: add(y, residual(x)); break;
    }
    if (form.norm) norm(y);
    return y;
  }
};

inline double dot(const float* a, const float* b, std::size_t size) {
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace relucent::ref
