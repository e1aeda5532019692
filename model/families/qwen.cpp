#include <fmt/core.h>

#include <array>
#include <cmath>

#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"

namespace relucent {
namespace {

constexpr std::string_view kClassifier = "Qwen3ForSequenceClassification";
constexpr std::array<std::string_view, 2> kQwen3Architectures{kClassifier, "Qwen3ForCausalLM"};
constexpr std::array<std::string_view, 1> kQwen2Architectures{"Qwen2ForCausalLM"};

const std::string kAssistant = "<|im_end|>\n<|im_start|>assistant\n";

/// Qwen3-Reranker's template, from its model card.
InputForm qwen3_template() {
  InputForm form;
  form.before_query = {
      "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
      "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n",
      "<Query>:"};
  form.instruction = {
      "<Instruct>: ", "\n<Query>:", "Given a web search query, retrieve relevant passages that answer the query"};
  form.query_start = form.document_start = " ";
  form.query_end = "\n<Document>:";
  form.after_document = {kAssistant + "<think>\n\n</think>\n\n"};
  form.outputs = {"yes", "no"};
  return form;
}

/// mxbai-rerank-v2's template, from its library; each part is tokenized by itself.
InputForm mxbai_template() {
  InputForm form;
  form.before_query = {
      "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
      "<|im_start|>user\n",
      "query:"};
  form.instruction = {"instruction: ", "\nquery:", ""};
  form.query_start = form.document_start = " ";
  form.after_query = {"\n"};
  form.before_document = {"document:"};
  form.after_document = {
      "\n",
      "You are a search relevance expert who evaluates how well documents match search queries. For each "
      "query-document pair, carefully analyze the semantic relationship between them, then provide your binary "
      "relevance judgment (0 for not relevant, 1 for relevant).\nRelevance:",
      kAssistant};
  form.outputs = {"1", "0"};
  return form;
}

/// Theta stands in rope_parameters, as transformers 5 writes them, or in rope_theta. Scaling is refused.
double read_theta(ConfigReader& config) {
  double theta = config.positive("rope_theta", 10000);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto* stated = config.find(key);
    if (stated == nullptr) continue;
    if (!stated->is_object()) config.file().fail(key, "is not an object");
    for (const auto& [name, value] : stated->items()) {
      if (value.is_null() || ((name == "type" || name == "rope_type") && value == "default")) continue;
      if (name != "rope_theta") {
        config.unsupported(key, fmt::format("unknown {} {}", name, value.dump()), "use a checkpoint without scaling");
      }
      theta = value.is_number() ? value.get<double>() : 0;
      if (!(theta > 0) || !std::isfinite(theta)) config.file().fail(key, "rope_theta is not a positive number");
    }
  }
  return theta;
}

void require_full_attention(ConfigReader& config) {
  config.require_absent("use_sliding_window", "is not supported", "use a checkpoint without it");
  for (const char* unused : {"sliding_window", "max_window_layers"}) config.find(unused);
  const auto* layers = config.find("layer_types");
  if (layers == nullptr) return;
  if (!layers->is_array()) config.file().fail("layer_types", "is not a list");
  for (const auto& layer : *layers) {
    if (layer == "full_attention") continue;
    config.unsupported("layer_types", "unknown type " + layer.dump(), "use a checkpoint with full_attention only");
  }
}

Attention read_qwen_attention(ConfigReader& config, std::int32_t hidden, bool third) {
  const JsonFile& file = config.file();
  Attention attention{.norm = NormPlacement::before,
                      .heads = config.size("num_attention_heads", 1 << 16),
                      .key_heads = config.size("num_key_value_heads", 1 << 16)};
  if (attention.heads % attention.key_heads != 0) {
    file.fail("num_key_value_heads", fmt::format("{} does not divide {} heads", attention.key_heads, attention.heads));
  }
  if (!third && hidden % attention.heads != 0 && config.find("head_dim") == nullptr) {
    file.fail("num_attention_heads", fmt::format("hidden_size {} is not a multiple of it", hidden));
  }
  attention.head_size = config.size_or("head_dim", 1 << 16, third ? 128 : hidden / attention.heads);
  if (attention.head_size % 2 != 0) file.fail(third ? "head_dim" : "num_attention_heads", "gives heads of an odd size");
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size));
  attention.norms_heads = third;
  attention.positions = {.kind = PositionScheme::Kind::rotary, .theta = read_theta(config)};
  constexpr View none{}, all{View::Kind::all}, before{View::Kind::before};
  attention.views = {{}, {none, before, none}, {none, all, before}};
  return attention;
}

FamilyConfiguration read_qwen_configuration(const JsonFile& file, bool third) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = third ? config.architecture(kQwen3Architectures) : config.architecture(kQwen2Architectures);
  config.require_one_label();
  config.require_absent("quantization_config", "is not supported", "use the checkpoint before quantization");
  require_full_attention(config);
  if (config.pattern() != AttentionPattern()) {
    config.unsupported("attention_window_size", "a decoder has no sparse pattern", "remove the keys of a pattern");
  }
  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  description.vocabulary_size = config.size("vocab_size", 1 << 24);
  description.embedding_size = description.hidden_size = config.size("hidden_size", 1 << 16);
  description.embedding_norm = false;
  description.norm_kind = NormKind::rms;
  description.norm_epsilon = static_cast<float>(config.positive("rms_norm_eps", 1e-6));
  const Attention attention = read_qwen_attention(config, description.hidden_size, third);
  const FeedForward feed_forward{.norm = NormPlacement::before,
                                 .size = config.size("intermediate_size", 1 << 20),
                                 .activation = config.activation("hidden_act", "silu"),
                                 .gated = true};
  if (feed_forward.activation != Activation::silu) {
    config.unsupported("hidden_act", "is not silu", "use another checkpoint");
  }
  description.stacks = {
      {{kQuery, kDocument},
       {static_cast<std::size_t>(config.size("num_hidden_layers", 1024)), Layer{{attention}, feed_forward}},
       true}};
  description.head = {.groups = {kDocument}, .pooling = Pooling::last};
  result.biases.attention = third ? config.flag("attention_bias", false) : true;
  result.tied = config.flag("tie_word_embeddings", false);

  result.input = third ? qwen3_template() : mxbai_template();
  result.input.chat = true;
  result.input.separators = 0;
  result.input.cut = PairCut::document_first;
  result.input.query_limit = config.query_limit(result.architecture);
  if (result.architecture == kClassifier) result.input.outputs.clear();
  result.max_tokens = config.size_or("max_position_embeddings", 1 << 20, 32768);
  result.ignored_keys = config.unread_keys();
  return result;
}

FamilyWeights read_qwen_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                                std::span<const std::int32_t> outputs) {
  const EncoderDescription& description = configuration.description;
  const std::int64_t hidden = description.hidden_size, vocabulary = description.vocabulary_size;
  const std::vector<Layer>& layers = description.stacks.front().layers;
  const Attention& form = layers.front().attentions.front();
  const std::int64_t width = std::int64_t{form.heads} * form.head_size, of_keys = width / form.sharing();
  const std::int64_t inner = layers.front().feed_forward.size;
  const bool biased = configuration.biases.attention;
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  weights.word_embeddings = reader.matrix("model.embed_tokens.weight", vocabulary, hidden);
  StackWeights& stack = weights.stacks.emplace_back();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i), self = layer + "self_attn.", mlp = layer + "mlp.";
    LayerWeights& out = stack.layers.emplace_back();
    AttentionWeights& attention = out.attentions.emplace_back();
    attention.norm = reader.norm(layer + "input_layernorm", hidden, false);
    attention.query = reader.linear(self + "q_proj", width, hidden, biased);
    attention.key = reader.linear(self + "k_proj", of_keys, hidden, biased);
    attention.value = reader.linear(self + "v_proj", of_keys, hidden, biased);
    attention.output = reader.linear(self + "o_proj", hidden, width, biased && form.norms_heads);
    if (form.norms_heads) {
      attention.query_norm = reader.vector(self + "q_norm.weight", form.head_size);
      attention.key_norm = reader.vector(self + "k_norm.weight", form.head_size);
    }
    out.feed_forward.norm = reader.norm(layer + "post_attention_layernorm", hidden, false);
    out.feed_forward.in = reader.linear(mlp + "gate_proj", inner, hidden, false);
    out.feed_forward.gate = reader.linear(mlp + "up_proj", inner, hidden, false);
    out.feed_forward.out = reader.linear(mlp + "down_proj", hidden, inner, false);
  }
  reader.refuse_more("model.layers.", layers.size());
  stack.final_norm = reader.norm("model.norm", hidden, false);
  const bool classifies = configuration.architecture == kClassifier;
  const TensorView all = classifies           ? reader.matrix("score.weight", 1, hidden)
                         : configuration.tied ? weights.word_embeddings
                                              : reader.matrix("lm_head.weight", vocabulary, hidden);
  weights.storage = reader.file().storage();
  if (!reader.failed()) {
    weights.head_output.weight = classifies ? all : row_difference(all, outputs[0], outputs[1], weights.storage);
  }
  result.used = reader.used();
  return result;
}

FamilyConfiguration read_qwen3(const JsonFile& file) { return read_qwen_configuration(file, true); }
FamilyConfiguration read_qwen2(const JsonFile& file) { return read_qwen_configuration(file, false); }

}  // namespace

const Family kQwen2Family{"qwen2", kQwen2Architectures, read_qwen2, read_qwen_weights};
const Family kQwen3Family{"qwen3", kQwen3Architectures, read_qwen3, read_qwen_weights};

}  // namespace relucent
