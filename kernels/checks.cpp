#include "kernels/checks.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/text.h"
#include "relucent/error.h"

namespace relucent {
namespace {

void check_shape(const std::string& name, const TensorView& tensor, const std::vector<std::int64_t>& wanted) {
  if (tensor.shape != wanted || tensor.data == nullptr) {
    throw Error(ErrorKind::invalid_data, name,
                fmt::format("has shape [{}], not [{}]", join(tensor.shape), join(wanted)),
                "use weights and a description of the same model");
  }
}

void check_linear(const std::string& name, const LinearWeights& linear, std::int64_t out, std::int64_t in) {
  check_shape(name + ".weight", linear.weight, {out, in});
  check_shape(name + ".bias", linear.bias, {out});
}

void check_norm(const std::string& name, const NormWeights& norm, std::int64_t hidden) {
  check_shape(name + ".gamma", norm.gamma, {hidden});
  check_shape(name + ".beta", norm.beta, {hidden});
}

void check_sequence(const EncoderDescription& description, std::span<const std::int32_t> ids, const std::string& name) {
  if (ids.empty()) throw Error(ErrorKind::usage, name, "is empty", "end each sequence with [SEP]");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= description.vocabulary_size) {
      throw Error(
          ErrorKind::usage, name,
          fmt::format("token {} has the id {}, outside the vocabulary of {}", i, ids[i], description.vocabulary_size),
          "tokenize with the model's own vocabulary");
    }
  }
}

}  // namespace

void check_weights(const EncoderDescription& d, const EncoderWeights& w) {
  if (d.vocabulary_size < 1 || d.hidden_size < 1 || d.layers < 1 || d.heads < 1 || d.intermediate_size < 1 ||
      d.max_positions < 3 || d.token_types < 1 || d.hidden_size % d.heads != 0) {
    throw Error(ErrorKind::invalid_data, "encoder description",
                "sizes must be positive, positions at least 3, and hidden_size a multiple of heads");
  }
  if (!(d.norm_epsilon > 0) || std::isinf(d.norm_epsilon)) {
    throw Error(ErrorKind::invalid_data, "norm epsilon",
                fmt::format("is {:g}, not a finite positive number", d.norm_epsilon));
  }
  if (d.document_token_type && d.token_types < 2) {
    throw Error(ErrorKind::invalid_data, "encoder description",
                "documents have token type 1, but the model has only one token type");
  }
  const auto layers = static_cast<std::size_t>(d.layers);
  if (d.patterns.size() != layers || w.layers.size() != layers) {
    throw Error(ErrorKind::invalid_data, "encoder description",
                "needs one attention pattern and one set of weights per layer");
  }
  for (const AttentionPattern& pattern : d.patterns) {
    if (pattern.window && *pattern.window < 0) {
      throw Error(ErrorKind::invalid_data, "attention window", "is negative", "leave it unset for no window");
    }
  }
  check_shape("word embeddings", w.word_embeddings, {d.vocabulary_size, d.hidden_size});
  check_shape("position embeddings", w.position_embeddings, {d.max_positions, d.hidden_size});
  check_shape("token type embeddings", w.token_type_embeddings, {d.token_types, d.hidden_size});
  check_norm("embedding norm", w.embedding_norm, d.hidden_size);
  for (std::size_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("layer {} ", i);
    const LayerWeights& layer = w.layers[i];
    check_linear(name + "query", layer.query, d.hidden_size, d.hidden_size);
    check_linear(name + "key", layer.key, d.hidden_size, d.hidden_size);
    check_linear(name + "value", layer.value, d.hidden_size, d.hidden_size);
    check_linear(name + "attention output", layer.attention_output, d.hidden_size, d.hidden_size);
    check_norm(name + "attention norm", layer.attention_norm, d.hidden_size);
    check_linear(name + "intermediate", layer.intermediate, d.intermediate_size, d.hidden_size);
    check_linear(name + "output", layer.output, d.hidden_size, d.intermediate_size);
    check_norm(name + "output norm", layer.output_norm, d.hidden_size);
  }
  check_linear("pooler", w.pooler, d.hidden_size, d.hidden_size);
  check_linear("classifier", w.classifier, 1, d.hidden_size);
}

void check_batch(const EncoderDescription& description, const ScoringBatch& batch, std::size_t logits) {
  if (logits != batch.documents.size()) {
    throw Error(ErrorKind::usage, "batch",
                fmt::format("has {} documents but room for {} logits", batch.documents.size(), logits));
  }
  check_sequence(description, {&batch.cls_id, 1}, "[CLS]");
  check_sequence(description, batch.query, "the query");
  for (std::size_t i = 0; i < batch.documents.size(); ++i) {
    check_sequence(description, batch.documents[i], fmt::format("document {}", i));
    const std::size_t positions = 1 + batch.query.size() + batch.documents[i].size();
    if (positions > static_cast<std::size_t>(description.max_positions)) {
      throw Error(ErrorKind::usage, fmt::format("document {}", i),
                  fmt::format("needs an input of {} tokens, but the position table has {} rows", positions,
                              description.max_positions),
                  "truncate the document");
    }
  }
}

}  // namespace relucent
