#include "kernels/cpu/encoder.h"

#include <algorithm>
#include <cmath>

namespace relucent::cpu {
namespace {

void append(std::vector<float>& all, const std::vector<float>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Team Team::alone(Workspace& workspace) {
  return {workspace, [&workspace](std::size_t count, const Work& work) {
            for (std::size_t i = 0; i < count; ++i) work(i, workspace);
          }};
}

std::size_t Encoder::panels(std::size_t vectors) const {
  const std::size_t wide = kernels_.panel / kernels_.lanes;
  return (vectors + wide - 1) / wide;
}

const float* Encoder::place(const float* activation, std::size_t features, std::size_t token) const {
  return activation + token / kernels_.panel * padded(features) * kernels_.panel + token % kernels_.panel;
}

OperandOut Encoder::operand(Arithmetic arithmetic, std::size_t features, std::size_t vectors, Buffer<float>& units,
                            Buffer<float>& token_scales) const {
  const std::size_t tokens = panels(vectors) * kernels_.panel;
  return {arithmetic, units.grow(padded(features) / inputs_together(arithmetic) * tokens), token_scales.grow(tokens)};
}

Encoder::Group Encoder::layout(std::span<const std::span<const std::int32_t>> documents, std::size_t query,
                               bool query_in_group) const {
  Group group;
  group.query = query;
  group.query_in_group = query_in_group;
  for (const auto& document : documents) {
    group.sequences.push_back({document, group.tokens});
    group.tokens += 1 + (query_in_group ? query : 0) + document.size();
  }
  group.vectors = whole_vectors(group.tokens);
  return group;
}

void Encoder::put_token(const float* values, float* activation, std::size_t features, std::size_t token) const {
  float* to = activation + (place(activation, features, token) - activation);
  for (std::size_t f = 0; f < features; ++f) to[f * kernels_.panel] = values[f];
}

void Encoder::embed(std::int32_t id, std::size_t position, std::size_t type, float* activation,
                    std::size_t token) const {
  const float* word = word_.data() + static_cast<std::size_t>(id) * hidden_;
  const float* place_of = position_.data() + position * hidden_;
  const float* type_of = token_type_.data() + type * hidden_;
  float* to = activation + (place(activation, hidden_, token) - activation);
  for (std::size_t f = 0; f < hidden_; ++f) to[f * kernels_.panel] = word[f] + place_of[f] + type_of[f];
}

void Encoder::embed(std::int32_t cls_id, std::span<const std::int32_t> query, const Group& group, Workspace& w) const {
  float* x = w.x.grow(panels(group.vectors) * padded(hidden_) * kernels_.panel);
  for (const Sequence& sequence : group.sequences) {
    std::size_t token = sequence.first;
    embed(cls_id, 0, 0, x, token++);
    if (group.query_in_group) {
      for (std::size_t i = 0; i < query.size(); ++i) embed(query[i], 1 + i, 0, x, token++);
    }
    for (std::size_t i = 0; i < sequence.document.size(); ++i) {
      embed(sequence.document[i], 1 + query.size() + i, description_.document_token_type ? 1 : 0, x, token++);
    }
  }
  embedding_norm(group.vectors, w);
}

void Encoder::embedding_norm(std::size_t vectors, Workspace& w) const {
  const Norm norm{
      w.x.data(), embedding_norm_.gamma.data(), embedding_norm_.beta.data(), description_.norm_epsilon, hidden_,
      vectors};
  kernels_.norm(norm, operand(projection_arithmetic_, hidden_, vectors, w.operand, w.token_scales));
}

template <typename Attend>
void Encoder::block(const Layer& layer, std::size_t tokens, std::size_t vectors, Team& team,
                    const Attend& attend) const {
  const std::size_t panel = kernels_.panel, all_panels = panels(vectors), rows = padded(hidden_);
  // The band reads up to kReach tokens before the first and after the last.
  const std::size_t stride = kReach + all_panels * panel + kReach;
  Workspace& group = team.group;
  float* context = group.context.grow(all_panels * rows * panel);
  team.each(heads_, [&](std::size_t head, Workspace& own) {
    float* values = own.head.grow(head_features_ * stride) + kReach;
    float* output = own.head_output.grow(head_size_ * stride) + kReach;
    Product product = layer.heads.product(head * head_features_, head_features_);
    product.operand = group.operand.data();
    product.token_scales = group.token_scales.data();
    product.vectors = vectors;
    product.out = values;
    product.panel_stride = panel;
    product.feature_stride = stride;
    kernels_.product(product);
    attend(head, values, output, stride, own);
    for (std::size_t d = 0; d < head_size_; ++d) {
      for (std::size_t p = 0; p < all_panels; ++p) {
        const std::size_t count = std::min(panel, tokens - p * panel);
        std::copy_n(output + d * stride + p * panel, count, context + (p * rows + head * head_size_ + d) * panel);
      }
    }
  });
  // The rest of a block computes each token independently.
  const std::size_t together = kernels_.panels_together, steps = rows / inputs_together(projection_arithmetic_);
  team.each((all_panels + together - 1) / together, [&](std::size_t index, Workspace& own) {
    const std::size_t first = index * together, wide = panel / kernels_.lanes;
    const std::size_t count = std::min(vectors - first * wide, together * wide);
    float* x = group.x.data() + first * rows * panel;
    multiply(layer.attention_output, context + first * rows * panel, hidden_, count, Product::Output::add, x, hidden_,
             own);
    const OperandOut next{projection_arithmetic_, group.operand.data() + first * steps * panel,
                          group.token_scales.data() + first * panel};
    feed_forward(layer.attention_norm, layer.intermediate, layer.output, layer.output_norm, x, count, next, own);
  });
}

// x <- LN(x), x <- LN(x + W_2 GELU(W_1 x + b_1) + b_2); packs the result into `next`.
void Encoder::feed_forward(const NormParameters& before, const PackedLinear& up, const PackedLinear& down,
                           const NormParameters& after, float* x, std::size_t vectors, const OperandOut& next,
                           Workspace& own) const {
  const std::size_t panel = kernels_.panel, room = panels(vectors) * panel;
  const Arithmetic arithmetic = up.arithmetic();
  const OperandOut packed = operand(arithmetic, hidden_, vectors, own.part_operand, own.part_scales);
  kernels_.norm({x, before.gamma.data(), before.beta.data(), description_.norm_epsilon, hidden_, vectors}, packed);

  const OperandOut activated = operand(arithmetic, up.features(), vectors, own.wide_operand, own.wide_scales);
  Product product = up.product();
  product.operand = packed.units;
  product.token_scales = packed.token_scales;
  product.vectors = vectors;
  if (arithmetic == Arithmetic::int8) {
    // A token's scale depends on all of its features.
    float* wide = own.wide.grow(up.features() * room);
    product.output = Product::Output::gelu;
    product.out = wide;
    product.panel_stride = up.features() * panel;
    product.feature_stride = panel;
    kernels_.product(product);
    kernels_.pack(wide, up.features(), vectors, activated);
  } else {
    product.output = Product::Output::gelu_operand;
    product.out = activated.units;
    product.panel_stride = down.steps() * panel;
    kernels_.product(product);
  }
  product = down.product();
  product.operand = activated.units;
  product.token_scales = activated.token_scales;
  product.vectors = vectors;
  product.output = Product::Output::add;
  product.out = x;
  product.panel_stride = padded(hidden_) * panel;
  product.feature_stride = panel;
  kernels_.product(product);
  kernels_.norm({x, after.gamma.data(), after.beta.data(), description_.norm_epsilon, hidden_, vectors}, next);
}

void Encoder::attend_group(const AttentionPattern& pattern, const Group& group, const float* query_keys,
                           std::size_t query_stride, std::size_t stride, Workspace& w) const {
  const float* rows = w.head.data() + kReach;
  float* output = w.head_output.data() + kReach;
  const float* keys = rows + head_size_ * stride;
  const float* values = keys + head_size_ * stride;
  for (const Sequence& sequence : group.sequences) {
    const std::size_t first = group.first_document(sequence), document = sequence.document.size();
    const Keys cls{keys + sequence.first, values + sequence.first, stride, 1};
    const Keys query = group.query_in_group
                           ? Keys{keys + sequence.first + 1, values + sequence.first + 1, stride, group.query}
                           : Keys{query_keys, query_keys + head_size_ * query_stride, query_stride, group.query};
    const Keys all{keys + first, values + first, stride, document};
    w.scores.grow((group.query + document + 2 * kReach + 8) * kernels_.lanes);
    Attention a;
    a.query_stride = a.output_stride = stride;
    a.head_size = head_size_;
    a.scale = 1.0F / std::sqrt(static_cast<float>(head_size_));
    a.scores = w.scores.data();
    const auto of = [&](std::size_t token, std::size_t tokens) {
      a.query = rows + token;
      a.output = output + token;
      a.tokens = tokens;
      a.segment_count = 0;
      a.band = {};
    };
    const auto sees = [&](bool flag, const Keys& segment) {
      if (flag && segment.count > 0) a.segments[a.segment_count++] = segment;
    };
    of(sequence.first, 1);
    sees(true, cls);
    sees(pattern.cls_query, query);
    sees(pattern.cls_document, all);
    kernels_.attend_one(a);
    if (group.query_in_group) {
      of(sequence.first + 1, group.query);
      sees(pattern.query_cls, cls);
      sees(true, query);
      sees(pattern.query_document, all);
      kernels_.attend(a);
    }
    of(first, document);
    sees(pattern.document_cls, cls);
    sees(pattern.document_query, query);
    a.band = all;
    a.window = pattern.window ? static_cast<std::size_t>(*pattern.window) : document;
    kernels_.attend(a);
  }
}

QueryStates Encoder::encode_query(std::span<const std::int32_t> query, Team& team, const StopSignal& stop) const {
  QueryStates states;
  states.tokens = query.size();
  const std::size_t vectors = whole_vectors(query.size());
  states.stride = vectors * kernels_.lanes;
  team.each(1, [&](std::size_t, Workspace&) {
    float* x = team.group.x.grow(panels(vectors) * padded(hidden_) * kernels_.panel);
    for (std::size_t i = 0; i < query.size(); ++i) embed(query[i], 1 + i, 0, x, i);
    embedding_norm(vectors, team.group);
  });
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    stop.throw_if_due("encoding the query");
    Buffer<float>& kept = states.heads.emplace_back();
    kept.grow(heads_ * 2 * head_size_ * states.stride);
    block(layers_[i], query.size(), vectors, team,
          [&](std::size_t head, const float* rows, float* output, std::size_t stride, Workspace& own) {
            float* to = kept.data() + head * 2 * head_size_ * states.stride;
            for (std::size_t d = 0; d < 2 * head_size_; ++d) {
              std::copy_n(rows + (head_size_ + d) * stride, query.size(), to + d * states.stride);
            }
            own.scores.grow((query.size() + 2 * kReach + 8) * kernels_.lanes);
            Attention a;
            a.query = rows;
            a.output = output;
            a.query_stride = a.output_stride = stride;
            a.tokens = query.size();
            a.segments[0] = {to, to + head_size_ * states.stride, states.stride, query.size()};
            a.segment_count = 1;
            a.head_size = head_size_;
            a.scale = 1.0F / std::sqrt(static_cast<float>(head_size_));
            a.scores = own.scores.data();
            kernels_.attend(a);
          });
  }
  states.last.grow(hidden_ * states.stride);
  copy_tokens(team.group.x.data(), hidden_, 0, query.size(), states.last.data(), states.stride);
  return states;
}

void Encoder::copy_tokens(const float* activation, std::size_t features, std::size_t first, std::size_t tokens,
                          float* rows, std::size_t stride) const {
  const std::size_t panel = kernels_.panel;
  for (std::size_t done = 0; done < tokens;) {
    const std::size_t token = first + done, count = std::min(tokens - done, panel - token % panel);
    const float* from = place(activation, features, token);
    for (std::size_t f = 0; f < features; ++f) std::copy_n(from + f * panel, count, rows + f * stride + done);
    done += count;
  }
}

void Encoder::encode(std::int32_t cls_id, std::span<const std::int32_t> query,
                     std::span<const std::span<const std::int32_t>> documents, const QueryStates* shared, float* cls,
                     Team& team, const StopSignal& stop) const {
  const Group group = layout(documents, query.size(), shared == nullptr);
  team.each(1, [&](std::size_t, Workspace&) { embed(cls_id, query, group, team.group); });
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    stop.throw_if_due("scoring the candidates");
    block(layers_[i], group.tokens, group.vectors, team,
          [&](std::size_t head, const float*, float*, std::size_t stride, Workspace& own) {
            const float* keys =
                shared == nullptr ? nullptr : shared->heads[i].data() + head * 2 * head_size_ * shared->stride;
            attend_group(description_.patterns[i], group, keys, shared == nullptr ? 0 : shared->stride, stride, own);
          });
  }
  stop.throw_if_due("scoring the candidates");
  team.each(1, [&](std::size_t, Workspace&) { last_attention(group, shared, cls, team.group); });
}

HiddenStates Encoder::hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                                    std::span<const std::int32_t> document, Workspace& w) const {
  const std::span<const std::int32_t> documents[] = {document};
  const Group group = layout(documents, query.size(), true);
  HiddenStates states;
  Team alone = Team::alone(w);
  embed(cls_id, query, group, w);
  const auto row = [&](std::size_t token) {
    std::vector<float> values(hidden_);
    copy_tokens(w.x.data(), hidden_, token, 1, values.data(), 1);
    return values;
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    block(layers_[i], group.tokens, group.vectors, alone,
          [&](std::size_t, const float*, float*, std::size_t stride, Workspace& own) {
            attend_group(description_.patterns[i], group, nullptr, 0, stride, own);
          });
    states.cls.push_back(row(0));
  }
  for (std::size_t i = 0; i < query.size(); ++i) append(states.query_last, row(1 + i));
  for (std::size_t i = 0; i < document.size(); ++i) append(states.document_last, row(1 + query.size() + i));
  float* cls = w.cls.grow(padded(hidden_) * kernels_.panel);
  put_token(states.cls.back().data(), cls, hidden_, 0);
  head({&states.logit, 1}, w);
  return states;
}

}  // namespace relucent::cpu
