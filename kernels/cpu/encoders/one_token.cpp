#include "kernels/cpu/encoders/one_token.h"

#include <cmath>
#include <limits>

#include "kernels/activate.h"

namespace relucent::cpu {
namespace {

// All outputs; or one is the score, and of several the first one's log-softmax.
void write_logits(std::span<const double> outputs, std::span<float> logits) {
  if (logits.size() == outputs.size()) {
    std::ranges::transform(outputs, logits.begin(), [](double output) { return static_cast<float>(output); });
    return;
  }
  const double highest = *std::max_element(outputs.begin(), outputs.end());
  double total = 0;
  for (const double output : outputs) total += std::exp(output - highest);
  logits.front() = static_cast<float>(outputs[0] - highest - std::log(total));
}

// LayerNorm or RMSNorm of one token.
void normalize(NormKind kind, const std::vector<float>& gamma, const std::vector<float>& beta, double epsilon,
               std::span<float> values) {
  double mean = 0, variance = 0;
  if (kind == NormKind::layer) {
    for (const float value : values) mean += value;
    mean /= static_cast<double>(values.size());
  }
  for (const float value : values) variance += (value - mean) * (value - mean);
  const double scale = 1 / std::sqrt(variance / static_cast<double>(values.size()) + epsilon);
  for (std::size_t f = 0; f < values.size(); ++f) {
    values[f] = static_cast<float>((values[f] - mean) * scale * gamma[f] + beta[f]);
  }
}

}  // namespace

OneToken::OneToken(const Core& core, const EncoderSource& source)
    : core_(core),
      head_output_(source.weights.head_output.weight.to_f32()),
      head_bias_(source.weights.head_output.bias_to_f32()) {
  std::size_t size = source.description.head.compares ? 3 * hidden_ : hidden_;
  for (std::size_t i = 0; i < source.description.head.steps.size(); ++i) {
    const HeadStep& form = source.description.head.steps[i];
    const HeadStepWeights& from = source.weights.head_steps[i];
    Step& step = steps_.emplace_back(Step{.form = form, .epsilon = source.description.epsilon_of(form)});
    if (form.size > 0) step.dense = core.pack(Arithmetic::fp32, from.dense);
    if (form.residual == HeadStep::Residual::projected) step.residual = core.pack(Arithmetic::fp32, from.residual);
    if (form.norm) step.norm = Core::norm_from(from.norm);
    step.size = size = form.size > 0 ? static_cast<std::size_t>(form.size) : size;
  }
}

OneToken::Heads OneToken::pack_heads(const AttentionWeights& from) const {
  // The key bias adds the same to every score and cancels in the softmax.
  return {core_.pack(core_.direct_arithmetic(), from.query), core_.pack_by_head(from.key, true),
          core_.pack_by_head(from.value, false)};
}

void OneToken::attend(const Heads& heads, std::size_t count, const std::function<Seen(std::size_t)>& seen, Tokens& t,
                      Workspace& own) const {
  const std::size_t panel = kernels_.panel, rows = padded(hidden_), wide_rows = padded(core_.width());
  const std::size_t vectors = core_.whole_vectors(count), room = core_.panels(vectors) * panel;
  // W_K^T q, with which each head compares the tokens: [heads] activations.
  const std::size_t head_rows = padded(head_size_), head_room = rows * room;
  float* absorbed = t.absorbed.grow(heads_ * head_room);
  float* part = t.mixed.grow(std::max(heads_ * head_room, head_rows * room));
  for (std::size_t head = 0; head < heads_; ++head) {
    for (std::size_t p = 0; p < room / panel; ++p) {
      std::copy_n(t.query.data() + (p * wide_rows + head * head_size_) * panel, head_size_ * panel,
                  part + p * head_rows * panel);
    }
    core_.multiply(heads.key[head], part, head_size_, vectors, Product::Output::store, absorbed + head * head_room,
                   hidden_, own);
  }

  // Scores and weighted sums of the tokens, one sequence at a time; the sums overwrite `part`.
  float* mixed = t.mixed.data();
  float* vector = t.vectors.grow(heads_ * hidden_ * 2);
  float* sums = vector + heads_ * hidden_;
  for (std::size_t i = 0; i < count; ++i) {
    const Seen of = seen(i);
    const std::size_t own_stride = of.own.stride, all = own_stride + of.query.stride;
    float* scores = own.scores.grow(heads_ * all);
    for (std::size_t head = 0; head < heads_; ++head) {
      const float* from = core_.place(absorbed + head * head_room, hidden_, i);
      for (std::size_t f = 0; f < hidden_; ++f) vector[f * heads_ + head] = from[f * panel];
    }
    kernels_.token_products(of.own, vector, heads_, heads_, scores, all);
    if (of.query.tokens > 0) kernels_.token_products(of.query, vector, heads_, heads_, scores + own_stride, all);
    for (std::size_t head = 0; head < heads_; ++head) {
      float* of_head = scores + head * all;
      // Mask what the token does not see, and the lanes after the last one.
      constexpr float unseen = -std::numeric_limits<float>::max();
      for (std::size_t k = 0; k < all; ++k) of_head[k] *= core_.scale();
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
      core_.put_token(sums + head * hidden_, mixed + head * head_room, hidden_, i);
    }
  }

  // W_V times a head's mixed token is the head's part of the context.
  float* value = t.value.grow(head_rows * room);
  for (std::size_t head = 0; head < heads_; ++head) {
    core_.multiply(heads.value[head], mixed + head * head_room, hidden_, vectors, Product::Output::store, value,
                   head_size_, own);
    for (std::size_t p = 0; p < room / panel; ++p) {
      std::copy_n(value + p * head_rows * panel, head_size_ * panel,
                  t.context.data() + (p * wide_rows + head * head_size_) * panel);
    }
  }
}

void OneToken::head(std::span<float> logits, Tokens& t, Workspace& own) const {
  const Head& form = core_.description().head;
  const std::size_t each = form.logits(), count = logits.size() / each;
  const std::size_t vectors = core_.whole_vectors(count), panel = kernels_.panel;
  float* states = t.token.data();
  std::size_t size = form.compares ? 3 * hidden_ : hidden_;
  if (form.scale != 1) {
    const auto scale = static_cast<float>(form.scale);
    for (std::size_t i = 0; i < core_.panels(vectors) * padded(hidden_) * panel; ++i) states[i] *= scale;
  }
  std::vector<float> values;
  for (const Step& step : steps_) {
    const std::size_t room = core_.panels(vectors) * padded(step.size) * panel;
    const float* residual = step.form.residual == HeadStep::Residual::input ? states : nullptr;
    if (step.residual.features() > 0) {
      float* const projected = t.residual.grow(room);
      core_.multiply(step.residual, states, size, vectors, Product::Output::store, projected, step.size, own);
      residual = projected;
    }
    float* const next = t.steps[(&step - steps_.data()) % 2].grow(room);
    if (step.dense.features() > 0) {
      core_.multiply(step.dense, states, size, vectors, Product::Output::store, next, step.size, own);
    } else {
      std::copy_n(states, room, next);
    }
    size = step.size;
    values.resize(size);
    for (std::size_t i = 0; i < count; ++i) {
      float* const state = core_.place(next, size, i);
      const float* const added = residual == nullptr ? nullptr : core_.place(residual, size, i);
      for (std::size_t f = 0; f < size; ++f) {
        values[f] = activate(state[f * panel], step.form.activation) + (added == nullptr ? 0.0F : added[f * panel]);
      }
      if (step.form.norm)
        normalize(core_.description().norm_kind, step.norm.gamma, step.norm.beta, step.epsilon, values);
      for (std::size_t f = 0; f < size; ++f) state[f * panel] = values[f];
    }
    states = next;
  }
  std::vector<double> outputs(head_bias_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const float* const state = core_.place(states, size, i);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      outputs[o] = head_bias_[o];
      for (std::size_t f = 0; f < size; ++f) {
        outputs[o] += static_cast<double>(state[f * panel]) * head_output_[o * size + f];
      }
    }
    write_logits(outputs, logits.subspan(i * each, each));
  }
}

void CandidateEncoder::copy_states(const Group& group, std::span<float* const> places, Team& team) const {
  const float* const x = team.group.x.data();
  team.each(group.sequences.size(), [&](std::size_t index, Workspace&) {
    const Sequence& sequence = group.sequences[index];
    for (std::size_t token = 0; token < group.tokens_of(sequence); ++token) {
      core_.copy_tokens(x, hidden_, sequence.first + token, 1, places[index] + token * hidden_, 1);
    }
  });
}

void CandidateEncoder::encode_apart(std::span<const Sequence> documents, std::span<float* const> places, Team& team,
                                    const StopSignal& stop) const {
  const Group group = core_.group_of({}, {}, false, documents);
  core_.embed(group, team);
  core_.blocks(group, 0, passes_.apart, nullptr, team, stop);
  copy_states(group, places, team);
}

std::vector<float> CandidateEncoder::shared_states(const PairBatch& pairs, Team& everybody,
                                                   const StopSignal& stop) const {
  const Sequence none;
  const Group group = core_.group_of(pairs.cls, pairs.query, true, {&none, 1});
  core_.embed(group, everybody);
  core_.blocks(group, 0, passes_.apart, nullptr, everybody, stop);
  std::vector<float> states(group.tokens * hidden_);
  float* const place = states.data();
  copy_states(group, {&place, 1}, everybody);
  return states;
}

std::vector<float> CandidateEncoder::add_states(std::span<Sequence> documents, Team& team,
                                                const StopSignal& stop) const {
  std::vector<Sequence> texts;
  std::size_t tokens = 0;
  for (const Sequence& sequence : documents) {
    if (!sequence.document.states.empty()) continue;
    texts.push_back(sequence);
    tokens += sequence.document.tokens();
  }
  std::vector<float> states(tokens * hidden_);
  if (texts.empty()) return states;
  std::vector<float*> places;
  float* place = states.data();
  for (Sequence& sequence : documents) {
    if (!sequence.document.states.empty()) continue;
    const std::size_t size = sequence.document.tokens() * hidden_;
    sequence.document.states = {place, size};
    places.push_back(place);
    place += size;
  }
  encode_apart(texts, places, team, stop);
  return states;
}

void CandidateEncoder::score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
                             const StopSignal& stop) const {
  const PairBatch pairs = pair_batch(core_.description(), batch, passes_.apart > 0);
  if (pairs.documents.empty()) return;
  std::vector<float> apart;
  if (passes_.apart > 0) apart = shared_states(pairs, everybody, stop);
  std::optional<QueryStates> states;
  if (passes_.shares_query)
    states = core_.encode_query(pairs.query, passes_.whole_layers, passes_.only_keys, everybody, stop);
  const QueryStates* const shared = states ? &*states : nullptr;

  const Segment in_group = passes_.token_in_group ? pairs.cls : Segment();
  std::vector<std::size_t> tokens;
  for (const Segment& document : pairs.documents) {
    tokens.push_back(in_group.tokens() + (passes_.shares_query ? 0 : pairs.query.tokens()) + document.tokens());
  }
  const Core::Order order = Core::longest_first(tokens);
  std::vector<Sequence> candidates;
  for (const std::size_t i : order.items) candidates.push_back({pairs.documents[i], pairs.globals[i]});
  const std::size_t each = core_.description().head.logits();
  std::vector<float> in_order(candidates.size() * each);
  for (std::size_t begin = 0; begin < candidates.size();) {
    const std::size_t count = std::min(candidates.size() - begin, passes_.most_kept);
    prepare(count, everybody.group);
    const auto some = std::span(candidates).subspan(begin, count);
    core_.each_run(std::span(order.tokens).subspan(begin, count), everybody, [&](const Schedule::Run& run, Team& team) {
      const auto of_run = some.subspan(run.first, run.count);
      std::vector<float> of_documents;
      if (passes_.apart > 0) of_documents = add_states(of_run, team, stop);
      const Group group = core_.group_of(in_group, pairs.query, !passes_.shares_query, of_run);
      passes_.apart > 0 ? core_.enter(group, apart, team) : core_.embed(group, team);
      core_.blocks(group, passes_.apart, passes_.whole_layers, shared, team, stop);
      keep(group, shared, run.first, everybody.group, team);
    });
    // All candidates together: each worker reads the remaining weights once.
    const std::size_t share = (count + everybody.workers - 1) / everybody.workers;
    everybody.each((count + share - 1) / share, [&](std::size_t index, Workspace& own) {
      const std::size_t first = index * share, own_count = std::min(share, count - first);
      const auto of_own = std::span(in_order).subspan((begin + first) * each, own_count * each);
      finish(pairs.cls, shared, first, of_own, everybody.group, own);
    });
    begin += count;
  }
  for (std::size_t i = 0; i < in_order.size(); ++i) logits[order.items[i / each] * each + i % each] = in_order[i];
}

}  // namespace relucent::cpu
