#include <fmt/core.h>

#include <array>
#include <cmath>

#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::array<std::string_view, 3> kT5Architectures{"T5Model", "T5WithLMHeadModel",
                                                           "T5ForConditionalGeneration"};

FeedForward read_feed_forward(ConfigReader& config) {
  FeedForward feed_forward{.norm = NormPlacement::before, .size = config.size("d_ff", 1 << 20)};
  std::string name = config.text("feed_forward_proj", "relu");
  if (constexpr std::string_view gated = "gated-"; name.starts_with(gated)) {
    feed_forward.gated = true;
    name.erase(0, gated.size());
    if (name == "gelu") name = "gelu_new";  // only gated T5s mean this one by gelu
  }
  // These keys, if stated, take precedence.
  feed_forward.gated = config.flag("is_gated_act", feed_forward.gated);
  const bool stated = config.find("dense_act_fn") != nullptr;
  feed_forward.activation =
      stated ? config.activation("dense_act_fn", name) : config.activation_named("feed_forward_proj", name);
  return feed_forward;
}

/// `views` without the rows of groups that do not pass through a stack.
Views only(Views views, const std::vector<std::int32_t>& groups) {
  Views kept(views.size());
  for (const std::int32_t group : groups)
    kept[static_cast<std::size_t>(group)] = views[static_cast<std::size_t>(group)];
  return kept;
}

FamilyConfiguration read_t5_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = config.architecture(kT5Architectures);
  result.biases = {false, false, false, false};
  config.require_absent("quantization_config", "is not supported", "use the checkpoint before quantization");
  EncoderDescription& description = result.description;
  description.groups = cross_encoder_groups();
  description.groups[kCls].name = "decoder";
  description.vocabulary_size = config.size("vocab_size", 1 << 24);
  description.embedding_size = description.hidden_size = config.size("d_model", 1 << 16);
  description.embedding_norm = false;
  description.norm_kind = NormKind::rms;
  description.norm_epsilon = static_cast<float>(config.positive("layer_norm_epsilon", 1e-6));

  Attention attention{.norm = NormPlacement::before,
                      .heads = config.size("num_heads", 1 << 16),
                      .head_size = config.size("d_kv", 1 << 16),
                      .scale = 1};
  const PositionScheme relative{.kind = PositionScheme::Kind::relative_buckets,
                                .buckets = config.size_or("relative_attention_num_buckets", 1 << 16, 32),
                                .max_distance = config.size_or("relative_attention_max_distance", 1 << 20, 128)};
  if (relative.buckets < 4 || relative.buckets % 2 != 0 || relative.max_distance <= relative.buckets / 4) {
    file.fail("relative_attention_num_buckets", "must be even, at least 4 and below four times the maximum distance");
  }
  const FeedForward feed_forward = read_feed_forward(config);
  const Views pattern = views_of(config.pattern());
  const std::int32_t layers = config.size("num_layers", 1024);

  Stack encoder{{kQuery, kDocument}, {}, true};
  Attention self = attention;
  self.positions = relative;
  self.views = only(pattern, encoder.groups);
  for (const std::int32_t group : encoder.groups) self.views[static_cast<std::size_t>(group)][kCls] = {};
  encoder.layers.assign(static_cast<std::size_t>(layers), {{self}, feed_forward});

  // The decoder computes one token, so that its own attention needs no positions: there is one key.
  Stack decoder{{kCls}, {}, true};
  Attention own = attention, cross = attention;
  own.views = cross.views = only(pattern, decoder.groups);
  own.views[kCls][kQuery] = own.views[kCls][kDocument] = {};
  cross.views[kCls][kCls] = {};
  decoder.layers.assign(static_cast<std::size_t>(config.size_or("num_decoder_layers", 1024, layers)),
                        {{own, cross}, feed_forward});
  description.stacks = {encoder, decoder};

  // Transformers 5 keeps in a key of its own whether outputs are scaled.
  const bool scaled = config.flag("scale_decoder_outputs", config.flag("tie_word_embeddings", true));
  description.head = {.groups = {kCls}, .outputs = 2};
  if (scaled) description.head.scale = 1 / std::sqrt(static_cast<double>(description.hidden_size));

  result.input.separators = 0;
  result.input.decoder_start =
      static_cast<std::int32_t>(file.integer("decoder_start_token_id", 0, description.vocabulary_size - 1).value_or(0));
  config.find("decoder_start_token_id");
  result.input.before_query = {"Query:"};
  result.input.before_document = {"Document:"};
  result.input.after_document = {"Relevant:"};
  result.input.outputs = {"true", "false"};
  result.input.cut = PairCut::document_first;  // as monoT5's code: query and document are one text
  result.input.query_limit = config.query_limit(result.architecture);
  result.max_tokens = config.size_or("n_positions", 1 << 20, 512);
  result.ignored_keys = config.unread_keys();
  return result;
}

AttentionWeights read_attention(TensorReader& reader, const std::string& block, const std::string& name,
                                const Attention& form, std::int64_t hidden) {
  const std::int64_t width = std::int64_t{form.heads} * form.head_size;
  AttentionWeights weights;
  weights.query = reader.linear(block + name + ".q", width, hidden, false);
  weights.key = reader.linear(block + name + ".k", width, hidden, false);
  weights.value = reader.linear(block + name + ".v", width, hidden, false);
  weights.output = reader.linear(block + name + ".o", hidden, width, false);
  weights.norm = reader.norm(block + "layer_norm", hidden, false);
  return weights;
}

FeedForwardWeights read_feed_forward(TensorReader& reader, const std::string& block, const FeedForward& form,
                                     std::int64_t hidden) {
  const std::string dense = block + "DenseReluDense.";
  FeedForwardWeights weights;
  weights.in = reader.linear(dense + (form.gated ? "wi_0" : "wi"), form.size, hidden, false);
  if (form.gated) weights.gate = reader.linear(dense + "wi_1", form.size, hidden, false);
  weights.out = reader.linear(dense + "wo", hidden, form.size, false);
  weights.norm = reader.norm(block + "layer_norm", hidden, false);
  return weights;
}

FamilyWeights read_t5_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                              std::span<const std::int32_t> outputs) {
  const EncoderDescription& description = configuration.description;
  const std::int64_t hidden = description.hidden_size, vocabulary = description.vocabulary_size;
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  // Files may have the words under another of their names alone.
  std::string words = "shared.weight";
  for (const char* other : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"}) {
    if (reader.file().find(words) == nullptr && reader.file().find(other) != nullptr) words = other;
  }
  weights.word_embeddings = reader.matrix(words, vocabulary, hidden);
  const char* names[] = {"encoder.", "decoder."};
  for (std::size_t s = 0; s < 2; ++s) {
    const std::string stack = names[s];
    StackWeights& of_stack = weights.stacks.emplace_back();
    const std::vector<Layer>& layers = description.stacks[s].layers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::string layer = fmt::format("{}block.{}.layer.", stack, i);
      LayerWeights& out = of_stack.layers.emplace_back();
      out.attentions.push_back(read_attention(reader, layer + "0.", "SelfAttention", layers[i].attentions[0], hidden));
      if (s == 1) {
        out.attentions.push_back(
            read_attention(reader, layer + "1.", "EncDecAttention", layers[i].attentions[1], hidden));
      } else {
        // All layers share the first one's biases.
        const Attention& form = layers[i].attentions[0];
        out.attentions[0].relative_bias = i > 0
                                              ? of_stack.layers[0].attentions[0].relative_bias
                                              : reader.matrix(layer + "0.SelfAttention.relative_attention_bias.weight",
                                                              form.positions.buckets, form.heads);
      }
      out.feed_forward = read_feed_forward(reader, layer + (s == 1 ? "2." : "1."), layers[i].feed_forward, hidden);
    }
    of_stack.final_norm = reader.norm(stack + "final_layer_norm", hidden, false);
  }
  // The outputs of a few words.
  const TensorView all = reader.file().find("lm_head.weight") != nullptr
                             ? reader.matrix("lm_head.weight", vocabulary, hidden)
                             : weights.word_embeddings;
  if (reader.failed()) return result;
  weights.storage = reader.file().storage();
  weights.head_output.weight = copy_rows(all, outputs, weights.storage);
  result.used = reader.used();
  return result;
}

}  // namespace

const Family kT5Family{"t5", kT5Architectures, read_t5_configuration, read_t5_weights};

}  // namespace relucent
