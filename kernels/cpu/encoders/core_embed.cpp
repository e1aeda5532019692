#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {

EmbeddingRows Core::embedding(const Segment& segment, std::size_t i) const {
  const auto row = [&](const std::vector<float>& table, std::int32_t index) {
    return table.data() + (table.size() > embedding_ ? static_cast<std::size_t>(index) * embedding_ : 0);
  };
  return {row(word_, segment.ids[i]), row(position_, segment.positions[i]), row(token_type_, segment.type)};
}

void Core::embed(const Group& group, Team& team) const {
  std::vector<EmbeddingRows> tokens;
  tokens.reserve(group.tokens);
  const auto add = [&](const Segment& segment) {
    for (std::size_t i = 0; i < segment.tokens(); ++i) tokens.push_back(embedding(segment, i));
  };
  for (const Sequence& sequence : group.sequences) {
    add(group.cls);
    if (group.query_in_group) add(group.query);
    add(sequence.document);
  }
  Workspace& w = team.group;
  const std::size_t vectors = group.vectors, lanes = kernels_.lanes, panel = kernels_.panel;
  float* x = w.x.grow(panels(vectors) * padded(hidden_) * panel);
  const OperandOut out = operand(projection_arithmetic_, hidden_, vectors, w.operand, w.token_scales);
  const bool projects = embedding_projection_.features() > 0;
  share_out(team, panels(vectors), panels(vectors), [&](std::size_t first, std::size_t count, Workspace& own) {
    const std::size_t some = vectors_of(first, count, vectors);
    const std::size_t end = std::min(tokens.size(), (first + count) * panel);
    float* const to = x + first * padded(hidden_) * panel;
    float* const rows = projects ? own.wide.grow(count * padded(embedding_) * panel) : to;
    for (std::size_t token = first * panel; token < end; token += lanes) {
      kernels_.embed(tokens.data() + token, std::min(lanes, end - token), embedding_,
                     place(rows, embedding_, token - first * panel));
    }
    Norm norm = norm_of(embedding_norm_, rows, some);
    norm.features = embedding_;
    const OperandOut packed_x = from_panel(out, hidden_, first);
    const bool normed = !embedding_norm_.gamma.empty(), normed_again = !first_norm_.gamma.empty();
    if (!projects) {
      if (normed) kernels_.norm(norm, normed_again ? OperandOut{} : packed_x);
      if (!normed || normed_again) norm_between(first_norm_, to, some, packed_x, own);
      return;
    }
    const OperandOut packed =
        operand(embedding_projection_.arithmetic(), embedding_, some, own.part_operand, own.part_scales);
    if (normed) {
      kernels_.norm(norm, packed);
    } else {
      kernels_.pack(rows, embedding_, some, packed);
    }
    multiply(embedding_projection_, packed, some, Product::Output::store, to, hidden_);
    norm_between(first_norm_, to, some, packed_x, own);
  });
  prepare_positions(group, w);
}

void Core::enter(const Group& group, std::span<const float> shared, Team& team) const {
  const std::vector<float> zeros(hidden_);  // of the lanes behind the last token
  std::vector<const float*> tokens;
  tokens.reserve(group.vectors * kernels_.lanes);
  const auto add = [&](std::span<const float> states) {
    for (std::size_t at = 0; at < states.size(); at += hidden_) tokens.push_back(states.data() + at);
  };
  for (const Sequence& sequence : group.sequences) {
    add(shared);
    add(sequence.document.states);
  }
  tokens.resize(group.vectors * kernels_.lanes, zeros.data());
  Workspace& w = team.group;
  const std::size_t all = panels(group.vectors), panel = kernels_.panel;
  float* const x = w.x.grow(all * padded(hidden_) * panel);
  const OperandOut out = operand(projection_arithmetic_, hidden_, group.vectors, w.operand, w.token_scales);
  share_out(team, all, all, [&](std::size_t first, std::size_t count, Workspace&) {
    const std::size_t end = std::min(tokens.size(), (first + count) * panel);
    for (std::size_t token = first * panel; token < end; ++token) put_token(tokens[token], x, hidden_, token);
    kernels_.pack(x + first * padded(hidden_) * panel, hidden_, vectors_of(first, count, group.vectors),
                  from_panel(out, hidden_, first));
  });
  prepare_positions(group, w);
}

}  // namespace relucent::cpu
