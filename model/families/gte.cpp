#include <fmt/core.h>

#include <array>
#include <cmath>

#include "model/families/bert.h"
#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"

namespace relucent {
namespace {

constexpr std::array<std::string_view, 2> kAlibabaArchitectures{"NewModel", "NewForSequenceClassification"};
constexpr std::array<std::string_view, 2> kGteArchitectures{"GteModel", "GteForSequenceClassification"};

/// RoPE with NTK-aware scaling by a fixed factor f, at every length: theta f, and frequencies times f^(-2 / head_size).
PositionScheme read_positions(ConfigReader& config, std::int32_t head_size) {
  PositionScheme positions{.kind = PositionScheme::Kind::rotary, .theta = config.positive("rope_theta", 10000)};
  if (head_size % 2 != 0) config.file().fail("num_attention_heads", "gives heads of an odd size");
  const auto* scaling = config.find("rope_scaling");
  if (scaling == nullptr) return positions;
  constexpr const char* kRemedy = "use a checkpoint with {\"type\": \"ntk\", \"factor\": F}, or without rope_scaling";
  if (!scaling->is_object()) config.file().fail("rope_scaling", "is not an object");
  double factor = 0;
  for (const auto& [key, value] : scaling->items()) {
    if (value.is_null()) continue;
    if ((key == "type" || key == "rope_type") && value == "ntk") continue;
    if (key != "factor") config.unsupported("rope_scaling", fmt::format("unknown {} {}", key, value.dump()), kRemedy);
    if (value.is_number()) factor = value.get<double>();
  }
  if (!(factor >= 1) || !std::isfinite(static_cast<float>(factor))) {
    config.file().fail("rope_scaling", "factor is not a number of at least 1");
  }
  positions.theta *= factor;
  positions.rate = std::pow(factor, -2.0 / head_size);
  return positions;
}

/// RoPE of transformers' own class, perhaps with frequencies divided by a factor.
PositionScheme read_rope_parameters(ConfigReader& config, std::int32_t head_size) {
  constexpr const char* key = "rope_parameters";
  PositionScheme positions{.kind = PositionScheme::Kind::rotary, .theta = 160000};
  if (head_size % 2 != 0) config.file().fail("num_attention_heads", "gives heads of an odd size");
  const auto* parameters = config.find(key);
  if (parameters == nullptr) return positions;
  if (!parameters->is_object()) config.file().fail(key, "is not an object");
  const auto number = [&](const char* name, double usual) {
    const auto stated = parameters->find(name);
    if (stated == parameters->end() || stated->is_null()) return usual;
    const double value = stated->is_number() ? stated->get<double>() : 0;
    if (!(value > 0) || !std::isfinite(static_cast<float>(value))) {
      config.file().fail(key, fmt::format("{} is not a positive number", name));
    }
    return value;
  };
  const std::string type = parameters->value("rope_type", OrderedJson("default")).dump();
  if (type != "\"default\"" && type != "\"linear\"") {
    config.unsupported(key, "unknown rope_type " + type, "use a checkpoint with default or linear");
  }
  positions.theta = number("rope_theta", positions.theta);
  if (type == "\"linear\"") positions.rate = 1 / number("factor", 1);
  return positions;
}

void require(ConfigReader& config, std::string_view key, const std::string& only) {
  const std::string value = config.text(key, only);
  if (value != only) config.unsupported(key, "unknown value " + value, "use a checkpoint with " + only);
}

FamilyConfiguration read_gte_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  const bool native = config.text("model_type", "") == kGteFamily.model_type;
  result.architecture = native ? config.architecture(kGteArchitectures) : config.architecture(kAlibabaArchitectures);
  config.require_one_label();
  require(config, "position_embedding_type", "rope");
  require(config, "layer_norm_type", "layer_norm");
  config.require_absent("logn_attention_scale", "is not supported", "use a checkpoint without it");
  config.require_absent("quantization_config", "is not supported", "use the checkpoint before quantization");

  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  description.vocabulary_size = config.size("vocab_size", 1 << 24);
  description.embedding_size = description.hidden_size = config.size("hidden_size", 1 << 16);
  description.token_types = config.integer_or("type_vocab_size", 0, 1 << 16, 1);
  description.norm_epsilon = static_cast<float>(config.positive("layer_norm_eps", 1e-12));
  result.max_tokens = config.size_or("max_position_embeddings", 1 << 20, 8192);
  Attention attention = config.attention("num_attention_heads", description.hidden_size);
  attention.positions =
      native ? read_rope_parameters(config, attention.head_size) : read_positions(config, attention.head_size);
  attention.views = views_of(config.pattern());
  const FeedForward feed_forward{.size = config.size("intermediate_size", 1 << 20),
                                 .activation = config.activation("hidden_act", "gelu"),
                                 .gated = true};
  description.stacks = {
      {{kCls, kQuery, kDocument},
       {static_cast<std::size_t>(config.size("num_hidden_layers", 1024)), Layer{{attention}, feed_forward}}}};
  description.head = {.groups = {kCls}, .steps = {{.size = description.hidden_size, .activation = Activation::tanh}}};

  result.input.separators = 2;
  result.input.typed = description.token_types > 0;  // all tokens have type 0
  result.input.query_limit = config.query_limit(result.architecture);
  // How the library computes or stores, not what.
  for (const char* unused : {"pack_qkv", "unpad_inputs", "use_memory_efficient_attention", "logn_attention_clip1"}) {
    config.find(unused);
  }
  result.ignored_keys = config.unread_keys();
  return result;
}

FamilyWeights read_gte_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                               std::span<const std::int32_t>) {
  const EncoderDescription& description = configuration.description;
  const std::int64_t hidden = description.hidden_size;
  // transformers' own class saves the names of Alibaba's program, but for the first part.
  const std::string prefix = configuration.architecture.starts_with("Gte") ? "gte." : "new.";
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  read_bert_embeddings(reader, prefix, description.vocabulary_size, description, result);
  StackWeights& stack = weights.stacks.emplace_back();
  const std::vector<Layer>& layers = description.stacks.front().layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = fmt::format("{}encoder.layer.{}.", prefix, i);
    LayerWeights& out = stack.layers.emplace_back();
    AttentionWeights& attention = out.attentions.emplace_back();
    const std::string query = layer + "attention.q_proj";
    if (reader.file().find(reader.stored_name(query + ".weight")) == nullptr) {
      const LinearWeights qkv = reader.linear(layer + "attention.qkv_proj", 3 * hidden, hidden);
      attention.query = rows_of(qkv, 0, hidden);
      attention.key = rows_of(qkv, hidden, hidden);
      attention.value = rows_of(qkv, 2 * hidden, hidden);
    } else {
      attention.query = reader.linear(query, hidden, hidden);
      attention.key = reader.linear(layer + "attention.k_proj", hidden, hidden);
      attention.value = reader.linear(layer + "attention.v_proj", hidden, hidden);
    }
    attention.output = reader.linear(layer + "attention.o_proj", hidden, hidden);
    attention.norm = reader.norm(layer + "attn_ln", hidden);
    const std::int64_t inner = layers[i].feed_forward.size;
    const LinearWeights both = reader.linear(layer + "mlp.up_gate_proj", 2 * inner, hidden, false);
    out.feed_forward.in = rows_of(both, inner, inner);  // what passes the activation stands second
    out.feed_forward.gate = rows_of(both, 0, inner);
    out.feed_forward.out = reader.linear(layer + "mlp.down_proj", hidden, inner);
    out.feed_forward.norm = reader.norm(layer + "mlp_ln", hidden);
  }
  read_dense_head(reader, configuration, prefix + "pooler.dense", "classifier", result);
  return result;
}

}  // namespace

const Family kAlibabaGteFamily{"new", kAlibabaArchitectures, read_gte_configuration, read_gte_weights};
const Family kGteFamily{"gte", kGteArchitectures, read_gte_configuration, read_gte_weights};

}  // namespace relucent
