#include "model/checkpoint/checkpoint_reader.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "model/checkpoint/sentence_transformers.h"
#include "model/checkpoint/weight_files.h"
#include "model/families/attention_keys.h"
#include "model/input/late_input.h"
#include "model/input/tokenized_batch.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/wordpiece.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

std::int32_t shortest_input_of(const FamilyConfiguration& configuration, const Tokenizer& tokenizer) {
  return static_cast<std::int32_t>(InputTemplate(configuration.input, tokenizer).special_tokens()) + 1;
}

/// Ids that stand for text.
std::int32_t words_of(const FamilyConfiguration& configuration) {
  return configuration.description.vocabulary_size - configuration.special_ids;
}

void check_folder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (error && status.type() != fs::file_type::not_found) {
    throw Error(ErrorKind::io, folder.string(), "cannot be read: " + error.message(),
                "check the directory's permissions");
  }
  if (!fs::exists(status)) {
    throw Error(ErrorKind::io, folder.string(), "the model directory does not exist", "check the path");
  }
  if (!fs::is_directory(status)) {
    throw Error(ErrorKind::io, folder.string(), "is not a directory",
                "give the directory that holds config.json and model.safetensors");
  }
}

/// The tokens before a query, between it and a document, and after that must be those of the model's input.
void check_template(const InputForm& form, const Tokenizer& tokenizer, const fs::path& folder) {
  const PairTemplate& pair = tokenizer.pair_template();
  const bool starts = form.decoder_start || pair.before.size() == 1;
  if (!starts || (form.separators > 0 && pair.between.empty()) || pair.after.empty()) {
    throw Error(ErrorKind::unsupported, folder.string(),
                "the tokenizer's template for a pair is not like [CLS] query [SEP] document [SEP]",
                "use a checkpoint with another tokenizer");
  }
}

/// The ids of the words whose outputs the head compares.
std::vector<std::int32_t> output_ids(const InputForm& form, const Tokenizer& tokenizer, const fs::path& folder) {
  std::vector<std::int32_t> ids;
  for (const std::string& word : form.outputs) {
    std::vector<std::int32_t> of_word;
    tokenizer.encode(word, 2, of_word);
    if (of_word.size() != 1) {
      throw Error(ErrorKind::invalid_data, folder.string(),
                  fmt::format("the word {} is not one token of the vocabulary", word),
                  "use the tokenizer files of the same model");
    }
    ids.push_back(of_word.front());
  }
  return ids;
}

/// Other tokens than the template's in a decoder's modules.json mean another template.
void check_logit_score(const CheckpointParts& parts, std::span<const std::int32_t> outputs) {
  const std::optional<LogitScore> score = read_logit_score(parts.folder);
  if (!score) return;
  if (outputs.size() == 2 && score->yes == outputs[0] && score->no == outputs[1]) return;
  throw Error(ErrorKind::unsupported, fmt::format("{}, key true_token_id", score->config.string()),
              "compares other tokens than this model's template asks for, so it has another template",
              "use a checkpoint with the template of Qwen3-Reranker or mxbai-rerank-v2");
}

/// The key that an error of config.json names; empty for none.
std::string key_of(const Error& error) {
  constexpr std::string_view mark = ", key ";
  const std::size_t at = error.place().rfind(mark);
  return at == std::string::npos ? std::string() : error.place().substr(at + mark.size());
}

/// A value with which the keys behind a missing one can also be read.
OrderedJson stand_in(const std::string& key, const Family& family, const JsonFile& config) {
  if (key == "architectures" && !family.architectures.empty()) {
    return OrderedJson::array({family.architectures.back()});
  }
  if (key == "mix_strategy") return "context_codes";
  if (key == "interaction_layers") return OrderedJson::array({0});
  if (key == "query_max_length" || key == "candidate_max_length") return 3;
  if (key == "max_position_embeddings") return 1 << 20;
  if (key == "hidden_size") {
    const OrderedJson* heads = config.find("num_attention_heads");
    if (heads != nullptr && heads->is_number_unsigned() && *heads > 0 && *heads <= 1 << 16) return *heads;
  }
  return 1;
}

/// Reads config.json again and again, each time without the key that was refused, so that all such keys are found.
void read_configuration(CheckpointParts& parts, FaultList& faults) {
  if (!faults.keeps_all()) {
    parts.configuration = parts.family->read_configuration(*parts.config);
    parts.shapes_known = true;
    return;
  }
  constexpr int kMostFaults = 200;
  JsonFile rest = *parts.config;
  std::set<std::string> reported, replaced;
  bool sizes_known = true;
  for (int round = 0; round < kMostFaults; ++round) {
    try {
      parts.configuration = parts.family->read_configuration(rest);
      parts.shapes_known = sizes_known;
      return;
    } catch (const Error& error) {
      const std::string key = key_of(error);
      const bool stated = rest.find(key) != nullptr;
      if (reported.insert(key).second) faults.add(error);
      if (key.empty() || replaced.contains(key)) return;
      // Flags say nothing about sizes.
      if (error.kind() == ErrorKind::invalid_data && !is_attention_pattern_key(key)) sizes_known = false;
      rest.object().erase(key);
      if (stated) continue;
      replaced.insert(key);
      rest.object()[key] = stand_in(key, *parts.family, rest);
    }
  }
}

/// The size of a late interaction's vectors, which its config.json does not state.
void read_projection(CheckpointParts& parts) {
  FamilyConfiguration& configuration = *parts.configuration;
  HeadStep& projection = configuration.description.head.steps.front();
  if (configuration.separate_head) {
    parts.head = read_token_projection(parts.folder, configuration.description.hidden_size);
    projection.size = parts.head->form.steps.front().size;
  } else if (projection.size == 0 && parts.file) {
    const SafetensorsEntry* entry = parts.file->find(configuration.late->projection + ".weight");
    constexpr std::int64_t kMostSize = 1 << 12;
    const bool plausible = entry != nullptr && entry->shape.size() == 2 && entry->shape[0] <= kMostSize;
    projection.size = plausible ? static_cast<std::int32_t>(entry->shape[0]) : 1;
  }
}

/// Turns the configuration of a cross-encoder's encoder into that of an embedding model.
void make_embedding_model(CheckpointParts& parts) {
  FamilyConfiguration& configuration = *parts.configuration;
  EncoderDescription& description = configuration.description;
  const EmbeddingFiles files = read_embedding_files(parts.folder, description.hidden_size);
  Stack& stack = description.stacks.front();
  const bool plain =
      description.stacks.size() == 1 && stack.groups == std::vector<std::int32_t>{kCls, kQuery, kDocument};
  const PositionScheme::Kind positions = stack.layers.front().attentions.front().positions.kind;
  if (!plain || configuration.input.apart || stack.convolution || positions == PositionScheme::Kind::disentangled) {
    throw Error(ErrorKind::unsupported, parts.config->path().string() + ", key model_type",
                fmt::format("embedding models of type {} are not supported", parts.family->model_type),
                "use a checkpoint of BERT, ELECTRA, RoBERTa, XLM-RoBERTa, ModernBERT or gte");
  }
  description.groups = late_interaction_groups();
  stack.groups = {kDocument, kExpansion};
  for (Layer& layer : stack.layers) {
    Views& views = layer.attentions.front().views;
    const View own = views[kDocument][kDocument];
    views = late_interaction_views(own);
  }
  description.head = {.groups = stack.groups, .pooling = files.modules.pooling, .per_token = true, .per_text = true};
  parts.head = files.modules.after;
  configuration.separate_head = true;
  LateForm& form = configuration.late.emplace();
  form.query.prompt = files.query_prompt;
  form.document.prompt = files.document_prompt;
  form.query.length = form.document.length = files.max_length.value_or(0);
  form.unit_vectors = files.cosine || files.modules.normalizes;
  form.steps = files.modules.after.form.steps;
  form.first_position = configuration.input.first_position;
}

/// The tokenizer and, if that is as it should be, the ids that the head compares.
std::vector<std::int32_t> read_tokenizer(CheckpointParts& parts) {
  FamilyConfiguration& configuration = *parts.configuration;
  LoadedTokenizer loaded = load_tokenizer(parts.folder, words_of(configuration), parts.family->model_type,
                                          parts.config->string("tokenizer_class").value_or(""));
  parts.tokenizer = std::move(loaded.tokenizer);
  if (configuration.passages) {
    if (dynamic_cast<const WordPieceTokenizer*>(parts.tokenizer.get()) == nullptr) {
      throw Error(ErrorKind::unsupported, parts.folder.string(),
                  "the model's passages need BERT's uncased WordPiece, but the tokenizer is another one",
                  "use a checkpoint with vocab.txt and without do_lower_case = false");
    }
    parts.max_length = configuration.max_tokens;
    return {};
  }
  if (configuration.description.head.per_text) {
    std::int32_t& length = configuration.late->document.length;
    if (length == 0) length = loaded.model_max_length.value_or(configuration.max_tokens);
    configuration.late->query.length = length = std::min(length, configuration.max_tokens);
  }
  if (configuration.late) {
    const LateInput whole(configuration, *parts.tokenizer, parts.folder);  // whether the tokenizer has its tokens
    parts.max_length = configuration.late->document.length;
    return {};
  }
  InputForm& input = configuration.input;
  if (input.chat) {
    constexpr std::int32_t kUsualLength = 8192;  // the published programs' limit, far below what the tokenizer states
    parts.max_length =
        std::min({configuration.max_tokens, kUsualLength, loaded.model_max_length.value_or(configuration.max_tokens)});
    std::vector<std::int32_t> outputs = output_ids(input, *parts.tokenizer, parts.folder);
    check_logit_score(parts, outputs);
    return outputs;
  }
  if (!loaded.states_template && !configuration.mix) {
    throw Error(ErrorKind::unsupported, (parts.folder / "tokenizer.json").string() + ", key post_processor",
                "states no special tokens, and the tokenizer's class has none",
                "name the family's own class as tokenizer_class in tokenizer_config.json if the model was trained so");
  }
  std::optional<std::int32_t> limit = loaded.model_max_length;
  if (!configuration.mix && !input.decoder_start && !input.split) {
    SentenceTransformersFiles files = read_sentence_transformers_files(parts.folder);
    if (files.max_length) limit = files.max_length;
    if (files.modules.size() > 1) {
      parts.head = read_modular_head(files.modules, configuration.description.hidden_size);
      configuration.description.head = parts.head->form;
      configuration.separate_head = true;
    }
    parts.prompt = std::move(files.prompt);
  }
  parts.max_length = std::min(configuration.max_tokens, limit.value_or(configuration.max_tokens));
  if (input.typed) input.document_type = loaded.document_type;
  if (input.document_type > 0 && input.document_type >= configuration.description.token_types) {
    parts.config->fail("type_vocab_size", "is 1, but documents have token type 1",
                       "set token_type_embedding to false if the model was trained without token types");
  }
  check_template(input, *parts.tokenizer, parts.folder);
  return output_ids(configuration.input, *parts.tokenizer, parts.folder);
}

void check_length(const CheckpointParts& parts) {
  const std::int32_t least = shortest_input_of(*parts.configuration, *parts.tokenizer);
  if (parts.max_length >= least) return;
  throw Error(ErrorKind::invalid_data, parts.folder.string(),
              fmt::format("the model has {} positions, but an input needs at least {}", parts.max_length, least),
              "check max_position_embeddings and model_max_length");
}

/// What of the head config.json leaves to the tensors.
void look_at_head(const SafetensorsFile& file, FamilyConfiguration& configuration) {
  Head& head = configuration.description.head;
  if (const std::string& name = configuration.linear_head; !name.empty() && file.find(name + ".weight") != nullptr) {
    const auto has = [&](const std::string& start) {
      return std::ranges::any_of(file.entries(), [&](const auto& entry) { return entry.name.starts_with(start); });
    };
    if (!has(name + ".dense.") && !has(name + ".out_proj.")) {
      head.steps.clear();
      configuration.biases.head = file.find(name + ".bias") != nullptr;
      if (!configuration.counted_head.empty()) configuration.counted_head = name + ".weight";
    }
  }
  const SafetensorsEntry* entry = configuration.counted_head.empty() ? nullptr : file.find(configuration.counted_head);
  if (entry != nullptr && entry->shape.size() == 2 && entry->shape[0] == 2) head.outputs = 2;
}

}  // namespace

std::int32_t Checkpoint::shortest_input() const { return shortest_input_of(configuration, *tokenizer); }

CheckpointParts read_parts(const fs::path& named, FaultList& faults) {
  CheckpointParts parts;
  parts.folder = named;
  const bool found = faults.attempt([&] {
    parts.folder = model_folder(named);
    check_folder(parts.folder);
  });
  if (!found) return parts;
  const fs::path& folder = parts.folder;
  faults.attempt([&] {
    parts.config = JsonFile::read(folder / "config.json");
    parts.family = &find_family(*parts.config);
    read_configuration(parts, faults);
    if (parts.configuration && parts.shapes_known && !parts.configuration->late && is_embedding_model(*parts.config)) {
      make_embedding_model(parts);
    }
  });
  faults.attempt([&] { parts.file = open_weights(folder, parts.family != nullptr ? parts.family->model_type : ""); });
  if (!parts.configuration || !parts.shapes_known) return parts;
  std::vector<std::int32_t> outputs;
  const bool tokenizes = faults.attempt([&] { outputs = read_tokenizer(parts); });
  const bool per_text = parts.configuration->description.head.per_text;
  if (parts.configuration->late && !per_text && !faults.attempt([&] { read_projection(parts); })) return parts;
  if (parts.file && !parts.configuration->separate_head) look_at_head(*parts.file, *parts.configuration);
  if (parts.file) {
    TensorReader reader(*parts.file, &faults);
    FamilyWeights weights = parts.family->read_weights(reader, *parts.configuration, outputs);
    parts.used = reader.used();
    const bool has_head = !parts.head || read_modular_weights(*parts.head, parts.configuration->description.hidden_size,
                                                              faults, weights.weights);
    if (per_text) parts.configuration->late->step_weights = std::exchange(weights.weights.head_steps, {});
    if (!reader.failed() && has_head) parts.weights = std::move(weights);
  }
  if (tokenizes && !parts.configuration->passages) faults.attempt([&] { check_length(parts); });
  return parts;
}

Checkpoint assemble(CheckpointParts parts) {
  return {std::move(parts.folder), std::move(*parts.config),  std::move(*parts.configuration),
          std::move(*parts.file),  std::move(*parts.weights), std::move(parts.tokenizer),
          parts.max_length,        std::move(parts.prompt)};
}

Checkpoint read_checkpoint(const fs::path& folder) {
  FaultList faults(FaultList::Mode::throw_first);
  return assemble(read_parts(folder, faults));
}

CheckpointTokenizer load_checkpoint_tokenizer(const fs::path& named) {
  const fs::path folder = model_folder(named);
  check_folder(folder);
  const JsonFile config = JsonFile::read(folder / "config.json");
  const Family& family = find_family(config);
  const FamilyConfiguration configuration = family.read_configuration(config);
  return {
      load_tokenizer(folder, words_of(configuration), family.model_type, config.string("tokenizer_class").value_or(""))
          .tokenizer,
      configuration.max_tokens};
}

void refuse_labels(const std::filesystem::path& folder, const std::vector<std::string>& labels) {
  if (labels.empty()) return;
  std::string named =
      fmt::format("{}", fmt::join(std::span(labels).first(std::min<std::size_t>(labels.size(), 5)), ", "));
  if (labels.size() > 5) named += ", ...";
  throw Error(
      ErrorKind::unsupported, folder.string(),
      fmt::format("is a classifier with {} labels ({}) and has no score to rank by", labels.size(), named),
      "label pairs with `relucent classify` or Python's CrossEncoder.predict, or use a checkpoint with one label");
}

void require_labels(const std::filesystem::path& folder, const std::vector<std::string>& labels) {
  if (!labels.empty()) return;
  throw Error(ErrorKind::unsupported, folder.string(), "gives a score and has no labels",
              "use a checkpoint with three or more labels in id2label");
}

}  // namespace relucent
