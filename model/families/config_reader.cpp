#include "model/families/config_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "model/families/attention_keys.h"

namespace relucent {
namespace {

/// Keys that tools write and that do not affect scores, although they may sound like it.
constexpr std::array<std::string_view, 17> kHarmless{
    "attention_probs_dropout_prob", "attention_dropout", "attn_implementation", "_attn_implementation",
    "_attn_implementation_autoset", "_attn_implementation_internal", "cross_attention_hidden_size",
    // Which program computes attention, or what else it returns.
    "use_flash_attn", "attention_type", "output_attentions",
    // Written by earlier versions of the sparse models' code.
    "cls_other_cls_attention", "doc_other_cls_attention", "rank_position_embedding", "base_max_position_embeddings",
    "input_type_embedding", "normalize_output", "depth"};

}  // namespace

std::string_view ConfigReader::note(std::string_view key) {
  read_.emplace(key);
  return key;
}

const nlohmann::ordered_json* ConfigReader::find(std::string_view key) { return config_.find(note(key)); }

std::string ConfigReader::architecture(std::span<const std::string_view> known) {
  const auto* stated = find("architectures");
  if (stated == nullptr) return std::string(known.back());
  if (!stated->is_array() || stated->empty()) {
    config_.fail("architectures", "does not name an architecture", "download the file again");
  }
  std::vector<std::string> names;
  for (const auto& name : *stated) {
    if (!name.is_string()) config_.fail("architectures", fmt::format("contains {}, which is not a name", name.dump()));
    names.push_back(name.get<std::string>());
    if (std::find(known.begin(), known.end(), names.back()) != known.end()) return names.back();
  }
  unsupported("architectures", "unknown architecture " + join(names), "use a checkpoint of " + join(known, " or "));
}

std::optional<std::int32_t> ConfigReader::labels(std::int32_t most) {
  // sentence-transformers gives a model one label if it was saved without a head.
  const auto* architectures = config_.find("architectures");
  const bool with_head =
      architectures != nullptr && std::any_of(architectures->begin(), architectures->end(), [](const auto& name) {
        return name.is_string() && name.template get<std::string>().ends_with("ForSequenceClassification");
      });
  const auto refuse = [&](std::string_view key, std::size_t labels) {
    unsupported(
        key,
        fmt::format("the model has {} labels, but {}", labels,
                    most > 1 ? fmt::format("at most {} are read", most) : "a cross-encoder of its type has one"),
        "use a checkpoint trained to predict a single relevance score");
  };
  note("label2id");
  std::optional<std::int32_t> stated;
  const auto take = [&](std::string_view key, std::size_t labels) {
    if (!with_head) return;
    if (labels < 1 || labels > static_cast<std::size_t>(most)) refuse(key, labels);
    stated = static_cast<std::int32_t>(labels);
  };
  if (const auto labels = config_.integer(note("num_labels"), 0, 1 << 30)) {
    take("num_labels", static_cast<std::size_t>(*labels));
  }
  if (const auto* labels = find("id2label")) {
    if (!labels->is_object()) config_.fail("id2label", "is not an object");
    take("id2label", labels->size());
  }
  return stated;
}

std::vector<std::string> ConfigReader::label_names(std::int32_t labels) {
  const auto* stated = find("id2label");
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < labels; ++i) {
    const std::string number = std::to_string(i);
    const bool named = stated != nullptr && stated->contains(number);
    if (named && !(*stated)[number].is_string()) {
      config_.fail("id2label", fmt::format("the name of label {} is not a text", i), "name every label");
    }
    if (stated != nullptr && !named) {
      config_.fail("id2label", fmt::format("has {} labels, but none with the number {}", labels, i),
                   "number them from 0");
    }
    names.push_back(named ? (*stated)[number].get<std::string>() : "LABEL_" + number);
  }
  return names;
}

void ConfigReader::require_absent(std::string_view key, const std::string& problem, const std::string& remedy) {
  const auto* value = find(key);
  if (value == nullptr || (value->is_boolean() ? !value->get<bool>() : value->empty())) return;
  unsupported(key, problem, remedy);
}

std::int32_t ConfigReader::size(std::string_view key, std::int64_t most) {
  return static_cast<std::int32_t>(config_.required_integer(note(key), 1, most));
}

std::int32_t ConfigReader::size_or(std::string_view key, std::int64_t most, std::int32_t usual) {
  return static_cast<std::int32_t>(config_.integer(note(key), 1, most).value_or(usual));
}

std::int32_t ConfigReader::integer_or(std::string_view key, std::int64_t least, std::int64_t most, std::int32_t usual) {
  return static_cast<std::int32_t>(config_.integer(note(key), least, most).value_or(usual));
}

bool ConfigReader::flag(std::string_view key, bool usual) { return config_.boolean(note(key)).value_or(usual); }

std::string ConfigReader::text(std::string_view key, const std::string& usual) {
  return config_.string(note(key)).value_or(usual);
}

double ConfigReader::positive(std::string_view key, double usual) {
  const double value = config_.number(note(key)).value_or(usual);
  if (!(value > 0) || !std::isfinite(static_cast<float>(value)) || !(static_cast<float>(value) > 0)) {
    config_.fail(key, "is not a positive number");
  }
  return value;
}

Activation ConfigReader::activation(std::string_view key, const std::string& usual) {
  return activation_named(key, text(key, usual));
}

Activation ConfigReader::activation_named(std::string_view key, const std::string& name) const {
  if (name == "gelu" || name == "gelu_python") return Activation::gelu_erf;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::gelu_tanh;
  if (name == "gelu_10") return Activation::gelu_10;
  if (name == "quick_gelu") return Activation::quick_gelu;
  if (name == "mish") return Activation::mish;
  if (name == "relu") return Activation::relu;
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "tanh") return Activation::tanh;
  unsupported(key, "unknown activation " + name, "use a checkpoint with gelu, gelu_new, relu, silu or tanh");
}

AttentionPattern ConfigReader::pattern() { return read_attention_pattern(config_); }

std::int32_t ConfigReader::query_limit(std::string_view architecture) {
  constexpr std::string_view key = "query_length";
  constexpr std::int32_t of_sparse = 30;  // 32 with [CLS] and [SEP]
  const bool sparse = architecture == "ListformerModelForSequenceClassification" || pattern() != AttentionPattern();
  return integer_or(key, 1, 1 << 20, sparse && !config_.object().contains(key) ? of_sparse : 0);
}

Attention ConfigReader::attention(std::string_view heads_key, std::int32_t width) {
  Attention attention;
  attention.heads = size(heads_key, 1 << 16);
  if (width % attention.heads != 0) {
    config_.fail(heads_key, fmt::format("hidden_size {} is not a multiple of {} heads", width, attention.heads));
  }
  attention.head_size = width / attention.heads;
  attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size));
  return attention;
}

std::vector<std::string> ConfigReader::unread_keys() const {
  std::vector<std::string> unread;
  for (const auto& [key, value] : config_.object().items()) {
    if (key == "model_type" || read_.contains(key) || is_attention_pattern_key(key)) continue;
    if (key == kDeformerLayers) {
      unsupported(
          key, "is of a Deformer, but model_type is another one",
          "set model_type to deformer and architectures to DeformerForSequenceClassification, or remove the key");
    }
    // What is not set, and settings of a pooler that BERT's code does not have.
    const bool unset = value.is_null() || value == false || key.starts_with("pooler_");
    if (!unset && std::find(kHarmless.begin(), kHarmless.end(), key) == kHarmless.end() && sounds_like_attention(key)) {
      unsupported(key, "unknown attention key", "check its spelling, or remove it if it has no effect");
    }
    unread.push_back(key);
  }
  return unread;
}

}  // namespace relucent
