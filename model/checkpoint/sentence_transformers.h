#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/checkpoint/modules.h"
#include "model/formats/json_file.h"

namespace relucent {

/// What the files of sentence-transformers (version 6) next to a cross-encoder's config.json state about its input.
/// They count if there is a modules.json and config_sentence_transformers.json has the model_type CrossEncoder.
struct SentenceTransformersFiles {
  std::optional<JsonFile> config;          ///< config_sentence_transformers.json, if it counts
  std::vector<Module> modules;             ///< of modules.json, if it counts
  std::string prompt;                      ///< stands before every query
  std::optional<std::int32_t> max_length;  ///< instead of tokenizer_config.json's
};

/// Throws Error: `io` or `invalid_data` naming the file and the key; `unsupported` for a setting that would change
/// scores, chat templates among them.
SentenceTransformersFiles read_sentence_transformers_files(const std::filesystem::path& folder);

/// Whether config.json and what is next to it are an embedding model of sentence-transformers (versions 2 to 6): a
/// modules.json without a config_sentence_transformers.json of another model type, and an architecture without a head.
/// Throws Error `io` or `invalid_data`.
bool is_embedding_model(const JsonFile& config);

/// The files of an embedding model.
struct EmbeddingFiles {
  EmbeddingModules modules;
  std::string query_prompt, document_prompt;
  bool cosine = true;                      ///< vectors are compared by their cosine, otherwise by their product
  std::optional<std::int32_t> max_length;  ///< instead of tokenizer_config.json's
};
/// Throws Error as read_sentence_transformers_files does; `unsupported` also for other modules and similarities.
EmbeddingFiles read_embedding_files(const std::filesystem::path& folder, std::int32_t hidden_size);

/// config_sentence_transformers.json if it counts. Throws Error `io` or `invalid_data`.
std::optional<JsonFile> counting_configuration(const std::filesystem::path& folder);

}  // namespace relucent
