#include "model/tokenizer/load_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "model/formats/json_file.h"
#include "model/tokenizer/vocabulary_file.h"
#include "model/tokenizer/wordpiece.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSameModel = "use the tokenizer files of the same model, or download them again";

/// The name of a SentencePiece model in `folder`; empty if there is none.
std::string sentencepiece_model(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".model") return entry.path().filename().string();
  }
  return {};
}

/// A special token's text: a string, or an object with the string as "content".
std::string special_token(const JsonFile* settings, const char* key, const char* usual) {
  const auto* value = settings == nullptr ? nullptr : settings->find(key);
  if (value == nullptr) return usual;
  if (value->is_object() && value->contains("content") && value->at("content").is_string()) {
    return value->at("content").get<std::string>();
  }
  if (!value->is_string()) settings->fail(key, fmt::format("is {}, which is not a token", value->dump()));
  return value->get<std::string>();
}

/// Only the uncased tokenizer is built in; rejects settings that would change it.
void check_settings(const JsonFile& settings) {
  for (const char* key : {"do_lower_case", "strip_accents", "tokenize_chinese_chars", "do_basic_tokenize"}) {
    if (settings.boolean(key).value_or(true)) continue;
    throw Error(ErrorKind::unsupported, fmt::format("{}, key {}", settings.path().string(), key),
                "is false; only uncased WordPiece with BERT's usual settings is supported",
                "use an uncased checkpoint");
  }
}

std::int32_t find_entry(const WordPieceVocabulary& vocabulary, const std::string& token, const fs::path& path) {
  const auto found = std::find(vocabulary.entries.begin(), vocabulary.entries.end(), token);
  if (found == vocabulary.entries.end()) {
    throw Error(ErrorKind::invalid_data, path.string(), "the vocabulary has no entry " + token, kSameModel);
  }
  return static_cast<std::int32_t>(found - vocabulary.entries.begin());
}

void check_size(const WordPieceVocabulary& vocabulary, const fs::path& path, std::int32_t wanted) {
  if (vocabulary.entries.size() != static_cast<std::size_t>(wanted)) {
    throw Error(ErrorKind::invalid_data, path.string(),
                fmt::format("the vocabulary has {} entries, but config.json's vocab_size is {}",
                            vocabulary.entries.size(), wanted),
                kSameModel);
  }
  std::size_t bytes = 0;
  for (const std::string& entry : vocabulary.entries) bytes += entry.size();
  if (bytes > VocabularyTrie::kMaxBytes) {
    throw Error(ErrorKind::unsupported, path.string(), "the vocabulary is larger than 16 MiB", kSameModel);
  }
}

}  // namespace

LoadedTokenizer load_tokenizer(const fs::path& folder, std::int32_t vocabulary_size) {
  std::optional<JsonFile> settings;
  if (const fs::path path = folder / "tokenizer_config.json"; fs::exists(path)) {
    settings = JsonFile::read(path);
    check_settings(*settings);
  }
  WordPieceVocabulary vocabulary;
  fs::path path = folder / "vocab.txt";
  if (fs::exists(path)) {
    vocabulary.entries = read_vocabulary_lines(path);
  } else if (path = folder / "tokenizer.json"; fs::exists(path)) {
    vocabulary.entries = read_tokenizer_json(JsonFile::read(path));
  } else if (const std::string model = sentencepiece_model(folder); !model.empty()) {
    throw Error(ErrorKind::unsupported, (folder / model).string(), "SentencePiece models are not supported",
                "use a checkpoint with a WordPiece vocabulary (vocab.txt or tokenizer.json)");
  } else {
    throw Error(ErrorKind::io, folder.string(), "has neither vocab.txt nor tokenizer.json",
                "download the tokenizer's files into the model directory");
  }
  check_size(vocabulary, path, vocabulary_size);
  vocabulary.source = path.filename().string();
  const JsonFile* stated = settings ? &*settings : nullptr;
  vocabulary.cls = find_entry(vocabulary, special_token(stated, "cls_token", "[CLS]"), path);
  vocabulary.sep = find_entry(vocabulary, special_token(stated, "sep_token", "[SEP]"), path);
  vocabulary.unknown = find_entry(vocabulary, special_token(stated, "unk_token", "[UNK]"), path);

  LoadedTokenizer result;
  result.tokenizer = std::make_unique<WordPieceTokenizer>(std::move(vocabulary));
  if (settings) {
    // "No limit" is written as a number near 1e30.
    const auto limit = settings->number("model_max_length");
    if (limit && *limit < 1) settings->fail("model_max_length", "is not positive");
    if (limit && *limit <= std::numeric_limits<std::int32_t>::max()) {
      result.model_max_length = static_cast<std::int32_t>(*limit);
    }
  }
  return result;
}

}  // namespace relucent
