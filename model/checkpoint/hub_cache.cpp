#include "model/checkpoint/hub_cache.h"

#include <algorithm>
#include <cstdlib>

#include "base/file/file_io.h"
#include "base/text.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_commit(std::string_view text) {
  constexpr std::size_t kLength = 40;
  return text.size() == kLength && text.find_first_not_of(kDigits) == text.npos;
}

/// Letters, digits, '-', '_' and '.', as the hub accepts them. "--" separates organization and name in the cache.
bool is_part_of_name(std::string_view part) {
  constexpr std::size_t kMost = 96;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  const auto is_edge = [](char c) { return c == '-' || c == '.'; };
  return !part.empty() && part.size() <= kMost && std::ranges::all_of(part, fits) && !is_edge(part.front()) &&
         !is_edge(part.back()) && part.find("--") == part.npos && part.find("..") == part.npos;
}

bool is_revision(const fs::path& revision) {
  return !revision.empty() && revision.is_relative() && std::ranges::all_of(revision, [](const fs::path& part) {
    return !part.empty() && part != "." && part != "..";
  });
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path expanded(const std::string& path) {
  return path == "~" || path.starts_with("~/") ? fs::path(variable("HOME") + path.substr(1)) : fs::path(path);
}

}  // namespace

std::optional<HubName> read_hub_name(std::string_view text) {
  HubName name;
  if (const std::size_t at = text.find('@'); at != text.npos) {
    name.revision = text.substr(at + 1);
    if (name.revision.find('\0') != std::string::npos || !is_revision(name.revision)) return std::nullopt;
    text = text.substr(0, at);
  }
  const std::size_t slash = text.find('/');
  if (slash == text.npos || !is_part_of_name(text.substr(0, slash)) || !is_part_of_name(text.substr(slash + 1))) {
    return std::nullopt;
  }
  name.repository = text;
  return name;
}

fs::path hub_home() {
  if (const std::string home = variable("HF_HOME"); !home.empty()) return expanded(home);
  const std::string caches = variable("XDG_CACHE_HOME");
  return expanded(caches.empty() ? "~/.cache" : caches) / "huggingface";
}

fs::path hub_cache() {
  for (const char* stated : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string value = variable(stated); !value.empty()) return expanded(value);
  }
  return hub_home() / "hub";
}

std::string cache_folder_of(const HubName& name) {
  std::string folder = "models--" + name.repository;
  return folder.replace(folder.find('/'), 1, "--");
}

std::optional<fs::path> find_snapshot(const fs::path& cache, const HubName& name) {
  const fs::path model = cache / cache_folder_of(name), reference = model / "refs" / name.revision;
  std::error_code error;
  std::string commit = name.revision;
  if (fs::is_regular_file(reference, error)) {
    constexpr std::size_t kMostBytes = 1024;
    commit = trim(read_file(reference, kMostBytes));
    if (!is_commit(commit)) {
      throw Error(ErrorKind::invalid_data, reference.string(), "does not contain a commit", "download the model again");
    }
  }
  if (!is_commit(commit)) return std::nullopt;
  fs::path snapshot = model / "snapshots" / commit;
  if (!fs::is_directory(snapshot, error)) return std::nullopt;
  return snapshot;
}

}  // namespace relucent
