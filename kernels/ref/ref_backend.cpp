#include "kernels/ref/ref_backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/checks.h"

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

struct Linear {
  Matrix weight;            // [out, in]
  std::vector<float> bias;  // [out]

  explicit Linear(const LinearWeights& from) : bias(from.bias.to_f32()) {
    weight.rows = bias.size();
    weight.values = from.weight.to_f32();
    weight.columns = weight.values.size() / weight.rows;
  }

  // y = x W^T + b
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

struct LayerNorm {
  std::vector<float> gamma, beta;
  double epsilon;

  LayerNorm(const NormWeights& from, float eps) : gamma(from.gamma.to_f32()), beta(from.beta.to_f32()), epsilon(eps) {}

  void operator()(Matrix& x) const {
    for (std::size_t row = 0; row < x.rows; ++row) {
      float* values = x[row];
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < x.columns; ++i) mean += values[i];
      mean /= static_cast<double>(x.columns);
      for (std::size_t i = 0; i < x.columns; ++i) variance += (values[i] - mean) * (values[i] - mean);
      variance /= static_cast<double>(x.columns);
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

void gelu(Matrix& x) {
  for (float& value : x.values) {
    value = static_cast<float>(0.5 * value * (1 + std::erf(value / std::numbers::sqrt2)));
  }
}

struct Layer {
  Linear query, key, value, attention_output;
  LayerNorm attention_norm;
  Linear intermediate, output;
  LayerNorm output_norm;

  Layer(const LayerWeights& w, float epsilon)
      : query(w.query),
        key(w.key),
        value(w.value),
        attention_output(w.attention_output),
        attention_norm(w.attention_norm, epsilon),
        intermediate(w.intermediate),
        output(w.output),
        output_norm(w.output_norm, epsilon) {}
};

/// The input [CLS] query document: rows 0, 1 .. query, 1 + query .. 1 + query + document.
struct Input {
  std::size_t query = 0, document = 0;
  std::size_t rows() const { return 1 + query + document; }
};

enum class Group { cls, query, document };

Group group_of(std::size_t row, const Input& input) {
  return row == 0 ? Group::cls : row <= input.query ? Group::query : Group::document;
}

/// Whether the token in row `from` attends to the one in row `to`.
bool attends(std::size_t from, std::size_t to, const Input& input, const AttentionPattern& pattern) {
  const Group target = group_of(to, input);
  switch (group_of(from, input)) {
    case Group::cls: return target == Group::cls || (target == Group::query ? pattern.cls_query : pattern.cls_document);
    case Group::query:
      return target == Group::query || (target == Group::cls ? pattern.query_cls : pattern.query_document);
    case Group::document:
      if (target == Group::cls) return pattern.document_cls;
      if (target == Group::query) return pattern.document_query;
      return !pattern.window || std::max(from, to) - std::min(from, to) <= static_cast<std::size_t>(*pattern.window);
  }
  return false;
}

/// softmax(Q K^T / sqrt(head_size)) V a head, over the rows that each row attends to.
Matrix attention(const Matrix& query, const Matrix& key, const Matrix& value, std::size_t heads, const Input& input,
                 const AttentionPattern& pattern) {
  const std::size_t head_size = query.columns / heads;
  const double scale = 1 / std::sqrt(static_cast<double>(head_size));
  Matrix context(query.rows, query.columns);
  std::vector<std::size_t> seen;
  std::vector<double> weight, sum(head_size);
  for (std::size_t row = 0; row < query.rows; ++row) {
    seen.clear();
    for (std::size_t other = 0; other < key.rows; ++other) {
      if (attends(row, other, input, pattern)) seen.push_back(other);
    }
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t first = head * head_size;
      weight.clear();
      double highest = -std::numeric_limits<double>::infinity();
      for (const std::size_t other : seen) {
        double product = 0;
        for (std::size_t i = first; i < first + head_size; ++i) {
          product += static_cast<double>(query[row][i]) * key[other][i];
        }
        weight.push_back(product * scale);
        highest = std::max(highest, weight.back());
      }
      double total = 0;
      std::fill(sum.begin(), sum.end(), 0);
      for (std::size_t k = 0; k < seen.size(); ++k) {
        const double share = std::exp(weight[k] - highest);
        total += share;
        for (std::size_t i = 0; i < head_size; ++i) sum[i] += share * value[seen[k]][first + i];
      }
      for (std::size_t i = 0; i < head_size; ++i) context[row][first + i] = static_cast<float>(sum[i] / total);
    }
  }
  return context;
}

class RefBackend final : public Backend {
 public:
  RefBackend(const EncoderDescription& description, const EncoderWeights& weights)
      : description_(description),
        word_(weights.word_embeddings.to_f32()),
        position_(weights.position_embeddings.to_f32()),
        token_type_(weights.token_type_embeddings.to_f32()),
        embedding_norm_(weights.embedding_norm, description.norm_epsilon),
        pooler_(weights.pooler),
        classifier_(weights.classifier) {
    for (const LayerWeights& layer : weights.layers) layers_.emplace_back(layer, description.norm_epsilon);
    info_.device = "ref";
    info_.instruction_set = "plain";
  }

  const BackendInfo& info() const noexcept override { return info_; }

  void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop) const override {
    check_batch(description_, batch, logits.size());
    for (std::size_t i = 0; i < batch.documents.size(); ++i) {
      logits[i] = run(batch.cls_id, batch.query, batch.documents[i], stop).logit;
    }
  }

  HiddenStates hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                             std::span<const std::int32_t> document) const override {
    const std::span<const std::int32_t> documents[] = {document};
    check_batch(description_, {cls_id, query, documents}, 1);
    return run(cls_id, query, document, {});
  }

 private:
  Matrix embed(std::int32_t cls_id, std::span<const std::int32_t> query, std::span<const std::int32_t> document) const {
    const auto hidden = static_cast<std::size_t>(description_.hidden_size);
    const Input input{query.size(), document.size()};
    Matrix x(input.rows(), hidden);
    for (std::size_t row = 0; row < x.rows; ++row) {
      const Group group = group_of(row, input);
      const auto id = static_cast<std::size_t>(group == Group::cls     ? cls_id
                                               : group == Group::query ? query[row - 1]
                                                                       : document[row - 1 - input.query]);
      const std::size_t type = group == Group::document && description_.document_token_type ? 1 : 0;
      for (std::size_t i = 0; i < hidden; ++i) {
        x[row][i] = word_[id * hidden + i] + position_[row * hidden + i] + token_type_[type * hidden + i];
      }
    }
    embedding_norm_(x);
    return x;
  }

  HiddenStates run(std::int32_t cls_id, std::span<const std::int32_t> query, std::span<const std::int32_t> document,
                   const StopSignal& stop) const {
    const Input input{query.size(), document.size()};
    const auto heads = static_cast<std::size_t>(description_.heads);
    HiddenStates states;
    Matrix x = embed(cls_id, query, document);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      stop.throw_if_due("scoring the candidates");
      const Layer& layer = layers_[i];
      Matrix y = layer.attention_output(
          attention(layer.query(x), layer.key(x), layer.value(x), heads, input, description_.patterns[i]));
      add(x, y);
      layer.attention_norm(x);
      y = layer.intermediate(x);
      gelu(y);
      add(x, layer.output(y));
      layer.output_norm(x);
      states.cls.emplace_back(x[0], x[0] + x.columns);
    }
    states.query_last.assign(x[1], x[1] + query.size() * x.columns);
    states.document_last.assign(x[1 + query.size()], x[1 + query.size()] + document.size() * x.columns);

    Matrix cls(1, x.columns);
    std::copy_n(x[0], x.columns, cls[0]);
    Matrix pooled = pooler_(cls);
    for (float& value : pooled.values) value = std::tanh(value);
    states.logit = classifier_(pooled)[0][0];
    return states;
  }

  EncoderDescription description_;
  BackendInfo info_;
  std::vector<float> word_, position_, token_type_;
  LayerNorm embedding_norm_;
  std::vector<Layer> layers_;
  Linear pooler_, classifier_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights) {
  return std::make_unique<RefBackend>(description, weights);
}

}  // namespace relucent::ref
