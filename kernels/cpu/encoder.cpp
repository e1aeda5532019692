#include "kernels/cpu/encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/schedule.h"
#include "relucent/error.h"

namespace relucent::cpu {
Team Team::alone(Workspace& workspace) {
  return {workspace, 1, [&workspace](std::size_t count, const Work& work) {
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

Encoder::Group Encoder::layout(const Segment& cls, const Segment& query, std::span<const Candidate> candidates,
                               bool query_in_group) const {
  Group group;
  group.cls = cls_apart() ? 0 : 1;
  group.query = query.tokens();
  group.query_in_group = query_in_group;
  group.cls_position = cls.positions.front();
  group.query_position = query.positions.empty() ? group.cls_position + 1 : query.positions.front();
  for (const Candidate& candidate : candidates) {
    group.tokens += group.tokens_of(group.sequences.emplace_back(Sequence{candidate, group.tokens}));
  }
  group.vectors = whole_vectors(group.tokens);
  return group;
}

void Encoder::put_token(const float* values, float* activation, std::size_t features, std::size_t token) const {
  float* to = activation + (place(activation, features, token) - activation);
  for (std::size_t f = 0; f < features; ++f) to[f * kernels_.panel] = values[f];
}

std::vector<Encoder::Chunk> Encoder::chunks_of(const Group& group, std::size_t tasks_each, const Team& team) const {
  const std::span<const Sequence> all(group.sequences);
  const std::size_t parts = parts_for(tasks_each, team.workers, all.size());
  std::vector<Chunk> chunks;
  for (std::size_t first = 0, part = 1; part <= parts; ++part) {
    std::size_t end = part == parts ? all.size() : first;
    while (end < all.size() && all[end].first * parts < part * group.tokens) ++end;
    if (end == first) continue;
    Chunk chunk{.sequences = all.subspan(first, end - first), .first_token = all[first].first};
    const std::size_t end_token = end < all.size() ? all[end].first : group.tokens;
    chunk.tokens = end_token - chunk.first_token;
    chunk.first_panel = chunk.first_token / kernels_.panel;
    chunk.panels = (end_token + kernels_.panel - 1) / kernels_.panel - chunk.first_panel;
    chunks.push_back(chunk);
    first = end;
  }
  return chunks;
}

EmbeddingRows Encoder::embedding(const Segment& segment, std::size_t i) const {
  const auto row = [&](const std::vector<float>& table, std::int32_t index) {
    return table.data() + (table.size() > embedding_ ? static_cast<std::size_t>(index) * embedding_ : 0);
  };
  return {row(word_, segment.ids[i]), row(position_, segment.positions[i]), row(token_type_, segment.type)};
}

void Encoder::embed(std::span<const EmbeddingRows> tokens, Team& team) const {
  Workspace& w = team.group;
  const std::size_t vectors = whole_vectors(tokens.size()), lanes = kernels_.lanes, panel = kernels_.panel;
  float* x = w.x.grow(panels(vectors) * padded(hidden_) * panel);
  const OperandOut out = operand(projection_arithmetic_, hidden_, vectors, w.operand, w.token_scales);
  const bool projects = embedding_projection_.features() > 0;
  share_out(team, panels(vectors), panels(vectors), [&](std::size_t first, std::size_t count, Workspace& own) {
    const std::size_t some = vectors_of(first, count, vectors);
    const std::size_t end = std::min(tokens.size(), (first + count) * panel);
    float* const to = x + first * padded(hidden_) * panel;
    float* const rows = projects ? own.wide.grow(count * padded(embedding_) * panel) : to;
    for (std::size_t token = first * panel; token < end; token += lanes) {
      const float* at = place(rows, embedding_, token - first * panel);
      kernels_.embed(tokens.data() + token, std::min(lanes, end - token), embedding_, rows + (at - rows));
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
}

void Encoder::embed(const Segment& cls, const Segment& query, const Group& group, Team& team) const {
  std::vector<EmbeddingRows> tokens;
  tokens.reserve(group.tokens);
  const auto add = [&](const Segment& segment) {
    for (std::size_t i = 0; i < segment.tokens(); ++i) tokens.push_back(embedding(segment, i));
  };
  for (const Sequence& sequence : group.sequences) {
    if (group.cls > 0) add(cls);
    if (group.query_in_group) add(query);
    add(sequence.document());
  }
  embed(tokens, team);
}

void Encoder::block(const Layer& layer, const Group& group, Team& team, const Attend& attend) const {
  attend_heads(layer, group, team, attend);
  after_heads(layer.after, group.vectors, team);
}

void Encoder::attend_heads(const Layer& layer, const Group& group, Team& team, const Attend& attend) const {
  const std::size_t panel = kernels_.panel, rows = padded(width_);
  Workspace& of_group = team.group;
  float* context = of_group.context.grow(panels(group.vectors) * rows * panel);
  const OperandOut input{projection_arithmetic_, of_group.operand.data(), of_group.token_scales.data()};
  const std::vector<Chunk> chunks = chunks_of(group, heads_, team);
  team.each(chunks.size() * heads_, [&](std::size_t index, Workspace& own) {
    const Chunk& chunk = chunks[index / heads_];
    const std::size_t head = index % heads_;
    // The band reads up to kReach tokens before the first and after the last.
    const std::size_t stride = kReach + chunk.panels * panel + kReach;
    float* values = own.head.grow(head_features_ * stride) + kReach;
    float* output = own.head_output.grow(head_size_ * stride) + kReach;
    const OperandOut of_chunk = from_panel(input, hidden_, chunk.first_panel);
    Product product = layer.heads.product(head * head_features_, head_features_);
    product.operand = of_chunk.units;
    product.token_scales = of_chunk.token_scales;
    product.vectors = vectors_of(chunk.first_panel, chunk.panels, group.vectors);
    product.out = values;
    product.panel_stride = panel;
    product.feature_stride = stride;
    kernels_.product(product);
    if (layer.rotation) {
      const std::size_t slots = panels(group.vectors) * panel, half = head_size_ / 2;
      const float* cosines = of_group.rotations.data() + *layer.rotation * 2 * half * slots + chunk.first_panel * panel;
      for (const std::size_t row : {std::size_t{0}, head_size_}) {  // query, key
        kernels_.rotate({.rows = values + row * stride,
                         .stride = stride,
                         .size = head_size_,
                         .cosines = cosines,
                         .sines = cosines + half * slots,
                         .table_stride = slots,
                         .tokens = chunk.panels * panel});
      }
    }
    attend(chunk, head, values, output, stride, own);
    const std::size_t end_token = chunk.first_token + chunk.tokens, before = chunk.first_panel * panel;
    if (packs_heads()) {
      kernels_.pack_rows({.rows = output + chunk.first_token - before,
                          .stride = stride,
                          .first_feature = head * head_size_,
                          .count = head_size_,
                          .first_token = chunk.first_token,
                          .tokens = chunk.tokens,
                          .features = width_},
                         {arithmetic_, context, nullptr});
      return;
    }
    for (std::size_t d = 0; d < head_size_; ++d) {
      for (std::size_t p = chunk.first_panel; p < chunk.first_panel + chunk.panels; ++p) {
        const std::size_t first = std::max(chunk.first_token, p * panel), end = std::min(end_token, (p + 1) * panel);
        std::copy_n(output + d * stride + first - before, end - first,
                    context + (p * rows + head * head_size_ + d) * panel + first % panel);
      }
    }
  });
}

QueryStates Encoder::encode_query(const Segment& query, Team& team, const StopSignal& stop) const {
  QueryStates states;
  states.tokens = query.tokens();
  Group group;
  group.sequences.push_back({});
  group.tokens = query.tokens();
  group.vectors = whole_vectors(query.tokens());
  states.stride = group.vectors * kernels_.lanes;
  prepare_positions(static_cast<std::size_t>(query.positions.back()) + 1, team.group);
  std::vector<EmbeddingRows> tokens;
  for (std::size_t i = 0; i < query.tokens(); ++i) tokens.push_back(embedding(query, i));
  embed(tokens, team);
  const std::size_t end = has_interaction() ? interaction_.back().keys_of + 1 : whole_layers();
  for (std::size_t i = 0; i < end; ++i) {
    stop.throw_if_due("encoding the query");
    // The interaction reads only keys and values of its last layer.
    const bool only_keys = has_interaction() && i + 1 == end;
    Buffer<float>& kept = states.heads.emplace_back();
    kept.grow(heads_ * 2 * head_size_ * states.stride);
    const auto attend = [&](const Chunk&, std::size_t head, const float* rows, float* output, std::size_t stride,
                            Workspace& own) {
      float* to = kept.data() + head * 2 * head_size_ * states.stride;
      for (std::size_t d = 0; d < 2 * head_size_; ++d) {
        std::copy_n(rows + (head_size_ + d) * stride, query.tokens(), to + d * states.stride);
      }
      if (only_keys) return;
      own.scores.grow((query.tokens() + 2 * kReach + 8) * kernels_.lanes);
      Attention a;
      a.query = rows;
      a.output = output;
      a.query_stride = a.output_stride = stride;
      a.tokens = query.tokens();
      a.segments[0] = {to, to + head_size_ * states.stride, states.stride, query.tokens()};
      a.segment_count = 1;
      a.biases = biases_of(layers_[i], head, team.group);
      a.head_size = head_size_;
      a.scale = scale_;
      a.scores = own.scores.data();
      kernels_.attend(a);
    };
    attend_heads(layers_[i], group, team, attend);
    if (!only_keys) after_heads(layers_[i].after, group.vectors, team);
  }
  if (has_interaction()) return states;
  if (!last_is_short_) finish_states(team.group.x.data(), group.vectors);
  states.last.grow(hidden_ * states.stride);
  copy_tokens(team.group.x.data(), hidden_, 0, query.tokens(), states.last.data(), states.stride);
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

void Encoder::prepare(Encoded& encoded, std::size_t candidates) const {
  if (has_decoder()) {
    encoded.states.resize(std::max(encoded.states.size(), candidates));
  } else if (has_interaction()) {
    encoded.cls.resize(candidates * context_size());
  } else {
    encoded.cls.resize(candidates * 2 * hidden_);
  }
}

void Encoder::encode(const Segment& cls_token, const Segment& query, std::span<const Candidate> candidates,
                     const QueryStates* shared, Encoded& out, std::size_t first_candidate, Team& team,
                     const StopSignal& stop) const {
  const Group group = layout(cls_token, query, candidates, shared == nullptr && !has_interaction());
  embed(cls_token, query, group, team);
  prepare_positions(positions_of(group), team.group);
  fill_rotations(cls_token, query, group, team.group);
  for (std::size_t i = 0; i < whole_layers(); ++i) {
    stop.throw_if_due("scoring the candidates");
    block(layers_[i], group, team,
          [&](const Chunk& chunk, std::size_t head, const float*, float*, std::size_t stride, Workspace& own) {
            Keys of_query;
            if (shared != nullptr) {
              const float* const keys = shared->heads[i].data() + head * 2 * head_size_ * shared->stride;
              of_query = {keys, keys + head_size_ * shared->stride, shared->stride, shared->tokens};
            }
            attend_chunk(layers_[i].views, group, chunk, of_query, biases_of(layers_[i], head, team.group), stride,
                         own);
          });
  }
  stop.throw_if_due("scoring the candidates");
  float* const x = team.group.x.data();
  if (!last_is_short_) {
    share_out(team, panels(group.vectors), panels(group.vectors),
              [&](std::size_t first, std::size_t count, Workspace&) {
                finish_states(x + first * padded(hidden_) * kernels_.panel, vectors_of(first, count, group.vectors));
              });
  }
  if (has_interaction()) {
    team.each(group.sequences.size(), [&](std::size_t index, Workspace& own) {
      derive(group, group.sequences[index], x, out.cls.data() + (first_candidate + index) * context_size(), own);
    });
    return;
  }
  if (has_decoder()) {
    team.each(group.sequences.size(), [&](std::size_t index, Workspace&) {
      const Sequence& sequence = group.sequences[index];
      Encoded::States& to = out.states[first_candidate + index];
      to.tokens = group.tokens_of(sequence);
      to.stride = whole_vectors(to.tokens) * kernels_.lanes;
      to.query = group.query_in_group ? group.query : 0;
      copy_tokens(x, hidden_, sequence.first, to.tokens, to.rows.grow(hidden_ * to.stride), to.stride);
    });
    return;
  }
  float* const cls = out.cls.data() + first_candidate * 2 * hidden_;
  if (!last_is_short_) {
    pool(group, x, cls, 2 * hidden_);
    return;
  }
  const std::vector<Chunk> chunks = chunks_of(group, 1, team);
  team.each(chunks.size(), [&](std::size_t index, Workspace& own) {
    const std::span<const Sequence> some = chunks[index].sequences;
    const auto first = static_cast<std::size_t>(some.data() - group.sequences.data());
    last_attention(group, some, x, shared, cls + first * 2 * hidden_, own);
  });
}

void Encoder::finish_states(float* x, std::size_t vectors) const {
  if (!final_norm_.gamma.empty()) kernels_.norm(norm_of(final_norm_, x, vectors), {});
}

void Encoder::pool(const Group& group, const float* x, float* states, std::size_t stride) const {
  const std::vector<std::int32_t>& groups = description_.head.groups;
  const auto takes = [&](std::int32_t of) { return std::find(groups.begin(), groups.end(), of) != groups.end(); };
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    const Sequence& sequence = group.sequences[i];
    std::vector<double> sums(hidden_);
    std::size_t tokens = 0;
    const auto add = [&](std::size_t first, std::size_t count) {
      tokens += count;
      for (std::size_t token = first; token < first + count; ++token) {
        const float* from = place(x, hidden_, token);
        for (std::size_t f = 0; f < hidden_; ++f) sums[f] += from[f * kernels_.panel];
      }
    };
    if (takes(kCls)) add(sequence.first, group.cls);
    if (takes(kQuery)) add(sequence.first + group.cls, group.query);
    // A head that takes the document's tokens takes its global ones, too.
    if (takes(kDocument)) add(group.first_document(sequence), sequence.document().tokens());
    for (std::size_t f = 0; f < hidden_; ++f) {
      states[i * stride + f] = static_cast<float>(sums[f] / static_cast<double>(tokens));
    }
  }
}

HiddenStates Encoder::hidden_states(const PairBatch& pair, Workspace& w) const {
  if (has_decoder() || has_exchanges()) {
    throw Error(ErrorKind::unsupported, "CPU backend",
                fmt::format("does not show the hidden states of an encoder with {}",
                            has_decoder() ? "a decoder" : "exchanges between passages"),
                "use device = \"ref\"");
  }
  const std::size_t query = pair.query.tokens();
  const Candidate candidate{pair.documents.front(), pair.globals.front()};
  const Group group = layout(pair.cls, pair.query, {&candidate, 1}, true);
  std::vector<std::size_t> places[kGlobal + 1];  // of the tokens of each group
  places[kCls] = {0};
  for (std::size_t i = 0; i < query; ++i) places[kQuery].push_back(1 + i);
  for (std::size_t i = 0; i < candidate.document.tokens(); ++i) {
    const bool global = std::binary_search(candidate.globals.begin(), candidate.globals.end(), i);
    places[global ? kGlobal : kDocument].push_back(1 + query + i);
  }
  HiddenStates states;
  Team alone = Team::alone(w);
  embed(pair.cls, pair.query, group, alone);
  prepare_positions(positions_of(group), w);
  fill_rotations(pair.cls, pair.query, group, w);
  for (const Layer& layer : layers_) {
    block(layer, group, alone,
          [&](const Chunk& chunk, std::size_t head, const float*, float*, std::size_t stride, Workspace& own) {
            attend_chunk(layer.views, group, chunk, {}, biases_of(layer, head, w), stride, own);
          });
    std::vector<std::vector<float>>& segments = states.layers.emplace_back();
    for (const std::vector<std::size_t>& of_group : places) {
      if (of_group.empty()) continue;
      std::vector<float>& values = segments.emplace_back(of_group.size() * hidden_);
      for (std::size_t i = 0; i < of_group.size(); ++i) {
        copy_tokens(w.x.data(), hidden_, of_group[i], 1, values.data() + i * hidden_, 1);
      }
    }
  }
  float* cls = w.cls.grow(padded(hidden_) * kernels_.panel);
  finish_states(w.x.data(), group.vectors);
  std::vector<float> pooled(hidden_);
  pool(group, w.x.data(), pooled.data(), hidden_);
  put_token(pooled.data(), cls, hidden_, 0);
  head({&states.logit, 1}, w);
  return states;
}

}  // namespace relucent::cpu
