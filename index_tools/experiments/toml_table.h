#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/toml_text.h"

namespace relucent::index_tools {

/// A TOML table whose keys are taken one by one; finish() refuses what was not asked for. Each call for a key throws
/// Error `usage` with the file and the line if its value is not of the kind asked for.
class TomlTable {
 public:
  /// `table` and `file`, its name in messages, outlive this. `name`: the table's in messages.
  TomlTable(const toml::table& table, std::string_view file, std::string name);

  /// The key's value of any kind; nullptr, or nullopt below, if the key is absent.
  const toml::node* node(const std::string& key);
  std::optional<std::string> text(const std::string& key);
  std::string required_text(const std::string& key, const std::string& remedy);
  /// Between low and high, both excluded.
  std::optional<double> number(const std::string& key, double low, double high);
  /// From low to high.
  std::optional<std::int32_t> whole_number(const std::string& key, std::int32_t low, std::int32_t high);
  std::optional<bool> boolean(const std::string& key);
  /// The elements of an array that is not empty; none if the key is absent.
  std::vector<const toml::node*> elements(const std::string& key);
  std::vector<std::string> texts(const std::string& key);
  /// The entries of [[key]].
  std::vector<TomlTable> tables(const std::string& key);
  std::optional<TomlTable> table(const std::string& key);

  /// One of a few names.
  template <typename Value>
  Value choice(const std::string& key, const std::vector<std::pair<std::string, Value>>& choices, Value otherwise) {
    const std::optional<std::string> name = text(key);
    if (!name) return otherwise;
    std::vector<std::string> names;
    for (const auto& [known, value] : choices) {
      if (known == *name) return value;
      names.push_back(known);
    }
    fail_at(key, key + " = \"" + *name + "\" is not allowed", "choose from " + join(names));
  }

  /// Throws Error if the table has a key that nobody asked for.
  void finish() const;

  std::string text_of(const toml::node& value, const std::string& key) const;
  std::int32_t whole_number_of(const toml::node& value, const std::string& key, std::int32_t low,
                               std::int32_t high) const;

  [[noreturn]] void fail(const toml::node& at, const std::string& problem, const std::string& remedy) const;
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;
  /// At the key, which may be absent.
  [[noreturn]] void fail_at(const std::string& key, const std::string& problem, const std::string& remedy) const;

  const toml::table& content() const { return table_; }

 private:
  const toml::table& table_;
  std::string_view file_;
  std::string name_;
  std::vector<std::string> known_;
};

}  // namespace relucent::index_tools
