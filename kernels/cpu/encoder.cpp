#include "cpu/encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace relucent::cpu {
namespace {

// Queries and keys meet in the softmax, which magnifies their rounding; over few inputs it hardly averages out (logits of
// 64-wide encoders move by up to 0.06, against 0.02 at 384), and so small a product gains nothing from fewer bits.
Arithmetic projection_arithmetic(Arithmetic arithmetic, std::int32_t hidden_size) {
  return hidden_size < 128 ? Arithmetic::fp32 : arithmetic;
}

// [CLS] alone goes through the last block: eight bits would save nothing there.
Arithmetic last_arithmetic(Arithmetic, std::int32_t) { return Arithmetic::fp32; }

std::vector<float> rows_of(const std::vector<float>& matrix, std::size_t columns, std::size_t first, std::size_t count) {
  const auto begin = matrix.begin() + static_cast<std::ptrdiff_t>(first * columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(count * columns)};
}

std::vector<float> transposed(const std::vector<float>& matrix, std::size_t columns) {
  const std::size_t rows = matrix.size() / columns;
  std::vector<float> result(matrix.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) result[column * rows + row] = matrix[row * columns + column];
  }
  return result;
}

void append(std::vector<float>& all, const std::vector<float>& more) { all.insert(all.end(), more.begin(), more.end()); }

// Each head's query, key and value rows, one head after the other, each filled up to whole blocks.
PackedLinear pack_heads(Arithmetic arithmetic, WeightLayout layout, const LayerWeights& from, std::size_t heads, std::size_t hidden) {
  const std::size_t head_size = hidden / heads, filled = padded(3 * head_size);
  const LinearWeights* parts[] = {&from.query, &from.key, &from.value};
  std::vector<float> weights[3], biases[3], weight, bias;
  for (std::size_t part = 0; part < 3; ++part) {
    weights[part] = parts[part]->weight.to_f32();
    biases[part] = parts[part]->bias.to_f32();
  }
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t part = 0; part < 3; ++part) {
      append(weight, rows_of(weights[part], hidden, head * head_size, head_size));
      append(bias, rows_of(biases[part], 1, head * head_size, head_size));
    }
    weight.resize((head + 1) * filled * hidden);
    bias.resize((head + 1) * filled);
  }
  return {arithmetic, layout, weight, std::move(bias), hidden};
}

}  // namespace

Encoder::Encoder(const EncoderDescription& description, const EncoderWeights& weights, Arithmetic arithmetic,
                 const VectorKernels& kernels)
    : description_(description),
      kernels_(kernels),
      arithmetic_(arithmetic),
      projection_arithmetic_(projection_arithmetic(arithmetic, description.hidden_size)),
      last_arithmetic_(last_arithmetic(arithmetic, description.hidden_size)),
      shares_query_(std::all_of(description.patterns.begin(), description.patterns.end(),
                                [](const AttentionPattern& pattern) { return pattern.query_is_independent(); })),
      hidden_(static_cast<std::size_t>(description.hidden_size)),
      head_size_(static_cast<std::size_t>(description.head_size())),
      heads_(static_cast<std::size_t>(description.heads)),
      head_features_(padded(3 * head_size_)),
      word_(weights.word_embeddings.to_f32()),
      position_(weights.position_embeddings.to_f32()),
      token_type_(weights.token_type_embeddings.to_f32()),
      pooler_(Arithmetic::fp32, kernels.layout, weights.pooler.weight.to_f32(), weights.pooler.bias.to_f32(), hidden_),
      classifier_(weights.classifier.weight.to_f32()),
      classifier_bias_(weights.classifier.bias.to_f32()) {
  const auto norm = [](const NormWeights& from) { return NormParameters{from.gamma.to_f32(), from.beta.to_f32()}; };
  const auto linear = [&](Arithmetic how, const LinearWeights& from) {
    const std::vector<float> bias = from.bias.to_f32(), weight = from.weight.to_f32();
    return PackedLinear(how, kernels.layout, weight, bias, weight.size() / bias.size());
  };
  embedding_norm_ = norm(weights.embedding_norm);
  for (const LayerWeights& from : weights.layers) {
    layers_.push_back({pack_heads(projection_arithmetic_, kernels.layout, from, heads_, hidden_), linear(arithmetic, from.attention_output),
                       linear(arithmetic, from.intermediate), linear(arithmetic, from.output), norm(from.attention_norm),
                       norm(from.output_norm)});
  }
  const LayerWeights& from = weights.layers.back();
  last_.query = linear(last_arithmetic_, from.query);
  last_.attention_output = linear(last_arithmetic_, from.attention_output);
  last_.intermediate = linear(last_arithmetic_, from.intermediate);
  last_.output = linear(last_arithmetic_, from.output);
  last_.attention_norm = norm(from.attention_norm);
  last_.output_norm = norm(from.output_norm);
  const std::vector<float> key = from.key.weight.to_f32(), value = from.value.weight.to_f32();
  const std::vector<float> value_bias = from.value.bias.to_f32();
  for (std::size_t head = 0; head < heads_; ++head) {
    const std::size_t first = head * head_size_;
    // The key bias adds the same to every score and cancels in the softmax.
    last_.key.emplace_back(last_arithmetic_, kernels.layout, transposed(rows_of(key, hidden_, first, head_size_), hidden_),
                           std::vector<float>{}, head_size_);
    last_.value.emplace_back(last_arithmetic_, kernels.layout, rows_of(value, hidden_, first, head_size_),
                             rows_of(value_bias, 1, first, head_size_), hidden_);
  }
}

std::size_t Encoder::panels(std::size_t vectors) const {
  const std::size_t wide = kernels_.panel / kernels_.lanes;
  return (vectors + wide - 1) / wide;
}

const float* Encoder::place(const float* activation, std::size_t features, std::size_t token) const {
  return activation + token / kernels_.panel * padded(features) * kernels_.panel + token % kernels_.panel;
}

OperandOut Encoder::operand(Arithmetic arithmetic, std::size_t features, std::size_t vectors, Workspace& w) const {
  OperandOut out;
  out.arithmetic = arithmetic;
  const std::size_t tokens = panels(vectors) * kernels_.panel;
  out.units = w.operand.grow(padded(features) / inputs_together(arithmetic) * tokens);
  out.token_scales = w.token_scales.grow(tokens);
  return out;
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

void Encoder::embed(std::int32_t id, std::size_t position, std::size_t type, float* activation, std::size_t token) const {
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
  const Norm norm{w.x.data(), embedding_norm_.gamma.data(), embedding_norm_.beta.data(), description_.norm_epsilon,
                  hidden_, vectors};
  kernels_.norm(norm, operand(projection_arithmetic_, hidden_, vectors, w));
}

template <typename Attend>
void Encoder::block(const Layer& layer, std::size_t tokens, std::size_t vectors, Workspace& w, const Attend& attend) const {
  const std::size_t panel = kernels_.panel, all_panels = panels(vectors);
  // Room before the first token and behind the last for what the band reads beyond them.
  const std::size_t stride = kReach + all_panels * panel + kReach;
  float* rows = w.head.grow(head_features_ * stride) + kReach;
  float* output = w.head_output.grow(head_size_ * stride) + kReach;
  float* context = w.context.grow(all_panels * padded(hidden_) * panel);
  for (std::size_t head = 0; head < heads_; ++head) {
    Product product = layer.heads.product(head * head_features_, head_features_);
    product.operand = w.operand.data();
    product.token_scales = w.token_scales.data();
    product.vectors = vectors;
    product.out = rows;
    product.panel_stride = panel;
    product.feature_stride = stride;
    kernels_.product(product);
    attend(head, rows, output, stride);
    for (std::size_t d = 0; d < head_size_; ++d) {
      for (std::size_t p = 0; p < all_panels; ++p) {
        const std::size_t count = std::min(panel, tokens - p * panel);
        std::copy_n(output + d * stride + p * panel, count, context + (p * padded(hidden_) + head * head_size_ + d) * panel);
      }
    }
  }
  multiply(layer.attention_output, context, hidden_, vectors, Product::Output::add, w.x.data(), hidden_, w);
  const Norm norm{w.x.data(), layer.attention_norm.gamma.data(), layer.attention_norm.beta.data(),
                  description_.norm_epsilon, hidden_, vectors};
  kernels_.norm(norm, operand(arithmetic_, hidden_, vectors, w));
  feed_forward(layer.intermediate, layer.output, layer.output_norm, w.x.data(), vectors, projection_arithmetic_, w);
}

// x <- LN(x + W_2 GELU(W_1 x + b_1) + b_2), a few panels at a time; x's operand is ready and becomes the next product's.
void Encoder::feed_forward(const PackedLinear& up, const PackedLinear& down, const NormParameters& parameters, float* x,
                           std::size_t vectors, Arithmetic next, Workspace& w) const {
  const std::size_t panel = kernels_.panel, wide_panel = panel / kernels_.lanes;
  const std::size_t room = kernels_.panels_together * panel;
  const Arithmetic arithmetic = up.arithmetic();
  float* wide = w.wide.grow(up.features() * room);
  OperandOut activated{arithmetic, w.wide_operand.grow(up.features() / inputs_together(arithmetic) * room),
                       w.wide_token_scales.grow(room)};
  for (std::size_t first = 0; first < vectors; first += kernels_.panels_together * wide_panel) {
    const std::size_t count = std::min(vectors - first, kernels_.panels_together * wide_panel), at = first / wide_panel;
    Product product = up.product();
    product.operand = w.operand.data() + at * up.steps() * panel;
    product.token_scales = w.token_scales.data() + at * panel;
    product.vectors = count;
    if (arithmetic == Arithmetic::int8) {
      product.output = Product::Output::gelu;
      product.out = wide;
      product.panel_stride = up.features() * panel;
      product.feature_stride = panel;
      kernels_.product(product);
      kernels_.pack(wide, up.features(), count, activated);
    } else {
      product.output = Product::Output::gelu_operand;
      product.out = activated.units;
      product.panel_stride = down.steps() * panel;
      kernels_.product(product);
    }
    product = down.product();
    product.operand = activated.units;
    product.token_scales = activated.token_scales;
    product.vectors = count;
    product.output = Product::Output::add;
    product.out = x + at * padded(hidden_) * panel;
    product.panel_stride = padded(hidden_) * panel;
    product.feature_stride = panel;
    kernels_.product(product);
  }
  const Norm norm{x, parameters.gamma.data(), parameters.beta.data(), description_.norm_epsilon, hidden_, vectors};
  kernels_.norm(norm, operand(next, hidden_, vectors, w));
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

QueryStates Encoder::encode_query(std::span<const std::int32_t> query, Workspace& w, const StopSignal& stop) const {
  QueryStates states;
  states.tokens = query.size();
  const std::size_t vectors = whole_vectors(query.size());
  states.stride = vectors * kernels_.lanes;
  float* x = w.x.grow(panels(vectors) * padded(hidden_) * kernels_.panel);
  for (std::size_t i = 0; i < query.size(); ++i) embed(query[i], 1 + i, 0, x, i);
  embedding_norm(vectors, w);
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    stop.throw_if_due("encoding the query");
    Buffer<float>& kept = states.heads.emplace_back();
    kept.grow(heads_ * 2 * head_size_ * states.stride);
    block(layers_[i], query.size(), vectors, w, [&](std::size_t head, const float* rows, float* output, std::size_t stride) {
      float* to = kept.data() + head * 2 * head_size_ * states.stride;
      for (std::size_t d = 0; d < 2 * head_size_; ++d) {
        std::copy_n(rows + (head_size_ + d) * stride, query.size(), to + d * states.stride);
      }
      w.scores.grow((query.size() + 2 * kReach + 8) * kernels_.lanes);
      Attention a;
      a.query = rows;
      a.output = output;
      a.query_stride = a.output_stride = stride;
      a.tokens = query.size();
      a.segments[0] = {to, to + head_size_ * states.stride, states.stride, query.size()};
      a.segment_count = 1;
      a.head_size = head_size_;
      a.scale = 1.0F / std::sqrt(static_cast<float>(head_size_));
      a.scores = w.scores.data();
      kernels_.attend(a);
    });
  }
  states.last.grow(hidden_ * states.stride);
  copy_tokens(w.x.data(), hidden_, 0, query.size(), states.last.data(), states.stride);
  return states;
}

void Encoder::copy_tokens(const float* activation, std::size_t features, std::size_t first, std::size_t tokens, float* rows,
                          std::size_t stride) const {
  const std::size_t panel = kernels_.panel;
  for (std::size_t done = 0; done < tokens;) {
    const std::size_t token = first + done, count = std::min(tokens - done, panel - token % panel);
    const float* from = place(activation, features, token);
    for (std::size_t f = 0; f < features; ++f) std::copy_n(from + f * panel, count, rows + f * stride + done);
    done += count;
  }
}

void Encoder::multiply(const PackedLinear& linear, const float* activation, std::size_t features, std::size_t vectors,
                       Product::Output output, float* to, std::size_t to_features, Workspace& w) const {
  const OperandOut packed = operand(linear.arithmetic(), features, vectors, w);
  kernels_.pack(activation, features, vectors, packed);
  Product product = linear.product();
  product.operand = packed.units;
  product.token_scales = packed.token_scales;
  product.vectors = vectors;
  product.output = output;
  product.out = to;
  product.panel_stride = padded(to_features) * kernels_.panel;
  product.feature_stride = kernels_.panel;
  kernels_.product(product);
}

void Encoder::last_attention(const Group& group, const QueryStates* shared, float* states, Workspace& w) const {
  const AttentionPattern& pattern = description_.patterns.back();
  const std::size_t panel = kernels_.panel, rows = padded(hidden_), count = group.sequences.size();
  const std::size_t vectors = whole_vectors(count), room = panels(vectors) * panel;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_size_));
  // The [CLS] tokens of the group side by side, and their queries.
  float* cls = w.cls.grow(rows * room);
  std::vector<float> token(hidden_);
  for (std::size_t i = 0; i < count; ++i) {
    copy_tokens(w.x.data(), hidden_, group.sequences[i].first, 1, token.data(), 1);
    put_token(token.data(), cls, hidden_, i);
  }
  float* query = w.cls_query.grow(rows * room);
  multiply(last_.query, cls, hidden_, vectors, Product::Output::store, query, hidden_, w);

  // What each head compares the tokens with, [heads] activations: W_K^T q.
  const std::size_t head_rows = padded(head_size_), head_room = rows * room;
  float* absorbed = w.cls_absorbed.grow(heads_ * head_room);
  float* part = w.cls_mixed.grow(std::max(heads_ * head_room, head_rows * room));
  for (std::size_t head = 0; head < heads_; ++head) {
    for (std::size_t p = 0; p < room / panel; ++p) {
      std::copy_n(query + (p * rows + head * head_size_) * panel, head_size_ * panel, part + p * head_rows * panel);
    }
    multiply(last_.key[head], part, head_size_, vectors, Product::Output::store, absorbed + head * head_room, hidden_, w);
  }

  // Scores and weighted sums of the tokens, a sequence at a time; the sums of all heads replace `absorbed`'s use.
  float* mixed = w.cls_mixed.data();
  std::size_t longest = 0;
  for (const Sequence& sequence : group.sequences) longest = std::max(longest, sequence.document.size());
  const std::size_t lanes = kernels_.lanes;
  const auto whole = [&](std::size_t tokens) { return whole_vectors(tokens) * lanes; };
  const std::size_t own = 1 + (group.query_in_group ? group.query : 0) + longest;
  const std::size_t stride = whole(own) + whole(group.query);
  float* sequence_rows = w.rows.grow(hidden_ * whole(own));
  float* vector = w.cls_vectors.grow(heads_ * hidden_ * 2);
  float* sums = vector + heads_ * hidden_;
  float* scores = w.scores.grow(heads_ * stride);
  for (std::size_t i = 0; i < count; ++i) {
    const Sequence& sequence = group.sequences[i];
    const std::size_t tokens = group.first_document(sequence) - sequence.first + sequence.document.size();
    const std::size_t own_stride = whole(tokens), query_tokens = shared == nullptr ? 0 : shared->tokens;
    copy_tokens(w.x.data(), hidden_, sequence.first, tokens, sequence_rows, own_stride);
    for (std::size_t head = 0; head < heads_; ++head) {
      const float* from = place(absorbed + head * head_room, hidden_, i);
      for (std::size_t f = 0; f < hidden_; ++f) vector[f * heads_ + head] = from[f * panel];
    }
    const TokenRows of_sequence{sequence_rows, own_stride, hidden_, tokens};
    const TokenRows of_query{shared == nullptr ? nullptr : shared->last.data(), shared == nullptr ? 0 : shared->stride,
                             hidden_, query_tokens};
    kernels_.token_products(of_sequence, vector, heads_, scores, stride);
    if (query_tokens > 0) kernels_.token_products(of_query, vector, heads_, scores + own_stride, stride);
    for (std::size_t head = 0; head < heads_; ++head) {
      float* of_head = scores + head * stride;
      const std::size_t all = own_stride + (shared == nullptr ? 0 : shared->stride);
      // What [CLS] does not see, and the lanes behind the last token, take no part.
      constexpr float unseen = -std::numeric_limits<float>::max();
      for (std::size_t t = 0; t < all; ++t) of_head[t] *= scale;
      std::fill(of_head + tokens, of_head + own_stride, unseen);
      std::fill(of_head + own_stride + query_tokens, of_head + all, unseen);
      const auto hide = [&](std::size_t first, std::size_t hidden_tokens) {
        std::fill_n(of_head + first, hidden_tokens, unseen);
      };
      if (!pattern.cls_query && group.query_in_group) hide(1, group.query);
      if (!pattern.cls_query && !group.query_in_group) hide(own_stride, query_tokens);
      if (!pattern.cls_document) hide(group.first_document(sequence) - sequence.first, sequence.document.size());
      kernels_.softmax(of_head, all);
    }
    std::fill_n(sums, heads_ * hidden_, 0.0F);
    kernels_.token_sums(of_sequence, scores, stride, heads_, sums, hidden_);
    if (query_tokens > 0) kernels_.token_sums(of_query, scores + own_stride, stride, heads_, sums, hidden_);
    for (std::size_t head = 0; head < heads_; ++head) {
      put_token(sums + head * hidden_, mixed + head * head_room, hidden_, i);
    }
  }

  // Each head's value of its mixed token is its share of the context.
  float* value = w.cls_value.grow(head_rows * room);
  for (std::size_t head = 0; head < heads_; ++head) {
    multiply(last_.value[head], mixed + head * head_room, hidden_, vectors, Product::Output::store, value, head_size_, w);
    for (std::size_t i = 0; i < count; ++i) {
      copy_tokens(value, head_size_, i, 1, states + (2 * i + 1) * hidden_ + head * head_size_, 1);
    }
  }
  for (std::size_t i = 0; i < count; ++i) copy_tokens(cls, hidden_, i, 1, states + 2 * i * hidden_, 1);
}

void Encoder::finish(const float* states, std::span<float> logits, Workspace& w) const {
  const std::size_t vectors = whole_vectors(logits.size()), size = panels(vectors) * padded(hidden_) * kernels_.panel;
  float* cls = w.cls.grow(size);
  float* context = w.cls_context.grow(size);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    put_token(states + 2 * i * hidden_, cls, hidden_, i);
    put_token(states + (2 * i + 1) * hidden_, context, hidden_, i);
  }
  multiply(last_.attention_output, context, hidden_, vectors, Product::Output::add, cls, hidden_, w);
  const Norm norm{cls, last_.attention_norm.gamma.data(), last_.attention_norm.beta.data(), description_.norm_epsilon,
                  hidden_, vectors};
  kernels_.norm(norm, operand(last_arithmetic_, hidden_, vectors, w));
  feed_forward(last_.intermediate, last_.output, last_.output_norm, cls, vectors, last_arithmetic_, w);
  head(logits, w);
}

void Encoder::head(std::span<float> logits, Workspace& w) const {
  const std::size_t vectors = whole_vectors(logits.size());
  float* pooled = w.cls_query.grow(panels(vectors) * padded(hidden_) * kernels_.panel);
  multiply(pooler_, w.cls.data(), hidden_, vectors, Product::Output::store, pooled, hidden_, w);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float* state = place(pooled, hidden_, i);
    double logit = classifier_bias_.front();
    for (std::size_t f = 0; f < hidden_; ++f) {
      logit += static_cast<double>(std::tanh(state[f * kernels_.panel])) * classifier_[f];
    }
    logits[i] = static_cast<float>(logit);
  }
}

void Encoder::encode(std::int32_t cls_id, std::span<const std::int32_t> query,
                     std::span<const std::span<const std::int32_t>> documents, const QueryStates* shared, float* cls,
                     Workspace& w, const StopSignal& stop) const {
  const Group group = layout(documents, query.size(), shared == nullptr);
  embed(cls_id, query, group, w);
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    stop.throw_if_due("scoring the candidates");
    block(layers_[i], group.tokens, group.vectors, w, [&](std::size_t head, const float*, float*, std::size_t stride) {
      const float* keys =
          shared == nullptr ? nullptr : shared->heads[i].data() + head * 2 * head_size_ * shared->stride;
      attend_group(description_.patterns[i], group, keys, shared == nullptr ? 0 : shared->stride, stride, w);
    });
  }
  stop.throw_if_due("scoring the candidates");
  last_attention(group, shared, cls, w);
}

HiddenStates Encoder::hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                                    std::span<const std::int32_t> document, Workspace& w) const {
  const std::span<const std::int32_t> documents[] = {document};
  const Group group = layout(documents, query.size(), true);
  HiddenStates states;
  embed(cls_id, query, group, w);
  const auto row = [&](std::size_t token) {
    std::vector<float> values(hidden_);
    copy_tokens(w.x.data(), hidden_, token, 1, values.data(), 1);
    return values;
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    block(layers_[i], group.tokens, group.vectors, w, [&](std::size_t, const float*, float*, std::size_t stride) {
      attend_group(description_.patterns[i], group, nullptr, 0, stride, w);
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
