#include "model/families/modernbert.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/pattern.h"
#include "model/families/tensor_reader.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::array<std::string_view, 2> kModernBertArchitectures{"ModernBertModel",
                                                                   "ModernBertForSequenceClassification"};

/// Whether each layer sees only a window.
std::vector<bool> read_local_layers(ConfigReader& config) {
  const auto layers = static_cast<std::size_t>(config.size("num_hidden_layers", 1024));
  const auto every = static_cast<std::size_t>(config.size_or("global_attn_every_n_layers", 1024, 3));
  std::vector<bool> local(layers);
  const auto* types = config.find("layer_types");
  if (types != nullptr && (!types->is_array() || types->size() != layers)) {
    config.file().fail("layer_types", "is not a list with one type per layer");
  }
  for (std::size_t i = 0; i < layers; ++i) {
    local[i] = i % every != 0;
    if (types == nullptr) continue;
    const auto& type = (*types)[i];
    if (type != "sliding_attention" && type != "full_attention") {
      config.unsupported("layer_types", "unknown type " + type.dump(), "use sliding_attention and full_attention");
    }
    local[i] = type == "sliding_attention";
  }
  return local;
}

/// RoPE's theta for one kind of layer: of rope_parameters (transformers 5), else of a key of its own.
double read_theta(ConfigReader& config, const char* kind, const char* key, double usual) {
  double theta = config.positive(key, usual);
  const auto* all = config.find("rope_parameters");
  if (all == nullptr) return theta;
  if (!all->is_object()) config.file().fail("rope_parameters", "is not an object");
  const auto found = all->find(kind);
  if (found == all->end() || !found->is_object()) return theta;
  if (const auto type = found->find("rope_type"); type != found->end() && *type != "default") {
    config.unsupported("rope_parameters", "unknown rope_type " + type->dump(), "use a checkpoint with the default one");
  }
  if (const auto stated = found->find("rope_theta"); stated != found->end()) {
    if (!stated->is_number() || !(stated->get<double>() > 0)) {
      config.file().fail("rope_parameters", "rope_theta is not a positive number");
    }
    theta = stated->get<double>();
  }
  return theta;
}

FamilyConfiguration read_modernbert_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = config.architecture(kModernBertArchitectures);
  config.require_one_label();
  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  description.stacks = {
      {{kCls, kQuery, kDocument}, read_modernbert_form(config, views_of(config.pattern()), result), true}};
  result.input.query_limit = config.query_limit(result.architecture);
  description.head = {.groups = {kCls},
                      .steps = {{.size = description.hidden_size,
                                 .activation = config.activation("classifier_activation", "gelu"),
                                 .norm = true}}};
  const std::string pooling = config.text("classifier_pooling", "cls");
  if (pooling == "mean") {
    description.head.groups = {kCls, kQuery, kDocument};
  } else if (pooling != "cls") {
    config.unsupported("classifier_pooling", "unknown pooling " + pooling, "use a checkpoint with cls or mean");
  }
  result.biases.head = config.flag("classifier_bias", false);
  result.ignored_keys = config.unread_keys();
  return result;
}

FamilyWeights read_modernbert_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                                      std::span<const std::int32_t>) {
  const std::int64_t hidden = configuration.description.hidden_size;
  FamilyWeights result = read_modernbert_encoder(reader, configuration);
  if (!configuration.separate_head) {
    const Biases& biases = configuration.biases;
    result.weights.head_steps = {{.dense = reader.linear("head.dense", hidden, hidden, biases.head),
                                  .norm = reader.norm("head.norm", hidden, biases.norm)}};
    result.weights.head_output = reader.linear("classifier", 1, hidden);
  }
  result.used = reader.used();
  return result;
}

}  // namespace

std::vector<Layer> read_modernbert_form(ConfigReader& config, const Views& pattern, FamilyConfiguration& result) {
  config.require_absent("quantization_config", "is not supported", "use the checkpoint before quantization");
  EncoderDescription& description = result.description;
  description.vocabulary_size = config.size("vocab_size", 1 << 24);
  description.embedding_size = description.hidden_size = config.size("hidden_size", 1 << 16);
  description.norm_epsilon = static_cast<float>(config.positive("norm_eps", 1e-5));
  result.max_tokens = config.size_or("max_position_embeddings", 1 << 20, 8192);

  Attention attention = config.attention("num_attention_heads", description.hidden_size);
  attention.norm = NormPlacement::before;
  attention.positions.kind = PositionScheme::Kind::rotary;
  const std::int32_t window = config.size_or("local_attention", 1 << 20, 128) / 2;
  const double global_theta = read_theta(config, "full_attention", "global_rope_theta", 160000);
  const double local_theta = read_theta(config, "sliding_attention", "local_rope_theta", 10000);
  const FeedForward feed_forward{.norm = NormPlacement::before,
                                 .size = config.size("intermediate_size", 1 << 20),
                                 .activation = config.activation("hidden_activation", "gelu"),
                                 .gated = true};
  std::vector<Layer> layers;
  for (const bool local : read_local_layers(config)) {
    attention.views = local ? within_window(pattern, window) : pattern;
    attention.positions.theta = local ? local_theta : global_theta;
    layers.push_back({{attention}, feed_forward});
  }
  layers.front().attentions.front().norm = NormPlacement::none;  // the embeddings have just been normalized
  result.biases = {config.flag("attention_bias", false), config.flag("mlp_bias", false),
                   config.flag("norm_bias", false), false};
  // What is kept in every checkpoint: settings of training, and of transformers' own kernels.
  for (const char* unused :
       {"deterministic_flash_attn", "sparse_prediction", "sparse_pred_ignore_index", "use_sdpa_attn_mask"}) {
    config.find(unused);
  }
  const std::string kind = config.text("position_embedding_type", "absolute");
  if (kind != "absolute" && kind != "sans_pos") {
    config.unsupported("position_embedding_type", "unknown positions " + kind, "use a checkpoint with rotary ones");
  }
  return layers;
}

FamilyWeights read_modernbert_encoder(TensorReader& reader, const FamilyConfiguration& configuration) {
  const EncoderDescription& description = configuration.description;
  const Biases& biases = configuration.biases;
  const std::int64_t hidden = description.hidden_size;
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  weights.word_embeddings =
      reader.matrix("model.embeddings.tok_embeddings.weight", description.vocabulary_size, hidden);
  weights.embedding_norm = reader.norm("model.embeddings.norm", hidden, biases.norm);
  StackWeights& stack = weights.stacks.emplace_back();
  const std::vector<Layer>& layers = description.stacks.front().layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    LayerWeights& out = stack.layers.emplace_back();
    AttentionWeights& attention = out.attentions.emplace_back();
    const LinearWeights qkv = reader.linear(layer + "attn.Wqkv", 3 * hidden, hidden, biases.attention);
    attention.query = rows_of(qkv, 0, hidden);
    attention.key = rows_of(qkv, hidden, hidden);
    attention.value = rows_of(qkv, 2 * hidden, hidden);
    attention.output = reader.linear(layer + "attn.Wo", hidden, hidden, biases.attention);
    if (i > 0) attention.norm = reader.norm(layer + "attn_norm", hidden, biases.norm);
    const std::int64_t inner = layers[i].feed_forward.size;
    const LinearWeights both = reader.linear(layer + "mlp.Wi", 2 * inner, hidden, biases.feed_forward);
    out.feed_forward.in = rows_of(both, 0, inner);
    out.feed_forward.gate = rows_of(both, inner, inner);
    out.feed_forward.out = reader.linear(layer + "mlp.Wo", hidden, inner, biases.feed_forward);
    out.feed_forward.norm = reader.norm(layer + "mlp_norm", hidden, biases.norm);
  }
  stack.final_norm = reader.norm("model.final_norm", hidden, biases.norm);
  weights.storage = reader.file().storage();
  return result;
}

const Family kModernBertFamily{"modernbert", kModernBertArchitectures, read_modernbert_configuration,
                               read_modernbert_weights};

}  // namespace relucent
