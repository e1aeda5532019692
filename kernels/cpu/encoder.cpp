#include "cpu/encoder.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace relucent::cpu {
namespace {

std::vector<float> joined(const TensorView& a, const TensorView& b, const TensorView& c) {
  std::vector<float> all = a.to_f32();
  for (const TensorView* more : {&b, &c}) {
    const std::vector<float> values = more->to_f32();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// Queries and keys meet in the softmax, which magnifies their rounding; over few inputs it hardly averages out (logits of
// 64-wide encoders move by up to 0.06, against 0.02 at 384), and so small a product gains nothing from 16 bits.
Arithmetic projection_arithmetic(Arithmetic arithmetic, std::int32_t hidden_size) {
  return hidden_size < 128 ? Arithmetic::fp32 : arithmetic;
}

void grow(std::vector<float>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
}

}  // namespace

Encoder::Encoder(const EncoderDescription& description, const EncoderWeights& weights, Arithmetic arithmetic,
                 const VectorKernels& kernels)
    : description_(description),
      kernels_(kernels),
      arithmetic_(arithmetic),
      projection_arithmetic_(projection_arithmetic(arithmetic, description.hidden_size)),
      shares_query_(std::all_of(description.patterns.begin(), description.patterns.end(),
                                [](const AttentionPattern& pattern) { return pattern.query_is_independent(); })),
      word_(weights.word_embeddings.to_f32()),
      position_(weights.position_embeddings.to_f32()),
      token_type_(weights.token_type_embeddings.to_f32()),
      pooler_(weights.pooler.weight.to_f32()),
      pooler_bias_(weights.pooler.bias.to_f32()),
      classifier_(weights.classifier.weight.to_f32()),
      classifier_bias_(weights.classifier.bias.to_f32()) {
  const auto norm = [](const NormWeights& from) { return Norm{from.gamma.to_f32(), from.beta.to_f32()}; };
  const auto linear = [&](const LinearWeights& from) {
    return make_linear(arithmetic, kernels, from.weight.to_f32(), from.bias.to_f32());
  };
  embedding_norm_ = norm(weights.embedding_norm);
  for (const LayerWeights& from : weights.layers) {
    layers_.push_back({make_linear(projection_arithmetic_, kernels,
                                   joined(from.query.weight, from.key.weight, from.value.weight),
                                   joined(from.query.bias, from.key.bias, from.value.bias)),
                       linear(from.attention_output), linear(from.intermediate), linear(from.output),
                       norm(from.attention_norm), norm(from.output_norm)});
  }
  const LayerWeights& from = weights.layers.back();
  last_ = {from.query.weight.to_f32(),          from.query.bias.to_f32(),        from.key.weight.to_f32(),
           from.value.weight.to_f32(),          from.value.bias.to_f32(),        from.attention_output.weight.to_f32(),
           from.attention_output.bias.to_f32(), from.intermediate.weight.to_f32(), from.intermediate.bias.to_f32(),
           from.output.weight.to_f32(),         from.output.bias.to_f32(),       norm(from.attention_norm),
           norm(from.output_norm)};
}

void Encoder::reserve(Workspace& workspace, std::size_t rows) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const auto intermediate = static_cast<std::size_t>(description_.intermediate_size);
  const std::size_t whole = tile_rows(rows);
  grow(workspace.x, whole * hidden);
  grow(workspace.qkv, whole * 3 * hidden);
  grow(workspace.context, whole * hidden);
  grow(workspace.product, whole * std::max(hidden, intermediate));
  grow(workspace.scores, rows);
}

void Encoder::embed(std::span<const std::int32_t> ids, std::size_t first_position, std::size_t token_type,
                    float* rows) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const float* type = token_type_.data() + token_type * hidden;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const float* word = word_.data() + static_cast<std::size_t>(ids[row]) * hidden;
    const float* position = position_.data() + (first_position + row) * hidden;
    float* to = rows + row * hidden;
    for (std::size_t i = 0; i < hidden; ++i) to[i] = word[i] + position[i] + type[i];
  }
  kernels_.add_layer_norm(rows, nullptr, nullptr, embedding_norm_.gamma.data(), embedding_norm_.beta.data(),
                          description_.norm_epsilon, ids.size(), hidden);
}

void Encoder::embed(std::int32_t cls_id, std::span<const std::int32_t> query, std::span<const std::int32_t> document,
                    const Layout& layout, Workspace& workspace) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  reserve(workspace, std::max(layout.rows(), 1 + layout.query + layout.document));
  embed({&cls_id, 1}, 0, 0, workspace.x.data());
  if (layout.query_in_rows) embed(query, 1, 0, workspace.x.data() + hidden);
  embed(document, 1 + query.size(), description_.document_token_type ? 1 : 0,
        workspace.x.data() + layout.first_document_row() * hidden);
}

template <typename Attend>
void Encoder::block(const Layer& layer, std::size_t rows, Workspace& w, const Attend& attend) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const float epsilon = description_.norm_epsilon;
  w.operand.assign(projection_arithmetic_, kernels_, w.x.data(), rows, hidden);
  layer.qkv->multiply(w.operand, rows, w.qkv.data());
  kernels_.add_bias(w.qkv.data(), layer.qkv->bias(), rows, 3 * hidden);
  attend();

  w.operand.assign(arithmetic_, kernels_, w.context.data(), rows, hidden);
  layer.attention_output->multiply(w.operand, rows, w.product.data());
  kernels_.add_layer_norm(w.x.data(), w.product.data(), layer.attention_output->bias(),
                          layer.attention_norm.gamma.data(), layer.attention_norm.beta.data(), epsilon, rows, hidden);

  w.operand.assign(arithmetic_, kernels_, w.x.data(), rows, hidden);
  layer.intermediate->multiply_gelu(w.operand, rows, w.product.data(), w.activated);
  // fp32 operands point into w.product, so the second product goes elsewhere.
  layer.output->multiply(w.activated, rows, w.context.data());
  kernels_.add_layer_norm(w.x.data(), w.context.data(), layer.output->bias(), layer.output_norm.gamma.data(),
                          layer.output_norm.beta.data(), epsilon, rows, hidden);
}

void Encoder::attend_rows(const AttentionPattern& pattern, const Layout& layout, const float* query_qkv,
                          Workspace& w) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const auto head_size = static_cast<std::size_t>(description_.head_size());
  const auto heads = static_cast<std::size_t>(description_.heads);
  const std::size_t stride = 3 * hidden, first = layout.first_document_row();
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_size));

  struct Rows {
    const float* start;
    std::size_t count;
  };
  const auto attend = [&](std::size_t row, std::initializer_list<Rows> seen) {
    for (std::size_t head = 0; head < heads; ++head) {
      std::array<Segment, 3> segments;
      std::size_t count = 0;
      for (const Rows& rows : seen) {
        if (rows.count == 0) continue;
        const float* start = rows.start + head * head_size;
        segments[count++] = {start + hidden, start + 2 * hidden, stride, rows.count};
      }
      kernels_.attend(w.qkv.data() + row * stride + head * head_size, segments.data(), count, head_size, scale,
                      w.scores.data(), w.context.data() + row * hidden + head * head_size);
    }
  };
  const Rows none{nullptr, 0};
  const Rows cls{w.qkv.data(), 1};
  const Rows query{layout.query_in_rows ? w.qkv.data() + stride : query_qkv, layout.query};
  const Rows document{w.qkv.data() + first * stride, layout.document};

  attend(0, {cls, pattern.cls_query ? query : none, pattern.cls_document ? document : none});
  if (layout.query_in_rows) {
    for (std::size_t i = 0; i < layout.query; ++i) {
      attend(1 + i, {pattern.query_cls ? cls : none, query, pattern.query_document ? document : none});
    }
  }
  const std::size_t window = pattern.window ? static_cast<std::size_t>(*pattern.window) : layout.document;
  for (std::size_t i = 0; i < layout.document; ++i) {
    const std::size_t begin = i - std::min(i, window), end = std::min(layout.document, i + window + 1);
    const Rows band{document.start + begin * stride, end - begin};
    attend(first + i, {pattern.document_cls ? cls : none, pattern.document_query ? query : none, band});
  }
}

QueryStates Encoder::encode_query(std::span<const std::int32_t> query, Workspace& w, const StopSignal& stop) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const std::size_t rows = query.size();
  QueryStates states;
  states.rows = rows;
  reserve(w, rows);
  embed(query, 1, 0, w.x.data());
  // Q sees itself alone: to the attention it is a document without window, [CLS] or query.
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    stop.throw_if_due("encoding the query");
    block(layers_[i], rows, w, [&] {
      states.qkv.emplace_back(w.qkv.data(), w.qkv.data() + rows * 3 * hidden);
      const auto head_size = static_cast<std::size_t>(description_.head_size());
      const float scale = 1.0F / std::sqrt(static_cast<float>(head_size));
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t first = 0; first < hidden; first += head_size) {
          const Segment all{w.qkv.data() + hidden + first, w.qkv.data() + 2 * hidden + first, 3 * hidden, rows};
          kernels_.attend(w.qkv.data() + row * 3 * hidden + first, &all, 1, head_size, scale, w.scores.data(),
                          w.context.data() + row * hidden + first);
        }
      }
    });
  }
  states.last.assign(w.x.data(), w.x.data() + rows * hidden);
  return states;
}

void Encoder::last_block(const Layout& layout, const float* query_rows, Workspace& w) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const auto intermediate = static_cast<std::size_t>(description_.intermediate_size);
  const auto head_size = static_cast<std::size_t>(description_.head_size());
  const AttentionPattern& pattern = description_.patterns.back();
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_size));

  // [CLS]'s query and context, one head's absorbed key and weighted row, and the wide activation.
  grow(w.cls, 4 * hidden + intermediate);
  float* query = w.cls.data();
  float* context = query + hidden;
  float* absorbed = context + hidden;
  float* mixed = absorbed + hidden;
  float* wide = mixed + hidden;
  float* cls = w.x.data();

  struct Rows {
    const float* start;
    std::size_t count;
  };
  const std::array<Rows, 3> seen = {
      Rows{cls, 1}, Rows{query_rows, pattern.cls_query ? layout.query : 0},
      Rows{cls + layout.first_document_row() * hidden, pattern.cls_document ? layout.document : 0}};

  kernels_.dot_products(cls, last_.query.data(), hidden, hidden, hidden, query);
  kernels_.add_bias(query, last_.query_bias.data(), 1, hidden);
  for (std::size_t first = 0; first < hidden; first += head_size) {
    // The key bias adds the same to every score and cancels in the softmax.
    kernels_.weighted_sum(query + first, last_.key.data() + first * hidden, hidden, head_size, hidden, absorbed);
    std::size_t count = 0;
    for (const Rows& rows : seen) {
      kernels_.dot_products(absorbed, rows.start, hidden, rows.count, hidden, w.scores.data() + count);
      count += rows.count;
    }
    for (std::size_t k = 0; k < count; ++k) w.scores[k] *= scale;
    kernels_.softmax(w.scores.data(), count);
    std::fill_n(mixed, hidden, 0.0F);
    count = 0;
    for (const Rows& rows : seen) {
      if (rows.count == 0) continue;
      kernels_.weighted_sum(w.scores.data() + count, rows.start, hidden, rows.count, hidden, absorbed);
      for (std::size_t i = 0; i < hidden; ++i) mixed[i] += absorbed[i];
      count += rows.count;
    }
    kernels_.dot_products(mixed, last_.value.data() + first * hidden, hidden, head_size, hidden, context + first);
  }
  kernels_.add_bias(context, last_.value_bias.data(), 1, hidden);

  kernels_.dot_products(context, last_.attention_output.data(), hidden, hidden, hidden, mixed);
  kernels_.add_layer_norm(cls, mixed, last_.attention_bias.data(), last_.attention_norm.gamma.data(),
                          last_.attention_norm.beta.data(), description_.norm_epsilon, 1, hidden);
  kernels_.dot_products(cls, last_.intermediate.data(), hidden, intermediate, hidden, wide);
  kernels_.add_gelu(wide, last_.intermediate_bias.data(), 1, intermediate);
  kernels_.dot_products(wide, last_.output.data(), intermediate, hidden, intermediate, mixed);
  kernels_.add_layer_norm(cls, mixed, last_.output_bias.data(), last_.output_norm.gamma.data(),
                          last_.output_norm.beta.data(), description_.norm_epsilon, 1, hidden);
}

float Encoder::head(Workspace& w) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  grow(w.cls, hidden);
  float* pooled = w.cls.data();
  kernels_.dot_products(w.x.data(), pooler_.data(), hidden, hidden, hidden, pooled);
  for (std::size_t i = 0; i < hidden; ++i) pooled[i] = std::tanh(pooled[i] + pooler_bias_[i]);
  float logit = 0;
  kernels_.dot_products(pooled, classifier_.data(), hidden, 1, hidden, &logit);
  return logit + classifier_bias_.front();
}

float Encoder::score(std::int32_t cls_id, std::span<const std::int32_t> query, std::span<const std::int32_t> document,
                     const QueryStates* shared, Workspace& w, const StopSignal& stop) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const Layout layout{query.size(), document.size(), shared == nullptr};
  embed(cls_id, query, document, layout, w);
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
    stop.throw_if_due("scoring the candidates");
    block(layers_[i], layout.rows(), w, [&] {
      attend_rows(description_.patterns[i], layout, shared == nullptr ? nullptr : shared->qkv[i].data(), w);
    });
  }
  stop.throw_if_due("scoring the candidates");
  last_block(layout, shared == nullptr ? w.x.data() + hidden : shared->last.data(), w);
  return head(w);
}

HiddenStates Encoder::hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                                    std::span<const std::int32_t> document, Workspace& w) const {
  const auto hidden = static_cast<std::size_t>(description_.hidden_size);
  const Layout layout{query.size(), document.size(), true};
  HiddenStates states;
  embed(cls_id, query, document, layout, w);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    block(layers_[i], layout.rows(), w, [&] { attend_rows(description_.patterns[i], layout, nullptr, w); });
    states.cls.emplace_back(w.x.data(), w.x.data() + hidden);
  }
  const float* rows = w.x.data() + hidden;
  states.query_last.assign(rows, rows + query.size() * hidden);
  states.document_last.assign(rows + query.size() * hidden, rows + (query.size() + document.size()) * hidden);
  states.logit = head(w);
  return states;
}

}  // namespace relucent::cpu
