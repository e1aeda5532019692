#include "model/families/bert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "model/families/attention_keys.h"
#include "model/families/tensor_reader.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::array<std::string_view, 2> kArchitectures{"ListformerModelForSequenceClassification",
                                                         "BertForSequenceClassification"};

/// Keys that other tools write and that do not affect scores.
constexpr std::array<std::string_view, 21> kHarmless{
    "attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout", "initializer_range",
    "output_attentions", "attn_implementation", "_attn_implementation", "_attn_implementation_autoset",
    "_attn_implementation_internal", "cross_attention_hidden_size", "cls_token_id", "sep_token_id", "pad_token_id",
    "gradient_checkpointing",
    // Written by earlier versions of the sparse models' code.
    "cls_other_cls_attention", "doc_other_cls_attention", "rank_position_embedding", "base_max_position_embeddings",
    "input_type_embedding", "normalize_output", "depth"};

/// Keys that read_bert_configuration reads.
constexpr std::array<std::string_view, 22> kUnderstood{"model_type",
                                                       "architectures",
                                                       "hidden_size",
                                                       "num_hidden_layers",
                                                       "num_attention_heads",
                                                       "intermediate_size",
                                                       "hidden_act",
                                                       "layer_norm_eps",
                                                       "max_position_embeddings",
                                                       "type_vocab_size",
                                                       "vocab_size",
                                                       "num_labels",
                                                       "id2label",
                                                       "label2id",
                                                       "position_embedding_type",
                                                       "token_type_embedding",
                                                       "is_decoder",
                                                       "add_cross_attention",
                                                       "is_encoder_decoder",
                                                       "pruned_heads",
                                                       "quantization_config",
                                                       "torch_dtype"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

[[noreturn]] void unsupported(const JsonFile& config, std::string_view key, const std::string& problem,
                              const std::string& remedy) {
  throw Error(ErrorKind::unsupported, fmt::format("{}, key {}", config.path().string(), key), problem, remedy);
}

std::string read_architecture(const JsonFile& config) {
  const auto* stated = config.find("architectures");
  if (stated == nullptr || !stated->is_array() || stated->empty()) {
    config.fail("architectures", "does not name an architecture", "download the file again");
  }
  std::vector<std::string> names;
  for (const auto& name : *stated) {
    if (!name.is_string()) config.fail("architectures", fmt::format("contains {}, which is not a name", name.dump()));
    if (contains(kArchitectures, name.get<std::string>())) return name.get<std::string>();
    names.push_back(name.get<std::string>());
  }
  unsupported(config, "architectures", "unknown architecture " + join(names),
              fmt::format("use a checkpoint of {} or {}", kArchitectures[0], kArchitectures[1]));
}

/// The head must have one output: a score, not classes.
void check_labels(const JsonFile& config) {
  const auto refuse = [&](std::string_view key, std::size_t labels) {
    unsupported(config, key, fmt::format("the model has {} labels, but a cross-encoder has one", labels),
                "use a checkpoint trained to predict a single relevance score");
  };
  if (const auto labels = config.integer("num_labels", 0, 1 << 30); labels && *labels != 1) {
    refuse("num_labels", static_cast<std::size_t>(*labels));
  }
  if (const auto* labels = config.find("id2label")) {
    if (!labels->is_object()) config.fail("id2label", "is not an object");
    if (labels->size() != 1) refuse("id2label", labels->size());
  }
}

void check_supported_features(const JsonFile& config) {
  const std::string activation = config.string("hidden_act").value_or("gelu");
  if (activation != "gelu") {
    unsupported(config, "hidden_act", "unknown activation " + activation, "use a checkpoint with gelu");
  }
  const std::string positions = config.string("position_embedding_type").value_or("absolute");
  if (positions != "absolute") {
    unsupported(config, "position_embedding_type", "unknown position scheme " + positions,
                "use a checkpoint with absolute positions");
  }
  for (const std::string_view key : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    if (config.boolean(key).value_or(false)) {
      unsupported(config, key, "decoders are not supported", "use an encoder checkpoint");
    }
  }
  for (const std::string_view key : {"pruned_heads", "quantization_config"}) {
    const auto* value = config.find(key);
    if (value != nullptr && !value->empty()) {
      unsupported(config, key, "is not supported", "use the checkpoint before pruning or quantization");
    }
  }
}

/// Unread keys: rejected if they may affect attention, otherwise listed.
std::vector<std::string> ignored_keys(const JsonFile& config) {
  std::vector<std::string> ignored;
  for (const auto& [key, value] : config.object().items()) {
    if (contains(kUnderstood, key) || is_attention_pattern_key(key)) continue;
    if (!contains(kHarmless, key) && sounds_like_attention(key)) {
      unsupported(config, key, "unknown attention key", "check its spelling, or remove it if it has no effect");
    }
    ignored.push_back(key);
  }
  return ignored;
}

}  // namespace

FamilyConfiguration read_bert_configuration(const JsonFile& config) {
  FamilyConfiguration result;
  result.architecture = read_architecture(config);
  check_labels(config);
  check_supported_features(config);
  result.ignored_keys = ignored_keys(config);

  const auto size = [&](std::string_view key, std::int64_t most) {
    return static_cast<std::int32_t>(config.required_integer(key, 1, most));
  };
  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  description.vocabulary_size = size("vocab_size", 1 << 24);
  description.hidden_size = description.embedding_size = size("hidden_size", 1 << 16);
  result.max_tokens = description.max_positions = size("max_position_embeddings", 1 << 20);
  description.token_types = static_cast<std::int32_t>(config.integer("type_vocab_size", 1, 1 << 16).value_or(2));
  result.input.document_type = config.boolean("token_type_embedding").value_or(true) ? 1 : 0;
  Attention attention;
  attention.heads = size("num_attention_heads", 1 << 16);
  if (description.hidden_size % attention.heads != 0) {
    config.fail("num_attention_heads",
                fmt::format("hidden_size {} is not a multiple of {} heads", description.hidden_size, attention.heads));
  }
  attention.head_size = description.hidden_size / attention.heads;
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size));
  attention.views = views_of(read_attention_pattern(config));
  const FeedForward feed_forward{.size = size("intermediate_size", 1 << 20)};
  const auto layers = static_cast<std::size_t>(size("num_hidden_layers", 1024));
  description.stacks = {{{kCls, kQuery, kDocument}, std::vector<Layer>(layers, {{attention}, feed_forward})}};
  description.head = {.groups = {kCls}, .dense = true, .activation = Activation::tanh};
  if (result.input.document_type >= description.token_types) {
    config.fail("type_vocab_size", "is 1, but documents have token type 1",
                "set token_type_embedding to false if the model was trained without token types");
  }
  description.norm_epsilon = static_cast<float>(config.number("layer_norm_eps").value_or(1e-12));
  if (!(description.norm_epsilon > 0) || !std::isfinite(description.norm_epsilon)) {
    config.fail("layer_norm_eps", "is not a positive number");
  }
  return result;
}

FamilyWeights read_bert_weights(const SafetensorsFile& file, const EncoderDescription& description) {
  const std::vector<Layer>& layers = description.stacks.front().layers;
  const std::int64_t hidden = description.hidden_size, inner = layers.front().feed_forward.size;
  TensorReader reader(file);
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  weights.word_embeddings =
      reader.matrix("bert.embeddings.word_embeddings.weight", description.vocabulary_size, hidden);
  result.position_table = "bert.embeddings.position_embeddings.weight";
  result.per_position = {"bert.embeddings.position_ids"};
  weights.position_embeddings = reader.matrix(result.position_table, description.max_positions, hidden);
  weights.token_type_embeddings =
      reader.matrix("bert.embeddings.token_type_embeddings.weight", description.token_types, hidden);
  weights.embedding_norm = reader.norm("bert.embeddings.LayerNorm", hidden);
  StackWeights& stack = weights.stacks.emplace_back();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = fmt::format("bert.encoder.layer.{}.", i);
    LayerWeights& out = stack.layers.emplace_back();
    AttentionWeights& attention = out.attentions.emplace_back();
    attention.query = reader.linear(layer + "attention.self.query", hidden, hidden);
    attention.key = reader.linear(layer + "attention.self.key", hidden, hidden);
    attention.value = reader.linear(layer + "attention.self.value", hidden, hidden);
    attention.output = reader.linear(layer + "attention.output.dense", hidden, hidden);
    attention.norm = reader.norm(layer + "attention.output.LayerNorm", hidden);
    out.feed_forward.in = reader.linear(layer + "intermediate.dense", inner, hidden);
    out.feed_forward.out = reader.linear(layer + "output.dense", hidden, inner);
    out.feed_forward.norm = reader.norm(layer + "output.LayerNorm", hidden);
  }
  weights.head_dense = reader.linear("bert.pooler.dense", hidden, hidden);
  weights.head_output = reader.linear("classifier", 1, hidden);
  weights.storage = file.storage();
  // More blocks than config.json states: one of the two files belongs to another model.
  const std::string beyond = fmt::format("bert.encoder.layer.{}.", layers.size());
  for (const SafetensorsEntry& entry : file.entries()) {
    if (entry.name.starts_with(beyond)) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, tensor {}", file.path().string(), entry.name),
                  fmt::format("config.json states {} layers, but the file has more", layers.size()),
                  "use config.json and model.safetensors of the same model");
    }
  }
  result.used = reader.used();
  return result;
}

}  // namespace relucent
