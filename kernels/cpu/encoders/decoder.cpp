#include "kernels/cpu/encoders/decoder.h"

namespace relucent::cpu {

Decoder::Decoder(const EncoderSource& source) : OneToken(source) {
  token_in_group_ = false;
  shares_query_ = form_.shares_query;
  whole_layers_ = layers_.size();
  most_kept_ = 64;  // all of their tokens are kept
  const std::vector<LayerWeights>& layers = source.weights.stacks.back().layers;
  NormParameters next = norm_from(layers.front().attentions.front().norm);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const relucent::Layer& form = source.description.stacks.back().layers[i];
    const AttentionWeights &own = layers[i].attentions.front(), &cross = layers[i].attentions.back();
    const std::vector<View>& views = form.attentions.back().views[kCls];
    Step& step =
        steps_.emplace_back(Step{std::move(next), pack(direct_arithmetic_, own.value),
                                 pack(direct_arithmetic_, own.output), norm_from(cross.norm), pack_heads_of_one(cross),
                                 pack_after_heads(direct_arithmetic_, layers[i], form.feed_forward),
                                 views[kQuery].kind != View::Kind::none, views[kDocument].kind != View::Kind::none});
    next = shift_norms(
        step.after, layers[i],
        i + 1 == layers.size() ? source.weights.stacks.back().final_norm : layers[i + 1].attentions.front().norm);
  }
  last_norm_ = std::move(next);
}

void Decoder::prepare(std::size_t candidates, Workspace& call) const {
  std::vector<States>& states = call.own<Kept>().states;
  states.resize(std::max(states.size(), candidates));
}

void Decoder::keep(const Group& group, const QueryStates*, std::size_t first, Workspace& call, Team& team) const {
  States* const states = call.own<Kept>().states.data() + first;
  team.each(group.sequences.size(), [&](std::size_t index, Workspace&) {
    const Sequence& sequence = group.sequences[index];
    States& to = states[index];
    to.tokens = group.tokens_of(sequence);
    to.stride = whole(to.tokens);
    to.query = group.query_in_group ? group.query.tokens() : 0;
    copy_tokens(team.group.x.data(), hidden_, sequence.first, to.tokens, to.rows.grow(hidden_ * to.stride), to.stride);
  });
}

// The residual stream of every candidate's token; norms come before the sub-blocks.
void Decoder::finish(const Segment& token, const QueryStates* shared, std::size_t first, std::span<float> logits,
                     Workspace& call, Workspace& w) const {
  const auto states = std::span(call.own<Kept>().states).subspan(first, logits.size());
  auto& t = w.own<Kept>();
  const std::size_t count = states.size(), vectors = whole_vectors(count);
  const std::size_t room = panels(vectors) * kernels_.panel;
  float* const x = t.token.grow(padded(hidden_) * room);
  const EmbeddingRows embedded = embedding(token, 0);
  std::vector<float> start(hidden_);
  for (std::size_t f = 0; f < hidden_; ++f) start[f] = embedded.word[f] + embedded.position[f] + embedded.type[f];
  for (std::size_t i = 0; i < count; ++i) put_token(start.data(), x, hidden_, i);
  float* const queries = t.query.grow(padded(width_) * room);
  float* const context = t.context.grow(padded(width_) * room);
  const auto multiply_normed = [&](const NormParameters& norm, const PackedLinear& linear, float* to) {
    const OperandOut packed = operand(linear.arithmetic(), hidden_, vectors, w.part_operand, w.part_scales);
    norm_between(norm, x, vectors, packed, w);
    multiply(linear, packed, vectors, Product::Output::store, to, width_);
  };
  for (const Step& layer : steps_) {
    multiply_normed(layer.own_norm, layer.own_value, context);
    multiply(layer.own_output, context, width_, vectors, Product::Output::add, x, hidden_, w);
    multiply_normed(layer.norm, layer.heads.query, queries);
    attend_token(
        layer.heads, count,
        [&](std::size_t i) {
          const States& of = states[i];
          Seen seen{.own = {of.rows.data(), of.stride, hidden_, of.tokens},
                    .query = {},
                    .query_in_own = of.query,
                    .sees_query = layer.sees_query,
                    .sees_document = layer.sees_document};
          if (shared != nullptr) seen.query = {shared->last.data(), shared->stride, hidden_, shared->tokens};
          return seen;
        },
        t, w);
    multiply(layer.after.attention_output, context, width_, vectors, Product::Output::add, x, hidden_, w);
    feed_forward(layer.after, x, vectors, {}, w);
  }
  kernels_.norm(norm_of(last_norm_, x, vectors), {});
  head(logits, t, w);
}

}  // namespace relucent::cpu
