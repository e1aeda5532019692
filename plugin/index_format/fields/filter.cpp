#include "plugin/index_format/fields/filter.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_tree.h"
#include "base/nesting.h"
#include "base/text.h"
#include "base/utf8.h"
#include "plugin/index_format/fields/number_terms.h"
#include "relucent/error.h"

namespace relucent::fields {
namespace {

using nlohmann::json;

constexpr std::string_view kPlace = "filter";
constexpr std::size_t kMaxValues = 100'000;
constexpr const char* kExample = R"(write it as {"lang": "de", "year": {"gte": 2020}, "source": ["a", "b"]})";

[[noreturn]] void refuse(const std::string& problem, const std::string& remedy = kExample) {
  throw Error(ErrorKind::usage, kPlace, problem, remedy);
}

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return std::string(utf8_prefix(text, 100));
}

/// Fills in one condition.
class ConditionReader {
 public:
  ConditionReader(const DeclaredField& field, Condition& condition) : field_(field), condition_(condition) {}

  void read(const json& value) {
    if (field_.kind == Kind::text) {
      refuse(fmt::format("\"{}\" is a text, and filters compare keywords and numbers", field_.name),
             "declare the key with --keyword instead of --text, and index again");
    }
    if (value.is_object()) {
      read_bounds(value);
    } else if (value.is_array()) {
      if (value.empty()) refuse(fmt::format("the list of values of \"{}\" is empty", field_.name), "name a value");
      for (const json& element : value) add(element);
    } else {
      add(value);
    }
  }

 private:
  void add(const json& value) {
    if (field_.kind == Kind::keyword) {
      if (!value.is_string()) {
        refuse(fmt::format("\"{}\" is a keyword, which cannot be {}", field_.name, shown(value)),
               "compare it with a string, or with an array of strings");
      }
      condition_.keywords.push_back(keyword_term(value.get<std::string>()));
    } else {
      const std::int64_t number = number_of(value);
      condition_.runs.emplace_back(number, number);
    }
  }

  std::int64_t number_of(const json& value) const {
    if (!value.is_number()) {
      refuse(fmt::format("\"{}\" is a number, which cannot be {}", field_.name, shown(value)),
             "compare it with a number, an array of numbers, or bounds (gt, gte, lt, lte)");
    }
    const std::optional<double> number = exact_number(value);
    if (!number) {
      refuse(fmt::format("{} at \"{}\" is beyond 2^53, up to which numbers are exact", shown(value), field_.name),
             "use a smaller number");
    }
    return sortable(*number);
  }

  void read_bounds(const json& bounds) {
    if (field_.kind == Kind::keyword) {
      refuse(fmt::format("\"{}\" is a keyword, which has no bounds", field_.name),
             "compare it with a string, or with an array of strings");
    }
    std::optional<std::int64_t> low, high;
    for (const auto& [name, value] : bounds.items()) {
      const bool lower = name == "gt" || name == "gte";
      if (!lower && name != "lt" && name != "lte") {
        refuse(fmt::format("\"{}\" at \"{}\" is not a bound", name, field_.name), "use gt, gte, lt or lte");
      }
      std::optional<std::int64_t>& bound = lower ? low : high;
      if (bound) {
        refuse(fmt::format("\"{}\" has two {} bounds", field_.name, lower ? "lower" : "upper"),
               lower ? "use gt or gte" : "use lt or lte");
      }
      bound = number_of(value);
      if (name == "gt") ++*bound;
      if (name == "lt") --*bound;
    }
    if (!low && !high) refuse(fmt::format("\"{}\" has no bounds", field_.name), "use gt, gte, lt or lte");
    condition_.runs.emplace_back(low.value_or(sortable(-0x1p53)), high.value_or(sortable(0x1p53)));
  }

  const DeclaredField& field_;
  Condition& condition_;
};

}  // namespace

const DeclaredField& find_declared(std::span<const DeclaredField> declared, std::string_view name,
                                   std::string_view place) {
  const auto found = std::ranges::find(declared, name, &DeclaredField::name);
  if (found != declared.end()) return *found;
  const auto described = [](const DeclaredField& field) {
    return fmt::format("{} ({})", field.name, to_string(field.kind));
  };
  const std::string known = declared.empty() ? "declares none" : "declares " + join(declared, ", ", described);
  throw Error(ErrorKind::usage, place,
              fmt::format("\"{}\" is not a declared field of the index, which {}", utf8_prefix(name, 100), known),
              "declare it with `relucent index --keyword KEY` or `--number KEY`, and index again");
}

std::vector<Condition> parse_filter(std::string_view text, std::span<const DeclaredField> declared) {
  if (too_deep_in_json(text)) refuse("nests too deep");
  if (too_many_in_json(text, kMaxValues)) refuse(fmt::format("has more than {} values", kMaxValues), "ask for fewer");
  JsonTree object;
  // Two conditions on one field would be taken for one.
  const auto refuse_name = [](const std::string& name) {
    refuse(fmt::format("\"{}\" occurs twice in one object", name), "give it once");
  };
  if (object.read(text, refuse_name)) refuse("is not JSON");
  if (!object->is_object()) refuse(fmt::format("is not an object, but {}", shown(*object)));
  std::vector<Condition> conditions;
  for (const auto& [name, value] : object->items()) {
    const DeclaredField& field = find_declared(declared, name, kPlace);
    Condition& condition = conditions.emplace_back();
    condition.field = name;
    ConditionReader(field, condition).read(value);
  }
  return conditions;
}

}  // namespace relucent::fields
