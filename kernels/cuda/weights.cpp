#include "kernels/cuda/weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "kernels/folded_head.h"
#include "kernels/pair_form.h"
#include "kernels/relative_positions.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

/// Appends tensors to the packed bytes.
class Packer {
 public:
  Packer(std::vector<std::byte>& bytes, Element element) : bytes_(bytes), element_(element) {}

  std::size_t floats(const std::vector<float>& values) {
    const std::size_t at = reserve(values.size() * sizeof(float));
    std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(float));
    return at;
  }

  std::size_t integers(const std::vector<std::int32_t>& values) {
    const std::size_t at = reserve(values.size() * sizeof(std::int32_t));
    std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(std::int32_t));
    return at;
  }

  std::size_t elements(const std::vector<float>& values, const std::string& name) {
    const std::size_t at = reserve(values.size() * size_of(element_));
    with_element(element_, [&]<typename T>(T) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        check_range(values[i], name);
        const T element = from_float<T>(values[i]);
        std::memcpy(bytes_.data() + at + i * sizeof(T), &element, sizeof(T));
      }
    });
    return at;
  }

  PackedNorm norm(const NormWeights& norm) { return {floats(norm.gamma.to_f32()), floats(norm.beta_to_f32())}; }

  PackedLinear linear(const LinearWeights& linear, const std::string& name) {
    return {elements(linear.weight.to_f32(), name + " weight"), elements(linear.bias_to_f32(), name + " bias")};
  }

 private:
  std::size_t reserve(std::size_t size) {
    const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(at + size);
    return at;
  }

  void check_range(float value, const std::string& name) const {
    constexpr float most = 65504;
    if (element_ == Element::f16 && std::isfinite(value) && std::abs(value) > most) {
      throw Error(ErrorKind::unsupported, name, fmt::format("has the value {:f}, beyond the range of fp16", value),
                  "use precision = \"bf16\"");
    }
  }

  std::vector<std::byte>& bytes_;
  Element element_;
};

/// [positions, 2, head size / 2]: the cosines and sines of RoPE's angles.
std::vector<float> turns_of(const PositionScheme& scheme, std::int32_t head_size, std::int32_t positions) {
  std::vector<float> turns;
  turns.reserve(static_cast<std::size_t>(positions) * static_cast<std::size_t>(head_size));
  std::vector<double> speeds;
  const auto size = static_cast<std::size_t>(head_size);
  for (std::size_t i = 0; i < size / 2; ++i) speeds.push_back(turn_of(scheme, i, size));
  for (std::int32_t position = 0; position < positions; ++position) {
    for (const double speed : speeds) turns.push_back(static_cast<float>(std::cos(position * speed)));
    for (const double speed : speeds) turns.push_back(static_cast<float>(std::sin(position * speed)));
  }
  return turns;
}

/// [heads, 2 * reach + 1]: what a distance adds to the products of queries and keys, before they are scaled.
std::vector<float> biases_of(const Attention& attention, const std::vector<float>& by_bucket, std::int32_t reach) {
  std::vector<float> biases;
  for (std::int32_t head = 0; head < attention.heads; ++head) {
    for (std::int32_t distance = -reach; distance <= reach; ++distance) {
      const std::size_t bucket = bucket_of(-distance, attention.positions);
      const float bias = by_bucket[bucket * static_cast<std::size_t>(attention.heads) + static_cast<std::size_t>(head)];
      biases.push_back(static_cast<float>(bias / attention.scale));
    }
  }
  return biases;
}

/// Bias of an attention's output with the values' bias: W_O (sum p v + b_V) + b_O = W_O sum p v + (W_O b_V + b_O).
std::vector<float> bias_with_values(const AttentionWeights& from) {
  const std::vector<float> output = from.output.weight.to_f32(), value_bias = from.value.bias_to_f32();
  std::vector<float> bias = from.output.bias_to_f32();
  const std::size_t width = value_bias.size();
  for (std::size_t row = 0; row < bias.size(); ++row) {
    double sum = bias[row];
    for (std::size_t i = 0; i < width; ++i) sum += static_cast<double>(output[row * width + i]) * value_bias[i];
    bias[row] = static_cast<float>(sum);
  }
  return bias;
}

void append(std::vector<float>& to, const std::vector<float>& more) { to.insert(to.end(), more.begin(), more.end()); }

void pack_head(const EncoderDescription& description, const EncoderWeights& weights, Packer& pack,
               PackedWeights& into) {
  const auto linear = [&](const LinearWeights& from, const char* name) {
    return PackedLinear{pack.elements(from.weight.to_f32(), name), pack.floats(from.bias_to_f32())};
  };
  for (std::size_t i = 0; i < description.head.steps.size(); ++i) {
    const HeadStep& step = description.head.steps[i];
    const HeadStepWeights& from = weights.head_steps[i];
    PackedHeadStep& to = into.head_steps.emplace_back();
    if (step.size > 0) to.dense = linear(from.dense, "pooler weight");
    if (step.residual == HeadStep::Residual::projected) to.residual = linear(from.residual, "pooler residual");
    if (step.norm) to.norm = pack.norm(from.norm);
  }
  if (description.head.per_token || (description.head.dot_with && !description.head.compares)) return;
  std::vector<float> output = weights.head_output.weight.to_f32();
  // A scale before steps is refused.
  for (float& value : output) value = static_cast<float>(value * description.head.scale);
  into.head_output = pack.floats(output);
  into.head_output_bias = pack.floats(weights.head_output.bias_to_f32());
}

}  // namespace

PackedWeights::PackedWeights(const EncoderDescription& description, const EncoderWeights& weights, Element element_type)
    : element(element_type),
      intermediate_size((description.stacks.front().layers.front().feed_forward.size + 15) / 16 * 16) {
  std::vector<std::byte> packed;
  pack_into(packed, description, weights);
  bytes = SharedWeights::of(std::move(packed));
}

void PackedWeights::pack_into(std::vector<std::byte>& to, const EncoderDescription& description,
                              const EncoderWeights& weights) {
  const auto hidden = static_cast<std::size_t>(description.hidden_size);
  const auto given = static_cast<std::size_t>(description.stacks.front().layers.front().feed_forward.size);
  const auto wide = static_cast<std::size_t>(intermediate_size);
  Packer pack(to, element);
  word = pack.elements(weights.word_embeddings.to_f32(), "word embeddings");
  if (description.max_positions > 0) {
    position = pack.elements(weights.position_embeddings.to_f32(), "position embeddings");
  }
  if (description.token_types > 0) {
    type = pack.elements(weights.token_type_embeddings.to_f32(), "token type embeddings");
  }
  if (description.embedding_norm) embedding_norm = pack.norm(weights.embedding_norm);
  if (description.embedding_size != description.hidden_size) {
    embedding_projection = pack.linear(weights.embedding_projection, "embedding projection");
  }

  std::vector<std::pair<PositionScheme, std::size_t>> turns;  // and where they are
  struct Biases {
    const std::byte* table;
    Attention form;
    std::size_t at;
  };
  std::vector<Biases> tables_of_biases;  // layers often share them
  const auto pack_feed_forward = [&](const FeedForward& form, const FeedForwardWeights& from, const std::string& name,
                                     PackedLayer& layer) {
    std::vector<float> weight = from.in.weight.to_f32(), bias = from.in.bias_to_f32();
    weight.resize(wide * hidden), bias.resize(wide);
    if (form.gated) {
      append(weight, from.gate.weight.to_f32());
      append(bias, from.gate.bias_to_f32());
      weight.resize(2 * wide * hidden), bias.resize(2 * wide);
    }
    layer.intermediate = {pack.elements(weight, name + "intermediate weight"),
                          pack.elements(bias, name + "intermediate bias")};
    const std::vector<float> output = from.out.weight.to_f32();
    weight.assign(hidden * wide, 0);
    for (std::size_t row = 0; row < hidden; ++row) {
      std::copy_n(output.begin() + static_cast<std::ptrdiff_t>(row * given), given,
                  weight.begin() + static_cast<std::ptrdiff_t>(row * wide));
    }
    layer.output = {pack.elements(weight, name + "output weight"),
                    pack.elements(from.out.bias_to_f32(), name + "output bias")};
  };
  // A layer with its norms after the sub-blocks.
  const auto pack_layer = [&](const Layer& form, const LayerWeights& of, const std::string& name) {
    const AttentionWeights& from = of.attentions.front();
    const FeedForwardWeights& feed_forward = of.feed_forward;
    PackedLayer layer;
    std::vector<float> weight = from.query.weight.to_f32(), bias = from.query.bias_to_f32();
    append(weight, from.key.weight.to_f32());
    append(weight, from.value.weight.to_f32());
    append(bias, from.key.bias_to_f32());
    append(bias, from.value.bias_to_f32());
    layer.qkv = {pack.elements(weight, name + "query, key or value weight"),
                 pack.elements(bias, name + "query, key or value bias")};
    layer.attention_output = pack.linear(from.output, name + "attention output");
    const Attention& attention = form.attentions.front();
    if (attention.positions.kind == PositionScheme::Kind::rotary) {
      const auto same = std::ranges::find(turns, attention.positions, [](const auto& known) { return known.first; });
      layer.turns = same != turns.end()
                        ? same->second
                        : pack.floats(turns_of(attention.positions, attention.head_size, longest_input(description)));
      if (same == turns.end()) turns.emplace_back(attention.positions, layer.turns);
    }
    if (attention.positions.kind == PositionScheme::Kind::relative_buckets) {
      layer.reach = std::min(attention.positions.max_distance, longest_input(description));
      const auto same = std::ranges::find_if(tables_of_biases, [&](const Biases& known) {
        return known.table == from.relative_bias.data && known.form.positions == attention.positions &&
               known.form.scale == attention.scale;
      });
      layer.biases = same != tables_of_biases.end()
                         ? same->at
                         : pack.floats(biases_of(attention, from.relative_bias.to_f32(), layer.reach));
      if (same == tables_of_biases.end())
        tables_of_biases.push_back({from.relative_bias.data, attention, layer.biases});
    }
    // The map of relative positions is often that of tokens, which is packed already as some rows of qkv.
    const auto relative = [&](bool wanted, const LinearWeights& map, const LinearWeights& like, std::size_t first_row) {
      if (!wanted) return PackedLinear();
      if (map.weight.data != like.weight.data) return pack.linear(map, name + "relative position");
      const std::size_t size = size_of(element);
      return PackedLinear{layer.qkv.weight + first_row * hidden * size, layer.qkv.bias + first_row * size};
    };
    layer.relative_key = relative(attention.positions.content_to_position, from.relative_key, from.key, hidden);
    layer.relative_query = relative(attention.positions.position_to_content, from.relative_query, from.query, 0);

    pack_feed_forward(form.feed_forward, feed_forward, name, layer);
    if (form.feed_forward.norm == NormPlacement::after) {
      layer.attention_norm = pack.norm(from.norm);
      layer.output_norm = pack.norm(feed_forward.norm);
    }
    return layer;
  };
  const std::vector<LayerWeights>& all = weights.stacks.front().layers;
  const std::vector<Layer>& forms = description.stacks.front().layers;
  if (forms.front().attentions.front().norm == NormPlacement::before) {
    first_norm = pack.norm(all.front().attentions.front().norm);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    PackedLayer& layer = layers.emplace_back(pack_layer(forms[i], all[i], fmt::format("layer {} ", i)));
    if (forms[i].feed_forward.norm != NormPlacement::before) continue;
    layer.attention_norm = pack.norm(all[i].feed_forward.norm);
    layer.output_norm =
        pack.norm(i + 1 < all.size() ? all[i + 1].attentions.front().norm : weights.stacks.front().final_norm);
  }
  for (const Layer& layer : forms) {
    const PositionScheme& scheme = layer.attentions.front().positions;
    if (scheme.kind != PositionScheme::Kind::disentangled) continue;
    relative_states = pack.elements(relucent::relative_states(description, weights), "relative position");
    relative_buckets = scheme.buckets;
    relative_reach = std::max(scheme.max_distance, scheme.buckets / 2);
    std::vector<std::int32_t> rows;
    for (std::int32_t distance = -relative_reach; distance <= relative_reach; ++distance) {
      rows.push_back(static_cast<std::int32_t>(relative_row(distance, scheme)));
    }
    relative_rows = pack.integers(rows);
    break;
  }
  if (const auto& form = description.stacks.front().convolution) {
    const StackWeights& from = weights.stacks.front();
    const std::vector<float> by_token = from.convolution.weight.to_f32();
    const auto taps = static_cast<std::size_t>(form->size);
    std::vector<float> weight(by_token.size());
    for (std::size_t out = 0; out < hidden; ++out) {
      for (std::size_t in = 0; in < hidden; ++in) {
        for (std::size_t tap = 0; tap < taps; ++tap) {
          weight[(out * taps + tap) * hidden + in] = by_token[(out * hidden + in) * taps + tap];
        }
      }
    }
    convolution = {pack.elements(weight, "convolution weight"),
                   pack.elements(from.convolution.bias_to_f32(), "convolution bias")};
    convolution_norm = pack.norm(from.convolution_norm);
  }
  const std::vector<relucent::Exchange>& exchange_forms = description.stacks.front().exchanges;
  for (std::size_t i = 0; i < exchange_forms.size(); ++i) {
    const std::string name = fmt::format("exchange {} ", i);
    const ExchangeWeights& from = weights.stacks.front().exchanges[i];
    PackedExchange& exchange =
        exchanges.emplace_back(PackedExchange{pack_layer(exchange_forms[i].layer, from.layer, name), PackedLinear()});
    if (exchange_forms[i].combines) exchange.combine = pack.linear(from.combine, name + "combine");
  }
  if (description.head.pivots) {
    const FoldedHead head = fold_head(description, weights);
    std::vector<float> vectors, biases;
    for (const FoldedPooling& group : head.groups) {
      for (std::size_t i = 0; i < group.weighing.size(); i += hidden) {
        for (const std::vector<float>* from : {&group.weighing, &group.values}) {
          const auto first = from->begin() + static_cast<std::ptrdiff_t>(i);
          vectors.insert(vectors.end(), first, first + static_cast<std::ptrdiff_t>(hidden));
        }
      }
      biases.push_back(static_cast<float>(group.bias));
    }
    biases.push_back(static_cast<float>(head.bias));
    pooling = pack.floats(vectors);
    pooling_bias = pack.floats(biases);
    return;
  }
  if (has_interaction(description)) {
    if (description.groups[kContext].derived->kind == Derivation::Kind::codes) {
      codes = pack.floats(weights.codes.to_f32());
    }
    std::map<const std::byte*, PackedLinear> gates;  // layers may share one
    for (std::size_t i = 0; i < weights.stacks.back().layers.size(); ++i) {
      const LayerWeights& from = weights.stacks.back().layers[i];
      const AttentionWeights& attention = from.attentions.front();
      const std::string name = fmt::format("interaction layer {} ", i);
      PackedInteraction& layer = interaction.emplace_back();
      layer.layer = pack_layer(description.stacks.back().layers[i], from, name);
      layer.gated_query = pack.linear(attention.gated_query, name + "gated query");
      const auto [gate, added] = gates.try_emplace(attention.gate.weight.data);
      if (added) gate->second = pack.linear(attention.gate, name + "gate");
      layer.gate = gate->second;
    }
    pack_head(description, weights, pack, *this);
    return;
  }

  if (kind_of(description) == EncoderKind::decoder) {
    const StackWeights& stack = weights.stacks.back();
    decoder_norm = pack.norm(stack.layers.front().attentions.front().norm);
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
      const std::string name = fmt::format("decoder layer {} ", i);
      const LayerWeights& from = stack.layers[i];
      const AttentionWeights &own = from.attentions.front(), &cross = from.attentions.back();
      const PackedLinear own_value = pack.linear(own.value, name + "value"),
                         own_output = pack.linear(own.output, name + "attention output"),
                         query = pack.linear(cross.query, name + "query");
      const std::size_t key = pack.elements(cross.key.weight.to_f32(), name + "key weight"),
                        value = pack.elements(cross.value.weight.to_f32(), name + "value weight");
      const PackedLinear output = {pack.elements(cross.output.weight.to_f32(), name + "cross attention output weight"),
                                   pack.elements(bias_with_values(cross), name + "cross attention output bias")};
      PackedDecoderLayer& layer = decoder.emplace_back(
          PackedDecoderLayer{own_value, own_output, pack.norm(cross.norm), query, key, value, output, {}});
      pack_feed_forward(description.stacks.back().layers[i].feed_forward, from.feed_forward, name, layer.feed_forward);
      layer.feed_forward.attention_norm = pack.norm(from.feed_forward.norm);
      layer.feed_forward.output_norm =
          pack.norm(i + 1 < stack.layers.size() ? stack.layers[i + 1].attentions.front().norm : stack.final_norm);
    }
    pack_head(description, weights, pack, *this);
    return;
  }

  last_output_bias = pack.elements(bias_with_values(all.back().attentions.front()), "last attention output bias");
  pack_head(description, weights, pack, *this);
}

}  // namespace relucent::cuda
