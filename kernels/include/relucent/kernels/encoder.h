#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relucent/export.h"

namespace relucent {

/// Which groups of tokens attend to which. The input [CLS] query [SEP] document [SEP] is split into
/// C = {[CLS]}, Q = query + its [SEP], D = document + its [SEP]. Every group attends to itself; the flags
/// say what else it sees, all within one softmax. Only D -> D is windowed: token i of D sees tokens
/// max(0, i - window) .. min(|D| - 1, i + window) of D; the window never reaches into Q.
/// Source: Schlatt, Froebe, Hagen, ECIR 2024 (arXiv 2312.17649).
struct AttentionPattern {
  bool cls_query = true;
  bool cls_document = true;
  bool query_cls = true;
  bool query_document = true;
  bool document_cls = true;
  bool document_query = true;
  std::optional<std::int32_t> window;  ///< none = unlimited; 0 = each document token sees itself, C and Q

  /// Whether Q's hidden states are the same for every candidate and can be computed once.
  bool query_is_independent() const noexcept { return !query_cls && !query_document; }

  friend bool operator==(const AttentionPattern&, const AttentionPattern&) = default;
};

enum class Activation { gelu_erf };
enum class NormPlacement { after };  ///< `after`: x <- LN(x + f(x)), as BERT
enum class PositionScheme { learned_absolute };
enum class PoolingHead { cls_tanh_linear };  ///< logit = classifier(tanh(pooler(h_CLS)))

/// The computation, as data. A model family's reader fills it in. A backend executes it or throws Error
/// `unsupported` naming the feature.
struct EncoderDescription {
  std::int32_t vocabulary_size = 0;
  std::int32_t hidden_size = 0;
  std::int32_t layers = 0;
  std::int32_t heads = 0;  ///< hidden_size is a multiple of it
  std::int32_t intermediate_size = 0;
  std::int32_t max_positions = 0;   ///< rows of the position table
  std::int32_t token_types = 0;     ///< rows of the token type table
  bool document_token_type = true;  ///< D has token type 1; false: type 0 everywhere
  float norm_epsilon = 1e-12F;
  Activation activation = Activation::gelu_erf;
  NormPlacement norm_placement = NormPlacement::after;
  PositionScheme position_scheme = PositionScheme::learned_absolute;
  PoolingHead head = PoolingHead::cls_tanh_linear;
  std::vector<AttentionPattern> patterns;  ///< one per layer

  std::int32_t head_size() const noexcept { return hidden_size / heads; }
};

enum class DataType { f32, f16, bf16 };

/// A non-owning view of a row-major tensor (usually in a mapped file; see EncoderWeights::storage).
/// The data may be unaligned.
struct TensorView {
  DataType type = DataType::f32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;

  RELUCENT_API std::size_t elements() const noexcept;
  /// All elements as fp32, exactly (f16 and bf16 are subsets of f32).
  RELUCENT_API std::vector<float> to_f32() const;
};

struct LinearWeights {
  TensorView weight;  ///< [out, in]
  TensorView bias;    ///< [out]
};

struct NormWeights {
  TensorView gamma;  ///< [hidden]
  TensorView beta;   ///< [hidden]
};

struct LayerWeights {
  LinearWeights query, key, value;  ///< [hidden, hidden]
  LinearWeights attention_output;   ///< [hidden, hidden]
  NormWeights attention_norm;
  LinearWeights intermediate;  ///< [intermediate, hidden]
  LinearWeights output;        ///< [hidden, intermediate]
  NormWeights output_norm;
};

/// All tensors of an encoder and its head. Backends copy or convert what they need at construction.
struct EncoderWeights {
  TensorView word_embeddings;        ///< [vocabulary, hidden]
  TensorView position_embeddings;    ///< [max_positions, hidden]
  TensorView token_type_embeddings;  ///< [token_types, hidden]
  NormWeights embedding_norm;
  std::vector<LayerWeights> layers;
  LinearWeights pooler;                 ///< [hidden, hidden]
  LinearWeights classifier;             ///< [1, hidden]
  std::shared_ptr<const void> storage;  ///< keeps the views' memory alive
};

}  // namespace relucent
