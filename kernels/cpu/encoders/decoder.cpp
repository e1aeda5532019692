// Encoders with a decoder of one token: query and document pass through one stack, the token through a second one.

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {
namespace {

/// The token's own attention has one key, and so is its value. Per layer and head it reads each state of the first
/// stack twice.
class Decoder final : public CandidateEncoder {
 public:
  explicit Decoder(const EncoderSource& source) : CandidateEncoder(EncoderKind::decoder, source) {
    // All tokens of the candidates are kept.
    passes_ = {.token_in_group = false,
               .shares_query = core_.form().shares_query,
               .whole_layers = core_.layers().size(),
               .most_kept = 64};
    const std::vector<LayerWeights>& layers = source.weights.stacks.back().layers;
    Core::NormParameters next = Core::norm_from(layers.front().attentions.front().norm);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const relucent::Layer& form = source.description.stacks.back().layers[i];
      const AttentionWeights &own = layers[i].attentions.front(), &cross = layers[i].attentions.back();
      const std::vector<View>& views = form.attentions.back().views[kCls];
      Step& step = steps_.emplace_back(
          Step{std::move(next), core_.pack(core_.direct_arithmetic(), own.value),
               core_.pack(core_.direct_arithmetic(), own.output), Core::norm_from(cross.norm), token_.pack_heads(cross),
               core_.pack_after_heads(core_.direct_arithmetic(), layers[i], form.feed_forward),
               views[kQuery].kind != View::Kind::none, views[kDocument].kind != View::Kind::none});
      next = Core::shift_norms(
          step.after, layers[i],
          i + 1 == layers.size() ? source.weights.stacks.back().final_norm : layers[i + 1].attentions.front().norm);
    }
    last_norm_ = std::move(next);
  }

 private:
  struct Step {
    Core::NormParameters own_norm;
    PackedLinear own_value, own_output;
    Core::NormParameters norm;
    OneToken::Heads heads;
    Core::AfterHeads after;
    bool sees_query = true, sees_document = true;
  };
  /// A candidate's states behind the first stack, [hidden][stride]; the first `query` tokens are the query's.
  struct States {
    std::size_t tokens = 0, stride = 0, query = 0;
    Buffer<float> rows;
  };
  struct Kept : OneToken::Tokens {
    std::vector<States> states;  // of a call
  };

  void prepare(std::size_t candidates, Workspace& call) const override {
    std::vector<States>& states = call.own<Kept>().states;
    states.resize(std::max(states.size(), candidates));
  }

  void keep(const Group& group, const QueryStates*, std::size_t first, Workspace& call, Team& team) const override {
    States* const states = call.own<Kept>().states.data() + first;
    team.each(group.sequences.size(), [&](std::size_t index, Workspace&) {
      const Sequence& sequence = group.sequences[index];
      States& to = states[index];
      to.tokens = group.tokens_of(sequence);
      to.stride = core_.whole(to.tokens);
      to.query = group.query_in_group ? group.query.tokens() : 0;
      core_.copy_tokens(team.group.x.data(), hidden_, sequence.first, to.tokens, to.rows.grow(hidden_ * to.stride),
                        to.stride);
    });
  }

  // The residual stream of every candidate's token; norms come before the sub-blocks.
  void finish(const Segment& token, const QueryStates* shared, std::size_t first, std::span<float> logits,
              Workspace& call, Workspace& w) const override {
    const auto states = std::span(call.own<Kept>().states).subspan(first, logits.size());
    auto& t = w.own<Kept>();
    const std::size_t count = states.size(), vectors = core_.whole_vectors(count);
    const std::size_t room = core_.panels(vectors) * kernels_.panel;
    float* const x = t.token.grow(padded(hidden_) * room);
    const EmbeddingRows embedded = core_.embedding(token, 0);
    std::vector<float> start(hidden_);
    for (std::size_t f = 0; f < hidden_; ++f) start[f] = embedded.word[f] + embedded.position[f] + embedded.type[f];
    for (std::size_t i = 0; i < count; ++i) core_.put_token(start.data(), x, hidden_, i);
    float* const queries = t.query.grow(padded(core_.width()) * room);
    float* const context = t.context.grow(padded(core_.width()) * room);
    const auto multiply_normed = [&](const Core::NormParameters& norm, const PackedLinear& linear, float* to) {
      const OperandOut packed = core_.operand(linear.arithmetic(), hidden_, vectors, w.part_operand, w.part_scales);
      core_.norm_between(norm, x, vectors, packed, w);
      core_.multiply(linear, packed, vectors, Product::Output::store, to, core_.width());
    };
    for (const Step& layer : steps_) {
      multiply_normed(layer.own_norm, layer.own_value, context);
      core_.multiply(layer.own_output, context, core_.width(), vectors, Product::Output::add, x, hidden_, w);
      multiply_normed(layer.norm, layer.heads.query, queries);
      token_.attend(
          layer.heads, count,
          [&](std::size_t i) {
            const States& of = states[i];
            OneToken::Seen seen{.own = {of.rows.data(), of.stride, hidden_, of.tokens},
                                .query = {},
                                .query_in_own = of.query,
                                .sees_query = layer.sees_query,
                                .sees_document = layer.sees_document};
            if (shared != nullptr) seen.query = {shared->last.data(), shared->stride, hidden_, shared->tokens};
            return seen;
          },
          t, w);
      core_.multiply(layer.after.attention_output, context, core_.width(), vectors, Product::Output::add, x, hidden_,
                     w);
      core_.feed_forward(layer.after, x, vectors, {}, w);
    }
    kernels_.norm(core_.norm_of(last_norm_, x, vectors), {});
    token_.head(logits, t, w);
  }

  std::vector<Step> steps_;  // one per layer
  Core::NormParameters last_norm_;
};

}  // namespace

std::unique_ptr<const Encoder> make_decoder(const EncoderSource& source) { return std::make_unique<Decoder>(source); }

}  // namespace relucent::cpu
