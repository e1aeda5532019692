#include "model/tokenizer/load_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "model/formats/json_file.h"
#include "model/tokenizer/bert_pipeline.h"
#include "model/tokenizer/pair_template.h"
#include "model/tokenizer/sentencepiece.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary_file.h"
#include "model/tokenizer/wordpiece.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSameModel = "use the tokenizer files of the same model, or download them again";

/// The SentencePiece model in `folder`; empty if there is none.
fs::path sentencepiece_model(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".model") found.push_back(entry.path());
  }
  if (found.size() > 1) {
    std::sort(found.begin(), found.end());
    throw Error(ErrorKind::invalid_data, folder.string(),
                fmt::format("has several SentencePiece models, {} and {}", found[0].filename().string(),
                            found[1].filename().string()),
                "remove those that are not the model's");
  }
  return found.empty() ? fs::path() : found[0];
}

std::int32_t find_entry(const std::vector<std::string>& entries, const std::string& token, const fs::path& path) {
  const auto found = std::find(entries.begin(), entries.end(), token);
  if (found == entries.end()) {
    throw Error(ErrorKind::invalid_data, path.string(), "the vocabulary has no entry " + token, kSameModel);
  }
  return static_cast<std::int32_t>(found - entries.begin());
}

void check_size(const std::vector<std::string>& entries, const fs::path& path, std::int32_t wanted) {
  if (entries.size() != static_cast<std::size_t>(wanted)) {
    throw Error(
        ErrorKind::invalid_data, path.string(),
        fmt::format("the vocabulary has {} entries, but config.json's vocab_size is {}", entries.size(), wanted),
        kSameModel);
  }
  std::size_t bytes = 0;
  for (const std::string& entry : entries) bytes += entry.size();
  if (bytes > VocabularyTrie::kMaxBytes) {
    throw Error(ErrorKind::unsupported, path.string(), "the vocabulary is larger than 16 MiB", kSameModel);
  }
}

/// BERT's tokenizer with the vocabulary of a vocab.txt. Without `pairs` it needs neither [CLS] nor [SEP].
std::unique_ptr<const Tokenizer> read_vocabulary_tokenizer(const fs::path& path, std::int32_t vocabulary_size,
                                                           bool pairs, const JsonFile* settings) {
  WordPieceVocabulary vocabulary;
  vocabulary.entries = read_vocabulary_lines(path);
  check_size(vocabulary.entries, path, vocabulary_size);
  vocabulary.source = path.filename().string();
  if (pairs) {
    vocabulary.cls = find_entry(vocabulary.entries, special_token(settings, "cls_token", "[CLS]"), path);
    vocabulary.sep = find_entry(vocabulary.entries, special_token(settings, "sep_token", "[SEP]"), path);
  }
  const auto sentence = std::find(vocabulary.entries.begin(), vocabulary.entries.end(), "[SOS]");
  if (sentence != vocabulary.entries.end()) {
    vocabulary.sentence = static_cast<std::int32_t>(sentence - vocabulary.entries.begin());
  }
  vocabulary.unknown = find_entry(vocabulary.entries, special_token(settings, "unk_token", "[UNK]"), path);

  const auto setting = [&](const char* key, bool usual) {
    return settings == nullptr ? usual : settings->boolean(key).value_or(usual);
  };
  if (!setting("do_basic_tokenize", true)) {
    throw Error(ErrorKind::unsupported, fmt::format("{}, key do_basic_tokenize", settings->path().string()),
                "is false; a tokenizer that does not split at punctuation is not supported", "use another checkpoint");
  }
  const bool lowercase = setting("do_lower_case", true), chinese = setting("tokenize_chinese_chars", true);
  const bool strip_accents = setting("strip_accents", lowercase);
  if (lowercase && chinese && strip_accents) return std::make_unique<WordPieceTokenizer>(std::move(vocabulary));
  return make_bert_pipeline(vocabulary, {.chinese = chinese, .strip_accents = strip_accents, .lowercase = lowercase});
}

}  // namespace

LoadedTokenizer load_tokenizer(const fs::path& folder, std::int32_t vocabulary_size, std::string_view model_type) {
  std::optional<JsonFile> read;
  if (const fs::path path = folder / "tokenizer_config.json"; fs::exists(path)) read = JsonFile::read(path);
  const JsonFile* settings = read ? &*read : nullptr;

  LoadedTokenizer result;
  fs::path path = folder / "vocab.txt";
  if (fs::exists(path)) {
    result.tokenizer = read_vocabulary_tokenizer(path, vocabulary_size, model_type != "mir", settings);
  } else if (path = folder / "tokenizer.json"; fs::exists(path)) {
    result.tokenizer = read_tokenizer_json(path, model_type, settings);
  } else if (path = sentencepiece_model(folder); !path.empty()) {
    result.tokenizer = read_sentencepiece(path, model_type, settings);
  } else {
    throw Error(ErrorKind::io, folder.string(), "has neither vocab.txt nor tokenizer.json nor a SentencePiece *.model",
                "download the tokenizer's files into the model directory");
  }
  // A model may have more rows than its tokenizer has entries.
  if (result.tokenizer->vocabulary_size() > vocabulary_size) {
    throw Error(ErrorKind::invalid_data, path.string(),
                fmt::format("the vocabulary has {} entries, but config.json's vocab_size is {}",
                            result.tokenizer->vocabulary_size(), vocabulary_size),
                kSameModel);
  }
  if (settings != nullptr) {
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
