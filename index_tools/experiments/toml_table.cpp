#include "index_tools/experiments/toml_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"

namespace relucent::index_tools {

using config::toml_error;

TomlTable::TomlTable(const toml::table& table, std::string_view file, std::string name)
    : table_(table), file_(file), name_(std::move(name)) {}

const toml::node* TomlTable::node(const std::string& key) {
  known_.push_back(key);
  return table_.get(key);
}

std::optional<std::string> TomlTable::text(const std::string& key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  return text_of(*found, key);
}

std::string TomlTable::required_text(const std::string& key, const std::string& remedy) {
  std::optional<std::string> found = text(key);
  if (!found) fail(fmt::format("{} has no \"{}\"", name_, key), remedy);
  if (is_blank(*found)) fail(*node(key), fmt::format("{} is empty", key), remedy);
  return std::move(*found);
}

std::optional<double> TomlTable::number(const std::string& key, double low, double high) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  const std::optional<double> value = found->value<double>();
  if (!found->is_number() || !value || !(*value > low && *value < high)) {
    fail(*found, fmt::format("{} must be a number between {} and {}", key, low, high), "write such a number");
  }
  return value;
}

std::optional<std::int32_t> TomlTable::whole_number(const std::string& key, std::int32_t low, std::int32_t high) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  return whole_number_of(*found, key, low, high);
}

std::optional<bool> TomlTable::boolean(const std::string& key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_boolean()) fail(*found, fmt::format("{} must be true or false", key), "write one of the two");
  return found->as_boolean()->get();
}

std::vector<const toml::node*> TomlTable::elements(const std::string& key) {
  const toml::node* found = node(key);
  if (found == nullptr) return {};
  const toml::array* array = found->as_array();
  if (array == nullptr || array->empty()) {
    fail(*found, fmt::format("{} must be an array with at least one element", key),
         fmt::format("write {} = [...]", key));
  }
  std::vector<const toml::node*> elements;
  for (const toml::node& element : *array) elements.push_back(&element);
  return elements;
}

std::vector<std::string> TomlTable::texts(const std::string& key) {
  std::vector<std::string> result;
  for (const toml::node* element : elements(key)) result.push_back(text_of(*element, key));
  return result;
}

std::vector<TomlTable> TomlTable::tables(const std::string& key) {
  const toml::node* found = node(key);
  if (found == nullptr) return {};
  const toml::array* array = found->as_array();
  std::vector<TomlTable> result;
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (const toml::table* entry = (*array)[i].as_table()) result.emplace_back(*entry, file_, "[[" + key + "]]");
  }
  if (array == nullptr || array->empty() || result.size() != array->size()) {
    fail(*found, fmt::format("{} must be sections", key),
         fmt::format("write [[{}]] on a line of its own for each, and its keys below it", key));
  }
  return result;
}

std::optional<TomlTable> TomlTable::table(const std::string& key) {
  const toml::node* found = node(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_table())
    fail(*found, fmt::format("{} must be a section", key), fmt::format("write [{}] on a line of its own", key));
  return TomlTable(*found->as_table(), file_, key);
}

void TomlTable::finish() const {
  for (const auto& [key, value] : config::in_order(table_)) {
    if (std::find(known_.begin(), known_.end(), key->str()) != known_.end()) continue;
    toml_error(file_, key->source(), fmt::format("unknown key \"{}\" in {}", key->str(), name_),
               config::did_you_mean(key->str(), known_));
  }
}

std::string TomlTable::text_of(const toml::node& value, const std::string& key) const {
  if (!value.is_string())
    fail(value, fmt::format("{} must be text in quotes, not {}", key, config::toml_type(value)), "put it in quotes");
  return value.as_string()->get();
}

std::int32_t TomlTable::whole_number_of(const toml::node& value, const std::string& key, std::int32_t low,
                                        std::int32_t high) const {
  if (!value.is_integer() || value.as_integer()->get() < low || value.as_integer()->get() > high) {
    fail(value, fmt::format("{} must be a whole number from {} to {}", key, low, high), "write such a number");
  }
  return static_cast<std::int32_t>(value.as_integer()->get());
}

void TomlTable::fail(const toml::node& at, const std::string& problem, const std::string& remedy) const {
  toml_error(file_, at.source(), problem, remedy);
}

void TomlTable::fail(const std::string& problem, const std::string& remedy) const {
  toml_error(file_, table_.source(), problem, remedy);
}

void TomlTable::fail_at(const std::string& key, const std::string& problem, const std::string& remedy) const {
  const toml::node* found = table_.get(key);
  toml_error(file_, found != nullptr ? found->source() : table_.source(), problem, remedy);
}

}  // namespace relucent::index_tools
