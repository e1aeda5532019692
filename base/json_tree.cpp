#include "base/json_tree.h"

namespace relucent {

using nlohmann::json;

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
