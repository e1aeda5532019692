#include "model/checkpoint/checkpoint_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/checkpoint/weight_files.h"
#include "model/input/tokenized_batch.h"
#include "model/tokenizer/load_tokenizer.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::int32_t Checkpoint::shortest_input() const {
  return static_cast<std::int32_t>(InputTemplate(configuration.input, *tokenizer).special_tokens()) + 1;
}

Checkpoint read_checkpoint(const fs::path& folder) {
  check_folder(folder);
  JsonFile config = JsonFile::read(folder / "config.json");
  const Family& family = find_family(config);
  FamilyConfiguration configuration = family.read_configuration(config);
  SafetensorsFile file = open_weights(folder, family.model_type);
  LoadedTokenizer tokenizer = load_tokenizer(folder, configuration.description.vocabulary_size, family.model_type);
  check_template(configuration.input, *tokenizer.tokenizer, folder);
  FamilyWeights weights =
      family.read_weights(file, configuration, output_ids(configuration.input, *tokenizer.tokenizer, folder));
  const std::int32_t most = configuration.max_tokens;
  Checkpoint checkpoint{folder,
                        std::move(config),
                        std::move(configuration),
                        std::move(file),
                        std::move(weights),
                        std::move(tokenizer.tokenizer),
                        std::min(most, tokenizer.model_max_length.value_or(most))};
  if (checkpoint.max_length < checkpoint.shortest_input()) {
    throw Error(ErrorKind::invalid_data, folder.string(),
                fmt::format("the model has {} positions, but an input needs at least {}", checkpoint.max_length,
                            checkpoint.shortest_input()),
                "check max_position_embeddings and model_max_length");
  }
  return checkpoint;
}

CheckpointTokenizer load_checkpoint_tokenizer(const fs::path& folder) {
  check_folder(folder);
  const JsonFile config = JsonFile::read(folder / "config.json");
  const Family& family = find_family(config);
  const FamilyConfiguration configuration = family.read_configuration(config);
  return {load_tokenizer(folder, configuration.description.vocabulary_size, family.model_type).tokenizer,
          configuration.max_tokens};
}

}  // namespace relucent
