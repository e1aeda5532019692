#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relucent/config.h"

namespace relucent::config {

/// A value in a profile; monostate: the key is not set.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// A key's TOML type. A `number` may be written without a decimal point.
enum class Type { boolean, integer, number, text, texts, integer_or_text };

/// One key of the schema. These entries drive parsing, checking, writing and the documentation; key names appear
/// nowhere else. A key that StageConfig has a field for may also stand in [[rescorer.stages]].
struct Key {
  std::string section, name;
  Type type = Type::text;
  std::string allowed;  ///< in words, for documentation and errors
  std::string meaning;
  bool is_path = false;  ///< relative paths in a profile are resolved against its folder
  std::function<Value(const Config&)> get;
  std::function<void(Config&, const Value&)> set;         ///< the value has the key's type and is_allowed
  std::function<Value(const StageConfig&)> get_of_stage;  ///< both are empty if a key holds for all stages
  std::function<void(StageConfig&, const Value&)> set_of_stage;
  std::function<bool(const Value&)> is_allowed;
  std::function<std::string(const std::string& wrong)> suggest;  ///< "did you mean ..."; for names alone

  /// What to write instead of a value that is not allowed.
  std::string remedy(const Value& wrong) const;
};

/// Every key, grouped by section, in documentation order.
const std::vector<Key>& schema();
/// The key's entry, or nullptr if there is none.
const Key* find_key(std::string_view section, std::string_view name);
inline constexpr std::string_view kStages = "stages";
inline constexpr std::size_t kMaxStages = 8;
/// What a section is for: the comment above it.
std::string_view section_meaning(std::string_view section);
/// The built-in module: the only value of [rescorer] module that is not a path.
inline constexpr std::string_view kBuiltInModule = "cross-encoder";

/// The value as TOML. Doubles are written with the fewest digits that read back to the same value.
std::string to_toml_value(const Value& value);

/// A violated rule between keys: the offending key's entry and the problem.
struct Conflict {
  const Key* key = nullptr;
  std::size_t stage = 0;  ///< that has the key; 0: not in a stage
  std::string problem, remedy;
};
std::vector<Conflict> find_conflicts(const Config& config);

/// A section's or a stage's name in messages: "rescorer", "rescorer.stages 2".
std::string section_name(const Key& key, std::size_t stage);

}  // namespace relucent::config
