#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/backends.h"
#include "kernels/checks.h"
#include "kernels/ref/states.h"
#include "kernels/relative_positions.h"
#include "relucent/error.h"
#include "relucent/kernels/plan.h"

namespace relucent::ref {
namespace {

/// What a vector is divided by at least, as PyTorch's normalize().
constexpr double kShortest = 1e-12;

class RefBackend final : public Backend {
 public:
  RefBackend(const EncoderDescription& description, const EncoderWeights& weights)
      : description_(description),
        word_(weights.word_embeddings.to_f32()),
        position_(description.max_positions > 0 ? to_f32(weights.position_embeddings) : std::vector<float>()),
        token_type_(description.token_types > 0 ? to_f32(weights.token_type_embeddings) : std::vector<float>()),
        embedding_norm_(weights.embedding_norm, description),
        embedding_projection_(weights.embedding_projection),
        head_output_(weights.head_output),
        codes_(to_f32(weights.codes)) {
    for (std::size_t s = 0; s < weights.stacks.size(); ++s) {
      stacks_.emplace_back(weights.stacks[s], description.stacks[s], description);
    }
    if (weights.relative_embeddings.data != nullptr) project_relative_positions(weights);
    for (const PoolingWeights& pooling : weights.head_pooling) head_pooling_.emplace_back(pooling, description);
    for (std::size_t i = 0; i < weights.head_steps.size(); ++i) {
      head_steps_.emplace_back(weights.head_steps[i], description.head.steps[i], description);
    }
    for (const Stack& stack : description.stacks) {
      for (const Layer& layer : stack.layers) {
        for (const Attention& attention : layer.attentions) {
          if (attention.gated) gated_ = attention.gated->group;
        }
      }
    }
    const Plan plan = make_plan(description);
    layers_apart_ = plan.layers_apart();
    for (const auto& layers : plan.stacks) {
      for (const GroupPlan& group : layers.back()) together_ = together_ || group.after == Dependence::set;
    }
    info_.device = "ref";
    info_.instruction_set = "plain";
  }

  const BackendInfo& info() const noexcept override { return info_; }

  void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop) const override {
    check_batch(description_, batch, logits.size());
    std::size_t first = 0;
    for (std::size_t i = 0; i < batch.documents.size(); ++i) {
      const DocumentPassages& document = batch.documents[i];
      logits[i] =
          run_document({batch.shared, batch.candidates.subspan(first, document.candidates)}, document, nullptr, stop);
      first += document.candidates;
    }
    if (!batch.documents.empty()) return;
    const std::size_t count = batch.candidates.size(), together = together_ ? std::max<std::size_t>(count, 1) : 1;
    const std::size_t each = description_.head.logits();
    for (std::size_t i = 0; i < count; i += together) {
      run({batch.shared, batch.candidates.subspan(i, together)}, logits.subspan(i * each, together * each), nullptr,
          stop);
    }
  }

  void encode(std::span<const Segment> texts, std::span<float> states, const StopSignal& stop) const override {
    check_texts(description_, texts, states.size());
    if (description_.head.per_token) {
      encode_tokens(texts, states, stop);
      return;
    }
    const auto derived = std::find_if(description_.groups.begin(), description_.groups.end(),
                                      [](const TokenGroup& group) { return group.derived.has_value(); });
    if (derived == description_.groups.end()) {
      for (const Segment& text : texts) {
        const std::span<const Segment> candidate(&text, 1);
        States of = embed({{}, {&candidate, 1}});
        of.start_stack(0);
        for (std::size_t layer = 0; layer < layers_apart_; ++layer) of.run(layer, stacks_.front().layers[layer]);
        std::ranges::copy(of.x().values, states.begin());
        states = states.subspan(of.x().values.size());
      }
      return;
    }
    const auto group = static_cast<std::int32_t>(derived - description_.groups.begin());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::span<const Segment> candidate(&texts[i], 1);
      States of = embed({{}, {&candidate, 1}});
      for (std::size_t s = 0; !is_in(s, group); ++s) run_stack(s, of, nullptr, stop);
      of.derive(*derived->derived, codes_);
      for (const std::size_t row : of.rows_of(group, 0)) {
        std::copy_n(of.x()[row], of.x().columns, states.data());
        states = states.subspan(of.x().columns);
      }
    }
  }

  HiddenStates hidden_states(const ScoringBatch& batch) const override {
    check_batch(description_, batch, description_.head.logits());
    HiddenStates states;
    if (batch.documents.empty()) {
      std::vector<float> logits(description_.head.logits());
      run(batch, logits, &states, {});
      states.logit = logits.front();
    } else {
      states.logit = run_document(batch, batch.documents.front(), &states, {});
    }
    return states;
  }

 private:
  void project_relative_positions(const EncoderWeights& weights) {
    const auto hidden = static_cast<std::size_t>(description_.hidden_size);
    Matrix positions(0, hidden);
    positions.values = relative_states(description_, weights);
    positions.rows = positions.values.size() / hidden;
    for (std::size_t s = 0; s < stacks_.size(); ++s) {
      for (std::size_t i = 0; i < stacks_[s].layers.size(); ++i) {
        AttentionParts& parts = stacks_[s].layers[i].attentions.front();
        const AttentionWeights& from = weights.stacks[s].layers[i].attentions.front();
        const PositionScheme& scheme = description_.stacks[s].layers[i].attentions.front().positions;
        if (scheme.content_to_position) parts.relative_keys = Linear(from.relative_key)(positions);
        if (scheme.position_to_content) parts.relative_queries = Linear(from.relative_query)(positions);
      }
    }
  }

  /// The vectors of late interaction.
  void encode_tokens(std::span<const Segment> texts, std::span<float> vectors, const StopSignal& stop) const {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::span<const Segment> candidate(&texts[i], 1);
      States states = embed({{}, {&candidate, 1}});
      run_stacks(states, nullptr, stop);
      if (description_.head.per_text) {
        std::vector<std::size_t> rows(states.x().rows);
        std::iota(rows.begin(), rows.end(), std::size_t{0});
        std::ranges::copy(pooled(states.x(), std::move(rows), description_.head.pooling), vectors.begin());
        vectors = vectors.subspan(states.x().columns);
        continue;
      }
      Matrix of_tokens = transformed(states.x());
      for (std::size_t row = 0; row < of_tokens.rows; ++row) {
        float* const vector = of_tokens[row];
        const double length = std::sqrt(dot(vector, vector, of_tokens.columns));
        const double divisor = description_.head.unit_vectors ? std::max(length, kShortest) : 1;
        for (std::size_t f = 0; f < of_tokens.columns; ++f) vector[f] = static_cast<float>(vector[f] / divisor);
      }
      std::copy(of_tokens.values.begin(), of_tokens.values.end(), vectors.begin());
      vectors = vectors.subspan(of_tokens.values.size());
    }
  }

  States embed(const ScoringBatch& batch) const {
    const auto size = static_cast<std::size_t>(description_.embedding_size);
    std::vector<Token> tokens;
    std::vector<float> states;
    const auto embed = [&](const Segment& segment, std::size_t candidate, std::size_t number) {
      Matrix x(segment.ids.size(), size);
      for (std::size_t row = 0; row < x.rows; ++row) {
        const auto id = static_cast<std::size_t>(segment.ids[row]), type = static_cast<std::size_t>(segment.type);
        const auto position = static_cast<std::size_t>(segment.positions[row]);
        for (std::size_t i = 0; i < size; ++i) {
          x[row][i] = word_[id * size + i];
          if (!position_.empty()) x[row][i] += position_[position * size + i];
          if (!token_type_.empty()) x[row][i] += token_type_[type * size + i];
        }
      }
      if (description_.embedding_norm) embedding_norm_(x);
      if (description_.embedding_size != description_.hidden_size) x = embedding_projection_(x);
      states.insert(states.end(), x.values.begin(), x.values.end());
      states.insert(states.end(), segment.states.begin(), segment.states.end());
      for (std::size_t i = 0; i < segment.tokens(); ++i) {
        const std::int32_t group = i + segment.expansion < segment.tokens() ? segment.group : kExpansion;
        tokens.push_back({.group = static_cast<std::size_t>(group),
                          .candidate = candidate,
                          .segment = number,
                          .position = segment.positions[i],
                          .computed = !segment.states.empty()});
      }
    };
    const auto hidden = static_cast<std::size_t>(description_.hidden_size);
    for (std::size_t i = 0; i < batch.candidates.size(); ++i) {
      std::size_t number = 0;
      for (const Segment& segment : batch.shared) embed(segment, i, number++);
      for (const Segment& segment : batch.candidates[i]) embed(segment, i, number++);
      // Tokens of groups without a segment.
      const auto add = [&](std::int32_t group, std::int32_t count, bool derived) {
        for (std::int32_t t = 0; t < count; ++t) {
          tokens.push_back({static_cast<std::size_t>(group), i, number, t, derived});
        }
        states.resize(states.size() + static_cast<std::size_t>(count) * hidden);
        ++number;
      };
      for (std::int32_t group = 0; group < static_cast<std::int32_t>(description_.groups.size()); ++group) {
        const std::optional<Derivation>& derived = description_.groups[static_cast<std::size_t>(group)].derived;
        const auto is_given = [&](const Segment& segment) { return segment.group == group; };
        if (derived && std::none_of(batch.candidates[i].begin(), batch.candidates[i].end(), is_given)) {
          add(group, derived->tokens, true);
        }
      }
      if (gated_) add(*gated_, 1, false);
    }
    Matrix x(tokens.size(), static_cast<std::size_t>(description_.hidden_size));
    x.values = std::move(states);
    return {description_, std::move(x), std::move(tokens)};
  }

  /// Computes candidates together; `kept` receives the states of a single one.
  void run(const ScoringBatch& batch, std::span<float> logits, HiddenStates* kept, const StopSignal& stop) const {
    States states = embed(batch);
    run_stacks(states, kept, stop);
    const std::size_t each = description_.head.logits();
    for (std::size_t i = 0; i < batch.candidates.size(); ++i) head(states, i, logits.subspan(i * each, each));
  }

  /// What happens between a layer of a stack and the next one.
  using AfterLayer = std::function<void(std::size_t stack, std::size_t layer)>;

  void run_stacks(States& states, HiddenStates* kept, const StopSignal& stop, const AfterLayer& after = {}) const {
    for (std::size_t s = 0; s < stacks_.size(); ++s) {
      for (const std::int32_t group : description_.stacks[s].groups) {
        const std::optional<Derivation>& derived = description_.groups[static_cast<std::size_t>(group)].derived;
        if (derived) states.derive(*derived, codes_);
      }
      run_stack(s, states, kept, stop, after);
    }
  }

  /// Computes the passages of one document together.
  float run_document(const ScoringBatch& batch, const DocumentPassages& document, HiddenStates* kept,
                     const StopSignal& stop) const {
    States states = embed(batch);
    const PivotRows pivots(description_, document, states.tokens());
    Matrix of_pivots;
    run_stacks(states, kept, stop, [&](std::size_t s, std::size_t layer) {
      if (stacks_[s].exchanges.empty()) return;
      const ExchangeParts& parts = stacks_[s].exchanges[layer];
      States exchanged(parts.description, pivots.gather(states.x()), pivots.pivots);
      exchanged.start_stack(0);
      exchanged.run(0, parts.layer);
      of_pivots = exchanged.x();
      if (description_.stacks[s].exchanges[layer].combines) pivots.combine(states.x(), of_pivots, parts.combine);
      if (kept != nullptr) {
        std::vector<std::vector<float>>& groups = kept->pivots.emplace_back();
        for (const Pivots& of_group : document.pivots)
          groups.push_back(rows_of(of_pivots, pivots, of_group.group).values);
      }
    });
    if (of_pivots.rows == 0) of_pivots = pivots.gather(states.x());  // there are no exchanges
    const Head& form = description_.head;
    Matrix pooled(1, 0);
    for (std::size_t i = 0; i < form.groups.size(); ++i) {
      const Matrix one = pool(rows_of(of_pivots, pivots, form.groups[i]), head_pooling_[i]);
      if (kept != nullptr) kept->pooled.push_back(one.values);
      pooled.values.insert(pooled.values.end(), one.values.begin(), one.values.end());
    }
    pooled.columns = pooled.values.size();
    float logit = 0;
    write_outputs(transformed(std::move(pooled)), {&logit, 1});
    return logit;
  }

  /// The states of one group's pivots.
  static Matrix rows_of(const Matrix& states, const PivotRows& pivots, std::int32_t group) {
    Matrix rows(0, states.columns);
    for (std::size_t i = 0; i < states.rows; ++i) {
      if (pivots.pivots[i].group != static_cast<std::size_t>(group)) continue;
      rows.values.insert(rows.values.end(), states[i], states[i] + states.columns);
      ++rows.rows;
    }
    return rows;
  }

  /// One row: a group's pivots pooled.
  Matrix pool(const Matrix& states, const PoolingParts& parts) const {
    const auto hidden = static_cast<std::size_t>(description_.hidden_size);
    if (states.rows == 0) return {1, hidden};
    switch (description_.head.pivots->kind) {
      case PivotPooling::Kind::attention: {
        Attention form;
        form.heads = description_.head.pivots->heads;
        form.head_size = description_.hidden_size / form.heads;
        form.scale = 1;
        form.views = {{{View::Kind::all}}};
        Matrix vector(1, hidden);
        vector.values = parts.vector;
        const std::vector<Token> tokens(states.rows);
        return parts.output(
            attend(parts.query(vector), {Token()}, parts.key(states), parts.value(states), tokens, form, nullptr));
      }
      case PivotPooling::Kind::maximum: {
        Matrix highest(1, hidden);
        std::copy_n(states[0], hidden, highest[0]);
        for (std::size_t row = 1; row < states.rows; ++row) {
          for (std::size_t i = 0; i < hidden; ++i) highest[0][i] = std::max(highest[0][i], states[row][i]);
        }
        return highest;
      }
      case PivotPooling::Kind::layers: break;
    }
    Matrix x(1 + states.rows, hidden);
    std::copy(parts.vector.begin(), parts.vector.end(), x.values.begin());
    std::copy(states.values.begin(), states.values.end(), x[1]);
    for (std::size_t i = 0; !parts.positions.empty() && i < x.values.size(); ++i) x.values[i] += parts.positions[i];
    States through(parts.description, std::move(x), std::vector<Token>(1 + states.rows));
    through.start_stack(0);
    for (std::size_t layer = 0; layer < parts.layers.size(); ++layer) through.run(layer, parts.layers[layer]);
    Matrix first(1, hidden);
    std::copy_n(through.x()[0], hidden, first[0]);
    return first;
  }

  bool is_in(std::size_t stack, std::int32_t group) const {
    const std::vector<std::int32_t>& groups = description_.stacks[stack].groups;
    return std::count(groups.begin(), groups.end(), group) > 0;
  }

  void run_stack(std::size_t s, States& states, HiddenStates* kept, const StopSignal& stop,
                 const AfterLayer& after = {}) const {
    states.start_stack(s);
    const Matrix inputs = stacks_[s].convolution || layers_apart_ > 0 ? states.x() : Matrix();
    for (std::size_t layer = 0; layer < stacks_[s].layers.size(); ++layer) {
      stop.throw_if_due("scoring the candidates");
      // Nothing else has seen what the layers apart made of states that enter behind them.
      for (std::size_t row = 0; layer == layers_apart_ && layer > 0 && row < inputs.rows; ++row) {
        if (states.tokens()[row].computed) std::copy_n(inputs[row], inputs.columns, states.x()[row]);
      }
      states.run(layer, stacks_[s].layers[layer]);
      if (layer == 0 && stacks_[s].convolution) states.convolve(*stacks_[s].convolution, inputs);
      if (after) after(s, layer);
      if (kept != nullptr) kept->layers.push_back(by_segment(states));
    }
    states.end_stack(stacks_[s].final_norm);
  }

  static std::vector<std::vector<float>> by_segment(const States& states) {
    std::vector<std::vector<float>> segments;
    std::size_t row = 0;
    for (const Token& token : states.tokens()) {
      const bool same = row > 0 && states.tokens()[row - 1].segment == token.segment &&
                        states.tokens()[row - 1].candidate == token.candidate;
      if (!same) segments.emplace_back();
      segments.back().insert(segments.back().end(), states.x()[row], states.x()[row] + states.x().columns);
      ++row;
    }
    return segments;
  }

  void head(const States& states, std::size_t candidate, std::span<float> logits) const {
    const Head& form = description_.head;
    const auto pool = [&](const Matrix& x, const std::vector<std::int32_t>& groups, Pooling pooling) {
      std::vector<std::size_t> rows;
      for (const std::int32_t group : groups) {
        const std::vector<std::size_t> more = states.rows_of(group, candidate);
        rows.insert(rows.end(), more.begin(), more.end());
      }
      if (rows.empty()) {
        throw Error(ErrorKind::usage, fmt::format("candidate {}", candidate), "has no token of the head's groups",
                    "give every candidate's input such a segment");
      }
      Matrix result(1, x.columns);
      result.values = pooled(x, std::move(rows), pooling);
      return result;
    };
    const Matrix& pooled_states = form.pools_inputs ? states.entered(form.groups.front(), 0) : states.x();
    Matrix state = pool(pooled_states, form.groups, form.pooling);
    for (float& value : state.values) value = static_cast<float>(value * form.scale);
    if (form.dot_with) {
      const Matrix other = form.dot_layer
                               ? pool(states.entered(*form.dot_with, *form.dot_layer), {*form.dot_with}, Pooling::first)
                               : pool(states.x(), {*form.dot_with}, Pooling::mean);
      if (!form.compares) {
        state = transformed(std::move(state));
        logits.front() = static_cast<float>(dot(state[0], other[0], state.columns));
        return;
      }
      state = compared(other, state);
    }
    write_outputs(transformed(std::move(state)), logits);
  }

  /// [h; e; |h - e|]
  static Matrix compared(const Matrix& h, const Matrix& e) {
    Matrix features(1, 3 * h.columns);
    for (std::size_t i = 0; i < h.columns; ++i) {
      features[0][i] = h[0][i];
      features[0][h.columns + i] = e[0][i];
      features[0][2 * h.columns + i] = std::abs(h[0][i] - e[0][i]);
    }
    return features;
  }

  /// What follows the pooled states, up to the output rows.
  Matrix transformed(Matrix state) const {
    for (const HeadStepParts& step : head_steps_) state = step(state);
    return state;
  }

  void write_outputs(const Matrix& state, std::span<float> logits) const {
    const Matrix outputs = head_output_(state);
    std::copy_n(outputs[0], logits.size(), logits.begin());
    if (description_.head.classifies || description_.head.outputs == 1) return;
    const double highest = *std::max_element(outputs.values.begin(), outputs.values.end());
    double total = 0;
    for (const float output : outputs.values) total += std::exp(output - highest);
    logits.front() = static_cast<float>(outputs[0][0] - highest - std::log(total));
  }

  EncoderDescription description_;
  BackendInfo info_;
  std::vector<float> word_, position_, token_type_;
  Norm embedding_norm_;
  Linear embedding_projection_;
  std::vector<StackParts> stacks_;
  std::vector<PoolingParts> head_pooling_;
  std::vector<HeadStepParts> head_steps_;
  Linear head_output_;
  std::vector<float> codes_;           // [tokens][hidden] of a group derived by codes
  std::optional<std::int32_t> gated_;  // the group of gated tokens
  bool together_ = false;              // a score depends on all candidates
  std::size_t layers_apart_ = 0;       // Plan::layers_apart()
};

}  // namespace

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights) {
  return std::make_unique<RefBackend>(description, weights);
}

}  // namespace relucent::ref
