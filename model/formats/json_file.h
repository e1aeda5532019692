#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace relucent {

/// Objects keep the order of their keys, and look one up by comparing it with all. (Tokenizers, whose objects may have
/// very many, use nlohmann::json.)
using OrderedJson = nlohmann::ordered_json;

/// Throws Error `invalid_data` naming the file and the byte for a text that nests too deeply or has more than `most`
/// values and names.
void require_limited_json(const std::filesystem::path& path, std::string_view text, std::size_t most);

/// Whether a setting with this value turns something off: null, false, or without elements.
bool is_off(const OrderedJson& value);

/// A JSON file with one object. The getters throw Error `invalid_data` naming the file and the key if a value has
/// the wrong type or is out of range.
class JsonFile {
 public:
  /// Throws Error `io` if the file cannot be read and `invalid_data` if it is not a JSON object, repeats a key,
  /// is larger than 64 MiB, or has more than a million values and names. Takes time in proportion to the file.
  static JsonFile read(const std::filesystem::path& path);
  JsonFile() = default;  ///< no file, and null
  JsonFile(const JsonFile& other);
  JsonFile(JsonFile&&) noexcept = default;
  JsonFile& operator=(JsonFile other) noexcept;
  ~JsonFile();  ///< unlike nlohmann's, it needs no memory; nor does a copy that is given up for want of memory

  const std::filesystem::path& path() const noexcept { return path_; }
  const OrderedJson& object() const noexcept { return object_; }
  OrderedJson& object() noexcept { return object_; }
  /// Takes over the members of another file: new ones at the end, the others in the place of those of the same name.
  void update(const JsonFile& other);

  /// Null if the key is absent or its value is null.
  const OrderedJson* find(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  /// A whole number from `least` to `most`.
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::int64_t required_integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::optional<double> number(std::string_view key) const;

  [[noreturn]] void fail(std::string_view key, const std::string& problem, const std::string& remedy = {}) const;
  /// Throws Error `unsupported` naming the file and the key.
  [[noreturn]] void unsupported(std::string_view key, const std::string& problem, const std::string& remedy) const;
  /// Throws Error `unsupported` for the first key that is not among these, unless its value turns something off.
  void require_known(std::initializer_list<std::string_view> known, const std::string& remedy) const;

 private:
  std::filesystem::path path_;
  OrderedJson object_;
};

}  // namespace relucent
