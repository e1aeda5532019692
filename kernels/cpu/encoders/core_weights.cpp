#include <utility>

#include "kernels/cpu/encoders/core.h"
#include "kernels/relative_positions.h"

namespace relucent::cpu {
namespace {

// The softmax magnifies the rounding errors of queries and keys. Over few inputs they hardly average out (logits of
// encoders with 64 features move by up to 0.06, with 384 features by 0.02), and such small products gain nothing from
// fewer bits.
Arithmetic arithmetic_of_projections(Arithmetic arithmetic, std::int32_t hidden_size) {
  return hidden_size < 128 ? Arithmetic::fp32 : arithmetic;
}

std::vector<float> rows_of(const std::vector<float>& matrix, std::size_t columns, std::size_t first,
                           std::size_t count) {
  const auto begin = matrix.begin() + static_cast<std::ptrdiff_t>(first * columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(count * columns)};
}

void append_rows(std::vector<float>& all, const std::vector<float>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// As integers a token's intermediate features have a scale for so many of them each, which fits them better than one
// scale for all. The same on every level, so that all give the same bits.
constexpr std::size_t kScaledPart = 384;

// How many inputs the feed-forward network's second product takes at a time.
std::size_t part_of(Arithmetic arithmetic, const VectorKernels& kernels, std::size_t inputs) {
  std::size_t most = 0;
  if (is_scaled(arithmetic)) most = kScaledPart;
  if (arithmetic == Arithmetic::bf16) most = kernels.bf16_inputs;
  return most == 0 ? inputs : std::min(most, inputs);
}

// A linear map in parts of its inputs; the first part has the bias.
std::vector<PackedLinear> pack_parts(Arithmetic arithmetic, const VectorKernels& kernels, const LinearWeights& from,
                                     bool biased) {
  const std::vector<float> weight = from.weight.to_f32();
  const auto outputs = static_cast<std::size_t>(from.weight.shape.front());
  const std::size_t inputs = weight.size() / outputs, most = part_of(arithmetic, kernels, inputs);
  std::vector<float> bias = biased ? from.bias_to_f32() : std::vector<float>();
  std::vector<PackedLinear> parts;
  for (std::size_t first = 0; first < inputs; first += most) {
    const std::size_t count = std::min(most, inputs - first);
    std::vector<float> part;
    for (std::size_t out = 0; out < outputs; ++out) append_rows(part, rows_of(weight, 1, out * inputs + first, count));
    parts.emplace_back(arithmetic, kernels.layout, part, std::exchange(bias, {}), count);
  }
  return parts;
}

// A table's rows; without the table one row of zeros.
std::vector<float> table(bool present, const TensorView& from, std::size_t size) {
  return present ? from.to_f32() : std::vector<float>(size);
}

}  // namespace

std::vector<float> transposed(const std::vector<float>& matrix, std::size_t columns) {
  const std::size_t rows = matrix.size() / columns;
  std::vector<float> result(matrix.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  }
  return result;
}

Core::NormParameters Core::norm_from(const NormWeights& from) {
  return from.gamma.data == nullptr ? NormParameters() : NormParameters{from.gamma.to_f32(), from.beta_to_f32(), {}};
}

PackedLinear Core::pack(Arithmetic arithmetic, const LinearWeights& from, bool biased) const {
  std::vector<float> bias = from.bias_to_f32();
  const std::vector<float> weight = from.weight.to_f32();
  const std::size_t inputs = weight.size() / bias.size();
  return {arithmetic, kernels_.layout, weight, biased ? std::move(bias) : std::vector<float>{}, inputs};
}

PackedLinear Core::pack_heads(Arithmetic arithmetic, const AttentionWeights& from) const {
  const LinearWeights* parts[] = {&from.query, &from.key, &from.value};
  std::vector<float> weights[3], biases[3], weight, bias;
  for (std::size_t part = 0; part < 3; ++part) {
    weights[part] = parts[part]->weight.to_f32();
    biases[part] = parts[part]->bias_to_f32();
  }
  for (std::size_t head = 0; head < heads_ / sharing_; ++head) {
    for (std::size_t part = 0; part < 3; ++part) {
      const std::size_t rows = (part == 0 ? sharing_ : 1) * head_size_;
      append_rows(weight, rows_of(weights[part], hidden_, head * rows, rows));
      append_rows(bias, rows_of(biases[part], 1, head * rows, rows));
    }
    weight.resize((head + 1) * head_features_ * hidden_);
    bias.resize((head + 1) * head_features_);
  }
  return {arithmetic, kernels_.layout, weight, std::move(bias), hidden_};
}

std::vector<PackedLinear> Core::pack_by_head(const LinearWeights& from, bool transposes) const {
  const std::vector<float> weight = from.weight.to_f32(), bias = from.bias_to_f32();
  std::vector<PackedLinear> heads;
  for (std::size_t head = 0; head < heads_; ++head) {
    const std::vector<float> rows = rows_of(weight, hidden_, head * head_size_, head_size_);
    heads.push_back(transposes
                        ? PackedLinear(direct_arithmetic_, kernels_.layout, transposed(rows, hidden_), {}, head_size_)
                        : PackedLinear(direct_arithmetic_, kernels_.layout, rows,
                                       rows_of(bias, 1, head * head_size_, head_size_), hidden_));
  }
  return heads;
}

Core::AfterHeads Core::pack_after_heads(Arithmetic arithmetic, const LayerWeights& from, const FeedForward& form,
                                        bool adds) const {
  const AttentionWeights& attention = from.attentions.back();
  const FeedForwardWeights& feed_forward = from.feed_forward;
  // Tiles add to a block's input what they sum of products of bf16; the bias is left to the norm behind.
  const bool bias_in_norm = adds && kernels_.layout == WeightLayout::tiles && arithmetic == Arithmetic::bf16;
  AfterHeads result{pack(arithmetic, attention.output, !bias_in_norm),
                    pack(arithmetic, feed_forward.in),
                    form.gated ? pack(arithmetic, feed_forward.gate) : PackedLinear(),
                    pack_parts(arithmetic, kernels_, feed_forward.out, !bias_in_norm),
                    form.activation,
                    norm_from(attention.norm),
                    norm_from(feed_forward.norm)};
  if (bias_in_norm) {
    result.attention_norm.bias = attention.output.bias_to_f32();
    result.output_norm.bias = feed_forward.out.bias_to_f32();
  }
  return result;
}

Core::NormParameters Core::shift_norms(AfterHeads& after, const LayerWeights& from, const NormWeights& next_norm) {
  NormParameters own = norm_from(from.feed_forward.norm), next = norm_from(next_norm);
  own.bias = std::move(after.attention_norm.bias);
  next.bias = std::move(after.output_norm.bias);
  after.attention_norm = std::move(own);
  after.output_norm = {};
  return next;
}

RelativePositions Core::project_positions(const PositionScheme& scheme, const AttentionWeights& from,
                                          const std::vector<float>& states) const {
  const std::size_t count = states.size() / hidden_, vectors = whole_vectors(count);
  const std::size_t room = panels(vectors) * kernels_.panel;
  Buffer<float> x, projected, units, token_scales;
  std::fill_n(x.grow(room * padded(hidden_)), room * padded(hidden_), 0.0F);
  for (std::size_t i = 0; i < count; ++i) put_token(states.data() + i * hidden_, x.data(), hidden_, i);
  const OperandOut packed = operand(Arithmetic::fp32, hidden_, vectors, units, token_scales);
  kernels_.pack(x.data(), hidden_, vectors, packed);
  projected.grow(room * padded(width_));
  const auto project = [&](bool wanted, const LinearWeights& linear) {
    std::vector<float> rows(wanted ? width_ * count : 0);
    if (!wanted) return rows;
    multiply(pack(Arithmetic::fp32, linear), packed, vectors, Product::Output::store, projected.data(), width_);
    copy_tokens(projected.data(), width_, 0, count, rows.data(), count);
    return rows;
  };
  RelativePositions result{scheme,
                           project(scheme.content_to_position, from.relative_key),
                           project(scheme.position_to_content, from.relative_query),
                           {}};
  const std::int32_t reach = std::max(scheme.max_distance, scheme.buckets / 2);
  for (std::int32_t distance = -reach; distance <= reach; ++distance) {
    result.rows.push_back(relative_row(distance, scheme));
  }
  return result;
}

Core::ConvolutionWeights Core::pack_convolution(const Convolution& form, const StackWeights& from) const {
  const std::vector<float> weight = from.convolution.weight.to_f32();
  const auto taps = static_cast<std::size_t>(form.size);
  ConvolutionWeights result{{}, form.activation, norm_from(from.convolution_norm)};
  for (std::size_t tap = 0; tap < taps; ++tap) {
    std::vector<float> of_tap(hidden_ * hidden_);
    for (std::size_t i = 0; i < of_tap.size(); ++i) of_tap[i] = weight[i * taps + tap];
    result.taps.emplace_back(Arithmetic::fp32, kernels_.layout, of_tap,
                             tap == 0 ? from.convolution.bias_to_f32() : std::vector<float>(), hidden_);
  }
  return result;
}

Core::Core(const EncoderSource& source)
    : Panels(source.kernels),
      description_(source.description),
      form_(source.description),
      arithmetic_(source.arithmetic),
      projection_arithmetic_(arithmetic_of_projections(source.arithmetic, source.description.hidden_size)),
      direct_arithmetic_(arithmetic_ == Arithmetic::int8 ? Arithmetic::fp32 : projection_arithmetic_),
      norms_before_(source.description.stacks.front().layers.front().feed_forward.norm == NormPlacement::before),
      scale_(static_cast<float>(source.description.stacks.front().layers.front().attentions.front().scale)),
      hidden_(static_cast<std::size_t>(source.description.hidden_size)),
      head_size_(form_.head_size),
      heads_(form_.heads),
      sharing_(form_.sharing),
      head_features_(padded((sharing_ + 2) * head_size_)),
      width_(heads_ * head_size_),
      embedding_(static_cast<std::size_t>(source.description.embedding_size)),
      word_(source.weights.word_embeddings.to_f32()),
      position_(table(source.description.max_positions > 0, source.weights.position_embeddings, embedding_)),
      token_type_(table(source.description.token_types > 0, source.weights.token_type_embeddings, embedding_)) {
  if (source.description.embedding_norm) embedding_norm_ = norm_from(source.weights.embedding_norm);
  if (embedding_ != hidden_) embedding_projection_ = pack(Arithmetic::fp32, source.weights.embedding_projection);
  const std::vector<LayerWeights>& of_layers = source.weights.stacks.front().layers;
  const std::vector<relucent::Layer>& forms = source.description.stacks.front().layers;
  std::vector<float> positions;  // of disentangled attention, [buckets][hidden]
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const relucent::Attention& attention = forms[i].attentions.front();
    layers_.push_back({pack_heads(projection_arithmetic_, of_layers[i].attentions.front()),
                       pack_after_heads(arithmetic_, of_layers[i], forms[i].feed_forward), attention.views});
    if (attention.norms_heads) {
      layers_.back().query_norm = of_layers[i].attentions.front().query_norm.to_f32();
      layers_.back().key_norm = of_layers[i].attentions.front().key_norm.to_f32();
    }
    const auto index_of = [](auto& known, auto value) {
      const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), value) - known.begin());
      if (at == known.size()) known.push_back(std::move(value));
      return at;
    };
    switch (attention.positions.kind) {
      case PositionScheme::Kind::none: break;
      case PositionScheme::Kind::rotary: layers_.back().rotation = index_of(rotary_, attention.positions); break;
      case PositionScheme::Kind::relative_buckets:
        relative_ = attention.positions;
        layers_.back().biases = index_of(relative_biases_, of_layers[i].attentions.front().relative_bias.to_f32());
        break;
      case PositionScheme::Kind::disentangled:
        if (positions.empty()) positions = relative_states(source.description, source.weights);
        layers_.back().relative = project_positions(attention.positions, of_layers[i].attentions.front(), positions);
        break;
    }
  }
  if (kind_of(source.description) == EncoderKind::causal) later_tokens_ = hidden_later_tokens();
  if (const auto& convolution = source.description.stacks.front().convolution) {
    convolution_ = pack_convolution(*convolution, source.weights.stacks.front());
  }
  if (!norms_before_) return;
  if (forms.front().attentions.front().norm != NormPlacement::none) {
    first_norm_ = norm_from(of_layers.front().attentions.front().norm);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const bool last = i + 1 == layers_.size();
    AfterHeads& after = layers_[i].after;
    NormParameters next =
        shift_norms(after, of_layers[i],
                    last ? source.weights.stacks.front().final_norm : of_layers[i + 1].attentions.front().norm);
    (last ? final_norm_ : after.output_norm) = std::move(next);
  }
}

}  // namespace relucent::cpu
