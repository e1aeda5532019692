#include "model/tokenizer/vocabulary_file.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

#include "base/file/mapped_file.h"
#include "base/utf8.h"
#include "relucent/error.h"

namespace relucent {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void unsupported(const JsonFile& file, std::string_view key, const std::string& problem) {
  throw Error(ErrorKind::unsupported, fmt::format("{}, key {}", file.path().string(), key), problem,
              "use a checkpoint with BERT's uncased WordPiece tokenizer");
}

/// A part of tokenizer.json ("normalizer" ...), if present, must have BERT's type.
const Json* bert_part(const JsonFile& file, std::string_view part, std::string_view type) {
  const Json* value = file.find(part);
  if (value == nullptr) return nullptr;
  if (!value->is_object() || !value->contains("type") || value->at("type") != type) {
    unsupported(file, part, fmt::format("the {} is not {}", part, type));
  }
  return value;
}

void check_normalizer(const JsonFile& file) {
  const Json* normalizer = bert_part(file, "normalizer", "BertNormalizer");
  if (normalizer == nullptr) return;
  for (const char* flag : {"clean_text", "handle_chinese_chars", "lowercase", "strip_accents"}) {
    const auto value = normalizer->find(flag);
    if (value == normalizer->end() || value->is_null() || *value == true) continue;
    unsupported(file, fmt::format("normalizer.{}", flag),
                fmt::format("is {}; only uncased models are supported", value->dump()));
  }
}

void check_model(const JsonFile& file, const Json& model) {
  const auto expect = [&](const char* key, const Json& wanted) {
    const auto value = model.find(key);
    if (value != model.end() && !value->is_null() && *value != wanted) {
      unsupported(file, fmt::format("model.{}", key),
                  fmt::format("is {}, but BERT has {}", value->dump(), wanted.dump()));
    }
  };
  expect("continuing_subword_prefix", "##");
  expect("max_input_chars_per_word", 100);
}

}  // namespace

std::vector<std::string> read_vocabulary_lines(const std::filesystem::path& path) {
  const auto mapping = MappedFile::open(path);
  std::string_view rest(reinterpret_cast<const char*>(mapping->bytes().data()), mapping->bytes().size());
  std::vector<std::string> entries;
  std::unordered_map<std::string, std::size_t> lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto refuse = [&](const std::string& problem) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, line {}", path.string(), entries.size() + 1), problem,
                  "download the file again");
    };
    if (!is_well_formed_utf8(line)) refuse("is not valid UTF-8");
    const auto [known, is_new] = lines.try_emplace(std::string(line), entries.size() + 1);
    if (!is_new) refuse(fmt::format("repeats the entry of line {}, \"{}\"", known->second, line));
    entries.emplace_back(line);
  }
  return entries;
}

std::vector<std::string> read_tokenizer_json(const JsonFile& file) {
  const Json* model = file.find("model");
  if (model == nullptr || !model->is_object()) file.fail("model", "is missing");
  const std::string type = model->contains("type") && model->at("type").is_string()
                               ? model->at("type").get<std::string>()
                               : std::string("WordPiece");  // early files omit it
  if (type != "WordPiece") unsupported(file, "model.type", fmt::format("the tokenizer {} is not supported", type));
  check_model(file, *model);
  check_normalizer(file);
  bert_part(file, "pre_tokenizer", "BertPreTokenizer");

  const auto vocabulary = model->find("vocab");
  if (vocabulary == model->end() || !vocabulary->is_object()) file.fail("model.vocab", "is not an object");
  constexpr std::size_t max_entries = std::size_t{1} << 24;
  std::vector<std::string> entries;
  std::vector<bool> taken;
  const auto add = [&](const std::string& entry, const Json& id, std::string_view key, bool again) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= max_entries) {
      file.fail(key, fmt::format("\"{}\" has the invalid id {}", entry, id.dump()));
    }
    const auto place = id.get<std::size_t>();
    if (place >= entries.size()) {
      entries.resize(place + 1);
      taken.resize(place + 1);
    }
    if (again && taken[place] && entries[place] == entry) return;
    if (taken[place]) file.fail(key, fmt::format("uses the id {} twice, the second time for \"{}\"", place, entry));
    taken[place] = true;
    entries[place] = entry;
  };
  for (const auto& [entry, id] : vocabulary->items()) add(entry, id, "model.vocab", false);
  if (const Json* added = file.find("added_tokens"); added != nullptr && added->is_array()) {
    for (const Json& token : *added) {
      if (!token.is_object() || !token.contains("content") || !token.contains("id") ||
          !token.at("content").is_string()) {
        file.fail("added_tokens", "contains an entry that is not a token with id and content");
      }
      add(token.at("content").get<std::string>(), token.at("id"), "added_tokens", true);
    }
  }
  for (std::size_t id = 0; id < taken.size(); ++id) {
    if (!taken[id]) file.fail("model.vocab", fmt::format("has no entry with the id {}", id));
  }
  return entries;
}

}  // namespace relucent
