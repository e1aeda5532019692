#include "base/json_tree.h"

namespace relucent {
namespace {

using nlohmann::json;

/// Empties a value from its leaves on: only a container that has elements needs memory to be destroyed.
void take_apart(json& value) noexcept {
  if (!value.is_structured()) return;
  for (json& element : value) take_apart(element);
  value.clear();
}

}  // namespace

JsonTree::~JsonTree() { take_apart(value_); }

std::optional<JsonProblem> JsonTree::read(std::string_view text,
                                          const std::function<void(const std::string&)>& repeated) {
  JsonBuilder<json> builder(value_, [&](json& first, const std::string& name) {
    take_apart(first);
    if (repeated) repeated(name);
  });
  json::sax_parse(text, &builder);
  if (builder.problem()) {
    take_apart(value_);
    value_ = nullptr;
  }
  return builder.problem();
}

}  // namespace relucent
