#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/file/unique_fd.h"

namespace relucent::index_tools {

/// Texts by key in a file that grows by a line each. A killed process loses at most the line that it was writing: each
/// line ends with its checksum, and damaged lines are not read.
class LineCache {
 public:
  struct Kind {
    std::string_view name, extension;  ///< "costs" and ".costs"
    bool exclusive;                    ///< whether one process at a time may open a file
  };

  /// Opens or creates the file for `description`, everything besides the keys that the texts follow from, in `folder`,
  /// which is created if missing. Throws Error `io`, also if another process has locked the file.
  LineCache(const std::filesystem::path& folder, const Kind& kind, std::string_view description);

  /// nullptr if there is none; valid until the next add().
  const std::string* find(const std::string& key) const;
  /// Takes the place of an earlier one. The text is in the file when this returns. Neither may have a line break, nor
  /// the key " | ". Throws Error `io`.
  void add(const std::string& key, const std::string& text);

  const std::filesystem::path& file() const noexcept { return file_; }

 private:
  void take(std::string_view line);
  std::string checksum_of(std::string_view line) const;

  std::string header_;
  std::filesystem::path file_;
  UniqueFd descriptor_;
  std::unordered_map<std::string, std::string> texts_;
};

/// The same for values with kCache, to_line() and from_line(), each other's inverse.
template <typename Value>
class ValueCache {
 public:
  ValueCache(const std::filesystem::path& folder, std::string_view description)
      : lines_(folder, Value::kCache, description) {}

  std::optional<Value> find(const std::string& key) const {
    const std::string* const line = lines_.find(key);
    return line != nullptr ? std::optional(Value::from_line(*line)) : std::nullopt;
  }
  void add(const std::string& key, const Value& value) { lines_.add(key, value.to_line()); }
  const std::filesystem::path& file() const noexcept { return lines_.file(); }

 private:
  LineCache lines_;
};

}  // namespace relucent::index_tools
