#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.h"

namespace relucent {

/// A value inside a tokenizer.json and the place where it stands ("pre_tokenizer.pretokenizers[1]"). The getters throw
/// Error `invalid_data` naming the file and the place if a value is missing or has the wrong type. The document must
/// outlive it.
class Component {
 public:
  Component(const std::filesystem::path& file, const nlohmann::json& value, std::string place)
      : file_(file), value_(value), place_(std::move(place)) {}

  const std::filesystem::path& file() const noexcept { return file_; }
  const nlohmann::json& value() const noexcept { return value_; }
  const std::string& place() const noexcept { return place_; }

  /// nullopt if the key is absent or its value is null.
  std::optional<Component> find(std::string_view key) const;
  Component at(std::string_view key) const;
  /// The elements of the array `key`.
  std::vector<Component> elements(std::string_view key) const;

  std::string type() const { return string("type"); }
  std::string string(std::string_view key) const;
  std::string string(std::string_view key, std::string_view usual) const;
  bool boolean(std::string_view key) const;
  bool boolean(std::string_view key, bool usual) const;
  /// A whole number from 0 to `most`.
  std::int64_t integer(std::string_view key, std::int64_t most) const;

  /// `value()` as one of these.
  std::string text() const;
  double number() const;
  std::int64_t integer(std::int64_t most) const;

  [[noreturn]] void fail(const std::string& problem) const;
  /// Throws Error `unsupported`.
  [[noreturn]] void refuse(const std::string& problem) const;

 private:
  std::string place_of(std::string_view key) const;

  const std::filesystem::path& file_;
  const nlohmann::json& value_;
  std::string place_;
};

/// Reads a tokenizer.json. Numbers with a fraction have the value that Rust's serde_json gives them, which may differ
/// from the nearest one in the last bit: scores that tie there must tie here. Throws Error `io`; `invalid_data` naming
/// the file and the byte or key if it nests too deeply, is not a JSON object or repeats a key.
JsonTree read_tokenizer_document(const std::filesystem::path& path, std::string_view bytes);

}  // namespace relucent
