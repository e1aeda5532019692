// Encoders of candidates apart from the query: few states stand for a candidate's text and interact with the query.

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/encoders/core.h"
#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {
namespace {

static_assert(kMostContext < static_cast<std::int32_t>(kMostSegments));

/// Candidates that a worker computes at a time, so that it often looks at the clock.
constexpr std::size_t kMostTogether = 96;

/// A text passes through the first stack by itself, and its context derives from its states. The second stack takes
/// many candidates' contexts and gated tokens: 2 H^2 (12 k + 13) operations per layer, candidate and k states.
class Interaction final : public Encoder {
 public:
  explicit Interaction(const EncoderSource& source) : Encoder(EncoderKind::interaction), core_(source) {
    const Derivation& derived = *source.description.groups[kContext].derived;
    context_tokens_ = static_cast<std::size_t>(derived.tokens);
    if (derived.kind == Derivation::Kind::codes) codes_ = transposed(source.weights.codes.to_f32(), hidden_);
    if (source.description.head.compares) compared_.emplace(core_, source);
    const std::byte* gate_of = nullptr;
    for (std::size_t i = 0; i < source.description.stacks.back().layers.size(); ++i) {
      const relucent::Layer& form = source.description.stacks.back().layers[i];
      const LayerWeights& from = source.weights.stacks.back().layers[i];
      const AttentionWeights& attention = from.attentions.front();
      const auto pack_gate = [&] {
        const std::vector<float> gate = transposed(attention.gate.weight.to_f32(), 3 * hidden_);  // [3 hidden, hidden]
        const auto part = [&](std::size_t which, std::vector<float> bias) {
          const auto first = gate.begin() + static_cast<std::ptrdiff_t>(which * hidden_ * hidden_);
          const std::vector<float> rows(first, first + static_cast<std::ptrdiff_t>(hidden_ * hidden_));
          return PackedLinear(core_.direct_arithmetic(), kernels_.layout, transposed(rows, hidden_), std::move(bias),
                              hidden_);
        };
        return std::make_shared<const std::array<PackedLinear, 3>>(
            std::array<PackedLinear, 3>{part(0, attention.gate.bias_to_f32()), part(1, {}), part(2, {})});
      };
      const bool known = gate_of == attention.gate.weight.data;
      gate_of = attention.gate.weight.data;
      // The attention's result passes the gate, and is not added to the block's input.
      meetings_.push_back({static_cast<std::size_t>(*form.attentions.front().keys_of_layer),
                           core_.pack_heads(core_.direct_arithmetic(), attention),
                           core_.pack(core_.direct_arithmetic(), attention.gated_query),
                           known ? meetings_.back().gate : pack_gate(), form.attentions.front().gated->hint,
                           core_.pack_after_heads(core_.direct_arithmetic(), from, form.feed_forward, false)});
    }
  }

  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override {
    const InteractionBatch parts = interaction_batch(batch);
    if (logits.empty()) return;
    const std::size_t each = core_.description().head.logits(), candidates = logits.size() / each;
    std::vector<float> encoded(parts.texts.size() * context_size());
    encode(parts.texts, encoded, everybody, stop);
    const std::vector<const float*> contexts = parts.contexts(encoded.data(), context_size());
    const QueryStates query = core_.encode_query(parts.query, meetings_.back().keys_of + 1, true, everybody, stop);
    const std::size_t together = candidates_together(candidates, everybody.workers);
    everybody.each((candidates + together - 1) / together, [&](std::size_t index, Workspace& own) {
      const std::size_t first = index * together, count = std::min(together, candidates - first);
      interact(query, std::span(contexts).subspan(first, count), logits.subspan(first * each, count * each), own, stop);
    });
  }

  void encode(std::span<const Segment> texts, std::span<float> states, Team& everybody,
              const StopSignal& stop) const override {
    if (texts.empty()) return;
    core_.encode_texts(texts, everybody, stop, [&](const Group& group, std::span<const std::size_t> items, Team& team) {
      team.each(group.sequences.size(), [&](std::size_t index, Workspace& own) {
        derive(group, group.sequences[index], team.group.x.data(), states.data() + items[index] * context_size(), own);
      });
    });
  }

 private:
  /// A layer in which the context of a candidate and its gated token see the query.
  struct Meeting {
    std::size_t keys_of;  // layer of the first stack
    PackedLinear heads;   // of the context, as in Layer
    PackedLinear gated_query;
    // Weights for the hint (with the bias), the attention's result and the token so far. Layers may share it.
    std::shared_ptr<const std::array<PackedLinear, 3>> gate;
    Pooling hint;
    Core::AfterHeads after;
  };
  struct Memory : OneToken::Tokens {                              // of a worker
    Buffer<float> rows;                                           // [hidden][stride]: a text's states
    Buffer<float> contexts, queries, hint, result, before, gate;  // activations
  };

  /// The context that derives from a sequence of a group whose activation is x: [tokens][hidden].
  void derive(const Group& group, const Sequence& sequence, const float* x, float* context, Workspace& own) const {
    const std::size_t tokens = group.tokens_of(sequence), stride = core_.whole(tokens);
    if (codes_.empty()) {
      for (std::size_t t = 0; t < context_tokens_; ++t) {
        core_.copy_tokens(x, hidden_, sequence.first + t, 1, context + t * hidden_, 1);
      }
      return;
    }
    float* const rows = own.own<Memory>().rows.grow(hidden_ * stride);
    core_.copy_tokens(x, hidden_, sequence.first, tokens, rows, stride);
    const TokenRows all{rows, stride, hidden_, tokens};
    float* const shares = own.scores.grow(context_tokens_ * stride);
    kernels_.token_products(all, codes_.data(), context_tokens_, context_tokens_, shares, stride);
    for (std::size_t t = 0; t < context_tokens_; ++t) {
      kernels_.softmax(shares + t * stride, tokens);
      std::fill(shares + t * stride + tokens, shares + (t + 1) * stride, 0.0F);
    }
    std::fill_n(context, context_size(), 0.0F);
    kernels_.token_sums(all, shares, stride, context_tokens_, context, hidden_);
  }

  /// The number of candidates, of `count`, whose interaction one worker should compute at a time.
  std::size_t candidates_together(std::size_t count, std::size_t workers) const {
    // Whole panels if every worker has one.
    const std::size_t unit = count >= workers * kernels_.panel ? kernels_.panel : kernels_.lanes;
    return unit * task_size((count + unit - 1) / unit, workers, std::max<std::size_t>(1, kMostTogether / unit));
  }

  /// Writes the head's logits of some candidates: `pooled` are their pooled contexts and `gated` their gated tokens, in
  /// x from the place `first` on.
  void head(const QueryStates& query, const float* pooled, const float* x, std::size_t first, std::span<float> logits,
            Workspace& own) const {
    const Head& form = core_.description().head;
    const std::size_t panel = kernels_.panel, count = logits.size() / form.logits();
    auto& m = own.own<Memory>();
    float* const features =
        form.compares ? m.token.grow(padded(3 * hidden_) * core_.panels(core_.whole_vectors(count)) * panel) : nullptr;
    std::vector<float> of_one(3 * hidden_);
    for (std::size_t i = 0; i < count; ++i) {
      const float* const e = core_.place(pooled, hidden_, i);
      const float* const h = form.dot_layer ? query.last.data() : core_.place(x, hidden_, first + i);
      const std::size_t next = form.dot_layer ? query.stride : panel;
      if (form.compares) {
        for (std::size_t f = 0; f < hidden_; ++f) {
          of_one[f] = h[f * next];
          of_one[hidden_ + f] = e[f * panel];
          of_one[2 * hidden_ + f] = std::abs(h[f * next] - e[f * panel]);
        }
        core_.put_token(of_one.data(), features, 3 * hidden_, i);
        continue;
      }
      double sum = 0;
      for (std::size_t f = 0; f < hidden_; ++f) sum += static_cast<double>(e[f * panel]) * h[f * next];
      logits[i] = static_cast<float>(sum);
    }
    if (compared_) compared_->head(logits, m, own);
  }

  /// Writes the logits of candidates, given their contexts, to a query.
  // The candidates' first tokens of the context lie side by side, padded to whole vectors, then their second ones, and
  // so on; last the gated tokens. What follows the heads takes them all together.
  void interact(const QueryStates& query, std::span<const float* const> contexts, std::span<float> logits,
                Workspace& own, const StopSignal& stop) const {
    auto& m = own.own<Memory>();
    const std::size_t panel = kernels_.panel, lanes = kernels_.lanes, count = contexts.size();
    const std::size_t block = core_.whole_vectors(count), of_context = context_tokens_ * block,
                      vectors = of_context + block;
    const std::size_t room = core_.panels(vectors) * panel, gated_room = core_.panels(block) * panel;
    float* x = own.x.grow(padded(hidden_) * room);
    float* y = own.normed.grow(padded(hidden_) * room);
    float* const context = m.contexts.grow(padded(core_.width()) * room);
    float* const queries = m.queries.grow(padded(core_.width()) * gated_room);
    float* const hint = m.hint.grow(padded(hidden_) * gated_room);
    float* const result = m.result.grow(padded(hidden_) * gated_room);
    float* const before = m.before.grow(padded(hidden_) * gated_room);
    float* const gate = m.gate.grow(padded(hidden_) * gated_room);
    // Calls work(of a, of b) for the lanes of a feature of the vectors [first, first + some) of a, and from b_first on
    // of b.
    const auto each_lane = [&](float* a, std::size_t first, float* b, std::size_t b_first, std::size_t some,
                               const auto& work) {
      for (std::size_t v = 0; v < some; ++v) {
        float* const to = core_.place(a, hidden_, (first + v) * lanes);
        float* const from = core_.place(b, hidden_, (b_first + v) * lanes);
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

    const auto put_contexts = [&] {
      for (std::size_t t = 0; t < context_tokens_; ++t) {
        for (std::size_t i = 0; i < count; ++i)
          core_.put_token(contexts[i] + t * hidden_, x, hidden_, t * block * lanes + i);
      }
    };
    put_contexts();
    each_lane(x, of_context, x, of_context, block, [](float& a, const float&) { a = 0; });
    for (const Meeting& layer : meetings_) {
      stop.throw_if_due("scoring the candidates");
      pool(hint, layer.hint);
      const OperandOut tokens =
          core_.operand(layer.heads.arithmetic(), hidden_, of_context, own.operand, own.token_scales);
      kernels_.pack(x, hidden_, of_context, tokens);
      core_.multiply(layer.gated_query, hint, hidden_, block, Product::Output::store, queries, core_.width(), own);
      attend_query(layer, query, tokens, queries, block, context, own);
      core_.multiply(layer.after.attention_output, context, core_.width(), vectors, Product::Output::store, y, hidden_,
                     own);
      each_lane(y, 0, x, 0, of_context, add);

      stop.throw_if_due("scoring the candidates");
      each_lane(result, 0, y, of_context, block, copy);
      each_lane(before, 0, x, of_context, block, copy);
      core_.multiply((*layer.gate)[0], hint, hidden_, block, Product::Output::store, gate, hidden_, own);
      core_.multiply((*layer.gate)[1], result, hidden_, block, Product::Output::add, gate, hidden_, own);
      // At first the token is zero.
      if (&layer != &meetings_.front()) {
        core_.multiply((*layer.gate)[2], before, hidden_, block, Product::Output::add, gate, hidden_, own);
      }
      // 1 / (1 + e^-g) = (1 + tanh(g / 2)) / 2
      const std::size_t numbers = padded(hidden_) * gated_room;
      for (std::size_t i = 0; i < numbers; ++i) gate[i] *= 0.5F;
      kernels_.activate(Activation::tanh, false, gate, nullptr, numbers);
      for (std::size_t i = 0; i < numbers; ++i) {
        result[i] = before[i] + (0.5F + 0.5F * gate[i]) * (result[i] - before[i]);
      }
      each_lane(y, of_context, result, 0, block, copy);
      core_.feed_forward(layer.after, y, vectors, {}, own);
      std::swap(x, y);
    }
    if (core_.description().head.pools_inputs) put_contexts();
    pool(hint, core_.description().head.pooling);
    head(query, hint, x, of_context * lanes, logits, own);
  }

  /// The heads' output, [heads * head size] of `context`: of the context's tokens, which are the operand, and of the
  /// gated tokens, whose queries are an activation. Each takes `block` vectors per token.
  void attend_query(const Meeting& layer, const QueryStates& query, const OperandOut& tokens,
                    const float* gated_queries, std::size_t block, float* context, Workspace& own) const {
    const std::size_t panel = kernels_.panel, lanes = kernels_.lanes, of_context = context_tokens_ * block;
    const std::size_t stride = kReach + core_.panels(of_context) * panel + kReach;
    float* const rows = own.head.grow(core_.head_features() * stride) + kReach;
    const float* const keys_of_query = query.heads[layer.keys_of].data();
    own.scores.grow((query.tokens + context_tokens_ + 2 * kReach + 8) * lanes);
    for (std::size_t head = 0; head < core_.heads(); ++head) {
      Product product = layer.heads.product(head * core_.head_features(), core_.head_features());
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
        a.output = core_.place(context, core_.width(), vector * lanes) + head * head_size_ * panel;
        a.output_stride = panel;
        a.tokens = lanes;
        a.head_size = head_size_;
        a.scale = core_.scale();
        a.scores = own.scores.data();
        kernels_.attend(a);
      };
      Attention a;
      a.segments[0] = {of_query, of_query + head_size_ * query.stride, query.stride, query.tokens};
      a.segment_count = 1;
      for (std::size_t v = 0; v < block; ++v) {
        attend(core_.place(gated_queries, core_.width(), v * lanes) + head * head_size_ * panel, panel, of_context + v,
               a);
      }
      // In each vector a candidate has the same lane, so it sees its own tokens' keys through a window of 0.
      const float* const keys = rows + head_size_ * stride;
      a.segment_count = 1 + context_tokens_;
      for (std::size_t v = 0; v < block; ++v) {
        for (std::size_t t = 0; t < context_tokens_; ++t) {
          const float* const of_token = keys + (t * block + v) * lanes;
          a.segments[1 + t] = {of_token, of_token + head_size_ * stride, stride, lanes, 0, 0};
        }
        for (std::size_t t = 0; t < context_tokens_; ++t) {
          const std::size_t vector = t * block + v;
          attend(rows + vector * lanes, stride, vector, a);
        }
      }
    }
  }

  /// Numbers in the context of one text.
  std::size_t context_size() const noexcept { return context_tokens_ * hidden_; }

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden(), head_size_ = core_.head_size();
  std::vector<Meeting> meetings_;  // the layers of the second stack
  std::size_t context_tokens_;
  std::vector<float> codes_;          // [hidden][context tokens]; empty: the first tokens
  std::optional<OneToken> compared_;  // what a head that compares makes of its operands
};

}  // namespace

std::unique_ptr<const Encoder> make_interaction(const EncoderSource& source) {
  return std::make_unique<Interaction>(source);
}

}  // namespace relucent::cpu
