#include "kernels/ref/states.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace relucent::ref {
namespace {

/// The state that Derivation::Kind::codes describes, for one code.
void apply_code(const float* code, const Matrix& x, std::span<const std::size_t> rows, float* result) {
  std::vector<double> weights, sums(x.columns);
  for (const std::size_t row : rows) weights.push_back(dot(code, x[row], x.columns));
  const double highest = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double share = std::exp(weights[k] - highest);
    total += share;
    for (std::size_t i = 0; i < x.columns; ++i) sums[i] += share * x[rows[k]][i];
  }
  for (std::size_t i = 0; i < x.columns; ++i) result[i] = static_cast<float>(sums[i] / total);
}

}  // namespace

std::vector<float> pooled(const Matrix& x, std::vector<std::size_t> rows, Pooling pooling) {
  switch (pooling) {
    case Pooling::mean: break;
    case Pooling::first: rows = {rows.front()}; break;
    case Pooling::last: rows = {rows.back()}; break;
    case Pooling::all_but_last:
      if (rows.size() > 1) rows.pop_back();
      break;
  }
  std::vector<float> result(x.columns);
  for (std::size_t i = 0; i < x.columns; ++i) {
    double sum = 0;
    for (const std::size_t row : rows) sum += x[row][i];
    result[i] = static_cast<float>(sum / static_cast<double>(rows.size()));
  }
  return result;
}

States::States(const EncoderDescription& description, Matrix embedded, std::vector<Token> tokens)
    : d_(description), x_(std::move(embedded)), tokens_(std::move(tokens)), stack_of_(d_.groups.size()) {
  for (std::size_t s = 0; s < d_.stacks.size(); ++s) {
    for (const std::int32_t group : d_.stacks[s].groups) stack_of_[static_cast<std::size_t>(group)] = s;
    kept_.emplace_back(d_.stacks[s].layers.size());
    entered_.emplace_back(d_.stacks[s].layers.size());
  }
}

void States::start_stack(std::size_t stack) {
  stack_ = stack;
  rows_.clear();
  for (std::size_t row = 0; row < tokens_.size(); ++row) {
    const auto& groups = d_.stacks[stack].groups;
    if (std::count(groups.begin(), groups.end(), static_cast<std::int32_t>(tokens_[row].group)) > 0) {
      rows_.push_back(row);
    }
  }
}

void States::run(std::size_t layer, const LayerParts& parts) {
  const Layer& form = d_.stacks[stack_].layers[layer];
  Matrix own = gathered();
  if (d_.head.dot_layer || d_.head.pools_inputs) entered_[stack_][layer] = x_;
  for (std::size_t a = 0; a < form.attentions.size(); ++a) {
    const Attention& attended = form.attentions[a];
    sub_block(
        own, attended.norm, parts.attentions[a].norm,
        [&](const Matrix& input) {
          return attention(input, attended, parts.attentions[a], a == 0 ? &kept_[stack_][layer] : nullptr);
        },
        [&](Matrix& x, const Matrix& input, Matrix result) {
          const Matrix before = x;
          add(x, result);
          if (attended.gated) pass_gate(*attended.gated, parts.attentions[a].gate, before, input, result, x);
        });
  }
  sub_block(
      own, form.feed_forward.norm, parts.feed_forward.norm,
      [&](const Matrix& input) { return parts.feed_forward(input, form.feed_forward); }, add_result);
  scatter(own);
}

void States::convolve(const ConvolutionParts& parts, const Matrix& inputs) {
  std::vector<std::size_t> order = rows_;
  std::ranges::stable_sort(order, {},
                           [&](std::size_t row) { return std::pair(tokens_[row].candidate, tokens_[row].position); });
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && tokens_[order[end]].candidate == tokens_[order[first]].candidate) ++end;
    Matrix tokens(end - first, x_.columns);
    for (std::size_t i = 0; i < tokens.rows; ++i) std::copy_n(inputs[order[first + i]], x_.columns, tokens[i]);
    for (std::size_t i = 0; i < tokens.rows; ++i) {
      const std::vector<float> added = parts(tokens, i);
      for (std::size_t column = 0; column < x_.columns; ++column) x_[order[first + i]][column] += added[column];
    }
  }
  Matrix own = gathered();
  parts.norm(own);
  scatter(own);
}

void States::end_stack(const Norm& final_norm) {
  if (!d_.stacks[stack_].final_norm) return;
  Matrix own = gathered();
  final_norm(own);
  scatter(own);
}

void States::derive(const Derivation& derivation, const std::vector<float>& codes) {
  for (std::size_t row = 0; row < tokens_.size(); ++row) {
    if (!tokens_[row].derived) continue;
    const std::vector<std::size_t> from = rows_of(derivation.group, tokens_[row].candidate);
    const auto number = static_cast<std::size_t>(tokens_[row].position);
    switch (derivation.kind) {
      case Derivation::Kind::first_tokens: std::copy_n(x_[from.at(number)], x_.columns, x_[row]); break;
      case Derivation::Kind::codes: apply_code(codes.data() + number * x_.columns, x_, from, x_[row]); break;
    }
  }
}

std::vector<std::size_t> States::rows_of(std::int32_t group, std::size_t candidate) const {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < tokens_.size(); ++row) {
    const Token& token = tokens_[row];
    if (token.group == static_cast<std::size_t>(group) && token.candidate == candidate) rows.push_back(row);
  }
  return rows;
}

std::vector<float> States::hint_of(const GatedToken& gated, const Matrix& input, std::size_t row) const {
  std::vector<std::size_t> hints = rows_of(gated.hint_group, tokens_[rows_[row]].candidate);
  for (std::size_t& hint : hints) {
    hint = static_cast<std::size_t>(std::find(rows_.begin(), rows_.end(), hint) - rows_.begin());
  }
  return pooled(input, std::move(hints), gated.hint);
}

void States::pass_gate(const GatedToken& gated, const Linear& gate, const Matrix& before, const Matrix& input,
                       const Matrix& result, Matrix& x) const {
  for (std::size_t row = 0; row < x.rows; ++row) {
    if (!is_gated(gated, row)) continue;
    Matrix joined(1, 3 * x.columns);
    const std::vector<float> hint = hint_of(gated, input, row);
    std::copy(hint.begin(), hint.end(), joined[0]);
    std::copy_n(result[row], x.columns, joined[0] + x.columns);
    std::copy_n(before[row], x.columns, joined[0] + 2 * x.columns);
    const Matrix logits = gate(joined);
    for (std::size_t i = 0; i < x.columns; ++i) {
      const double share = 1 / (1 + std::exp(-static_cast<double>(logits[0][i])));
      x[row][i] = static_cast<float>(share * result[row][i] + (1 - share) * before[row][i]);
    }
  }
}

Matrix States::gathered() const {
  Matrix own(rows_.size(), x_.columns);
  for (std::size_t i = 0; i < rows_.size(); ++i) std::copy_n(x_[rows_[i]], x_.columns, own[i]);
  return own;
}

Matrix States::attention(const Matrix& input, const Attention& form, const AttentionParts& parts, Kept* keep) {
  const Matrix before = x_;
  scatter(input);
  Kept of{parts.key(x_), parts.value(x_)};
  x_ = before;
  Matrix query = parts.query(input);
  for (std::size_t row = 0; form.gated && row < rows_.size(); ++row) {
    if (!is_gated(*form.gated, row)) continue;
    Matrix hint(1, input.columns);
    hint.values = hint_of(*form.gated, input, row);
    std::copy_n(parts.gated_query(hint)[0], query.columns, query[row]);
  }
  std::vector<Token> own;
  for (const std::size_t row : rows_) own.push_back(tokens_[row]);
  if (form.norms_heads) {
    parts.query_norm(query);
    parts.key_norm(of.key);
  }
  switch (form.positions.kind) {
    case PositionScheme::Kind::none:
    case PositionScheme::Kind::relative_buckets:
    case PositionScheme::Kind::disentangled: break;
    case PositionScheme::Kind::rotary:
      rotate(query, own, form);
      rotate(of.key, tokens_, form);
      break;
  }
  for (std::size_t row = 0; form.keys_of_layer && row < tokens_.size(); ++row) {
    const std::size_t stack = stack_of_[tokens_[row].group];
    if (stack >= stack_) continue;
    const Kept& from = kept_[stack][static_cast<std::size_t>(*form.keys_of_layer)];
    std::copy_n(from.key[row], of.key.columns, of.key[row]);
    std::copy_n(from.value[row], of.value.columns, of.value[row]);
  }
  const Matrix context = attend(query, own, of.key, of.value, tokens_, form, &parts);
  if (keep != nullptr) *keep = std::move(of);
  return parts.output(context);
}

PivotRows::PivotRows(const EncoderDescription& description, const DocumentPassages& document,
                     const std::vector<Token>& tokens) {
  // [candidates][groups][tokens]
  std::vector<std::vector<std::vector<std::size_t>>> places(
      document.candidates, std::vector<std::vector<std::size_t>>(description.groups.size()));
  for (std::size_t row = 0; row < tokens.size(); ++row) places[tokens[row].candidate][tokens[row].group].push_back(row);
  for (const Pivots& of_group : document.pivots) {
    const auto group = static_cast<std::size_t>(of_group.group);
    const auto source = static_cast<std::size_t>(*description.groups[group].pivots_of);
    for (std::size_t i = 0; i < of_group.pivots.size(); ++i) {
      const Pivots::Pivot& pivot = of_group.pivots[i];
      pivots.push_back({.group = group,
                        .number = static_cast<std::int32_t>(i),
                        .linked = of_group.seen.subspan(pivot.first_seen, pivot.seen)});
      std::vector<std::size_t>& of_pivot = rows.emplace_back();
      for (const std::int32_t token : of_group.tokens.subspan(pivot.first_token, pivot.tokens)) {
        of_pivot.push_back(places[pivot.candidate][source][static_cast<std::size_t>(token)]);
      }
    }
  }
}

Matrix PivotRows::gather(const Matrix& x) const {
  Matrix means(pivots.size(), x.columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t column = 0; column < x.columns; ++column) {
      double sum = 0;
      for (const std::size_t row : rows[i]) sum += x[row][column];
      means[i][column] = static_cast<float>(sum / static_cast<double>(rows[i].size()));
    }
  }
  return means;
}

void PivotRows::combine(Matrix& x, const Matrix& states, const Linear& with) const {
  Matrix both(1, 2 * x.columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::size_t row : rows[i]) {
      std::copy_n(x[row], x.columns, both[0]);
      std::copy_n(states[i], x.columns, both[0] + x.columns);
      const Matrix combined = with(both);
      std::copy_n(combined[0], x.columns, x[row]);
    }
  }
}

}  // namespace relucent::ref
