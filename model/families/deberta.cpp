#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "model/families/bert.h"
#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"

namespace relucent {
namespace {

constexpr std::array<std::string_view, 2> kDebertaArchitectures{"DebertaV2Model", "DebertaV2ForSequenceClassification"};

/// `pos_att_type`: names in a list, or in a text between bars.
std::vector<std::string> position_terms(ConfigReader& config) {
  constexpr const char* kKey = "pos_att_type";
  const auto* stated = config.find(kKey);
  std::vector<std::string> terms;
  if (stated != nullptr && stated->is_string()) {
    std::string name;
    for (const char c : stated->get<std::string>() + "|") {
      if (c == '|') {
        terms.push_back(std::exchange(name, {}));
      } else if (c != ' ') {
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
  } else if (stated != nullptr) {
    if (!stated->is_array()) config.file().fail(kKey, "is neither a text nor a list");
    for (const auto& term : *stated) {
      if (!term.is_string()) config.file().fail(kKey, fmt::format("contains {}, which is not a name", term.dump()));
      terms.push_back(term.get<std::string>());
    }
  }
  if (terms.empty()) config.unsupported(kKey, "names no products", "use a checkpoint with c2p, p2c or both");
  return terms;
}

PositionScheme read_positions(ConfigReader& config) {
  PositionScheme positions{.kind = PositionScheme::Kind::disentangled};
  if (!config.flag("relative_attention", false)) {
    config.unsupported("relative_attention", "is not true", "use a checkpoint with relative attention");
  }
  for (const std::string& term : position_terms(config)) {
    if (term == "c2p") {
      positions.content_to_position = true;
    } else if (term == "p2c") {
      positions.position_to_content = true;
    } else {
      config.unsupported("pos_att_type", "unknown product " + term, "use a checkpoint with c2p, p2c or both");
    }
  }
  constexpr std::int64_t kMost = 1 << 20;
  const std::int32_t stated = config.integer_or("max_relative_positions", -1, kMost, -1);
  const std::int32_t farthest = stated >= 1 ? stated : config.size_or("max_position_embeddings", kMost, 512);
  const std::int32_t each = config.integer_or("position_buckets", -1, kMost, -1);
  if (each > 0 && (each < 2 || farthest - 1 <= each / 2)) {
    config.file().fail("position_buckets", fmt::format("{} do not fit distances of up to {}", each, farthest));
  }
  positions.buckets = 2 * (each > 0 ? each : std::max(farthest, 2));
  positions.max_distance = each > 0 ? farthest : 0;
  return positions;
}

bool norm_of_positions(ConfigReader& config) {
  const std::string norm = config.text("norm_rel_ebd", "none");
  if (norm.find("layer_norm") != norm.npos) return true;
  if (norm != "none") config.unsupported("norm_rel_ebd", "unknown norm " + norm, "use a checkpoint with layer_norm");
  return false;
}

FamilyConfiguration read_deberta_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = config.architecture(kDebertaArchitectures);
  config.require_one_label();
  config.require_absent("quantization_config", "is not supported", "use the checkpoint before quantization");

  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  description.vocabulary_size = config.size("vocab_size", 1 << 24);
  description.embedding_size = description.hidden_size = config.size("hidden_size", 1 << 16);
  for (const char* same : {"embedding_size", "pooler_hidden_size"}) {
    if (config.size_or(same, 1 << 16, description.hidden_size) == description.hidden_size) continue;
    config.unsupported(same, "is not hidden_size", "use a checkpoint with one size");
  }
  description.token_types = config.integer_or("type_vocab_size", 0, 1 << 16, 0);
  description.norm_epsilon = static_cast<float>(config.positive("layer_norm_eps", 1e-7));
  result.max_tokens = config.size_or("max_position_embeddings", 1 << 20, 512);
  if (config.flag("position_biased_input", true)) description.max_positions = result.max_tokens;
  Attention attention = config.attention("num_attention_heads", description.hidden_size);
  if (config.size_or("attention_head_size", 1 << 16, attention.head_size) != attention.head_size) {
    config.unsupported("attention_head_size", "is not hidden_size / num_attention_heads", "use another checkpoint");
  }
  attention.positions = read_positions(config);
  const int terms =
      1 + (attention.positions.content_to_position ? 1 : 0) + (attention.positions.position_to_content ? 1 : 0);
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size) * terms);
  attention.views = views_of(config.pattern());
  const FeedForward feed_forward{.size = config.size("intermediate_size", 1 << 20),
                                 .activation = config.activation("hidden_act", "gelu")};
  description.stacks = {
      {{kCls, kQuery, kDocument},
       {static_cast<std::size_t>(config.size("num_hidden_layers", 1024)), Layer{{attention}, feed_forward}}}};
  if (const std::int32_t size = config.integer_or("conv_kernel_size", 0, 1 << 10, 0); size > 0) {
    if (size % 2 == 0) config.file().fail("conv_kernel_size", "is not odd");
    if (config.size_or("conv_groups", 1 << 16, 1) != 1) {
      config.unsupported("conv_groups", "is not 1", "use a checkpoint whose convolution has one group");
    }
    description.stacks.front().convolution = Convolution{size, config.activation("conv_act", "tanh")};
  } else {
    config.find("conv_groups"), config.find("conv_act");
  }
  if (config.integer_or("z_steps", 0, 1 << 10, 0) > 1) {
    config.unsupported("z_steps", "is more than 1", "use a checkpoint without it");
  }
  result.norm_of_positions = norm_of_positions(config);
  result.shared_positions = config.flag("share_att_key", false);
  description.head = {
      .groups = {kCls},
      .steps = {{.size = description.hidden_size, .activation = config.activation("pooler_hidden_act", "gelu")}}};

  result.input.typed = description.token_types > 0;
  result.input.document_type = description.token_types > 1 ? 1 : 0;
  result.input.query_limit = config.query_limit(result.architecture);
  result.ignored_keys = config.unread_keys();
  return result;
}

FamilyWeights read_deberta_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                                   std::span<const std::int32_t>) {
  const EncoderDescription& description = configuration.description;
  const std::int64_t hidden = description.hidden_size;
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  const std::string encoder = "deberta.encoder.";
  read_bert_embeddings(reader, "deberta.", description.vocabulary_size, description, result);
  const std::vector<Layer>& layers = description.stacks.front().layers;
  const PositionScheme& positions = layers.front().attentions.front().positions;
  weights.relative_embeddings = reader.matrix(encoder + "rel_embeddings.weight", positions.buckets, hidden);
  if (configuration.norm_of_positions) weights.relative_norm = reader.norm(encoder + "LayerNorm", hidden);

  StackWeights& stack = weights.stacks.emplace_back();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = fmt::format("{}layer.{}.", encoder, i), self = layer + "attention.self.";
    LayerWeights& out =
        stack.layers.emplace_back(read_bert_layer(reader, layer, hidden, layers[i].feed_forward.size, "_proj"));
    AttentionWeights& attention = out.attentions.front();
    if (positions.content_to_position) {
      attention.relative_key =
          configuration.shared_positions ? attention.key : reader.linear(self + "pos_key_proj", hidden, hidden);
    }
    if (positions.position_to_content) {
      attention.relative_query =
          configuration.shared_positions ? attention.query : reader.linear(self + "pos_query_proj", hidden, hidden);
    }
  }
  if (const auto& convolution = description.stacks.front().convolution) {
    stack.convolution = reader.convolution(encoder + "conv.conv", hidden, hidden, convolution->size);
    stack.convolution_norm = reader.norm(encoder + "conv.LayerNorm", hidden);
  }
  read_dense_head(reader, configuration, "pooler.dense", "classifier", result);
  return result;
}

}  // namespace

const Family kDebertaFamily{"deberta-v2", kDebertaArchitectures, read_deberta_configuration, read_deberta_weights};

}  // namespace relucent
