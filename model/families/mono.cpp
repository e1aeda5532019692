#include "model/families/bert.h"
#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/pattern.h"
#include "model/families/tensor_reader.h"

namespace relucent {
namespace {

constexpr std::string_view kHead = "linear", kBertPooler = "bert_pool.0";

/// Word pieces; a limit that is null is none.
std::int32_t read_limit(ConfigReader& config, const char* key, std::int32_t usual) {
  const OrderedJson& all = config.file().object();
  const auto stated = all.find(key);
  return config.integer_or(key, 1, 1 << 20, stated != all.end() && stated->is_null() ? 0 : usual);
}

Head read_head(ConfigReader& config, std::int32_t hidden) {
  Head head{.groups = {kCls}};
  const std::string pooling = config.text("pooling_strategy", "first");
  if (pooling == "mean") {
    head.groups = {kCls, kQuery, kDocument};
  } else if (pooling != "first") {
    config.unsupported("pooling_strategy", "unknown pooling " + pooling, "use a checkpoint with first or mean");
  }
  if (config.flag("_bert_pool", false)) {
    head.steps = {{.size = hidden, .activation = Activation::tanh}};
  }
  const std::string scoring = config.text("scoring_strategy", "rank");
  if (scoring == "mono") {
    head.outputs = 2;
  } else if (scoring != "rank") {
    config.unsupported("scoring_strategy", "unknown scoring " + scoring, "use a checkpoint with rank or mono");
  }
  return head;
}

/// Callers split longer lists, such as Python's predict() at 1,024 pairs of a query.
constexpr std::int64_t kMostTogether = 1000;

/// Every token sees all of its candidate, and of each other candidate the token of group `seen`.
Views views_of_set(const std::vector<std::int32_t>& groups, std::int32_t seen) {
  std::vector<View> row(groups.size(), View{View::Kind::all});
  row[static_cast<std::size_t>(seen)] = {View::Kind::across};
  return Views(groups.size(), row);
}

/// What makes the description one of sets. Lightning IR also samples candidates that are missing from a set, at random.
void read_set(ConfigReader& config, FamilyConfiguration& result) {
  EncoderDescription& description = result.description;
  Stack& stack = description.stacks.front();
  if (config.pattern() != AttentionPattern()) {
    config.unsupported("attention_window_size", "a Set-Encoder has no sparse pattern", "remove the keys of a pattern");
  }
  config.require_absent("other_sequence_embedding", "is not supported", "use a checkpoint without it");
  config.find("sample_missing_docs");
  result.input.most_candidates = config.size_or("depth", kMostTogether, 100);
  result.input.interacts = config.flag("add_extra_token", false);
  if (result.input.interacts) {
    description.groups.push_back({"interaction", Dependence::nothing});
    stack.groups.push_back(kInteraction);
    if (description.head.groups.size() > 1) description.head.groups.push_back(kInteraction);
  }
  for (Layer& layer : stack.layers) {
    layer.attentions.front().views = views_of_set(stack.groups, result.input.interacts ? kInteraction : kCls);
  }
}

FamilyConfiguration read_lightning_configuration(const JsonFile& file, bool set, const std::string& usual_backbone) {
  ConfigReader config(file);
  FamilyConfiguration result;
  config.find("architectures");  // made up from the class and the backbone
  const std::string backbone = config.text("backbone_model_type", usual_backbone);
  if (backbone != "bert" && backbone != "electra") {
    config.unsupported("backbone_model_type", backbone.empty() ? "is missing" : "unknown backbone " + backbone,
                       "use a checkpoint of Lightning IR with bert or electra");
  }
  result.architecture = backbone;
  config.require_absent("tokenizer_pattern", "is not supported", "use a checkpoint without it");
  for (const std::string_view key : {"use_adapter", "adapter_config", "pretrained_adapter_name_or_path"}) {
    config.require_absent(key, "adapters are not supported", "merge the adapter into the checkpoint's weights");
  }

  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  std::vector<Layer> layers = read_bert_form(config, description);
  if (backbone == "electra") description.embedding_size = config.size_or("embedding_size", 1 << 16, 128);
  for (Layer& layer : layers) layer.attentions.front().views = views_of(config.pattern());
  description.stacks = {{{kCls, kQuery, kDocument}, std::move(layers)}};
  description.head = read_head(config, description.hidden_size);
  result.biases.head = config.flag("linear_bias", false);
  result.max_tokens = description.max_positions;

  result.input.typed = true;
  result.input.document_type = 1;
  result.input.query_limit = read_limit(config, "query_length", 32);
  result.input.document_limit = read_limit(config, "doc_length", 512);
  result.input.cut = PairCut::document_first;
  if (set) read_set(config, result);
  result.ignored_keys = config.unread_keys();
  return result;
}

FamilyConfiguration read_mono_configuration(const JsonFile& file) {
  return read_lightning_configuration(file, false, "");
}
FamilyConfiguration read_set_configuration(const JsonFile& file) {
  return read_lightning_configuration(file, true, "");
}
FamilyConfiguration read_set_electra_configuration(const JsonFile& file) {
  return read_lightning_configuration(file, true, "electra");
}

FamilyWeights read_mono_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                                std::span<const std::int32_t>) {
  const EncoderDescription& description = configuration.description;
  const std::int64_t hidden = description.hidden_size;
  FamilyWeights result = read_bert_encoder(reader, configuration.architecture + ".", description);
  EncoderWeights& weights = result.weights;
  if (!description.head.steps.empty()) {
    weights.head_steps = {{.dense = reader.linear(std::string(kBertPooler), hidden, hidden)}};
  }
  weights.head_output = reader.linear(std::string(kHead), description.head.outputs, hidden, configuration.biases.head);
  if (description.head.outputs == 2 && !reader.failed()) {
    put_relevance_first(weights);
  }
  result.used = reader.used();
  return result;
}

}  // namespace

const Family kMonoFamily{"mono", {}, read_mono_configuration, read_mono_weights};
const Family kSetEncoderFamily{"set-encoder", {}, read_set_configuration, read_mono_weights};
const Family kSetEncoderElectraFamily{"set-encoder-electra", {}, read_set_electra_configuration, read_mono_weights};
const Family kLightningCrossEncoderFamily{"cross-encoder", {}, read_mono_configuration, read_mono_weights};

}  // namespace relucent
