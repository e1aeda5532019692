#include "model/tokenizer/load_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/formats/json_file.h"
#include "model/tokenizer/fingerprint.h"
#include "model/tokenizer/pair_template.h"
#include "model/tokenizer/pipeline.h"
#include "model/tokenizer/sentencepiece.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary_file.h"
#include "model/tokenizer/vocabulary_trie.h"
#include "model/tokenizer/wordpiece.h"
#include "model/tokenizer/wordpiece_model.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSameModel = "use the tokenizer files of the same model, or download them again";

/// The SentencePiece model in `folder`; empty if there is none.
fs::path sentencepiece_model(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const FolderEntry& entry : entries_of(folder)) {
    if (fs::path(entry.name).extension() == ".model") found.push_back(folder / entry.name);
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

void check_size(const std::vector<std::string>& entries, const fs::path& path) {
  std::size_t bytes = 0;
  for (const std::string& entry : entries) bytes += entry.size();
  if (bytes > VocabularyTrie::kMaxBytes) {
    throw Error(ErrorKind::unsupported, path.string(), "the vocabulary is larger than 16 MiB", kSameModel);
  }
}

/// BERT's tokenizer with other settings than WordPieceTokenizer has: for cased models.
std::unique_ptr<const Tokenizer> make_bert_pipeline(const WordPieceVocabulary& vocabulary, bool chinese,
                                                    bool strip_accents, bool lowercase) {
  constexpr std::size_t kMaxWordLength = 100;  // characters
  PipelineParts parts;
  parts.normalizer = make_bert_normalizer(true, chinese, strip_accents, lowercase);
  parts.pre_tokenizer = make_bert_pre_tokenizer();
  parts.model = std::make_unique<WordPieceModel>(vocabulary.entries, vocabulary.unknown, "##", kMaxWordLength);
  parts.pair = {{vocabulary.cls}, {vocabulary.sep}, {vocabulary.sep}, vocabulary.sentence};
  parts.vocabulary_size = static_cast<std::int32_t>(vocabulary.entries.size());
  Fingerprint fingerprint;
  fingerprint.add(fmt::format("WordPiece 1, {} {} {} {}", chinese, strip_accents, lowercase, vocabulary.unknown));
  for (const std::string& entry : vocabulary.entries) fingerprint.add(entry);
  parts.fingerprint = fingerprint.value();
  parts.summary = fmt::format("WordPiece, {} entries, {} ({})", vocabulary.entries.size(),
                              lowercase ? "lower-cased" : "cased", vocabulary.source);
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

/// BERT's tokenizer with the vocabulary of a vocab.txt. Without `pairs` it needs neither [CLS] nor [SEP].
JsonTokenizer read_vocabulary_tokenizer(const fs::path& path, bool pairs, TokenizerContext context) {
  const JsonFile* settings = context.settings;
  WordPieceVocabulary vocabulary;
  vocabulary.entries = read_vocabulary_lines(path);
  check_size(vocabulary.entries, path);
  vocabulary.source = path.filename().string();
  if (pairs) {
    vocabulary.cls = find_entry(vocabulary.entries, special_token(settings, "cls_token", "[CLS]"), path);
    vocabulary.sep = find_entry(vocabulary.entries, special_token(settings, "sep_token", "[SEP]"), path);
  }
  const auto sentence = std::find(vocabulary.entries.begin(), vocabulary.entries.end(), "[SOS]");
  if (sentence != vocabulary.entries.end()) {
    vocabulary.sentence = static_cast<std::int32_t>(sentence - vocabulary.entries.begin());
  }
  const std::string unknown = special_token(settings, "unk_token", "[UNK]");
  vocabulary.unknown = find_entry(vocabulary.entries, unknown, path);
  if (settings != nullptr && !settings->boolean("do_basic_tokenize").value_or(true)) {
    throw Error(ErrorKind::unsupported, fmt::format("{}, key do_basic_tokenize", settings->path().string()),
                "is false; a tokenizer that does not split at punctuation is not supported", "use another checkpoint");
  }
  std::set<std::string_view> known;
  if (!context.added.empty()) known.insert(vocabulary.entries.begin(), vocabulary.entries.end());
  if (std::any_of(context.added.begin(), context.added.end(),
                  [&](const AddedToken& token) { return !token.special || !known.contains(token.content); })) {
    JsonTree document(nlohmann::json{{"model", {{"type", "WordPiece"}}}});
    nlohmann::json& words = (*document)["model"]["vocab"];
    words = nlohmann::json::object();
    Fingerprint fingerprint;
    fingerprint.add("vocabulary 1");
    for (std::size_t i = 0; i < vocabulary.entries.size(); ++i) {
      if (!vocabulary.entries[i].empty()) words[vocabulary.entries[i]] = i;
      fingerprint.add(vocabulary.entries[i]);
    }
    context.kind = TokenizerClass::Kind::bert;
    return make_tokenizer({path, std::move(document), fingerprint.value()}, context);
  }

  const auto setting = [&](const char* key, bool usual) {
    return settings == nullptr ? usual : settings->boolean(key).value_or(usual);
  };
  const bool lowercase = setting("do_lower_case", true), chinese = setting("tokenize_chinese_chars", true);
  const bool strip_accents = setting("strip_accents", lowercase);
  if (lowercase && chinese && strip_accents) {
    return {std::make_unique<WordPieceTokenizer>(std::move(vocabulary)), 1};
  }
  return {make_bert_pipeline(vocabulary, chinese, strip_accents, lowercase), 1};
}

/// RoBERTa's tokenizer of vocab.json and merges.txt.
JsonTokenizer read_merges_tokenizer(const fs::path& vocabulary, const fs::path& merges, TokenizerContext context) {
  TokenizerSource source = read_tokenizer_json(vocabulary);
  const std::string text = read_file(merges, VocabularyTrie::kMaxBytes);
  JsonTree document(nlohmann::json{{"model", {{"type", "BPE"}, {"merges", nlohmann::json::array()}}}});
  nlohmann::json& model = (*document)["model"];
  model["vocab"] = std::move(*source.document);
  nlohmann::json& rules = model["merges"];
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string rule(trim(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (rule.empty() || (number == 1 && rule.starts_with("#version"))) continue;
    if (!is_well_formed_utf8(rule)) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, line {}", merges.string(), number), "is not valid UTF-8",
                  kSameModel);
    }
    rules.push_back(rule);
  }
  context.kind = TokenizerClass::Kind::roberta;
  return make_tokenizer(
      {vocabulary, std::move(document), Fingerprint().add(std::to_string(source.fingerprint)).add(text).value()},
      context);
}

/// The settings of tokenizer_config.json, with the names of special_tokens_map.json, which count unless the former
/// lists its added tokens.
std::optional<JsonFile> read_settings(const fs::path& folder) {
  std::optional<JsonFile> settings;
  if (const fs::path path = folder / "tokenizer_config.json"; fs::exists(path)) settings = JsonFile::read(path);
  const fs::path map = folder / "special_tokens_map.json";
  if ((settings && settings->find("added_tokens_decoder") != nullptr) || !fs::exists(map)) return settings;
  JsonFile names = JsonFile::read(map);
  if (!settings) return names;
  settings->update(names);
  return settings;
}

/// The added tokens of the files next to the tokenizer: of tokenizer_config.json, or else of added_tokens.json.
std::vector<AddedToken> read_added_tokens(const fs::path& folder, const JsonFile* settings) {
  std::map<std::int64_t, AddedToken> tokens;
  constexpr std::int64_t kMostTokens = 1 << 24;
  if (const auto* decoder = settings == nullptr ? nullptr : settings->find("added_tokens_decoder")) {
    if (!decoder->is_object()) settings->fail("added_tokens_decoder", "is not an object");
    for (const auto& [id, value] : decoder->items()) {
      const auto flag = [&token = value](const char* key) {
        return token.is_object() && token.contains(key) && token[key] == true;
      };
      std::int64_t number = -1;
      const auto parsed = std::from_chars(id.data(), id.data() + id.size(), number);
      if (parsed.ptr != id.data() + id.size() || number < 0 || number > kMostTokens || !value.is_object() ||
          !value.contains("content") || !value["content"].is_string() || value["content"].empty()) {
        settings->fail("added_tokens_decoder", fmt::format("has the token {} without a content", id));
      }
      const std::string content = value["content"];
      if (content.size() > VocabularyTrie::kMaxEntryBytes) {
        settings->fail("added_tokens_decoder", fmt::format("has the token {} of more than 1024 bytes", id));
      }
      tokens[number] = {content,        0, flag("single_word"), flag("lstrip"), flag("rstrip"), flag("normalized"),
                        flag("special")};
    }
  } else if (const fs::path path = folder / "added_tokens.json"; fs::exists(path)) {
    const JsonFile file = JsonFile::read(path);
    std::set<std::string> special;
    for (const char* key :
         {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
      special.insert(special_token(settings, key, ""));
    }
    for (const auto& [content, id] : file.object().items()) {
      if (content.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() > kMostTokens) {
        file.fail(content, "is not a token with its id");
      }
      if (content.size() > VocabularyTrie::kMaxEntryBytes) {
        file.fail(utf8_prefix(content, 20), "begins a token of more than 1024 bytes");
      }
      const bool is_special = special.contains(content);
      tokens[id.get<std::int64_t>()] = {content, 0, false, false, false, !is_special, is_special};
    }
  }
  std::vector<AddedToken> in_order;
  for (auto& [id, token] : tokens) in_order.push_back(std::move(token));
  return in_order;
}

/// Left: the beginning of a long text is cut off.
void refuse_truncation_on_the_left(const JsonFile* settings, const TokenizerSource* source) {
  const auto refuse = [](const fs::path& path, const char* key) {
    throw Error(ErrorKind::unsupported, fmt::format("{}, key {}", path.string(), key),
                "is left, but long texts are cut at their end", "set it to right if the model was trained so");
  };
  if (settings != nullptr) {
    if (const auto side = settings->string("truncation_side")) {
      if (*side == "left") refuse(settings->path(), "truncation_side");
      return;
    }
  }
  if (source == nullptr || !source->document->is_object()) return;
  const auto truncation = source->document->find("truncation");
  if (truncation == source->document->end() || !truncation->is_object()) return;
  if (truncation->value("direction", nlohmann::json()) == "Left") refuse(source->path, "truncation.direction");
}

}  // namespace

LoadedTokenizer load_tokenizer(const fs::path& folder, std::int32_t vocabulary_size, std::string_view model_type,
                               std::string_view tokenizer_class) {
  const std::optional<JsonFile> read = read_settings(folder);
  const JsonFile* settings = read ? &*read : nullptr;
  const TokenizerClass its_class = find_tokenizer_class(settings, tokenizer_class, model_type);
  TokenizerContext context{model_type, settings, its_class.kind, read_added_tokens(folder, settings)};

  JsonTokenizer loaded;
  const bool pairs = model_type != "mir";
  fs::path path = folder / "tokenizer.json";
  if (pairs && fs::exists(path)) {
    TokenizerSource source = read_tokenizer_json(path);
    refuse_truncation_on_the_left(settings, &source);
    loaded = make_tokenizer(std::move(source), context);
  } else {
    refuse_truncation_on_the_left(settings, nullptr);
    if (model_type == "qwen2" || model_type == "qwen3") {
      throw Error(ErrorKind::io, path.string(), "is missing; this model's tokens are read from no other file",
                  "download it into the model directory");
    }
    if (path = folder / "vocab.txt"; fs::exists(path)) {
      loaded = read_vocabulary_tokenizer(path, pairs, context);
    } else if (path = folder / "tokenizer.json"; fs::exists(path)) {
      loaded = make_tokenizer(read_tokenizer_json(path), context);
    } else if (path = folder / "vocab.json"; fs::exists(path) && fs::exists(folder / "merges.txt")) {
      loaded = read_merges_tokenizer(path, folder / "merges.txt", context);
    } else if (path = sentencepiece_model(folder); !path.empty()) {
      loaded = read_sentencepiece(path, context);
    } else {
      throw Error(ErrorKind::io, folder.string(),
                  "has neither vocab.txt nor tokenizer.json nor vocab.json and merges.txt nor a SentencePiece *.model",
                  "download the tokenizer's files into the model directory");
    }
  }
  LoadedTokenizer result{std::move(loaded.tokenizer), {}, 0, loaded.states_template};
  // A model may have more rows than its tokenizer has entries.
  if (result.tokenizer->vocabulary_size() > vocabulary_size) {
    throw Error(ErrorKind::invalid_data, path.string(),
                fmt::format("the vocabulary has {} entries, but config.json's vocab_size is {}",
                            result.tokenizer->vocabulary_size(), vocabulary_size),
                kSameModel);
  }
  if (its_class.types) {
    if (!loaded.document_type || *loaded.document_type > 1) {
      throw Error(ErrorKind::unsupported, fmt::format("{}, key post_processor", path.string()),
                  "gives token types other than 0 to the query and 1 to the document",
                  "use a checkpoint with another tokenizer");
    }
    result.document_type = *loaded.document_type;
  }
  if (settings != nullptr) {
    // "No limit" is written as a number near 1e30. Early files call it max_len.
    const char* const key = settings->object().contains("model_max_length") ? "model_max_length" : "max_len";
    const auto limit = settings->number(key);
    if (limit && *limit < 1) settings->fail(key, "is not positive");
    if (limit && *limit <= std::numeric_limits<std::int32_t>::max()) {
      result.model_max_length = static_cast<std::int32_t>(*limit);
    }
  }
  return result;
}

}  // namespace relucent
