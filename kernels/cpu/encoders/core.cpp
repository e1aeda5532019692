#include "kernels/cpu/encoders/core.h"

#include <numeric>

namespace relucent::cpu {

Core::Order Core::longest_first(std::span<const std::size_t> tokens) {
  Order order{std::vector<std::size_t>(tokens.size()), {tokens.begin(), tokens.end()}};
  std::iota(order.items.begin(), order.items.end(), std::size_t{0});
  std::stable_sort(order.items.begin(), order.items.end(),
                   [&](std::size_t a, std::size_t b) { return tokens[a] > tokens[b]; });
  std::sort(order.tokens.begin(), order.tokens.end(), std::greater<>());
  return order;
}

void Core::each_run(std::span<const std::size_t> tokens, Team& everybody,
                    const std::function<void(const Schedule::Run& run, Team& team)>& work) const {
  const Schedule plan = schedule(tokens, everybody.workers, kernels_.group_tokens);
  if (plan.together) {
    for (const Schedule::Run& run : plan.groups) work(run, everybody);
    return;
  }
  everybody.each(plan.groups.size(), [&](std::size_t index, Workspace& own) {
    Team alone = Team::alone(own);
    work(plan.groups[index], alone);
  });
}

Group Core::group_of(const Segment& cls, const Segment& query, bool query_in_group,
                     std::span<const Sequence> candidates) const {
  Group group{cls, query, query_in_group, {candidates.begin(), candidates.end()}};
  for (Sequence& sequence : group.sequences) {
    sequence.first = group.tokens;
    group.tokens += group.tokens_of(sequence);
  }
  group.vectors = whole_vectors(group.tokens);
  return group;
}

void Core::blocks(const Group& group, std::size_t layers, const QueryStates* shared, Team& team,
                  const StopSignal& stop) const {
  for (std::size_t i = 0; i < layers; ++i) {
    stop.throw_if_due("scoring the candidates");
    attend(i, group, shared, team);
    after_heads(layers_[i].after, group.vectors, team);
  }
  stop.throw_if_due("scoring the candidates");
  if (layers == layers_.size()) final_norm(group, team);
}

void Core::final_norm(const Group& group, Team& team) const {
  if (final_norm_.gamma.empty()) return;
  const std::size_t all = panels(group.vectors);
  share_out(team, all, all, [&](std::size_t first, std::size_t count, Workspace&) {
    float* const x = team.group.x.data() + first * padded(hidden_) * kernels_.panel;
    kernels_.norm(norm_of(final_norm_, x, vectors_of(first, count, group.vectors)), {});
  });
}

QueryStates Core::encode_query(const Segment& query, std::size_t layers, bool only_keys, Team& team,
                               const StopSignal& stop) const {
  const Sequence sequence{query};
  const Group group = group_of({}, {}, false, {&sequence, 1});
  QueryStates states{query.tokens(), whole(query.tokens()), {}, {}};
  embed(group, team);
  for (std::size_t i = 0; i < layers; ++i) {
    stop.throw_if_due("encoding the query");
    const bool ends = only_keys && i + 1 == layers;
    Buffer<float>& kept = states.heads.emplace_back();
    kept.grow(heads_ * 2 * head_size_ * states.stride);
    const auto keep = [&](const Chunk&, std::size_t head, const float* rows, float* output, std::size_t stride,
                          Workspace& own) {
      float* to = kept.data() + head * 2 * head_size_ * states.stride;
      for (std::size_t d = 0; d < 2 * head_size_; ++d) {
        std::copy_n(rows + (head_size_ + d) * stride, query.tokens(), to + d * states.stride);
      }
      if (ends) return;
      Attention a;
      a.query = rows;
      a.output = output;
      a.query_stride = a.output_stride = stride;
      a.tokens = query.tokens();
      a.segments[0] = states.of_head(i, head, head_size_);
      a.segment_count = 1;
      a.biases = biases_of(layers_[i], head, team.group);
      a.head_size = head_size_;
      a.scale = scale_;
      a.scores = own.scores.grow((query.tokens() + 2 * kReach + 8) * kernels_.lanes);
      kernels_.attend(a);
    };
    attend(layers_[i], group, team, keep);
    if (!ends) after_heads(layers_[i].after, group.vectors, team);
  }
  if (only_keys) return states;
  if (layers == layers_.size()) final_norm(group, team);
  states.last.grow(hidden_ * states.stride);
  copy_tokens(team.group.x.data(), hidden_, 0, query.tokens(), states.last.data(), states.stride);
  return states;
}

}  // namespace relucent::cpu
