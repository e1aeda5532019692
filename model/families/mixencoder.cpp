#include <fmt/core.h>

#include <algorithm>

#include "model/families/bert.h"
#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"

namespace relucent {
namespace {

constexpr std::int64_t kMostContext = 16;  // as many as every backend computes
constexpr std::int32_t kFewestTokens = 3;  // [CLS], a word, [SEP]
constexpr const char* kSpecialTokens = "mixencoder.special_tokens.weight";
constexpr const char* kContextCodes = "mixencoder.context_codes.weight";

std::string required_text(ConfigReader& config, std::string_view key) {
  std::string value = config.text(key, "");
  if (value.empty()) config.file().fail(key, "is missing", "add it or download the file again");
  return value;
}

Derivation::Kind strategy(ConfigReader& config) {
  const std::string name = required_text(config, "mix_strategy");
  if (name == "special_tokens") return Derivation::Kind::first_tokens;
  if (name == "context_codes") return Derivation::Kind::codes;
  config.unsupported("mix_strategy", "unknown strategy " + name, "use special_tokens or context_codes");
}

/// What "mean" and "split" pool: the hint, and the context that the score takes.
std::pair<Pooling, Pooling> pooling(ConfigReader& config) {
  const std::string name = config.text("candidate_pooling", "mean");
  if (name == "mean") return {Pooling::mean, Pooling::mean};
  if (name == "split") return {Pooling::last, Pooling::all_but_last};
  config.unsupported("candidate_pooling", "unknown pooling " + name, "use mean or split");
}

/// The layers of the encoder whose keys and values the interaction reads, from 0, ascending.
std::vector<std::int32_t> interaction_layers(ConfigReader& config, std::size_t layers) {
  constexpr std::string_view key = "interaction_layers";
  const auto* stated = config.find(key);
  if (stated == nullptr || !stated->is_array() || stated->empty()) {
    config.file().fail(key, "is not a list of layers", fmt::format("give numbers from 0 to {}", layers - 1));
  }
  std::vector<std::int32_t> numbers;
  for (const auto& layer : *stated) {
    if (!layer.is_number_integer() || layer < 0 || layer >= layers) {
      config.file().fail(key,
                         fmt::format("contains {}, but the model has the layers 0 to {}", layer.dump(), layers - 1));
    }
    const auto number = layer.get<std::int32_t>();
    if (!numbers.empty() && number <= numbers.back()) config.file().fail(key, "is not in ascending order");
    numbers.push_back(number);
  }
  return numbers;
}

/// The operands of the score that are not the usual ones: the ablations of the paper's Table 3.
void read_operands(ConfigReader& config, Head& head, std::int32_t last_layer) {
  const std::string query = config.text("mix_query_state", "gated");
  if (query == "cls") {  // as far as the query is computed
    head.dot_with = kQuery;
    head.dot_layer = last_layer;
  } else if (query != "gated") {
    config.unsupported("mix_query_state", "unknown state " + query, "use gated or cls");
  }
  const std::string candidate = config.text("mix_candidate_state", "interacted");
  head.pools_inputs = candidate == "stored";
  if (!head.pools_inputs && candidate != "interacted") {
    config.unsupported("mix_candidate_state", "unknown state " + candidate, "use interacted or stored");
  }
}

/// The names of the labels, if the head classifies.
std::vector<std::string> read_labels(ConfigReader& config, EncoderDescription& description) {
  const std::string score = config.text("mix_score", "dot");
  if (score == "dot") return {};
  if (score != "classification") {
    config.unsupported("mix_score", "unknown score " + score, "use dot or classification");
  }
  const auto* named = config.find("id2label");
  const std::int32_t labels = named != nullptr && named->is_object() ? static_cast<std::int32_t>(named->size())
                                                                     : config.size("num_labels", kMostLabels);
  if (labels < 2 || labels > kMostLabels) {
    config.file().fail("id2label", fmt::format("has {} labels", labels), fmt::format("give 2 to {}", kMostLabels));
  }
  Head& head = description.head;
  head.compares = head.classifies = true;
  head.steps = {{.size = 3 * description.hidden_size, .activation = Activation::relu}};
  head.outputs = labels;
  return config.label_names(labels);
}

MixForm lengths(ConfigReader& config, const EncoderDescription& description, std::int32_t special_tokens) {
  const MixForm form{config.size("query_max_length", description.max_positions),
                     config.size("candidate_max_length", description.max_positions)};
  for (const auto& [key, length] : {std::pair("query_max_length", form.query_max_length),
                                    std::pair("candidate_max_length", form.candidate_max_length)}) {
    if (length < kFewestTokens) config.file().fail(key, "leaves no room for a word between [CLS] and [SEP]");
  }
  // The special tokens take the place of [CLS].
  const std::int32_t longest = form.candidate_max_length + std::max(0, special_tokens - 1);
  if (longest > description.max_positions) {
    config.file().fail("candidate_max_length",
                       fmt::format("asks for {} positions, {} of them for special tokens, but "
                                   "max_position_embeddings is {}",
                                   longest, special_tokens, description.max_positions),
                       "lower candidate_max_length or num_context_embeddings");
  }
  return form;
}

FamilyConfiguration read_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = "MixEncoder";
  config.find("architectures");
  EncoderDescription& description = result.description;
  std::vector<Layer> layers = read_bert_form(config, description);
  for (Layer& layer : layers) layer.attentions.front().views = interaction_text_views();
  const Derivation::Kind kind = strategy(config);
  const std::int32_t context = config.size("num_context_embeddings", kMostContext);
  description.groups = interaction_groups(kind, context);
  const auto [hint, pooled] = pooling(config);
  std::vector<Layer> interaction;
  for (const std::int32_t layer : interaction_layers(config, layers.size())) {
    Attention& attention = interaction.emplace_back(layers.front()).attentions.front();
    attention.views = interaction_views();
    attention.keys_of_layer = layer;
    attention.gated = GatedToken{kCls, kContext, hint};
  }
  if (kind == Derivation::Kind::first_tokens) result.special_ids = context;
  result.mix = lengths(config, description, result.special_ids);
  result.max_tokens = description.max_positions;
  description.vocabulary_size += result.special_ids;
  description.head = {.groups = {kContext}, .pooling = pooled, .dot_with = kCls};
  read_operands(config, description.head, *interaction.back().attentions.front().keys_of_layer);
  result.labels = read_labels(config, description);
  description.stacks = {{{kQuery, kDocument}, std::move(layers)}, {{kContext, kCls}, std::move(interaction)}};
  result.ignored_keys = config.unread_keys();
  return result;
}

FamilyWeights read_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                           std::span<const std::int32_t>) {
  const EncoderDescription& description = configuration.description;
  const std::int64_t hidden = description.hidden_size;
  const std::vector<Layer>& interaction = description.stacks.back().layers;
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  weights.storage = reader.file().storage();
  const bool special = configuration.special_ids > 0;
  const std::int64_t context = description.groups[kContext].derived->tokens;
  read_bert_embeddings(reader, "bert.", description.vocabulary_size - configuration.special_ids, description, result);
  const TensorView rows = reader.matrix(special ? kSpecialTokens : kContextCodes, context, hidden);
  const char* const other = special ? kContextCodes : kSpecialTokens;
  reader.refuse_tensors([&](std::string_view name) { return name == other; },
                        "belongs to the other mix_strategy than that of config.json");
  if (!special) weights.codes = rows;
  if (special && rows.data != nullptr && weights.word_embeddings.data != nullptr) {
    std::vector<float> joined = weights.word_embeddings.to_f32();
    const std::vector<float> more = rows.to_f32();
    joined.insert(joined.end(), more.begin(), more.end());
    weights.word_embeddings = own_tensor(std::move(joined), {description.vocabulary_size, hidden}, weights.storage);
  }
  weights.stacks.push_back(read_bert_layers(reader, "bert.", description));
  reader.refuse_more("bert.encoder.layer.", description.stacks.front().layers.size());
  const LinearWeights gate = reader.linear("mixencoder.gate", hidden, 3 * hidden);
  StackWeights& stack = weights.stacks.emplace_back();
  std::vector<std::string> known;
  for (const Layer& layer : interaction) {
    const std::string& prefix =
        known.emplace_back(fmt::format("mixencoder.layer.{}.", *layer.attentions.front().keys_of_layer));
    LayerWeights& out = stack.layers.emplace_back(read_bert_layer(reader, prefix, hidden, layer.feed_forward.size));
    out.attentions.front().gated_query = reader.linear(prefix + "attention.self.compress_query", hidden, hidden);
    out.attentions.front().gate = gate;
  }
  if (const Head& head = description.head; head.compares) {
    weights.head_steps = {{.dense = reader.linear("mixencoder.classifier.dense", 3 * hidden, 3 * hidden)}};
    weights.head_output = reader.linear("mixencoder.classifier.out_proj", head.outputs, 3 * hidden);
  }
  const auto is_extra = [&](std::string_view name) {
    return name.starts_with("mixencoder.layer.") &&
           std::none_of(known.begin(), known.end(), [&](const std::string& one) { return name.starts_with(one); });
  };
  reader.refuse_tensors(is_extra, "belongs to a layer that config.json's interaction_layers does not list");
  result.used = reader.used();
  return result;
}

}  // namespace

const Family kMixEncoderFamily{"mixencoder", {}, read_configuration, read_weights};

}  // namespace relucent
