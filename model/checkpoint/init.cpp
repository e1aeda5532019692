#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "base/file/new_folder.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/encode_values.h"
#include "model/checkpoint/weight_files.h"
#include "model/families/family.h"
#include "model/formats/safetensors_writer.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Shape = std::vector<std::uint64_t>;

/// The same numbers on every platform, unlike the standard library's distributions.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : random_(seed) {}

  std::vector<float> uniform(std::size_t count, double bound) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>((2 * share() - 1) * bound);
    return values;
  }
  std::vector<float> normal(std::size_t count, double deviation) {
    std::vector<float> values(count);
    for (float& value : values) {  // Box and Muller
      const double radius = std::sqrt(-2 * std::log(1 - share()));
      value = static_cast<float>(deviation * radius * std::cos(2 * std::numbers::pi * share()));
    }
    return values;
  }

 private:
  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }  // from 0, less than 1

  std::mt19937_64 random_;
};

/// The weights of a BERT under the names that a MixEncoder has for them.
class BertWeights {
 public:
  explicit BertWeights(const SafetensorsFile& file) : file_(file) {
    // Without a head the names have no prefix. The oldest files say gamma and beta.
    const bool prefixed = file.find("bert.embeddings.word_embeddings.weight") != nullptr;
    for (const SafetensorsEntry& entry : file.entries()) {
      std::string name = prefixed ? entry.name : "bert." + entry.name;
      for (const auto& [old, now] : {std::pair(".gamma", ".weight"), std::pair(".beta", ".bias")}) {
        if (name.ends_with(old)) name.replace(name.size() - std::string_view(old).size(), std::string::npos, now);
      }
      const bool wanted = name.starts_with("bert.embeddings.") || name.starts_with("bert.encoder.layer.");
      if (wanted && floating_type(entry.type)) entries_.emplace(std::move(name), &entry);
    }
  }

  std::vector<NewTensor> all() const {
    std::vector<NewTensor> tensors;
    for (const auto& [name, entry] : entries_) tensors.push_back(copy(name, *entry));
    return tensors;
  }

  /// Copies of a layer's tensors as those of another layer; the query projection also as the compress query.
  void copy_layer(std::int32_t layer, std::vector<NewTensor>& to) const {
    const std::string from = fmt::format("bert.encoder.layer.{}.", layer);
    const std::string name = fmt::format("mixencoder.layer.{}.", layer);
    constexpr std::string_view query = "attention.self.query.";
    for (auto at = entries_.lower_bound(from); at != entries_.end() && at->first.starts_with(from); ++at) {
      const std::string rest = at->first.substr(from.size());
      to.push_back(copy(name + rest, *at->second));
      if (!rest.starts_with(query)) continue;
      to.push_back(copy(name + "attention.self.compress_query." + rest.substr(query.size()), *at->second));
    }
  }

 private:
  NewTensor copy(const std::string& name, const SafetensorsEntry& entry) const {
    const std::string place = fmt::format("{}, tensor {}", file_.path_of(entry).string(), entry.name);
    return {name, "F32", entry.shape, [this, &entry, place](const NewTensor::Write& write) {
              write(encode_values(file_.view(entry).to_f32(), DataType::f32, place));
            }};
  }

  const SafetensorsFile& file_;
  std::map<std::string, const SafetensorsEntry*> entries_;
};

NewTensor made(const std::string& name, Shape shape, std::vector<float> values) {
  return {name, "F32", std::move(shape),
          [values = std::move(values)](const NewTensor::Write& write) { write(std::as_bytes(std::span(values))); }};
}

/// Keys that the caller's settings give.
constexpr const char* kSettings[] = {"mix_strategy",      "num_context_embeddings", "interaction_layers",
                                     "candidate_pooling", "query_max_length",       "candidate_max_length"};

Json mix_config(const JsonFile& config, const MixEncoderInit& settings, std::int64_t layers) {
  Json json = {{"architectures", {"MixEncoder"}}, {"model_type", "mixencoder"}};
  for (const char* key :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
        "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id", "hidden_dropout_prob"}) {
    if (const Json* value = config.find(key)) json[key] = *value;
  }
  json["mix_strategy"] = settings.strategy;
  json["num_context_embeddings"] = settings.context;
  json["interaction_layers"] = settings.interaction_layers;
  if (settings.interaction_layers.empty()) json["interaction_layers"] = {layers - 1};
  json["candidate_pooling"] = settings.pooling;
  json["mix_score"] = "dot";
  json["query_max_length"] = settings.query_max_length;
  json["candidate_max_length"] = settings.candidate_max_length;
  json["torch_dtype"] = "float32";
  return json;
}

}  // namespace

void init_mix_encoder(const fs::path& from, const fs::path& to, const MixEncoderInit& settings) {
  JsonFile config = JsonFile::read(from / "config.json");
  const std::string type = config.string("model_type").value_or("");
  if (type != "bert") {
    throw Error(ErrorKind::unsupported, config.path().string() + ", key model_type",
                fmt::format("is {}, but a MixEncoder starts from a BERT", type.empty() ? "missing" : type),
                "give a folder of the model_type bert");
  }
  const std::int64_t layers = config.required_integer("num_hidden_layers", 1, 1024);
  config.object() = mix_config(config, settings, layers);
  FamilyConfiguration configuration;
  try {
    configuration = find_family(config).read_configuration(config);
  } catch (const Error& error) {
    const bool asked = std::any_of(std::begin(kSettings), std::end(kSettings),
                                   [&](const char* key) { return error.place().ends_with(key); });
    throw Error(asked ? ErrorKind::usage : error.kind(), error.place(), error.problem(), error.remedy());
  }
  const SafetensorsFile file = open_weights(from, type);
  const BertWeights bert(file);
  std::vector<NewTensor> tensors = bert.all();
  for (const Layer& layer : configuration.description.stacks.back().layers) {
    bert.copy_layer(*layer.attentions.front().keys_of_layer, tensors);
  }
  const auto hidden = static_cast<std::size_t>(configuration.description.hidden_size);
  const auto context = static_cast<std::size_t>(settings.context);
  RandomNumbers random(settings.seed);
  // The default of PyTorch's linear layers: uniform up to 1 / sqrt(inputs).
  const double bound = 1 / std::sqrt(3 * static_cast<double>(hidden));
  tensors.push_back(made("mixencoder.gate.weight", {hidden, 3 * hidden}, random.uniform(3 * hidden * hidden, bound)));
  tensors.push_back(made("mixencoder.gate.bias", {hidden}, random.uniform(hidden, bound)));
  if (configuration.special_ids > 0) {
    const double deviation = std::sqrt(2 / static_cast<double>(hidden + context));  // Xavier
    tensors.push_back(
        made("mixencoder.special_tokens.weight", {context, hidden}, random.normal(context * hidden, deviation)));
  } else {
    tensors.push_back(made("mixencoder.context_codes.weight", {context, hidden}, random.normal(context * hidden, 1)));
  }
  NewFolder folder(to);
  write_safetensors(tensors, {{"format", "pt"}}, folder);
  NewFolder::File out(folder, "config.json");
  out.write(config.object().dump(2) + "\n");
  out.finish();
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    const bool of_tokenizer = name == "vocab.txt" || name.starts_with("tokenizer") ||
                              name == "special_tokens_map.json" || name == "added_tokens.json";
    if (entry.is_regular_file() && of_tokenizer) folder.copy(entry.path());
  }
  try {
    inspect_checkpoint(folder.draft());
  } catch (const Error& error) {
    throw Error(error.kind(), from.string(),
                "does not make a MixEncoder: " + error.problem() + " (" + error.place() + ")", error.remedy());
  }
  folder.publish();
}

}  // namespace relucent
