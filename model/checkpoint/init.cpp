#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>

#include "base/file/folder_entries.h"
#include "base/file/new_folder.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/encode_values.h"
#include "model/checkpoint/weight_files.h"
#include "model/families/family.h"
#include "model/formats/safetensors_writer.h"
#include "model/tokenizer/vocabulary_file.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;
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

/// The weights of a BERT under the names that checkpoints made from it have for them.
class BertWeights {
 public:
  enum class Head { drop, keep };

  explicit BertWeights(const SafetensorsFile& file, Head head = Head::drop) : file_(file) {
    // Without a head the names have no prefix. The oldest files name gamma and beta.
    const bool prefixed = file.find("bert.embeddings.word_embeddings.weight") != nullptr;
    for (const SafetensorsEntry& entry : file.entries()) {
      std::string name = prefixed ? entry.name : "bert." + entry.name;
      for (const auto& [old, now] : {std::pair(".gamma", ".weight"), std::pair(".beta", ".bias")}) {
        if (name.ends_with(old)) name.replace(name.size() - std::string_view(old).size(), std::string::npos, now);
      }
      const bool of_head = name.starts_with("bert.pooler.dense.") || name.starts_with("classifier.");
      const bool wanted = name.starts_with("bert.embeddings.") || name.starts_with("bert.encoder.layer.") ||
                          (head == Head::keep && of_head);
      if (wanted && floating_type(entry.type)) entries_.emplace(std::move(name), &entry);
    }
  }

  std::vector<NewTensor> all() const {
    std::vector<NewTensor> tensors;
    for (const auto& [name, entry] : entries_) tensors.push_back(copy(name, *entry));
    return tensors;
  }

  /// Leaves out a linear map unless it has this shape; returns whether it stays.
  bool keep_linear(const std::string& name, std::uint64_t outputs, std::uint64_t inputs) {
    const auto is = [&](const char* part, const Shape& shape) {
      const auto found = entries_.find(name + part);
      return found != entries_.end() && found->second->shape == shape;
    };
    const bool stays = is(".weight", {outputs, inputs}) && is(".bias", {outputs});
    if (!stays) std::erase_if(entries_, [&](const auto& entry) { return entry.first.starts_with(name + "."); });
    return stays;
  }

  /// A tensor's values; nothing if it is missing.
  std::vector<float> values(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? std::vector<float>() : file_.view(*found->second).to_f32();
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
constexpr const char* kSettings[] = {"mix_strategy",       "num_context_embeddings",
                                     "interaction_layers", "candidate_pooling",
                                     "query_max_length",   "candidate_max_length",
                                     "passage_window",     "passage_stride",
                                     "mix_query_state",    "mix_candidate_state",
                                     "id2label",           "max_document_tokens",
                                     "psg_token_id",       "snt_token_id",
                                     "mir_views",          "mir_links",
                                     "mir_exchanges",      "poly_codes",
                                     "mir_pooling",        "max_passages",
                                     "max_query_tokens",   "parade_aggregation",
                                     "deformer_layers",    "query_length"};

/// The config.json of a BERT.
JsonFile read_bert_config(const fs::path& folder, std::string_view whose) {
  JsonFile config = JsonFile::read(folder / "config.json");
  const std::string type = config.string("model_type").value_or("");
  if (type != "bert") {
    throw Error(ErrorKind::unsupported, config.path().string() + ", key model_type",
                fmt::format("is {}, but a {} starts from a BERT", type.empty() ? "missing" : type, whose),
                "give a folder of the model_type bert");
  }
  return config;
}

/// Its keys that still hold.
OrderedJson common_config(const JsonFile& config, const char* architecture, const char* model_type) {
  OrderedJson json = {{"architectures", {architecture}}, {"model_type", model_type}};
  for (const char* key :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
        "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id", "hidden_dropout_prob"}) {
    if (const OrderedJson* value = config.find(key)) json[key] = *value;
  }
  json["torch_dtype"] = "float32";
  return json;
}

/// The contents of the new config.json; a fault of a key that the caller's settings give is the caller's.
FamilyConfiguration read_new_config(const JsonFile& config) {
  try {
    return find_family(config).read_configuration(config);
  } catch (const Error& error) {
    const bool asked = std::any_of(std::begin(kSettings), std::end(kSettings),
                                   [&](const char* key) { return error.place().ends_with(key); });
    throw Error(asked ? ErrorKind::usage : error.kind(), error.place(), error.problem(), error.remedy());
  }
}

/// Writes the folder, with the tokenizer of `from`, and reads it once before it appears.
void write_checkpoint(const fs::path& from, const fs::path& to, const JsonFile& config,
                      std::span<const NewTensor> tensors, std::string_view what) {
  NewFolder folder(to);
  write_safetensors(tensors, {{"format", "pt"}}, folder);
  NewFolder::File out(folder, "config.json");
  out.write(config.object().dump(2) + "\n");
  out.finish();
  for (const auto& [name, is_folder] : entries_of(from)) {
    const bool of_tokenizer = name == "vocab.txt" || name.starts_with("tokenizer") ||
                              name == "special_tokens_map.json" || name == "added_tokens.json";
    if (!is_folder && of_tokenizer) folder.copy(from / name);
  }
  try {
    inspect_checkpoint(folder.draft());
  } catch (const Error& error) {
    throw Error(error.kind(), from.string(),
                fmt::format("does not make a {}: {} ({})", what, error.problem(), error.place()), error.remedy());
  }
  folder.publish();
}

OrderedJson mix_config(const JsonFile& config, const MixEncoderInit& settings, std::int64_t layers) {
  OrderedJson json = common_config(config, "MixEncoder", "mixencoder");
  json["mix_strategy"] = settings.strategy;
  json["num_context_embeddings"] = settings.context;
  json["interaction_layers"] = settings.interaction_layers;
  if (settings.interaction_layers.empty()) json["interaction_layers"] = {layers - 1};
  json["candidate_pooling"] = settings.pooling;
  if (settings.query_state != "gated") json["mix_query_state"] = settings.query_state;
  if (settings.candidate_state != "interacted") json["mix_candidate_state"] = settings.candidate_state;
  json["mix_score"] = settings.labels.empty() ? "dot" : "classification";
  for (std::size_t i = 0; i < settings.labels.size(); ++i) {
    json["id2label"][std::to_string(i)] = settings.labels[i];
    json["label2id"][settings.labels[i]] = i;
  }
  json["query_max_length"] = settings.query_max_length;
  json["candidate_max_length"] = settings.candidate_max_length;
  return json;
}

/// The id of an entry of vocab.txt.
std::int64_t id_of(const std::vector<std::string>& vocabulary, std::string_view entry, const fs::path& path) {
  const auto found = std::find(vocabulary.begin(), vocabulary.end(), entry);
  if (found == vocabulary.end()) {
    throw Error(ErrorKind::invalid_data, path.string(), fmt::format("the vocabulary has no entry {}", entry),
                "use a BERT whose vocabulary has it, or name the ids of two unused entries");
  }
  return found - vocabulary.begin();
}

/// Tensors of random values, computed when they are written.
class RandomTensors {
 public:
  RandomTensors(std::uint64_t seed, std::vector<NewTensor>& to)
      : random_(std::make_shared<RandomNumbers>(seed)), to_(to) {}

  /// BERT's own initialization.
  void weight(const std::string& name, Shape shape) { add(name, std::move(shape), 0, false); }
  void bias(const std::string& name, std::uint64_t size) {
    to_.push_back(made(name, {size}, std::vector<float>(size)));
  }
  void linear(const std::string& name, std::uint64_t outputs, std::uint64_t inputs) {
    weight(name + ".weight", {outputs, inputs});
    bias(name + ".bias", outputs);
  }
  void norm(const std::string& name, std::uint64_t size) {
    to_.push_back(made(name + ".weight", {size}, std::vector<float>(size, 1)));
    bias(name + ".bias", size);
  }
  /// A layer of BERT's form.
  void layer(const std::string& name, std::uint64_t hidden, std::uint64_t inner) {
    for (const char* part : {"self.query", "self.key", "self.value", "output.dense"}) {
      linear(name + "attention." + part, hidden, hidden);
    }
    norm(name + "attention.output.LayerNorm", hidden);
    linear(name + "intermediate.dense", inner, hidden);
    linear(name + "output.dense", hidden, inner);
    norm(name + "output.LayerNorm", hidden);
  }
  /// The identity, followed by random values.
  void identity_and_weight(const std::string& name, std::uint64_t size) { add(name, {size, 2 * size}, size, true); }

 private:
  void add(const std::string& name, Shape shape, std::uint64_t size, bool identity) {
    std::size_t count = 1;
    for (const std::uint64_t one : shape) count *= one;
    to_.push_back(
        {name, "F32", std::move(shape), [random = random_, count, size, identity](const NewTensor::Write& write) {
           constexpr double deviation = 0.02;
           std::vector<float> values = random->normal(count, deviation);
           for (std::size_t row = 0; identity && row < size; ++row) {
             for (std::size_t column = 0; column < size; ++column) {
               values[row * 2 * size + column] = row == column ? 1.0F : 0.0F;
             }
           }
           write(std::as_bytes(std::span(values)));
         }});
  }

  std::shared_ptr<RandomNumbers> random_;
  std::vector<NewTensor>& to_;
};

}  // namespace

void init_mir(const fs::path& named, const fs::path& to, const MirInit& settings) {
  const fs::path from = model_folder(named);
  JsonFile config = read_bert_config(from, "MIR");
  const fs::path vocabulary_path = from / "vocab.txt";
  const std::vector<std::string> vocabulary = read_vocabulary_lines(vocabulary_path);
  const auto token = [&](const std::optional<std::int32_t>& given, std::string_view usual) {
    return given ? *given : id_of(vocabulary, usual, vocabulary_path);
  };
  OrderedJson json = common_config(config, "MirForSequenceClassification", "mir");
  json.update({{"num_labels", 1},
               {"passage_window", settings.window},
               {"passage_stride", settings.stride},
               {"max_document_tokens", settings.max_document_tokens},
               {"psg_token_id", token(settings.passage_token, "[unused0]")},
               {"snt_token_id", token(settings.sentence_token, "[unused1]")}});
  if (settings.views.size() != MirInit().views.size()) json["mir_views"] = settings.views;
  if (!settings.links.empty()) json["mir_links"] = settings.links;
  if (settings.exchanges != "every") json["mir_exchanges"] = settings.exchanges;
  if (settings.shared_layers) json["mir_shared_layers"] = true;
  if (settings.pooling != "attention") json["mir_pooling"] = settings.pooling;
  config.object() = std::move(json);
  const FamilyConfiguration configuration = read_new_config(config);
  const SafetensorsFile file = open_weights(from, "bert");
  const BertWeights bert(file);
  std::vector<NewTensor> tensors = bert.all();
  const auto hidden = static_cast<std::uint64_t>(configuration.description.hidden_size);
  const std::vector<Layer>& layers = configuration.description.stacks.front().layers;
  const auto inner = static_cast<std::uint64_t>(layers.front().feed_forward.size);

  // The new tokens start as those with the nearest meaning.
  const std::string words = "bert.embeddings.word_embeddings.weight";
  std::vector<float> rows = bert.values(words);
  const auto copy_row = [&](std::int64_t source, std::int64_t row) {
    const auto at = [&](std::int64_t which) { return static_cast<std::size_t>(which) * hidden; };
    if (at(source) + hidden > rows.size() || at(row) + hidden > rows.size()) return;  // write_checkpoint() will refuse
    std::copy_n(rows.data() + at(source), hidden, rows.data() + at(row));
  };
  copy_row(id_of(vocabulary, "[CLS]", vocabulary_path), configuration.passages->passage_token);
  copy_row(id_of(vocabulary, "[SEP]", vocabulary_path), configuration.passages->sentence_token);
  for (NewTensor& tensor : tensors) {
    if (tensor.name == words) tensor = made(words, tensor.shape, std::move(rows));
  }

  RandomTensors random(settings.seed, tensors);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string layer = fmt::format("bert.encoder.layer.{}.", i), inter = layer + "inter.";
    const bool last = i + 1 == layers.size(), often = settings.exchanges == "every";
    if (!settings.shared_layers && (last || often)) random.layer(inter, hidden, inner);
    // At first a token keeps its own state, so that the encoder is the BERT; a pivot's part is learnt.
    if (!last && often) random.identity_and_weight(layer + "combine.weight", hidden);
  }
  const PivotPooling& pooling = *configuration.description.head.pivots;
  for (const std::string& view : settings.views) {
    const std::string name = fmt::format("aggregation.{}.", view);
    switch (pooling.kind) {
      case PivotPooling::Kind::attention:
        random.weight(name + "pooling_vector", {hidden});
        for (const char* part : {"query", "key", "value", "output"})
          random.weight(name + part + ".weight", {hidden, hidden});
        break;
      case PivotPooling::Kind::maximum: break;
      case PivotPooling::Kind::layers:
        random.weight(name + "pooling_vector", {hidden});
        for (std::size_t i = 0; i < pooling.layers.size(); ++i) {
          random.layer(fmt::format("{}layer.{}.", name, i), hidden, inner);
        }
        break;
    }
  }
  random.weight("aggregation.combine.weight", {hidden, settings.views.size() * hidden});
  random.weight("classifier.weight", {1, hidden});
  write_checkpoint(from, to, config, tensors, "MIR");
}

void init_parade(const fs::path& named, const fs::path& to, const ParadeInit& settings) {
  const fs::path from = model_folder(named);
  JsonFile config = read_bert_config(from, "PARADE");
  OrderedJson json = common_config(config, "ParadeForSequenceClassification", "parade");
  json.update({{"num_labels", 1},
               {"passage_window", settings.window},
               {"passage_stride", settings.stride},
               {"max_passages", settings.max_passages},
               {"max_query_tokens", settings.max_query_tokens},
               {"parade_aggregation", settings.aggregation}});
  config.object() = std::move(json);
  const FamilyConfiguration configuration = read_new_config(config);
  const SafetensorsFile file = open_weights(from, "bert");
  const BertWeights bert(file);
  std::vector<NewTensor> tensors = bert.all();
  const auto hidden = static_cast<std::uint64_t>(configuration.description.hidden_size);
  RandomTensors random(settings.seed, tensors);
  const PivotPooling& pooling = *configuration.description.head.pivots;
  if (pooling.kind == PivotPooling::Kind::layers) {
    random.weight("aggregation.cls_embedding", {hidden});
    random.weight("aggregation.position_embeddings.weight", {static_cast<std::uint64_t>(pooling.positions), hidden});
    for (std::size_t i = 0; i < pooling.layers.size(); ++i) {
      random.layer(fmt::format("aggregation.layer.{}.", i), hidden,
                   static_cast<std::uint64_t>(pooling.layers[i].feed_forward.size));
    }
  }
  random.linear("classifier", 1, hidden);
  write_checkpoint(from, to, config, tensors, "PARADE");
}

void init_deformer(const fs::path& named, const fs::path& to, const DeformerInit& settings) {
  const fs::path from = model_folder(named);
  JsonFile config = read_bert_config(from, "Deformer");
  const std::int64_t layers = config.required_integer("num_hidden_layers", 1, 1024);
  OrderedJson json = common_config(config, "DeformerForSequenceClassification", "deformer");
  json.update({{"num_labels", 1},
               {"deformer_layers",
                settings.lower_layers != 0 ? settings.lower_layers : std::max<std::int64_t>(1, layers * 3 / 4)},
               {"query_length", settings.query_length}});
  config.object() = std::move(json);
  const FamilyConfiguration configuration = read_new_config(config);
  const SafetensorsFile file = open_weights(from, "bert");
  BertWeights bert(file, BertWeights::Head::keep);
  const auto hidden = static_cast<std::uint64_t>(configuration.description.hidden_size);
  const bool has_pooler = bert.keep_linear("bert.pooler.dense", hidden, hidden);
  const bool has_output = bert.keep_linear("classifier", 1, hidden);
  std::vector<NewTensor> tensors = bert.all();
  RandomTensors random(settings.seed, tensors);
  if (!has_pooler) random.linear("bert.pooler.dense", hidden, hidden);
  if (!has_output) random.linear("classifier", 1, hidden);
  write_checkpoint(from, to, config, tensors, "Deformer");
}

void init_poly_encoder(const fs::path& named, const fs::path& to, const PolyEncoderInit& settings) {
  const fs::path from = model_folder(named);
  JsonFile config = read_bert_config(from, "Poly-Encoder");
  OrderedJson json = common_config(config, "PolyEncoder", "polyencoder");
  json.update({{"poly_codes", settings.codes},
               {"query_max_length", settings.query_max_length},
               {"candidate_max_length", settings.candidate_max_length}});
  config.object() = std::move(json);
  const FamilyConfiguration configuration = read_new_config(config);
  const SafetensorsFile file = open_weights(from, "bert");
  const BertWeights bert(file);
  std::vector<NewTensor> tensors = bert.all();
  const auto hidden = static_cast<std::size_t>(configuration.description.hidden_size);
  const auto codes = static_cast<std::size_t>(settings.codes);
  RandomNumbers random(settings.seed);
  const double deviation = 1 / std::sqrt(static_cast<double>(hidden));  // so that a code's products are near 1
  tensors.push_back(made("poly_code_embeddings.weight", {codes, hidden}, random.normal(codes * hidden, deviation)));
  write_checkpoint(from, to, config, tensors, "Poly-Encoder");
}

void init_mix_encoder(const fs::path& named, const fs::path& to, const MixEncoderInit& settings) {
  const fs::path from = model_folder(named);
  JsonFile config = read_bert_config(from, "MixEncoder");
  const std::int64_t layers = config.required_integer("num_hidden_layers", 1, 1024);
  config.object() = mix_config(config, settings, layers);
  const FamilyConfiguration configuration = read_new_config(config);
  const SafetensorsFile file = open_weights(from, "bert");
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
  if (const auto labels = static_cast<std::size_t>(configuration.labels.size()); labels > 0) {
    // As the gate, whose inputs are as many.
    const auto linear = [&](const std::string& name, std::size_t outputs) {
      tensors.push_back(made(name + ".weight", {outputs, 3 * hidden}, random.uniform(outputs * 3 * hidden, bound)));
      tensors.push_back(made(name + ".bias", {outputs}, random.uniform(outputs, bound)));
    };
    linear("mixencoder.classifier.dense", 3 * hidden);
    linear("mixencoder.classifier.out_proj", labels);
  }
  write_checkpoint(from, to, config, tensors, "MixEncoder");
}

}  // namespace relucent
