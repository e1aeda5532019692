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

void Core::encode_texts(
    std::span<const Segment> texts, Team& everybody, const StopSignal& stop,
    const std::function<void(const Group& group, std::span<const std::size_t> items, Team& team)>& work) const {
  std::vector<std::size_t> tokens;
  for (const Segment& text : texts) tokens.push_back(text.tokens());
  const Order order = longest_first(tokens);
  std::vector<Sequence> in_order;
  for (const std::size_t i : order.items) in_order.push_back({texts[i]});
  each_run(order.tokens, everybody, [&](const Schedule::Run& run, Team& team) {
    const Group group = group_of({}, {}, false, std::span<const Sequence>(in_order).subspan(run.first, run.count));
    embed(group, team);
    blocks(group, 0, layers_.size(), nullptr, team, stop);
    work(group, std::span<const std::size_t>(order.items).subspan(run.first, run.count), team);
  });
}

void Core::block(std::size_t number, const Group& group, const QueryStates* shared, Team& team) const {
  const bool convolves = number == 0 && convolution_;
  Workspace& w = team.group;
  if (convolves) {
    const std::size_t size = panels(group.vectors) * padded(hidden_) * kernels_.panel;
    std::copy_n(w.x.data(), size, w.inputs.grow(size));
  }
  attend(number, group, shared, team);
  after_heads(layers_[number].after, group.vectors, team);
  if (convolves) convolve(group, w.inputs.data(), team);
}

void Core::convolve(const Group& group, const float* inputs, Team& team) const {
  const std::size_t panel = kernels_.panel, taps = convolution_->taps.size(), half = taps / 2;
  std::vector<std::pair<std::size_t, std::size_t>> bounds(group.tokens);  // of each token's sequence
  for (const Sequence& sequence : group.sequences) {
    const std::size_t end = sequence.first + group.tokens_of(sequence);
    for (std::size_t token = sequence.first; token < end; ++token) bounds[token] = {sequence.first, end};
  }
  Workspace& w = team.group;
  const OperandOut out = operand(projection_arithmetic_, hidden_, group.vectors, w.operand, w.token_scales);
  const std::size_t all = panels(group.vectors);
  share_out(team, all, all, [&](std::size_t first, std::size_t count, Workspace& own) {
    const std::size_t some = vectors_of(first, count, group.vectors), size = count * padded(hidden_) * panel;
    float* const shifted = own.normed.grow(size);
    float* const sum = own.wide.grow(size);
    for (std::size_t tap = 0; tap < taps; ++tap) {
      std::fill_n(shifted, size, 0.0F);
      for (std::size_t token = first * panel; token < std::min(group.tokens, (first + count) * panel); ++token) {
        const auto [begin, end] = bounds[token];
        if (token + tap < begin + half || token + tap - half >= end) continue;
        const float* const from = place(inputs, hidden_, token + tap - half);
        float* const to = place(shifted, hidden_, token - first * panel);
        for (std::size_t f = 0; f < hidden_; ++f) to[f * panel] = from[f * panel];
      }
      multiply(convolution_->taps[tap], shifted, hidden_, some,
               tap == 0 ? Product::Output::store : Product::Output::add, sum, hidden_, own);
    }
    kernels_.activate(convolution_->activation, false, sum, nullptr, size);
    float* const x = w.x.data() + first * padded(hidden_) * panel;
    for (std::size_t i = 0; i < size; ++i) x[i] += sum[i];
    kernels_.norm(norm_of(convolution_->norm, x, some), from_panel(out, hidden_, first));
  });
}

void Core::blocks(const Group& group, std::size_t first, std::size_t end, const QueryStates* shared, Team& team,
                  const StopSignal& stop) const {
  for (std::size_t i = first; i < end; ++i) {
    stop.throw_if_due("scoring the candidates");
    block(i, group, shared, team);
  }
  stop.throw_if_due("scoring the candidates");
  if (end == layers_.size()) final_norm(group, team);
}

void Core::final_norm(const Group& group, Team& team) const {
  if (final_norm_.gamma.empty()) return;
  const std::size_t all = panels(group.vectors);
  share_out(team, all, all, [&](std::size_t first, std::size_t count, Workspace&) {
    float* const x = team.group.x.data() + first * padded(hidden_) * kernels_.panel;
    kernels_.norm(norm_of(final_norm_, x, vectors_of(first, count, group.vectors)), {});
  });
}

void Core::pool(const Group& group, const float* x, float* states, std::size_t stride) const {
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
    // [CLS] alone, or with the token through which candidates see each other.
    const std::size_t leading = group.cls.tokens();
    if (takes(kCls)) add(sequence.first, takes(kInteraction) ? leading : std::min<std::size_t>(1, leading));
    if (takes(kQuery)) add(sequence.first + group.cls.tokens(), group.query.tokens());
    // A head that takes the document's tokens also takes its global ones.
    if (takes(kDocument)) add(group.first_document(sequence), sequence.document.tokens());
    for (std::size_t f = 0; f < hidden_; ++f) {
      states[i * stride + f] = static_cast<float>(sums[f] / static_cast<double>(tokens));
    }
  }
}

QueryStates Core::encode_query(const Segment& query, std::size_t layers, bool only_keys, Team& team,
                               const StopSignal& stop) const {
  const Sequence sequence{query};
  const Group group = group_of({}, {}, false, {&sequence, 1});
  QueryStates states{query.tokens(), whole(query.tokens()), {}, {}};
  const auto keep_last = [&] {
    states.last.grow(hidden_ * states.stride);
    copy_tokens(team.group.x.data(), hidden_, 0, query.tokens(), states.last.data(), states.stride);
  };
  embed(group, team);
  for (std::size_t i = 0; i < layers; ++i) {
    stop.throw_if_due("encoding the query");
    const bool ends = only_keys && i + 1 == layers;
    if (ends && description().head.dot_layer) keep_last();
    Buffer<float>& kept = states.heads.emplace_back();
    kept.grow(heads_ / sharing_ * 2 * head_size_ * states.stride);
    const auto keep = [&](const Chunk&, const HeadRows& of, Workspace& own) {
      const std::size_t key_head = of.head / sharing_;
      float* const to = kept.data() + key_head * 2 * head_size_ * states.stride;
      for (std::size_t d = 0; of.head % sharing_ == 0 && d < 2 * head_size_; ++d) {
        std::copy_n(of.keys + d * of.stride, query.tokens(), to + d * states.stride);
      }
      if (ends) return;
      if (!later_tokens_.empty()) {
        attend_causally(of, 0, query.tokens(), {}, own);
        return;
      }
      Attention a;
      a.query = of.query;
      a.output = of.output;
      a.query_stride = a.output_stride = of.stride;
      a.tokens = query.tokens();
      a.segments[0] = states.of_head(i, key_head, head_size_);
      a.segment_count = 1;
      a.biases = biases_of(layers_[i], of.head, team.group);
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
  keep_last();
  return states;
}

}  // namespace relucent::cpu
