#include "model/families/bert.h"

#include <fmt/core.h>

#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"
#include "relucent/error.h"

namespace relucent {
namespace {

/// What distinguishes the relatives of BERT.
struct Variant {
  std::string_view prefix;                          ///< of its tensors' names
  std::span<const std::string_view> architectures;  ///< see Family; encoders' files may also hold a head
  bool small_embeddings;                            ///< of `embedding_size`, projected to the hidden size
  bool positions_after_padding;  ///< positions start at pad_token_id + 1, and two [SEP] follow the query
  bool document_type;            ///< the document has token type 1
  std::string_view head_dense, head_output;
  Activation head_activation;
  bool linear_head = false;  ///< the head may also be one linear map of [CLS]
  bool lower_apart = false;  ///< the lower layers compute query and document apart
};

constexpr std::string_view kBertArchitectures[] = {"BertModel", "ListformerModelForSequenceClassification",
                                                   "BertForSequenceClassification"};
constexpr std::string_view kDeformerArchitectures[] = {"DeformerForSequenceClassification"};
constexpr std::string_view kElectraArchitectures[] = {"ElectraModel", "ElectraForSequenceClassification"};
constexpr std::string_view kRobertaArchitectures[] = {"RobertaModel",
                                                      "XLMRobertaModel",
                                                      "CamembertModel",
                                                      "CamembertForSequenceClassification",
                                                      "RobertaForSequenceClassification",
                                                      "XLMRobertaForSequenceClassification"};

constexpr Variant kBert{"bert.", kBertArchitectures,  false,        false,
                        true,    "bert.pooler.dense", "classifier", Activation::tanh};
constexpr Variant kDeformer{"bert.",      kDeformerArchitectures, false, false, true, "bert.pooler.dense",
                            "classifier", Activation::tanh,       false, true};
// The head's GELU does not depend on hidden_act.
constexpr Variant kElectra{"electra.",
                           kElectraArchitectures,
                           true,
                           false,
                           true,
                           "classifier.dense",
                           "classifier.out_proj",
                           Activation::gelu_erf,
                           true};
constexpr Variant kRoberta{"roberta.",         kRobertaArchitectures, false,           true, false,
                           "classifier.dense", "classifier.out_proj", Activation::tanh};

constexpr std::string_view kDeformerQueryLength = "query_length";
constexpr std::int32_t kUsualQueryLength = 30, kAroundTexts = 3;  // [CLS], and [SEP] after the query and the document

/// How a Deformer divides its input and its layers.
void read_deformer(ConfigReader& config, const EncoderDescription& description, InputForm& input,
                   std::vector<Layer>& layers) {
  const JsonFile& file = config.file();
  if (config.pattern() != AttentionPattern()) {
    config.unsupported("attention_window_size", "a Deformer with a sparse attention pattern is not supported",
                       "remove the keys of the pattern");
  }
  const std::size_t lower = static_cast<std::size_t>(config.size(kDeformerLayers, 1024)), all = layers.size();
  if (lower >= all) {
    file.fail(kDeformerLayers,
              fmt::format("is {}, but the model has {} layers, and the last one needs query and document together",
                          lower, all),
              all > 1 ? fmt::format("give a number from 1 to {}", all - 1) : "use a BERT with more layers");
  }
  AttentionPattern apart;
  apart.cls_document = apart.query_document = apart.document_cls = apart.document_query = false;
  for (std::size_t i = 0; i < lower; ++i) layers[i].attentions.front().views = views_of(apart);
  const auto stated = file.object().find(std::string(kDeformerQueryLength));
  if (stated != file.object().end() && stated->is_null()) {
    file.fail(kDeformerQueryLength,
              "is null, but a Deformer cuts documents by the longest query, so that none depends on one",
              "state the most word pieces of a query");
  }
  input.query_limit = config.size_or(kDeformerQueryLength, 1 << 20, kUsualQueryLength);
  if (input.query_limit + kAroundTexts >= description.max_positions) {
    file.fail(kDeformerQueryLength, fmt::format("is {}, which leaves no place for documents among {} positions",
                                                input.query_limit, description.max_positions));
  }
  input.apart = true;
  input.cut = PairCut::document_first;
}

void check_supported_features(ConfigReader& config) {
  const std::string positions = config.text("position_embedding_type", "absolute");
  if (positions != "absolute") {
    config.unsupported("position_embedding_type", "unknown position scheme " + positions,
                       "use a checkpoint with absolute positions");
  }
  for (const std::string_view key : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    if (config.flag(key, false)) config.unsupported(key, "decoders are not supported", "use an encoder checkpoint");
  }
  for (const std::string_view key : {"pruned_heads", "quantization_config"}) {
    config.require_absent(key, "is not supported", "use the checkpoint before pruning or quantization");
  }
}

}  // namespace

std::vector<Layer> read_bert_form(ConfigReader& config, EncoderDescription& description) {
  check_supported_features(config);
  description.vocabulary_size = config.size("vocab_size", 1 << 24);
  description.embedding_size = description.hidden_size = config.size("hidden_size", 1 << 16);
  description.max_positions = config.size("max_position_embeddings", 1 << 20);
  description.token_types = config.size_or("type_vocab_size", 1 << 16, 2);
  description.norm_epsilon = static_cast<float>(config.positive("layer_norm_eps", 1e-12));
  const Attention attention = config.attention("num_attention_heads", description.hidden_size);
  const FeedForward feed_forward{.size = config.size("intermediate_size", 1 << 20),
                                 .activation = config.activation("hidden_act", "gelu")};
  return {static_cast<std::size_t>(config.size("num_hidden_layers", 1024)), Layer{{attention}, feed_forward}};
}

std::vector<Layer> read_passage_layers(ConfigReader& config, EncoderDescription& description) {
  config.require_one_label();
  if (config.pattern() != AttentionPattern()) {
    config.unsupported("attention_window_size", "passages with a sparse attention pattern are not supported",
                       "remove the keys of the pattern");
  }
  std::vector<Layer> layers = read_bert_form(config, description);
  if (description.token_types < 2) {
    config.file().fail("type_vocab_size", "is 1, but documents have token type 1");
  }
  return layers;
}

void read_bert_embeddings(TensorReader& reader, const std::string& prefix, std::int64_t vocabulary,
                          const EncoderDescription& description, FamilyWeights& result) {
  const std::int64_t embedding = description.embedding_size;
  const std::string embeddings = prefix + "embeddings.";
  EncoderWeights& weights = result.weights;
  weights.word_embeddings = reader.matrix(embeddings + "word_embeddings.weight", vocabulary, embedding);
  if (description.max_positions > 0) {
    result.position_table = reader.stored_name(embeddings + "position_embeddings.weight");
    result.per_position = {embeddings + "position_ids"};
    weights.position_embeddings = reader.matrix(result.position_table, description.max_positions, embedding);
  }
  if (description.token_types > 0) {
    weights.token_type_embeddings =
        reader.matrix(embeddings + "token_type_embeddings.weight", description.token_types, embedding);
  }
  weights.embedding_norm = reader.norm(embeddings + "LayerNorm", embedding);
}

LayerWeights read_bert_layer(TensorReader& reader, const std::string& layer, std::int64_t hidden, std::int64_t inner,
                             std::string_view projection) {
  const auto self = [&](const char* name) { return fmt::format("{}attention.self.{}{}", layer, name, projection); };
  LayerWeights out;
  AttentionWeights& attention = out.attentions.emplace_back();
  attention.query = reader.linear(self("query"), hidden, hidden);
  attention.key = reader.linear(self("key"), hidden, hidden);
  attention.value = reader.linear(self("value"), hidden, hidden);
  attention.output = reader.linear(layer + "attention.output.dense", hidden, hidden);
  attention.norm = reader.norm(layer + "attention.output.LayerNorm", hidden);
  out.feed_forward.in = reader.linear(layer + "intermediate.dense", inner, hidden);
  out.feed_forward.out = reader.linear(layer + "output.dense", hidden, inner);
  out.feed_forward.norm = reader.norm(layer + "output.LayerNorm", hidden);
  return out;
}

StackWeights read_bert_layers(TensorReader& reader, const std::string& prefix, const EncoderDescription& description) {
  return {
      read_bert_layers(reader, prefix + "encoder.layer.", description.stacks.front().layers, description.hidden_size),
      {}};
}

std::vector<LayerWeights> read_bert_layers(TensorReader& reader, const std::string& layer,
                                           const std::vector<Layer>& form, std::int64_t hidden) {
  std::vector<LayerWeights> layers;
  for (std::size_t i = 0; i < form.size(); ++i) {
    layers.push_back(read_bert_layer(reader, fmt::format("{}{}.", layer, i), hidden, form[i].feed_forward.size));
  }
  return layers;
}

void read_dense_head(TensorReader& reader, const FamilyConfiguration& configuration, std::string_view dense,
                     std::string_view output, FamilyWeights& weights) {
  const std::int64_t hidden = configuration.description.hidden_size;
  const std::int32_t outputs = configuration.description.head.outputs;
  if (configuration.separate_head) {
    // its own reader's
  } else if (configuration.description.head.steps.empty()) {
    weights.weights.head_output = reader.linear(configuration.linear_head, outputs, hidden, configuration.biases.head);
  } else {
    weights.weights.head_steps = {{.dense = reader.linear(std::string(dense), hidden, hidden)}};
    weights.weights.head_output = reader.linear(std::string(output), outputs, hidden);
  }
  weights.weights.storage = reader.file().storage();
  if (configuration.description.head.outputs == 2 && !reader.failed()) put_relevance_first(weights.weights);
  weights.used = reader.used();
}

FamilyWeights read_bert_encoder(TensorReader& reader, const std::string& prefix,
                                const EncoderDescription& description) {
  const std::int64_t hidden = description.hidden_size, embedding = description.embedding_size;
  FamilyWeights result;
  read_bert_embeddings(reader, prefix, description.vocabulary_size, description, result);
  if (embedding != hidden) {
    result.weights.embedding_projection = reader.linear(prefix + "embeddings_project", hidden, embedding);
  }
  result.weights.stacks = {read_bert_layers(reader, prefix, description)};
  result.weights.storage = reader.file().storage();
  return result;
}

namespace {

template <const Variant& variant>
FamilyConfiguration read_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = config.architecture(variant.architectures);
  // With two, the second is that of relevance (monoBERT); with more, the model classifies.
  const std::optional<std::int32_t> labels = config.labels(kMostLabels);
  if (labels > 2) result.labels = config.label_names(*labels);
  if (!labels) result.counted_head = std::string(variant.head_output) + ".weight";
  if (variant.linear_head) result.linear_head = "classifier";

  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  std::vector<Layer> layers = read_bert_form(config, description);
  if (variant.small_embeddings) description.embedding_size = config.size_or("embedding_size", 1 << 16, 128);
  result.max_tokens = description.max_positions;
  if (variant.positions_after_padding) {
    result.input.separators = 2;
    result.input.first_position = config.size_or("pad_token_id", 1 << 20, 1) + 1;
    result.max_tokens -= result.input.first_position;
    if (result.max_tokens < 1) file.fail("max_position_embeddings", "leaves no position after the padding's");
  }
  result.input.typed = config.flag("token_type_embedding", true);
  result.input.document_type = result.input.typed && variant.document_type ? 1 : 0;
  for (Layer& layer : layers) layer.attentions.front().views = views_of(config.pattern());
  if (variant.lower_apart) {
    // So that its states below do not depend on the query.
    description.groups[kDocument].input = Dependence::candidate;
    read_deformer(config, description, result.input, layers);
  } else {
    result.input.query_limit = config.query_limit(result.architecture);
  }
  description.stacks = {{{kCls, kQuery, kDocument}, std::move(layers)}};
  description.head = {.groups = {kCls},
                      .steps = {{.size = description.hidden_size, .activation = variant.head_activation}},
                      .outputs = labels.value_or(1),
                      .classifies = !result.labels.empty()};
  result.ignored_keys = config.unread_keys();
  return result;
}

template <const Variant& variant>
FamilyWeights read_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                           std::span<const std::int32_t>) {
  FamilyWeights result = read_bert_encoder(reader, std::string(variant.prefix), configuration.description);
  read_dense_head(reader, configuration, variant.head_dense, variant.head_output, result);
  return result;
}

}  // namespace

const Family kBertFamily{"bert", kBert.architectures, read_configuration<kBert>, read_weights<kBert>};
const Family kDeformerFamily{"deformer", kDeformer.architectures, read_configuration<kDeformer>,
                             read_weights<kDeformer>};
const Family kElectraFamily{"electra", kElectra.architectures, read_configuration<kElectra>, read_weights<kElectra>};
const Family kRobertaFamily{"roberta", kRoberta.architectures, read_configuration<kRoberta>, read_weights<kRoberta>};
const Family kXlmRobertaFamily{"xlm-roberta", kRoberta.architectures, read_configuration<kRoberta>,
                               read_weights<kRoberta>};
const Family kCamembertFamily{"camembert", kRoberta.architectures, read_configuration<kRoberta>,
                              read_weights<kRoberta>};

}  // namespace relucent
