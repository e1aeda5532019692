// What computes one token per candidate: the last block, the decoder and the head.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/activate.h"
#include "kernels/cpu/encoder.h"

namespace relucent::cpu {
namespace {

// One output is the score; of several, the first one's log-softmax.
float score_of(std::span<const double> outputs) {
  if (outputs.size() == 1) return static_cast<float>(outputs[0]);
  const double highest = *std::max_element(outputs.begin(), outputs.end());
  double total = 0;
  for (const double output : outputs) total += std::exp(output - highest);
  return static_cast<float>(outputs[0] - highest - std::log(total));
}

}  // namespace

void Encoder::multiply(const PackedLinear& linear, const OperandOut& packed, std::size_t vectors,
                       Product::Output output, float* to, std::size_t to_features) const {
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

void Encoder::multiply(const PackedLinear& linear, const float* activation, std::size_t features, std::size_t vectors,
                       Product::Output output, float* to, std::size_t to_features, Workspace& w) const {
  const OperandOut packed = operand(linear.arithmetic(), features, vectors, w.part_operand, w.part_scales);
  kernels_.pack(activation, features, vectors, packed);
  multiply(linear, packed, vectors, output, to, to_features);
}

template <typename SeenBy>
void Encoder::attend_one_token(const OneTokenHeads& heads, const float* queries, std::size_t count, const SeenBy& seen,
                               float* context, Workspace& w) const {
  const std::size_t panel = kernels_.panel, rows = padded(hidden_), wide_rows = padded(width_);
  const std::size_t vectors = whole_vectors(count), room = panels(vectors) * panel;
  // W_K^T q, with which each head compares the tokens: [heads] activations.
  const std::size_t head_rows = padded(head_size_), head_room = rows * room;
  float* absorbed = w.cls_absorbed.grow(heads_ * head_room);
  float* part = w.cls_mixed.grow(std::max(heads_ * head_room, head_rows * room));
  for (std::size_t head = 0; head < heads_; ++head) {
    for (std::size_t p = 0; p < room / panel; ++p) {
      std::copy_n(queries + (p * wide_rows + head * head_size_) * panel, head_size_ * panel,
                  part + p * head_rows * panel);
    }
    multiply(heads.key[head], part, head_size_, vectors, Product::Output::store, absorbed + head * head_room, hidden_,
             w);
  }

  // Scores and weighted sums of the tokens, one sequence at a time; the sums overwrite `part`.
  float* mixed = w.cls_mixed.data();
  float* vector = w.cls_vectors.grow(heads_ * hidden_ * 2);
  float* sums = vector + heads_ * hidden_;
  for (std::size_t i = 0; i < count; ++i) {
    const Seen of = seen(i);
    const std::size_t own_stride = of.own.stride, all = own_stride + of.query.stride;
    float* scores = w.scores.grow(heads_ * all);
    for (std::size_t head = 0; head < heads_; ++head) {
      const float* from = place(absorbed + head * head_room, hidden_, i);
      for (std::size_t f = 0; f < hidden_; ++f) vector[f * heads_ + head] = from[f * panel];
    }
    kernels_.token_products(of.own, vector, heads_, scores, all);
    if (of.query.tokens > 0) kernels_.token_products(of.query, vector, heads_, scores + own_stride, all);
    for (std::size_t head = 0; head < heads_; ++head) {
      float* of_head = scores + head * all;
      // Mask what the token does not see, and the lanes after the last one.
      constexpr float unseen = -std::numeric_limits<float>::max();
      for (std::size_t t = 0; t < all; ++t) of_head[t] *= scale_;
      const auto hide = [&](std::size_t first, std::size_t end) { std::fill(of_head + first, of_head + end, unseen); };
      hide(of.own.tokens, own_stride);
      hide(own_stride + of.query.tokens, all);
      if (!of.sees_query) hide(of.before, of.before + of.query_in_own);
      if (!of.sees_query) hide(own_stride, own_stride + of.query.tokens);
      if (!of.sees_document) hide(of.before + of.query_in_own, of.own.tokens);
      kernels_.softmax(of_head, all);
    }
    std::fill_n(sums, heads_ * hidden_, 0.0F);
    kernels_.token_sums(of.own, scores, all, heads_, sums, hidden_);
    if (of.query.tokens > 0) kernels_.token_sums(of.query, scores + own_stride, all, heads_, sums, hidden_);
    for (std::size_t head = 0; head < heads_; ++head) {
      put_token(sums + head * hidden_, mixed + head * head_room, hidden_, i);
    }
  }

  // W_V times a head's mixed token is the head's part of the context.
  float* value = w.cls_value.grow(head_rows * room);
  for (std::size_t head = 0; head < heads_; ++head) {
    multiply(heads.value[head], mixed + head * head_room, hidden_, vectors, Product::Output::store, value, head_size_,
             w);
    for (std::size_t p = 0; p < room / panel; ++p) {
      std::copy_n(value + p * head_rows * panel, head_size_ * panel,
                  context + (p * wide_rows + head * head_size_) * panel);
    }
  }
}

void Encoder::last_attention(const Group& group, std::span<const Sequence> sequences, const float* x,
                             const QueryStates* shared, float* states, Workspace& w) const {
  const AttentionPattern& pattern = form_.patterns.back();
  const std::size_t count = sequences.size(), vectors = whole_vectors(count);
  const std::size_t room = panels(vectors) * kernels_.panel;
  // The [CLS] tokens of the sequences side by side, and their queries.
  float* cls = w.cls.grow(padded(hidden_) * room);
  std::vector<float> token(hidden_);
  for (std::size_t i = 0; i < count; ++i) {
    copy_tokens(x, hidden_, sequences[i].first, 1, token.data(), 1);
    put_token(token.data(), cls, hidden_, i);
  }
  float* query = w.cls_query.grow(padded(width_) * room);
  multiply(last_.query, cls, hidden_, vectors, Product::Output::store, query, width_, w);

  const auto whole = [&](std::size_t tokens) { return whole_vectors(tokens) * kernels_.lanes; };
  std::size_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, group.tokens_of(sequence));
  float* const rows = w.rows.grow(hidden_ * whole(longest));
  float* const context = w.cls_context.grow(padded(width_) * room);
  attend_one_token(
      last_, query, count,
      [&](std::size_t i) {
        const std::size_t tokens = group.tokens_of(sequences[i]), stride = whole(tokens);
        copy_tokens(x, hidden_, sequences[i].first, tokens, rows, stride);
        Seen seen{.own = {rows, stride, hidden_, tokens},
                  .query = {},
                  .before = group.cls,
                  .query_in_own = group.query_in_group ? group.query : 0,
                  .sees_query = pattern.cls_query,
                  .sees_document = pattern.cls_document};
        if (shared != nullptr) seen.query = {shared->last.data(), shared->stride, hidden_, shared->tokens};
        return seen;
      },
      context, w);
  for (std::size_t i = 0; i < count; ++i) {
    copy_tokens(cls, hidden_, i, 1, states + 2 * i * hidden_, 1);
    copy_tokens(context, hidden_, i, 1, states + (2 * i + 1) * hidden_, 1);
  }
}

// The residual stream of every candidate's token; norms come before the sub-blocks.
void Encoder::decode(const Segment& token, std::span<const Encoded::States> states, const QueryStates* shared,
                     Workspace& w) const {
  const std::size_t count = states.size(), vectors = whole_vectors(count);
  const std::size_t room = panels(vectors) * kernels_.panel;
  float* const x = w.cls.grow(padded(hidden_) * room);
  const EmbeddingRows embedded = embedding(token, 0);
  std::vector<float> start(hidden_);
  for (std::size_t f = 0; f < hidden_; ++f) start[f] = embedded.word[f] + embedded.position[f] + embedded.type[f];
  for (std::size_t i = 0; i < count; ++i) put_token(start.data(), x, hidden_, i);
  float* const queries = w.cls_query.grow(padded(width_) * room);
  float* const context = w.cls_context.grow(padded(width_) * room);
  const auto multiply_normed = [&](const NormParameters& norm, const PackedLinear& linear, float* to) {
    const OperandOut packed = operand(linear.arithmetic(), hidden_, vectors, w.part_operand, w.part_scales);
    norm_between(norm, x, vectors, packed, w);
    multiply(linear, packed, vectors, Product::Output::store, to, width_);
  };
  for (const DecoderLayer& layer : decoder_) {
    multiply_normed(layer.own_norm, layer.own_value, context);
    multiply(layer.own_output, context, width_, vectors, Product::Output::add, x, hidden_, w);
    multiply_normed(layer.norm, layer.heads.query, queries);
    attend_one_token(
        layer.heads, queries, count,
        [&](std::size_t i) {
          const Encoded::States& of = states[i];
          Seen seen{.own = {of.rows.data(), of.stride, hidden_, of.tokens},
                    .query = {},
                    .query_in_own = of.query,
                    .sees_query = layer.sees_query,
                    .sees_document = layer.sees_document};
          if (shared != nullptr) seen.query = {shared->last.data(), shared->stride, hidden_, shared->tokens};
          return seen;
        },
        context, w);
    multiply(layer.after.attention_output, context, width_, vectors, Product::Output::add, x, hidden_, w);
    feed_forward(layer.after, x, vectors, {}, w);
  }
  kernels_.norm(norm_of(decoder_norm_, x, vectors), {});
}

void Encoder::finish(const Segment& cls_token, const Encoded& encoded, std::size_t first, const QueryStates* shared,
                     std::span<float> logits, Workspace& w) const {
  if (has_decoder()) {
    decode(cls_token, std::span(encoded.states).subspan(first, logits.size()), shared, w);
    head(logits, w);
    return;
  }
  const float* const states = encoded.cls.data() + first * 2 * hidden_;
  const std::size_t vectors = whole_vectors(logits.size()), size = panels(vectors) * padded(hidden_) * kernels_.panel;
  float* cls = w.cls.grow(size);
  for (std::size_t i = 0; i < logits.size(); ++i) put_token(states + 2 * i * hidden_, cls, hidden_, i);
  if (!last_is_short_) {
    head(logits, w);
    return;
  }
  float* context = w.cls_context.grow(size);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    put_token(states + (2 * i + 1) * hidden_, context, hidden_, i);
  }
  const AfterHeads& after = after_last_heads_ ? *after_last_heads_ : layers_.back().after;
  multiply(after.attention_output, context, hidden_, vectors, Product::Output::add, cls, hidden_, w);
  feed_forward(after, cls, vectors, {}, w);
  head(logits, w);
}

void Encoder::head(std::span<float> logits, Workspace& w) const {
  const Head& form = description_.head;
  const std::size_t vectors = whole_vectors(logits.size()), panel = kernels_.panel;
  float* states = w.cls.data();
  if (form.scale != 1) {
    const auto scale = static_cast<float>(form.scale);
    for (std::size_t i = 0; i < panels(vectors) * padded(hidden_) * panel; ++i) states[i] *= scale;
  }
  if (form.dense) {
    float* pooled = w.cls_query.grow(panels(vectors) * padded(hidden_) * panel);
    multiply(head_dense_, states, hidden_, vectors, Product::Output::store, pooled, hidden_, w);
    states = pooled;
  }
  std::vector<float> values(hidden_);
  std::vector<double> outputs(head_bias_.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float* state = place(states, hidden_, i);
    for (std::size_t f = 0; f < hidden_; ++f) values[f] = activate(state[f * panel], form.activation);
    if (form.norm) normalize(head_norm_, values);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      outputs[o] = head_bias_[o];
      for (std::size_t f = 0; f < hidden_; ++f) {
        outputs[o] += static_cast<double>(values[f]) * head_output_[o * hidden_ + f];
      }
    }
    logits[i] = score_of(outputs);
  }
}

void Encoder::normalize(const NormParameters& norm, std::span<float> values) const {
  double mean = 0, variance = 0;
  for (const float value : values) mean += value;
  mean /= static_cast<double>(values.size());
  for (const float value : values) variance += (value - mean) * (value - mean);
  const double scale = 1 / std::sqrt(variance / static_cast<double>(values.size()) + description_.norm_epsilon);
  for (std::size_t f = 0; f < values.size(); ++f) {
    values[f] = static_cast<float>((values[f] - mean) * scale * norm.gamma[f] + norm.beta[f]);
  }
}

}  // namespace relucent::cpu
