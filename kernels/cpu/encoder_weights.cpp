#include <algorithm>
#include <utility>

#include "kernels/cpu/encoder.h"

namespace relucent::cpu {
namespace {

// The softmax magnifies the rounding errors of queries and keys. Over few inputs they hardly average out (logits of
// encoders with 64 features move by up to 0.06, with 384 features by 0.02), and such small products gain nothing from
// fewer bits.
Arithmetic projection_arithmetic(Arithmetic arithmetic, std::int32_t hidden_size) {
  return hidden_size < 128 ? Arithmetic::fp32 : arithmetic;
}

std::vector<float> rows_of(const std::vector<float>& matrix, std::size_t columns, std::size_t first,
                           std::size_t count) {
  const auto begin = matrix.begin() + static_cast<std::ptrdiff_t>(first * columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(count * columns)};
}

std::vector<float> transposed(const std::vector<float>& matrix, std::size_t columns) {
  const std::size_t rows = matrix.size() / columns;
  std::vector<float> result(matrix.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  }
  return result;
}

void append_rows(std::vector<float>& all, const std::vector<float>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// In eight bits a token's intermediate features have a scale for so many of them each, which fits them better than one
// scale for all. The same on every level, so that all give the same bits.
constexpr std::size_t kInt8Part = 384;

// How many inputs the feed-forward network's second product takes at a time.
std::size_t part_of(Arithmetic arithmetic, const VectorKernels& kernels, std::size_t inputs) {
  std::size_t most = 0;
  if (arithmetic == Arithmetic::int8) most = kInt8Part;
  if (arithmetic == Arithmetic::bf16) most = kernels.bf16_inputs;
  return most == 0 ? inputs : std::min(most, inputs);
}

// A linear map in parts of its inputs; the first part has the bias.
std::vector<PackedLinear> pack_parts(Arithmetic arithmetic, const VectorKernels& kernels,
                                     const std::vector<float>& weight, const std::vector<float>& bias,
                                     std::size_t inputs) {
  const std::size_t outputs = weight.size() / inputs, most = part_of(arithmetic, kernels, inputs);
  std::vector<PackedLinear> parts;
  for (std::size_t first = 0; first < inputs; first += most) {
    const std::size_t count = std::min(most, inputs - first);
    std::vector<float> part;
    for (std::size_t out = 0; out < outputs; ++out) append_rows(part, rows_of(weight, 1, out * inputs + first, count));
    parts.emplace_back(arithmetic, kernels.layout, part, first == 0 ? bias : std::vector<float>{}, count);
  }
  return parts;
}

// Each head's query, key and value rows, one head after the other, each padded to whole blocks.
PackedLinear pack_heads(Arithmetic arithmetic, WeightLayout layout, const AttentionWeights& from, std::size_t heads,
                        std::size_t head_size, std::size_t hidden) {
  const std::size_t filled = padded(3 * head_size);
  const LinearWeights* parts[] = {&from.query, &from.key, &from.value};
  std::vector<float> weights[3], biases[3], weight, bias;
  for (std::size_t part = 0; part < 3; ++part) {
    weights[part] = parts[part]->weight.to_f32();
    biases[part] = parts[part]->bias_to_f32();
  }
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t part = 0; part < 3; ++part) {
      append_rows(weight, rows_of(weights[part], hidden, head * head_size, head_size));
      append_rows(bias, rows_of(biases[part], 1, head * head_size, head_size));
    }
    weight.resize((head + 1) * filled * hidden);
    bias.resize((head + 1) * filled);
  }
  return {arithmetic, layout, weight, std::move(bias), hidden};
}

// A table's rows; without the table one row of zeros.
std::vector<float> table(bool present, const TensorView& from, std::size_t size) {
  return present ? from.to_f32() : std::vector<float>(size);
}

}  // namespace

Encoder::Encoder(const EncoderDescription& description, const EncoderWeights& weights, Arithmetic arithmetic,
                 const VectorKernels& kernels)
    : description_(description),
      form_(description),
      kernels_(kernels),
      arithmetic_(arithmetic),
      projection_arithmetic_(projection_arithmetic(arithmetic, description.hidden_size)),
      norms_before_(description.stacks.front().layers.front().feed_forward.norm == NormPlacement::before),
      last_is_short_(form_.last_is_short),
      scale_(static_cast<float>(description.stacks.front().layers.front().attentions.front().scale)),
      hidden_(static_cast<std::size_t>(description.hidden_size)),
      head_size_(form_.head_size),
      heads_(form_.heads),
      head_features_(padded(3 * head_size_)),
      width_(heads_ * head_size_),
      embedding_(static_cast<std::size_t>(description.embedding_size)),
      word_(weights.word_embeddings.to_f32()),
      position_(table(description.max_positions > 0, weights.position_embeddings, embedding_)),
      token_type_(table(description.token_types > 0, weights.token_type_embeddings, embedding_)),
      head_output_(description.head.dot_with ? std::vector<float>() : weights.head_output.weight.to_f32()),
      head_bias_(description.head.dot_with ? std::vector<float>() : weights.head_output.bias_to_f32()) {
  const auto norm = [](const NormWeights& from) {
    return from.gamma.data == nullptr ? NormParameters() : NormParameters{from.gamma.to_f32(), from.beta_to_f32(), {}};
  };
  const auto linear = [&](Arithmetic how, const LinearWeights& from, bool biased = true) {
    std::vector<float> bias = from.bias_to_f32();
    const std::vector<float> weight = from.weight.to_f32();
    const std::size_t inputs = weight.size() / bias.size();
    return PackedLinear(how, kernels.layout, weight, biased ? std::move(bias) : std::vector<float>{}, inputs);
  };
  if (description.embedding_norm) embedding_norm_ = norm(weights.embedding_norm);
  if (embedding_ != hidden_) embedding_projection_ = linear(Arithmetic::fp32, weights.embedding_projection);
  if (description.head.dense && weights.head_pooling.empty())
    head_dense_ = linear(Arithmetic::fp32, weights.head_dense);
  if (description.head.norm) head_norm_ = norm(weights.head_norm);
  const std::size_t wide = PairForm(description).intermediate_size;
  const auto parts = [&](Arithmetic how, const LinearWeights& from, const std::vector<float>& bias) {
    return pack_parts(how, kernels, from.weight.to_f32(), bias, wide);
  };
  // After a layer's last attention.
  const auto after_heads = [&](Arithmetic how, const LayerWeights& from, const FeedForward& form, bool adds = true) {
    const AttentionWeights& attention = from.attentions.back();
    const FeedForwardWeights& feed_forward = from.feed_forward;
    // Tiles add to a block's input what they sum of products of bf16; the bias is left to the norm behind.
    const bool bias_in_norm = adds && kernels.layout == WeightLayout::tiles && how == Arithmetic::bf16;
    const std::vector<float> none;
    AfterHeads result{linear(how, attention.output, !bias_in_norm),
                      linear(how, feed_forward.in),
                      form.gated ? linear(how, feed_forward.gate) : PackedLinear(),
                      parts(how, feed_forward.out, bias_in_norm ? none : feed_forward.out.bias_to_f32()),
                      form.activation,
                      norm(attention.norm),
                      norm(feed_forward.norm)};
    if (bias_in_norm) {
      result.attention_norm.bias = attention.output.bias_to_f32();
      result.output_norm.bias = feed_forward.out.bias_to_f32();
    }
    return result;
  };
  const std::vector<LayerWeights>& of_layers = weights.stacks.front().layers;
  const std::vector<relucent::Layer>& forms = description.stacks.front().layers;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const relucent::Attention& attention = forms[i].attentions.front();
    layers_.push_back({pack_heads(projection_arithmetic_, kernels.layout, of_layers[i].attentions.front(), heads_,
                                  head_size_, hidden_),
                       after_heads(arithmetic, of_layers[i], forms[i].feed_forward), attention.views, std::nullopt,
                       std::nullopt});
    const auto index_of = [](auto& known, auto value) {
      const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), value) - known.begin());
      if (at == known.size()) known.push_back(std::move(value));
      return at;
    };
    switch (attention.positions.kind) {
      case PositionScheme::Kind::none: break;
      case PositionScheme::Kind::rotary: layers_.back().rotation = index_of(thetas_, attention.positions.theta); break;
      case PositionScheme::Kind::relative_buckets:
        relative_ = attention.positions;
        layers_.back().biases = index_of(relative_biases_, of_layers[i].attentions.front().relative_bias.to_f32());
        break;
    }
  }
  const std::vector<Exchange>& exchanges = description.stacks.front().exchanges;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    const ExchangeWeights& from = weights.stacks.front().exchanges[i];
    const AttentionWeights& attention = from.layer.attentions.front();
    ExchangeLayer& to = exchanges_.emplace_back();
    to.layer = {pack_heads(projection_arithmetic_, kernels.layout, attention, heads_, head_size_, hidden_),
                after_heads(arithmetic, from.layer, exchanges[i].layer.feed_forward), Views(), std::nullopt,
                std::nullopt};
    // It makes the next block's input: 8 bits would lose more accuracy than they save time.
    const Arithmetic how = arithmetic == Arithmetic::int8 ? Arithmetic::fp32 : projection_arithmetic_;
    if (exchanges[i].combines) to.combine = linear(how, from.combine);
  }
  if (has_exchanges()) pack_head(weights);
  // Makes the norm after a block's sub-block the one before the next sub-block.
  const auto shift_norms = [&](AfterHeads& after, const LayerWeights& from, NormParameters& next,
                               const NormWeights& next_norm) {
    std::vector<float> bias = std::move(after.attention_norm.bias);
    after.attention_norm = norm(from.feed_forward.norm);
    after.attention_norm.bias = std::move(bias);
    bias = std::move(after.output_norm.bias);
    after.output_norm = {};
    next = norm(next_norm);
    next.bias = std::move(bias);
  };
  if (norms_before_) {
    if (forms.front().attentions.front().norm != NormPlacement::none) {
      first_norm_ = norm(of_layers.front().attentions.front().norm);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const bool last = i + 1 == layers_.size();
      AfterHeads& after = layers_[i].after;
      NormParameters next;
      shift_norms(after, of_layers[i], next,
                  last ? weights.stacks.front().final_norm : of_layers[i + 1].attentions.front().norm);
      (last ? final_norm_ : after.output_norm) = std::move(next);
    }
  }
  // What computes one token per candidate reaches the logit directly: 8 bits, or 16 in narrow encoders, would lose more
  // accuracy than they save time.
  const Arithmetic last = arithmetic == Arithmetic::int8 ? Arithmetic::fp32 : projection_arithmetic_;
  const auto one_token_heads = [&](const AttentionWeights& from) {
    OneTokenHeads heads;
    heads.query = linear(last, from.query);
    const std::vector<float> key = from.key.weight.to_f32(), value = from.value.weight.to_f32();
    const std::vector<float> value_bias = from.value.bias_to_f32();
    for (std::size_t head = 0; head < heads_; ++head) {
      const std::size_t first = head * head_size_;
      // The key bias adds the same to every score and cancels in the softmax.
      heads.key.emplace_back(last, kernels.layout, transposed(rows_of(key, hidden_, first, head_size_), hidden_),
                             std::vector<float>{}, head_size_);
      heads.value.emplace_back(last, kernels.layout, rows_of(value, hidden_, first, head_size_),
                               rows_of(value_bias, 1, first, head_size_), hidden_);
    }
    return heads;
  };
  if (last_is_short_) {
    if (last != arithmetic) after_last_heads_ = after_heads(last, of_layers.back(), forms.back().feed_forward);
    last_ = one_token_heads(of_layers.back().attentions.front());
  }
  if (relucent::has_interaction(description)) {
    const Derivation& derived = *description.groups[kContext].derived;
    context_tokens_ = static_cast<std::size_t>(derived.tokens);
    if (derived.kind == Derivation::Kind::codes) codes_ = transposed(weights.codes.to_f32(), hidden_);
    for (std::size_t i = 0; i < description.stacks.back().layers.size(); ++i) {
      const relucent::Layer& form = description.stacks.back().layers[i];
      const LayerWeights& from = weights.stacks.back().layers[i];
      const AttentionWeights& attention = from.attentions.front();
      const auto pack_gate = [&] {
        const std::vector<float> gate = transposed(attention.gate.weight.to_f32(), 3 * hidden_);  // [3 hidden, hidden]
        const auto part = [&](std::size_t which, std::vector<float> bias) {
          return PackedLinear(last, kernels.layout,
                              transposed(rows_of(gate, hidden_, which * hidden_, hidden_), hidden_), std::move(bias),
                              hidden_);
        };
        return std::make_shared<const std::array<PackedLinear, 3>>(
            std::array<PackedLinear, 3>{part(0, attention.gate.bias_to_f32()), part(1, {}), part(2, {})});
      };
      const auto is_of_layer_before = [&] {
        return i > 0 &&
               weights.stacks.back().layers[i - 1].attentions.front().gate.weight.data == attention.gate.weight.data;
      };
      // The attention's result passes the gate, and is not added to the block's input.
      interaction_.push_back({static_cast<std::size_t>(*form.attentions.front().keys_of_layer),
                              pack_heads(last, kernels.layout, attention, heads_, head_size_, hidden_),
                              linear(last, attention.gated_query),
                              is_of_layer_before() ? interaction_.back().gate : pack_gate(),
                              form.attentions.front().gated->hint, after_heads(last, from, form.feed_forward, false)});
    }
    return;
  }
  if (description.stacks.size() == 1) return;
  const std::vector<LayerWeights>& of_decoder = weights.stacks.back().layers;
  NormParameters next = norm(of_decoder.front().attentions.front().norm);
  for (std::size_t i = 0; i < of_decoder.size(); ++i) {
    const LayerWeights& from = of_decoder[i];
    const relucent::Layer& form = description.stacks.back().layers[i];
    const AttentionWeights &own = from.attentions.front(), &cross = from.attentions.back();
    const std::vector<View>& views = form.attentions.back().views[kCls];
    DecoderLayer& layer = decoder_.emplace_back(
        DecoderLayer{std::move(next), linear(last, own.value), linear(last, own.output), norm(cross.norm),
                     one_token_heads(cross), after_heads(last, from, form.feed_forward),
                     views[kQuery].kind != View::Kind::none, views[kDocument].kind != View::Kind::none});
    shift_norms(
        layer.after, from, next,
        i + 1 == of_decoder.size() ? weights.stacks.back().final_norm : of_decoder[i + 1].attentions.front().norm);
  }
  decoder_norm_ = std::move(next);
}

}  // namespace relucent::cpu
