// The last block and the head, which compute only [CLS].
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

void Encoder::last_attention(const Group& group, std::span<const Sequence> sequences, const float* x,
                             const QueryStates* shared, float* states, Workspace& w) const {
  const AttentionPattern& pattern = form_.patterns.back();
  const std::size_t panel = kernels_.panel, rows = padded(hidden_), count = sequences.size();
  const std::size_t vectors = whole_vectors(count), room = panels(vectors) * panel;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_size_));
  // The [CLS] tokens of the sequences side by side, and their queries.
  float* cls = w.cls.grow(rows * room);
  std::vector<float> token(hidden_);
  for (std::size_t i = 0; i < count; ++i) {
    copy_tokens(x, hidden_, sequences[i].first, 1, token.data(), 1);
    put_token(token.data(), cls, hidden_, i);
  }
  float* query = w.cls_query.grow(rows * room);
  multiply(last_.query, cls, hidden_, vectors, Product::Output::store, query, hidden_, w);

  // W_K^T q, with which each head compares the tokens: [heads] activations.
  const std::size_t head_rows = padded(head_size_), head_room = rows * room;
  float* absorbed = w.cls_absorbed.grow(heads_ * head_room);
  float* part = w.cls_mixed.grow(std::max(heads_ * head_room, head_rows * room));
  for (std::size_t head = 0; head < heads_; ++head) {
    for (std::size_t p = 0; p < room / panel; ++p) {
      std::copy_n(query + (p * rows + head * head_size_) * panel, head_size_ * panel, part + p * head_rows * panel);
    }
    multiply(last_.key[head], part, head_size_, vectors, Product::Output::store, absorbed + head * head_room, hidden_,
             w);
  }

  // Scores and weighted sums of the tokens, one sequence at a time; the sums overwrite `part`.
  float* mixed = w.cls_mixed.data();
  std::size_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.document.tokens());
  const std::size_t lanes = kernels_.lanes;
  const auto whole = [&](std::size_t tokens) { return whole_vectors(tokens) * lanes; };
  const std::size_t own = 1 + (group.query_in_group ? group.query : 0) + longest;
  const std::size_t stride = whole(own) + whole(group.query);
  float* sequence_rows = w.rows.grow(hidden_ * whole(own));
  float* vector = w.cls_vectors.grow(heads_ * hidden_ * 2);
  float* sums = vector + heads_ * hidden_;
  float* scores = w.scores.grow(heads_ * stride);
  for (std::size_t i = 0; i < count; ++i) {
    const Sequence& sequence = sequences[i];
    const std::size_t tokens = group.first_document(sequence) - sequence.first + sequence.document.tokens();
    const std::size_t own_stride = whole(tokens), query_tokens = shared == nullptr ? 0 : shared->tokens;
    copy_tokens(x, hidden_, sequence.first, tokens, sequence_rows, own_stride);
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
      // Mask what [CLS] does not see, and the lanes after the last token.
      constexpr float unseen = -std::numeric_limits<float>::max();
      for (std::size_t t = 0; t < all; ++t) of_head[t] *= scale;
      std::fill(of_head + tokens, of_head + own_stride, unseen);
      std::fill(of_head + own_stride + query_tokens, of_head + all, unseen);
      const auto hide = [&](std::size_t first, std::size_t hidden_tokens) {
        std::fill_n(of_head + first, hidden_tokens, unseen);
      };
      if (!pattern.cls_query && group.query_in_group) hide(1, group.query);
      if (!pattern.cls_query && !group.query_in_group) hide(own_stride, query_tokens);
      if (!pattern.cls_document) hide(group.first_document(sequence) - sequence.first, sequence.document.tokens());
      kernels_.softmax(of_head, all);
    }
    std::fill_n(sums, heads_ * hidden_, 0.0F);
    kernels_.token_sums(of_sequence, scores, stride, heads_, sums, hidden_);
    if (query_tokens > 0) kernels_.token_sums(of_query, scores + own_stride, stride, heads_, sums, hidden_);
    for (std::size_t head = 0; head < heads_; ++head) {
      put_token(sums + head * hidden_, mixed + head * head_room, hidden_, i);
    }
  }

  // W_V times a head's mixed token is the head's part of the context.
  float* value = w.cls_value.grow(head_rows * room);
  for (std::size_t head = 0; head < heads_; ++head) {
    multiply(last_.value[head], mixed + head * head_room, hidden_, vectors, Product::Output::store, value, head_size_,
             w);
    for (std::size_t i = 0; i < count; ++i) {
      copy_tokens(value, head_size_, i, 1, states + (2 * i + 1) * hidden_ + head * head_size_, 1);
    }
  }
  for (std::size_t i = 0; i < count; ++i) copy_tokens(cls, hidden_, i, 1, states + 2 * i * hidden_, 1);
}

void Encoder::finish(const float* states, std::span<float> logits, Workspace& w) const {
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
  const float* states = w.cls.data();
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
