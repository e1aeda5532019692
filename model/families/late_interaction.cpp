#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "model/families/bert.h"
#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/modernbert.h"
#include "model/families/tensor_reader.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostTokens = 1 << 20, kMostSize = 1 << 12;
constexpr std::int32_t kShortestText = 4;  // [CLS], a marker, a word, [SEP]

/// Those of a BERT, which reads as many tokens as it has positions.
std::vector<Layer> read_bert_layers(ConfigReader& config, FamilyConfiguration& result) {
  std::vector<Layer> layers = read_bert_form(config, result.description);
  for (Layer& layer : layers) layer.attentions.front().views = late_interaction_views({View::Kind::all});
  result.max_tokens = result.description.max_positions;
  return layers;
}

void finish(FamilyConfiguration& result, std::vector<Layer> layers, std::int32_t size, bool unit) {
  const std::vector<std::int32_t> groups = {kDocument, kExpansion};
  EncoderDescription& description = result.description;
  description.groups = late_interaction_groups();
  description.stacks.push_back({groups, std::move(layers)});
  description.head = {.groups = groups, .steps = {{.size = size}}, .per_token = true, .unit_vectors = unit};
}

/// `file` and `keys` have the lengths.
void check_lengths(const JsonFile& file, std::string_view query, std::string_view document,
                   const FamilyConfiguration& result) {
  for (const auto& [key, side] : {std::pair(query, &result.late->query), std::pair(document, &result.late->document)}) {
    if (side->length < kShortestText) file.fail(key, "leaves no room for a word between the special tokens");
    if (side->length > result.max_tokens) {
      file.fail(key, fmt::format("is {}, but the encoder takes at most {} tokens", side->length, result.max_tokens));
    }
  }
}

// Lightning IR.

std::int32_t read_length(ConfigReader& config, const char* key, std::int32_t usual, std::int32_t most) {
  const auto stated = config.file().object().find(key);
  const bool unlimited = stated != config.file().object().end() && stated->is_null();
  return unlimited ? most : config.size_or(key, kMostTokens, std::min(usual, most));
}

LateForm::Side read_side(ConfigReader& config, const char* length, std::int32_t usual, const char* skipped,
                         std::int32_t most) {
  LateForm::Side side{.length = read_length(config, length, usual, most)};
  const OrderedJson* list = config.find(skipped);
  if (list == nullptr) return side;
  if (*list == "punctuation") {
    side.skips_punctuation = true;
  } else if (list->is_array()) {
    for (const OrderedJson& token : *list) {
      if (!token.is_string()) config.file().fail(skipped, "is not a list of tokens");
      side.skipped.push_back(token.get<std::string>());
    }
  } else {
    config.unsupported(skipped, "unknown setting " + list->dump(), "use a checkpoint with punctuation or a list");
  }
  return side;
}

FamilyConfiguration read_lightning_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  config.find("architectures");  // made up from the class and the backbone
  if (const std::string backbone = config.text("backbone_model_type", ""); backbone != "bert") {
    config.unsupported("backbone_model_type", backbone.empty() ? "is missing" : "unknown backbone " + backbone,
                       "use a checkpoint of Lightning IR with bert");
  }
  result.architecture = "bert";
  for (const std::string_view key : {"use_adapter", "adapter_config", "pretrained_adapter_name_or_path"}) {
    config.require_absent(key, "adapters are not supported", "merge the adapter into the checkpoint's weights");
  }
  for (const std::string_view key : {"doc_expansion", "attend_to_doc_expanded_tokens", "sparsification_strategy",
                                     "tokenizer_pattern", "pooling_strategy"}) {
    config.require_absent(key, "is not supported", "use a checkpoint without it");
  }
  std::vector<Layer> layers = read_bert_layers(config, result);

  LateForm& form = result.late.emplace();
  form.query = read_side(config, "query_length", 32, "query_mask_scoring_tokens", result.max_tokens);
  form.document = read_side(config, "doc_length", 512, "doc_mask_scoring_tokens", result.max_tokens);
  if (config.flag("add_marker_tokens", true)) {
    form.query.marker = "[QUE]";
    form.document.marker = "[DOC]";
  }
  form.expands = config.flag("query_expansion", false);
  form.sees_expansion = config.flag("attend_to_query_expanded_tokens", false);
  const auto choice = [&](const char* key, const std::string& usual, std::initializer_list<const char*> known) {
    const std::string name = config.text(key, usual);
    if (std::ranges::find(known, name) == known.end()) {
      config.unsupported(key, fmt::format("unknown setting {}", name), "use a checkpoint with " + join(known, ", "));
    }
    return name;
  };
  const std::string projection = choice("projection", "linear", {"linear", "linear_no_bias"});
  form.projection = "projection";
  form.projection_bias = projection == "linear";
  const std::string over = choice("query_aggregation_function", "sum", {"sum", "mean", "max"});
  form.over = over == "sum"    ? MaxSimQuery::Over::sum
              : over == "mean" ? MaxSimQuery::Over::mean
                               : MaxSimQuery::Over::max;
  choice("doc_aggregation_function", "max", {"max"});
  const bool cosine = choice("similarity_function", "dot", {"dot", "cosine"}) == "cosine";
  const bool unit = config.text("normalization_strategy", "") == "l2";
  if (!unit && !config.text("normalization_strategy", "").empty()) {
    config.unsupported("normalization_strategy", "is not l2", "use a checkpoint with l2 or without normalization");
  }
  config.find("k_train");
  check_lengths(file, "query_length", "doc_length", result);
  finish(result, std::move(layers), 0, unit || cosine);
  result.ignored_keys = config.unread_keys();
  return result;
}

// colbert-ai.

JsonFile metadata_of(const JsonFile& config) {
  return JsonFile::read(config.path().parent_path() / "artifact.metadata");
}

FamilyConfiguration read_colbert_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  config.find("architectures");
  result.architecture = "HF_ColBERT";
  std::vector<Layer> layers = read_bert_layers(config, result);

  const JsonFile metadata = metadata_of(file);  // mostly settings of training and indexing
  const auto length = [&](const char* key, std::int64_t usual) {
    return static_cast<std::int32_t>(metadata.integer(key, 1, kMostTokens).value_or(usual));
  };
  if (const std::string similarity = metadata.string("similarity").value_or("cosine"); similarity != "cosine") {
    metadata.unsupported("similarity", "unknown similarity " + similarity, "use a checkpoint with cosine");
  }
  if (const std::string kind = metadata.string("interaction").value_or("colbert"); kind != "colbert") {
    metadata.unsupported("interaction", "unknown interaction " + kind, "use a checkpoint with colbert");
  }
  const auto size = static_cast<std::int32_t>(metadata.integer("dim", 1, kMostSize).value_or(128));
  LateForm& form = result.late.emplace();
  form.query = {length("query_maxlen", 32), metadata.string("query_token_id").value_or("[unused0]")};
  form.document = {length("doc_maxlen", 220), metadata.string("doc_token_id").value_or("[unused1]"),
                   metadata.boolean("mask_punctuation").value_or(true)};
  form.expands = true;
  form.sees_expansion = metadata.boolean("attend_to_mask_tokens").value_or(false);
  form.projection = "linear";
  check_lengths(metadata, "query_maxlen", "doc_maxlen", result);
  finish(result, std::move(layers), size, true);
  result.ignored_keys = config.unread_keys();
  return result;
}

// PyLate.

fs::path settings_of(const JsonFile& config) {
  return config.path().parent_path() / "config_sentence_transformers.json";
}

void read_pylate_settings(const JsonFile& settings, LateForm& form) {
  settings.require_known({"__version__", "model_type", "prompts", "default_prompt_name", "similarity_fn_name",
                          "query_prefix", "document_prefix", "query_length", "document_length",
                          "attend_to_expansion_tokens", "do_query_expansion", "skiplist_words"},
                         "use a checkpoint without it");
  if (settings.string("default_prompt_name")) {
    settings.unsupported("default_prompt_name", "prompts of late interaction are not supported",
                         "use a checkpoint without a default prompt");
  }
  if (const std::string name = settings.string("similarity_fn_name").value_or("MaxSim"); name != "MaxSim") {
    settings.unsupported("similarity_fn_name", "unknown similarity " + name, "use a checkpoint with MaxSim");
  }
  const auto length = [&](const char* key, std::int64_t usual) {
    return static_cast<std::int32_t>(settings.integer(key, 1, kMostTokens).value_or(usual));
  };
  form.query = {length("query_length", 32), settings.string("query_prefix").value_or("[Q] ")};
  form.document = {length("document_length", 180), settings.string("document_prefix").value_or("[D] ")};
  form.expands = settings.boolean("do_query_expansion").value_or(true);
  form.sees_expansion = settings.boolean("attend_to_expansion_tokens").value_or(false);
  const OrderedJson* list = settings.find("skiplist_words");
  form.document.skips_punctuation = list == nullptr;
  if (list == nullptr) return;
  if (!list->is_array()) settings.fail("skiplist_words", "is not a list of words");
  for (const OrderedJson& word : *list) {
    if (!word.is_string()) settings.fail("skiplist_words", "is not a list of words");
    form.document.skipped.push_back(word.get<std::string>());
  }
}

FamilyConfiguration read_pylate_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  const JsonFile settings = JsonFile::read(settings_of(file));
  const bool modern = config.text("model_type", "") == "modernbert";
  config.find("architectures");
  result.architecture = "ColBERT";
  LateForm& form = result.late.emplace();
  read_pylate_settings(settings, form);
  std::vector<Layer> layers;
  if (modern) {
    layers = read_modernbert_form(config, late_interaction_views({View::Kind::all}), result);
    for (const char* key : {"classifier_activation", "classifier_bias", "classifier_pooling"}) config.find(key);
    // A [MASK] beyond the window of every real token would see nothing.
    const std::int32_t window = config.size_or("local_attention", 1 << 20, 128) / 2;
    if (form.expands && !form.sees_expansion && form.query.length > window + 1) {
      settings.fail("query_length",
                    fmt::format("is {}, but the local layers' windows reach {} tokens, so that some [MASK] would see "
                                "nothing",
                                form.query.length, window),
                    "set attend_to_expansion_tokens to true if the model was trained so");
    }
  } else {
    layers = read_bert_layers(config, result);
  }
  check_lengths(settings, "query_length", "document_length", result);
  finish(result, std::move(layers), 0, true);
  result.description.stacks.front().final_norm = modern;
  result.separate_head = true;
  result.ignored_keys = config.unread_keys();
  return result;
}

// Poly-Encoder.

constexpr const char* kPolyCodes = "poly_code_embeddings.weight";
constexpr std::int64_t kMostCodes = 4096;

FamilyConfiguration read_poly_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = "PolyEncoder";
  config.find("architectures");
  std::vector<Layer> layers = read_bert_layers(config, result);
  LateForm& form = result.late.emplace();
  form.over = MaxSimQuery::Over::softmax;
  form.query_codes = config.size("poly_codes", kMostCodes);
  form.query.length = config.size("query_max_length", kMostTokens);
  form.document.length = config.size("candidate_max_length", kMostTokens);
  form.document.first_only = true;
  check_lengths(file, "query_max_length", "candidate_max_length", result);
  // The states of the tokens as they are.
  finish(result, std::move(layers), result.description.hidden_size, false);
  result.ignored_keys = config.unread_keys();
  return result;
}

/// The identity, as a projection.
LinearWeights identity(std::int64_t size, std::shared_ptr<const void>& storage) {
  std::vector<float> rows(static_cast<std::size_t>(size * size));
  for (std::int64_t i = 0; i < size; ++i) rows[static_cast<std::size_t>(i * size + i)] = 1;
  return {own_tensor(std::move(rows), {size, size}, storage), {}};
}

FamilyWeights read_poly_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                                std::span<const std::int32_t>) {
  const std::int64_t hidden = configuration.description.hidden_size;
  FamilyWeights result = read_bert_encoder(reader, "bert.", configuration.description);
  result.weights.head_steps = {{.dense = identity(hidden, result.weights.storage)}};
  const TensorView codes = reader.matrix(kPolyCodes, configuration.late->query_codes, hidden);
  if (codes.data != nullptr) result.query_codes = codes.to_f32();
  result.used = reader.used();
  return result;
}

FamilyWeights read_late_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                                std::span<const std::int32_t>) {
  const EncoderDescription& description = configuration.description;
  const bool modern = description.stacks.front().final_norm;
  FamilyWeights result =
      modern ? read_modernbert_encoder(reader, configuration) : read_bert_encoder(reader, "bert.", description);
  if (!configuration.separate_head) {
    const LateForm& form = *configuration.late;
    result.weights.head_steps = {{.dense = reader.linear(form.projection, description.head_size(),
                                                         description.hidden_size, form.projection_bias)}};
  }
  result.used = reader.used();
  return result;
}

}  // namespace

bool is_late_interaction(const JsonFile& config, const Family& family) {
  if (&family == &kColbertFamily) {
    const OrderedJson* names = config.find("architectures");
    return names != nullptr && names->is_array() && std::ranges::find(*names, "HF_ColBERT") != names->end();
  }
  // As for cross-encoders, the settings count only where there are modules.
  const fs::path path = settings_of(config);
  return fs::exists(path.parent_path() / "modules.json") && fs::exists(path) &&
         JsonFile::read(path).string("model_type").value_or("") == "ColBERT";
}

const Family kLightningColFamily{"col", {}, read_lightning_configuration, read_late_weights, true};
const Family kPolyEncoderFamily{"polyencoder", {}, read_poly_configuration, read_poly_weights, true};
const Family kColbertFamily{"bert", {}, read_colbert_configuration, read_late_weights, true};
const Family kPylateBertFamily{"bert", {}, read_pylate_configuration, read_late_weights, true};
const Family kPylateModernBertFamily{"modernbert", {}, read_pylate_configuration, read_late_weights, true};

}  // namespace relucent
