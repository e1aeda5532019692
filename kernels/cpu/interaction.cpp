// The second stack of an encoder with interaction: what a candidate's context and its gated token make of a query.
#include <algorithm>

#include "kernels/cpu/encoder.h"

namespace relucent::cpu {
namespace {

static_assert(kMostContext < static_cast<std::int32_t>(kMostSegments));

/// Candidates that a worker computes at a time, so that it often looks at the clock.
constexpr std::size_t kMostTogether = 96;

}  // namespace

void Encoder::derive(const Group& group, const Sequence& sequence, const float* x, float* context, Workspace& w) const {
  const std::size_t tokens = group.tokens_of(sequence), stride = whole_vectors(tokens) * kernels_.lanes;
  if (codes_.empty()) {
    for (std::size_t t = 0; t < context_tokens_; ++t) {
      copy_tokens(x, hidden_, sequence.first + t, 1, context + t * hidden_, 1);
    }
    return;
  }
  float* const rows = w.rows.grow(hidden_ * stride);
  copy_tokens(x, hidden_, sequence.first, tokens, rows, stride);
  const TokenRows all{rows, stride, hidden_, tokens};
  float* const shares = w.scores.grow(context_tokens_ * stride);
  kernels_.token_products(all, codes_.data(), context_tokens_, shares, stride);
  for (std::size_t t = 0; t < context_tokens_; ++t) {
    kernels_.softmax(shares + t * stride, tokens);
    std::fill(shares + t * stride + tokens, shares + (t + 1) * stride, 0.0F);
  }
  std::fill_n(context, context_size(), 0.0F);
  kernels_.token_sums(all, shares, stride, context_tokens_, context, hidden_);
}

std::size_t Encoder::candidates_together(std::size_t count, std::size_t workers) const {
  // Whole panels if every worker has one.
  const std::size_t unit = count >= workers * kernels_.panel ? kernels_.panel : kernels_.lanes;
  return unit * task_size((count + unit - 1) / unit, workers, std::max<std::size_t>(1, kMostTogether / unit));
}

void Encoder::attend_query(const InteractionLayer& layer, const QueryStates& query, const OperandOut& tokens,
                           const float* gated_queries, std::size_t block, float* context, Workspace& w) const {
  const std::size_t panel = kernels_.panel, lanes = kernels_.lanes, of_context = context_tokens_ * block;
  const std::size_t stride = kReach + panels(of_context) * panel + kReach;
  float* const rows = w.head.grow(head_features_ * stride) + kReach;
  const float* const keys_of_query = query.heads[layer.keys_of].data();
  w.scores.grow((query.tokens + context_tokens_ + 2 * kReach + 8) * lanes);
  for (std::size_t head = 0; head < heads_; ++head) {
    Product product = layer.heads.product(head * head_features_, head_features_);
    product.operand = tokens.units;
    product.token_scales = tokens.token_scales;
    product.vectors = of_context;
    product.out = rows;
    product.panel_stride = panel;
    product.feature_stride = stride;
    kernels_.product(product);
    const float* const of_query = keys_of_query + head * 2 * head_size_ * query.stride;
    const auto attend = [&](const float* queries, std::size_t query_stride, std::size_t vector, Attention& a) {
      a.query = queries;
      a.query_stride = query_stride;
      // `context` is not const here, but place() returns a pointer to const.
      a.output = context + (place(context, width_, vector * lanes) - context) + head * head_size_ * panel;
      a.output_stride = panel;
      a.tokens = lanes;
      a.head_size = head_size_;
      a.scale = scale_;
      a.scores = w.scores.data();
      kernels_.attend(a);
    };
    Attention a;
    a.segments[0] = {of_query, of_query + head_size_ * query.stride, query.stride, query.tokens};
    a.segment_count = 1;
    for (std::size_t v = 0; v < block; ++v) {
      attend(place(gated_queries, width_, v * lanes) + head * head_size_ * panel, panel, of_context + v, a);
    }
    // In each vector a candidate has the same lane, so it sees its own tokens' keys through a window of 0.
    const float* const keys = rows + head_size_ * stride;
    a.segment_count = 1 + context_tokens_;
    for (std::size_t v = 0; v < block; ++v) {
      for (std::size_t t = 0; t < context_tokens_; ++t) {
        const float* const own = keys + (t * block + v) * lanes;
        a.segments[1 + t] = {own, own + head_size_ * stride, stride, lanes, 0, 0};
      }
      for (std::size_t t = 0; t < context_tokens_; ++t) {
        const std::size_t vector = t * block + v;
        attend(rows + vector * lanes, stride, vector, a);
      }
    }
  }
}

// The candidates' first tokens of the context lie side by side, padded to whole vectors, then their second ones, and so
// on; last the gated tokens. What follows the heads takes them all together.
void Encoder::interact(const QueryStates& query, std::span<const float* const> contexts, std::span<float> scores,
                       Workspace& w, const StopSignal& stop) const {
  const std::size_t panel = kernels_.panel, lanes = kernels_.lanes, count = contexts.size();
  const std::size_t block = whole_vectors(count), of_context = context_tokens_ * block, vectors = of_context + block;
  const std::size_t room = panels(vectors) * panel, gated_room = panels(block) * panel;
  float* x = w.x.grow(padded(hidden_) * room);
  float* y = w.normed.grow(padded(hidden_) * room);
  float* const context = w.cls_context.grow(padded(width_) * room);
  float* const queries = w.cls_query.grow(padded(width_) * gated_room);
  float* const hint = w.cls.grow(padded(hidden_) * gated_room);
  float* const result = w.cls_value.grow(padded(hidden_) * gated_room);
  float* const before = w.cls_mixed.grow(padded(hidden_) * gated_room);
  float* const gate = w.cls_absorbed.grow(padded(hidden_) * gated_room);
  // Calls work(of a, of b) for the lanes of a feature of the vectors [first, first + some) of a, and from b_first on
  // of b.
  const auto each_lane = [&](float* a, std::size_t first, float* b, std::size_t b_first, std::size_t some,
                             const auto& work) {
    for (std::size_t v = 0; v < some; ++v) {
      float* const to = a + (place(a, hidden_, (first + v) * lanes) - a);
      float* const from = b + (place(b, hidden_, (b_first + v) * lanes) - b);
      for (std::size_t f = 0; f < hidden_; ++f) {
        for (std::size_t i = 0; i < lanes; ++i) work(to[f * panel + i], from[f * panel + i]);
      }
    }
  };
  const auto copy = [](float& a, const float& b) { a = b; };
  const auto add = [](float& a, const float& b) { a += b; };
  // The pooled tokens of the context.
  const auto pool = [&](float* to, Pooling pooling) {
    const std::size_t some =
        pooling == Pooling::all_but_last ? std::max<std::size_t>(1, context_tokens_ - 1) : context_tokens_;
    each_lane(to, 0, x, pooling == Pooling::last ? of_context - block : 0, block, copy);
    if (pooling == Pooling::last || some == 1) return;
    for (std::size_t t = 1; t < some; ++t) each_lane(to, 0, x, t * block, block, add);
    const float share = 1 / static_cast<float>(some);
    each_lane(to, 0, to, 0, block, [share](float& a, const float&) { a *= share; });
  };

  for (std::size_t t = 0; t < context_tokens_; ++t) {
    for (std::size_t i = 0; i < count; ++i) put_token(contexts[i] + t * hidden_, x, hidden_, t * block * lanes + i);
  }
  each_lane(x, of_context, x, of_context, block, [](float& a, const float&) { a = 0; });
  for (const InteractionLayer& layer : interaction_) {
    stop.throw_if_due("scoring the candidates");
    pool(hint, layer.hint);
    const OperandOut tokens = operand(layer.heads.arithmetic(), hidden_, of_context, w.operand, w.token_scales);
    kernels_.pack(x, hidden_, of_context, tokens);
    multiply(layer.gated_query, hint, hidden_, block, Product::Output::store, queries, width_, w);
    attend_query(layer, query, tokens, queries, block, context, w);
    multiply(layer.after.attention_output, context, width_, vectors, Product::Output::store, y, hidden_, w);
    each_lane(y, 0, x, 0, of_context, add);

    stop.throw_if_due("scoring the candidates");
    each_lane(result, 0, y, of_context, block, copy);
    each_lane(before, 0, x, of_context, block, copy);
    multiply((*layer.gate)[0], hint, hidden_, block, Product::Output::store, gate, hidden_, w);
    multiply((*layer.gate)[1], result, hidden_, block, Product::Output::add, gate, hidden_, w);
    // At first the token is zero.
    if (&layer != &interaction_.front()) {
      multiply((*layer.gate)[2], before, hidden_, block, Product::Output::add, gate, hidden_, w);
    }
    // 1 / (1 + e^-g) = (1 + tanh(g / 2)) / 2
    const std::size_t numbers = padded(hidden_) * gated_room;
    for (std::size_t i = 0; i < numbers; ++i) gate[i] *= 0.5F;
    kernels_.activate(Activation::tanh, false, gate, nullptr, numbers);
    for (std::size_t i = 0; i < numbers; ++i) {
      result[i] = before[i] + (0.5F + 0.5F * gate[i]) * (result[i] - before[i]);
    }
    each_lane(y, of_context, result, 0, block, copy);
    feed_forward(layer.after, y, vectors, {}, w);
    std::swap(x, y);
  }
  pool(hint, description_.head.pooling);
  for (std::size_t i = 0; i < count; ++i) {
    const float* const of_hint = place(hint, hidden_, i);
    const float* const gated = place(x, hidden_, of_context * lanes + i);
    double sum = 0;
    for (std::size_t f = 0; f < hidden_; ++f) sum += static_cast<double>(of_hint[f * panel]) * gated[f * panel];
    scores[i] = static_cast<float>(sum);
  }
}

}  // namespace relucent::cpu
