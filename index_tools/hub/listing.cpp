#include "index_tools/hub/listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/nesting.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kWeights = "model.safetensors", kConfiguration = "config.json";

bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool all_digits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

/// model-00001-of-00003.safetensors
bool is_shard(std::string_view name) {
  constexpr std::string_view kBegin = "model-", kMiddle = "-of-", kEnd = ".safetensors";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  name = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  const std::size_t middle = name.find(kMiddle);
  return middle != name.npos && all_digits(name.substr(0, middle)) && all_digits(name.substr(middle + kMiddle.size()));
}

/// A file other than the weights in a checkpoint's own folder.
bool is_setting(std::string_view name) {
  constexpr std::array<std::string_view, 14> kNames{kConfiguration,
                                                    "tokenizer.json",
                                                    "tokenizer_config.json",
                                                    "special_tokens_map.json",
                                                    "added_tokens.json",
                                                    "vocab.txt",
                                                    "vocab.json",
                                                    "merges.txt",
                                                    "chat_template.jinja",
                                                    "modules.json",
                                                    "tokenizer.model",
                                                    "spm.model",
                                                    "spiece.model",
                                                    "sentencepiece.bpe.model"};
  return std::ranges::find(kNames, name) != kNames.end() || name == "config_sentence_transformers.json" ||
         (name.starts_with("sentence_") && name.ends_with("_config.json"));
}

/// 1_Pooling/config.json, and weights next to it.
bool is_of_module(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return false;
  const std::string_view folder = path.substr(0, slash), name = path.substr(slash + 1);
  const std::size_t line = folder.find('_');
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  return line != folder.npos && all_digits(folder.substr(0, line)) && line + 1 < folder.size() &&
         std::ranges::all_of(folder.substr(line + 1), is_letter) && (name == kConfiguration || name == kWeights);
}

/// nullopt if the entry is not one of a file with its size and hash.
std::optional<HubFile> read_file_entry(const Json& entry) {
  const auto text = [](const Json& of, const char* key) {
    const auto found = of.find(key);
    return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!entry.is_object()) return std::nullopt;
  const auto lfs = entry.find("lfs"), size = entry.find("size");
  HubFile file{text(entry, "rfilename"), 0, lfs != entry.end() && lfs->is_object(), {}};
  if (file.path.empty() || size == entry.end() || !size->is_number_unsigned()) return std::nullopt;
  file.size = size->get<std::uint64_t>();
  file.hash = file.large ? text(*lfs, "sha256") : text(entry, "blobId");
  constexpr std::size_t kSha256 = 64, kSha1 = 40;
  if (!is_hexadecimal(file.hash, file.large ? kSha256 : kSha1)) return std::nullopt;
  return file;
}

}  // namespace

HubListing read_listing(std::string_view json, const std::string& place) {
  const auto fail = [&](const std::string& problem) {
    throw Error(ErrorKind::invalid_data, place, problem, "check HF_ENDPOINT");
  };
  const Json document = too_deep_in_json(json) ? Json() : Json::parse(json, nullptr, false);
  if (!document.is_object()) fail("does not answer with a JSON object");
  constexpr std::size_t kCommit = 40;
  const auto sha = document.find("sha"), siblings = document.find("siblings");
  if (sha == document.end() || !sha->is_string() || !is_hexadecimal(sha->get_ref<const std::string&>(), kCommit)) {
    fail("states no commit");
  }
  if (siblings == document.end() || !siblings->is_array()) fail("lists no files");
  HubListing listing{sha->get<std::string>(), {}};
  for (const Json& entry : *siblings) {
    // Files without a hash are not read; that matters only for those that are needed.
    if (auto file = read_file_entry(entry)) listing.files.push_back(std::move(*file));
  }
  return listing;
}

std::vector<HubFile> files_of_checkpoint(const HubListing& listing, const std::string& place) {
  const auto has = [&](std::string_view path) {
    return std::ranges::find(listing.files, path, &HubFile::path) != listing.files.end();
  };
  const bool whole = has(kWeights);
  constexpr std::string_view kIndex = "model.safetensors.index.json";
  if (!whole && !has(kIndex)) {
    const auto other = std::ranges::find_if(listing.files, [](const HubFile& file) {
      constexpr std::array<std::string_view, 5> kOthers{"pytorch_model.bin", "pytorch_model.bin.index.json",
                                                        "tf_model.h5", "flax_model.msgpack",
                                                        "adapter_model.safetensors"};
      return std::ranges::find(kOthers, file.path) != kOthers.end();
    });
    const std::string found = other == listing.files.end() ? std::string() : fmt::format(", but {}", other->path);
    throw Error(ErrorKind::unsupported, place, "has no model.safetensors" + found,
                "use another revision or model, or convert it (docs/checkpoints.md#weights)");
  }
  std::vector<HubFile> files;
  for (const HubFile& file : listing.files) {
    const bool weights = whole ? file.path == kWeights : file.path == kIndex || is_shard(file.path);
    if (weights || is_setting(file.path) || is_of_module(file.path)) files.push_back(file);
  }
  const auto configuration =
      std::ranges::stable_partition(files, [](const HubFile& file) { return file.path != kConfiguration; });
  if (configuration.size() != 1) {
    throw Error(ErrorKind::invalid_data, place, "does not list one config.json with its hash", "use another model");
  }
  return files;
}

}  // namespace relucent::index_tools
