#include "kernels/ref/ref_backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

#include "kernels/activate.h"
#include "kernels/checks.h"
#include "kernels/relative_positions.h"
#include "relucent/error.h"
#include "relucent/kernels/plan.h"

namespace relucent::ref {
namespace {

/// [rows, columns], row-major.
struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  float* operator[](std::size_t row) { return values.data() + row * columns; }
  const float* operator[](std::size_t row) const { return values.data() + row * columns; }
};

std::vector<float> to_f32(const TensorView& tensor) {
  return tensor.data != nullptr ? tensor.to_f32() : std::vector<float>();
}

/// y = x W^T + b
struct Linear {
  Matrix weight;            // [out, in]
  std::vector<float> bias;  // [out]

  explicit Linear(const LinearWeights& from) {
    if (from.weight.data == nullptr) return;  // absent
    bias = from.bias_to_f32();
    weight.rows = bias.size();
    weight.values = from.weight.to_f32();
    weight.columns = weight.values.size() / weight.rows;
  }

  Matrix operator()(const Matrix& x) const {
    Matrix y(x.rows, weight.rows);
    for (std::size_t row = 0; row < x.rows; ++row) {
      for (std::size_t out = 0; out < weight.rows; ++out) {
        double sum = bias[out];
        for (std::size_t in = 0; in < x.columns; ++in) sum += static_cast<double>(x[row][in]) * weight[out][in];
        y[row][out] = static_cast<float>(sum);
      }
    }
    return y;
  }
};

struct Norm {
  std::vector<float> gamma, beta;
  NormKind kind;
  double epsilon;

  Norm(const NormWeights& from, const EncoderDescription& d) : Norm(from, d.norm_kind, d.norm_epsilon) {}
  Norm(const NormWeights& from, NormKind its_kind, double its_epsilon) : kind(its_kind), epsilon(its_epsilon) {
    if (from.gamma.data == nullptr) return;  // absent
    gamma = from.gamma.to_f32();
    beta = from.beta_to_f32();
  }

  void operator()(Matrix& x) const {
    for (std::size_t row = 0; row < x.rows; ++row) {
      float* values = x[row];
      const auto size = static_cast<double>(x.columns);
      double mean = 0, variance = 0;
      switch (kind) {
        case NormKind::layer:
          for (std::size_t i = 0; i < x.columns; ++i) mean += values[i];
          mean /= size;
          break;
        case NormKind::rms: break;  // about 0
      }
      for (std::size_t i = 0; i < x.columns; ++i) variance += (values[i] - mean) * (values[i] - mean);
      variance /= size;
      const double scale = 1 / std::sqrt(variance + epsilon);
      for (std::size_t i = 0; i < x.columns; ++i) {
        values[i] = static_cast<float>((values[i] - mean) * scale * gamma[i] + beta[i]);
      }
    }
  }
};

void add(Matrix& x, const Matrix& y) {
  std::transform(x.values.begin(), x.values.end(), y.values.begin(), x.values.begin(), std::plus<>());
}

void activate(Matrix& x, Activation activation) {
  for (float& value : x.values) value = relucent::activate(value, activation);
}

/// x <- x + f(x) with a norm after or before f. `f` takes and returns rows of x. `join(x, input, f(input))` replaces
/// the addition.
template <typename Work, typename Join>
void sub_block(Matrix& x, NormPlacement placement, const Norm& norm, const Work& f, const Join& join) {
  Matrix input = x;
  if (placement == NormPlacement::before) norm(input);
  join(x, input, f(input));
  if (placement == NormPlacement::after) norm(x);
}

void add_result(Matrix& x, const Matrix&, const Matrix& result) { add(x, result); }

/// An RMSNorm of each head's part of each row.
struct HeadNorm {
  std::vector<float> gamma;
  double epsilon;

  HeadNorm(const TensorView& from, double its_epsilon) : gamma(to_f32(from)), epsilon(its_epsilon) {}

  void operator()(Matrix& x) const {
    const std::size_t size = gamma.size();
    for (float* values = x.values.data(); values < x.values.data() + x.values.size(); values += size) {
      double squares = 0;
      for (std::size_t i = 0; i < size; ++i) squares += static_cast<double>(values[i]) * values[i];
      const double scale = 1 / std::sqrt(squares / static_cast<double>(size) + epsilon);
      for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(values[i] * scale * gamma[i]);
    }
  }
};

struct AttentionParts {
  Norm norm;
  Linear query, key, value, output;
  HeadNorm query_norm, key_norm;
  std::vector<float> relative_bias;        // [buckets, heads]
  Matrix relative_keys, relative_queries;  // [buckets, heads * head_size] of disentangled attention
  Linear gated_query, gate;

  AttentionParts(const AttentionWeights& w, const EncoderDescription& d)
      : norm(w.norm, d),
        query(w.query),
        key(w.key),
        value(w.value),
        output(w.output),
        query_norm(w.query_norm, d.norm_epsilon),
        key_norm(w.key_norm, d.norm_epsilon),
        relative_bias(to_f32(w.relative_bias)),
        gated_query(w.gated_query),
        gate(w.gate) {}
};

struct FeedForwardParts {
  Norm norm;
  Linear in, gate, out;

  FeedForwardParts(const FeedForwardWeights& w, const EncoderDescription& d)
      : norm(w.norm, d), in(w.in), gate(w.gate), out(w.out) {}

  Matrix operator()(const Matrix& x, const FeedForward& form) const {
    Matrix wide = in(x);
    activate(wide, form.activation);
    if (form.gated) {
      const Matrix factor = gate(x);
      std::transform(wide.values.begin(), wide.values.end(), factor.values.begin(), wide.values.begin(),
                     std::multiplies<>());
    }
    return out(wide);
  }
};

struct LayerParts {
  std::vector<AttentionParts> attentions;
  FeedForwardParts feed_forward;

  LayerParts(const LayerWeights& w, const EncoderDescription& d) : feed_forward(w.feed_forward, d) {
    for (const AttentionWeights& attention : w.attentions) attentions.emplace_back(attention, d);
  }
};

struct ExchangeParts {
  EncoderDescription description;  // the exchange's layer as an encoder of pivots
  LayerParts layer;
  Linear combine;

  ExchangeParts(const ExchangeWeights& w, const Exchange& form, const EncoderDescription& d)
      : description(d), layer(w.layer, d), combine(w.combine) {
    description.stacks = {{form.groups, {form.layer}}};
  }
};

struct ConvolutionParts {
  Convolution form;
  std::vector<float> weight, bias;  // [out, in, size]
  Norm norm;

  ConvolutionParts(const StackWeights& w, const Convolution& convolution, const EncoderDescription& d)
      : form(convolution),
        weight(w.convolution.weight.to_f32()),
        bias(w.convolution.bias_to_f32()),
        norm(w.convolution_norm, d) {}

  /// What is added to row `at` of some consecutive tokens.
  std::vector<float> operator()(const Matrix& tokens, std::size_t at) const {
    const auto size = static_cast<std::size_t>(form.size), half = size / 2;
    std::vector<float> result = bias;
    for (std::size_t out = 0; out < result.size(); ++out) {
      double sum = bias[out];
      for (std::size_t k = 0; k < size; ++k) {
        if (at + k < half || at + k - half >= tokens.rows) continue;
        const float* const token = tokens[at + k - half];
        for (std::size_t in = 0; in < tokens.columns; ++in) {
          sum += static_cast<double>(token[in]) * weight[(out * tokens.columns + in) * size + k];
        }
      }
      result[out] = relucent::activate(static_cast<float>(sum), form.activation);
    }
    return result;
  }
};

struct StackParts {
  std::vector<LayerParts> layers;
  Norm final_norm;
  std::vector<ExchangeParts> exchanges;
  std::optional<ConvolutionParts> convolution;

  StackParts(const StackWeights& w, const Stack& form, const EncoderDescription& d) : final_norm(w.final_norm, d) {
    for (const LayerWeights& layer : w.layers) layers.emplace_back(layer, d);
    for (std::size_t i = 0; i < w.exchanges.size(); ++i) exchanges.emplace_back(w.exchanges[i], form.exchanges[i], d);
    if (form.convolution) convolution.emplace(w, *form.convolution, d);
  }
};

/// What pools a group's pivots.
struct PoolingParts {
  EncoderDescription description;  // the layers as an encoder of pivots
  std::vector<float> vector, positions;
  Linear query, key, value, output;
  std::vector<LayerParts> layers;

  PoolingParts(const PoolingWeights& w, const EncoderDescription& d)
      : description(d),
        vector(to_f32(w.vector)),
        positions(to_f32(w.positions)),
        query(w.query),
        key(w.key),
        value(w.value),
        output(w.output) {
    for (const LayerWeights& layer : w.layers) layers.emplace_back(layer, d);
    description.stacks = {Stack{.groups = {0}, .layers = d.head.pivots->layers}};
    for (Layer& layer : description.stacks.front().layers) layer.attentions.front().views = {{{View::Kind::all}}};
  }
};

struct HeadStepParts {
  HeadStep form;
  Linear dense, residual;
  Norm norm;

  HeadStepParts(const HeadStepWeights& w, const HeadStep& step, const EncoderDescription& d)
      : form(step), dense(w.dense), residual(w.residual), norm(w.norm, d.norm_kind, d.epsilon_of(step)) {}

  Matrix operator()(const Matrix& x) const {
    Matrix y = form.size > 0 ? dense(x) : x;
    activate(y, form.activation);
    switch (form.residual) {
      case HeadStep::Residual::none: break;
      case HeadStep::Residual::input: add(y, x); break;
      case HeadStep::Residual::projected: add(y, residual(x)); break;
    }
    if (form.norm) norm(y);
    return y;
  }
};

/// One token of one candidate, or a pivot. Shared tokens are computed for every candidate.
struct Token {
  std::size_t group = 0, candidate = 0, segment = 0;
  std::int32_t position = 0;
  bool derived = false;                       // not given: States::derive() gives its states
  std::int32_t number = 0;                    // of a pivot
  std::span<const std::int32_t> linked = {};  // what a pivot sees of its group
};

bool sees(const Token& from, const Token& to, const Views& views) {
  if (from.group >= views.size() || views[from.group].empty()) return false;
  const View& view = views[from.group][to.group];
  const bool together = from.candidate == to.candidate;
  switch (view.kind) {
    case View::Kind::none: return false;
    case View::Kind::all: return together;
    case View::Kind::window: return together && std::abs(from.position - to.position) <= view.window;
    case View::Kind::before: return together && to.position <= from.position;
    case View::Kind::across: return true;
    case View::Kind::linked:
      return from.group == to.group && std::binary_search(from.linked.begin(), from.linked.end(), to.number);
  }
  return false;
}

/// Turns each pair (i, i + head_size / 2) of each head by the token's position.
void rotate(Matrix& x, const std::vector<Token>& tokens, const Attention& form) {
  const auto size = static_cast<std::size_t>(form.head_size), half = size / 2;
  for (std::size_t row = 0; row < x.rows; ++row) {
    for (std::size_t first = 0; first < x.columns; first += size) {
      for (std::size_t i = 0; i < half; ++i) {
        const double angle = tokens[row].position * turn_of(form.positions, i, size);
        float &a = x[row][first + i], &b = x[row][first + half + i];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = static_cast<float>(b * std::cos(angle) + a * std::sin(angle));
        a = static_cast<float>(turned);
      }
    }
  }
}

/// The softmax of what each token of `queries` sees, head by head: [queries, heads * head_size]. `parts` has what
/// relative positions need.
Matrix attend(const Matrix& query, const std::vector<Token>& queries, const Matrix& key, const Matrix& value,
              const std::vector<Token>& keys, const Attention& form, const AttentionParts* parts) {
  const auto head_size = static_cast<std::size_t>(form.head_size), heads = static_cast<std::size_t>(form.heads);
  const auto sharing = static_cast<std::size_t>(form.sharing());
  Matrix context(query.rows, query.columns);
  std::vector<std::size_t> seen;
  std::vector<double> weight, sum(head_size);
  for (std::size_t row = 0; row < query.rows; ++row) {
    seen.clear();
    for (std::size_t other = 0; other < key.rows; ++other) {
      if (sees(queries[row], keys[other], form.views)) seen.push_back(other);
    }
    for (std::size_t head = 0; !seen.empty() && head < heads; ++head) {
      const std::size_t first = head * head_size, of_keys = head / sharing * head_size;
      weight.clear();
      double highest = -std::numeric_limits<double>::infinity();
      for (const std::size_t other : seen) {
        double product = 0;
        for (std::size_t i = 0; i < head_size; ++i) {
          product += static_cast<double>(query[row][first + i]) * key[other][of_keys + i];
        }
        const std::int32_t distance = queries[row].position - keys[other].position;
        const auto add_relative = [&](bool present, const Matrix& of, const Matrix& positions, std::size_t of_row) {
          if (!present) return;
          const float* const position = positions[relative_row(distance, form.positions)];
          for (std::size_t i = first; i < first + head_size; ++i) {
            product += static_cast<double>(of[of_row][i]) * position[i];
          }
        };
        if (form.positions.kind == PositionScheme::Kind::disentangled) {
          add_relative(form.positions.content_to_position, query, parts->relative_keys, row);
          add_relative(form.positions.position_to_content, key, parts->relative_queries, other);
        }
        product *= form.scale;
        if (form.positions.kind == PositionScheme::Kind::relative_buckets) {
          product += parts->relative_bias[bucket_of(-distance, form.positions) * heads + head];
        }
        weight.push_back(product);
        highest = std::max(highest, product);
      }
      double total = 0;
      std::fill(sum.begin(), sum.end(), 0);
      for (std::size_t k = 0; k < seen.size(); ++k) {
        const double share = std::exp(weight[k] - highest);
        total += share;
        for (std::size_t i = 0; i < head_size; ++i) sum[i] += share * value[seen[k]][of_keys + i];
      }
      for (std::size_t i = 0; i < head_size; ++i) context[row][first + i] = static_cast<float>(sum[i] / total);
    }
  }
  return context;
}

/// What a vector is divided by at least, as PyTorch's normalize().
constexpr double kShortest = 1e-12;

/// The row that some rows of x give together.
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

double dot(const float* a, const float* b, std::size_t size) {
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

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

/// The states of all tokens of some candidates on their way through the stacks.
class States {
 public:
  States(const EncoderDescription& description, Matrix embedded, std::vector<Token> tokens)
      : d_(description), x_(std::move(embedded)), tokens_(std::move(tokens)), stack_of_(d_.groups.size()) {
    for (std::size_t s = 0; s < d_.stacks.size(); ++s) {
      for (const std::int32_t group : d_.stacks[s].groups) stack_of_[static_cast<std::size_t>(group)] = s;
      kept_.emplace_back(d_.stacks[s].layers.size());
      entered_.emplace_back(d_.stacks[s].layers.size());
    }
  }

  void start_stack(std::size_t stack) {
    stack_ = stack;
    rows_.clear();
    for (std::size_t row = 0; row < tokens_.size(); ++row) {
      const auto& groups = d_.stacks[stack].groups;
      if (std::count(groups.begin(), groups.end(), static_cast<std::int32_t>(tokens_[row].group)) > 0) {
        rows_.push_back(row);
      }
    }
  }

  void run(std::size_t layer, const LayerParts& parts) {
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

  /// `inputs`: all tokens' states before the first layer.
  void convolve(const ConvolutionParts& parts, const Matrix& inputs) {
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

  void end_stack(const Norm& final_norm) {
    if (!d_.stacks[stack_].final_norm) return;
    Matrix own = gathered();
    final_norm(own);
    scatter(own);
  }

  /// Fills the tokens of a derived group that have no states of their own.
  void derive(const Derivation& derivation, const std::vector<float>& codes) {
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

  const Matrix& x() const { return x_; }
  /// All states before a layer of a group's stack, if the head reads such ones.
  const Matrix& entered(std::int32_t group, std::int32_t layer) const {
    return entered_[stack_of_[static_cast<std::size_t>(group)]][static_cast<std::size_t>(layer)];
  }
  Matrix& x() { return x_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  /// The rows of a candidate's tokens of a group.
  std::vector<std::size_t> rows_of(std::int32_t group, std::size_t candidate) const {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < tokens_.size(); ++row) {
      const Token& token = tokens_[row];
      if (token.group == static_cast<std::size_t>(group) && token.candidate == candidate) rows.push_back(row);
    }
    return rows;
  }

 private:
  struct Kept {
    Matrix key, value;
  };

  /// The hint of the gated token in row `row` of this stack's.
  std::vector<float> hint_of(const GatedToken& gated, const Matrix& input, std::size_t row) const {
    std::vector<std::size_t> hints = rows_of(gated.hint_group, tokens_[rows_[row]].candidate);
    for (std::size_t& hint : hints) {
      hint = static_cast<std::size_t>(std::find(rows_.begin(), rows_.end(), hint) - rows_.begin());
    }
    return pooled(input, std::move(hints), gated.hint);
  }
  bool is_gated(const GatedToken& gated, std::size_t row) const {
    return tokens_[rows_[row]].group == static_cast<std::size_t>(gated.group);
  }

  /// Overwrites what the residual connection made of the gated tokens in `x`.
  void pass_gate(const GatedToken& gated, const Linear& gate, const Matrix& before, const Matrix& input,
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

  Matrix gathered() const {
    Matrix own(rows_.size(), x_.columns);
    for (std::size_t i = 0; i < rows_.size(); ++i) std::copy_n(x_[rows_[i]], x_.columns, own[i]);
    return own;
  }
  void scatter(const Matrix& own) {
    for (std::size_t i = 0; i < rows_.size(); ++i) std::copy_n(own[i], x_.columns, x_[rows_[i]]);
  }

  /// `input` has this stack's tokens; those of other stacks show their last states, or the keys of one of their layers.
  Matrix attention(const Matrix& input, const Attention& form, const AttentionParts& parts, Kept* keep) {
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

  const EncoderDescription& d_;
  Matrix x_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> stack_of_, rows_;
  std::vector<std::vector<Kept>> kept_;       // [stack][layer]: what its first attention showed
  std::vector<std::vector<Matrix>> entered_;  // [stack][layer]: all states before it, if the head may read them
  std::size_t stack_ = 0;
};

/// The pivots of a document and the rows of its states that each is the mean of.
struct PivotRows {
  std::vector<Token> pivots;
  std::vector<std::vector<std::size_t>> rows;

  PivotRows(const EncoderDescription& description, const DocumentPassages& document, const std::vector<Token>& tokens) {
    // [candidates][groups][tokens]
    std::vector<std::vector<std::vector<std::size_t>>> places(
        document.candidates, std::vector<std::vector<std::size_t>>(description.groups.size()));
    for (std::size_t row = 0; row < tokens.size(); ++row)
      places[tokens[row].candidate][tokens[row].group].push_back(row);
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

  /// The means of the tokens' states.
  Matrix gather(const Matrix& x) const {
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

  /// Every token takes up its pivot's state.
  void combine(Matrix& x, const Matrix& states, const Linear& with) const {
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
};

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
        tokens.push_back({static_cast<std::size_t>(group), candidate, number, segment.positions[i]});
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
    const Matrix inputs = stacks_[s].convolution ? states.x() : Matrix();
    for (std::size_t layer = 0; layer < stacks_[s].layers.size(); ++layer) {
      stop.throw_if_due("scoring the candidates");
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
};

}  // namespace

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights) {
  return std::make_unique<RefBackend>(description, weights);
}

}  // namespace relucent::ref
