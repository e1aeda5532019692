// RELUCENT_FUZZ_JSON in a target's file: half of libFuzzer's changes keep the JSON in an input valid. They give a value
// another type, copy, wrap or remove it. Changes of single bytes hardly ever do, because most leave no JSON.
#pragma once

#ifndef RELUCENT_LIBFUZZER
#define RELUCENT_FUZZ_JSON
#else

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nesting.h"
#include "tests/fuzz/half_mutator.h"

namespace relucent::fuzz {

class JsonMutator {
 public:
  explicit JsonMutator(unsigned seed) : random_(seed) {}

  bool coin() { return random(2) == 0; }

  /// The input with one of its NUL-separated parts changed; nullopt if that is not JSON, perhaps behind other bytes.
  std::optional<std::string> change(std::string_view input) {
    using Part = std::array<std::size_t, 2>;
    std::vector<Part> parts;
    for (std::size_t begin = 0; begin < input.size();) {
      const std::size_t end = std::min(input.find('\0', begin), input.size());
      const std::size_t start = input.substr(0, end).find_first_of("{[", begin);
      if (start != input.npos) parts.push_back({start, end});
      begin = end + 1;
    }
    if (parts.empty()) return std::nullopt;
    const auto [start, end] = parts[random(parts.size())];
    const std::string_view text = input.substr(start, end - start);
    if (too_deep_in_json(text)) return std::nullopt;
    Json document = Json::parse(text, nullptr, false);
    if (document.is_discarded()) return std::nullopt;
    change_one(document);
    return std::string(input.substr(0, start)) + document.dump() + std::string(input.substr(end));
  }

 private:
  using Json = nlohmann::ordered_json;

  std::size_t random(std::size_t count) { return random_() % count; }

  /// A value of the document, perhaps all of it: members near the root are more likely than one of a thousand entries.
  Json& any_of(Json& document) {
    Json* value = &document;
    while (has_children(*value) && random(5) != 0) value = &*child_of(*value);
    return *value;
  }

  static bool has_children(const Json& value) { return value.is_structured() && !value.empty(); }
  Json::iterator child_of(Json& value) {
    return std::next(value.begin(), static_cast<std::ptrdiff_t>(random(value.size())));
  }

  void change_one(Json& document) {
    Json& value = any_of(document);
    Json other = any_of(document);
    const auto child = has_children(value) ? child_of(value) : value.end();
    switch (random(6)) {
      case 0: value = std::move(other); break;
      case 1: value = Json::array({Json(value)}); break;
      case 2:
        if (value.is_string() && coin()) {
          value = value.get<std::string>() + "x";
        } else {
          value = value.is_string() ? Json(value.get<std::string>().size()) : Json(value.dump());
        }
        break;
      case 3:
        if (child != value.end()) value.erase(child);
        break;
      case 4:
        if (value.is_array()) {
          const Json copy = child == value.end() ? std::move(other) : *child;
          value.insert(value.begin(), 1 + random(3), copy);
        } else if (value.is_object()) {
          value[child == value.end() || coin() ? "x" : child.key() + "x"] = std::move(other);
        }
        break;
      default: value = sample(); break;
    }
  }

  Json sample() {
    static const std::array<Json, 12> samples = {
        nullptr, true, 0, 1, -1, 1.5, 1e300, std::int64_t{1} << 32, UINT64_MAX, "", Json::array(), Json::object()};
    return samples[random(samples.size())];
  }

  std::minstd_rand random_;
};

}  // namespace relucent::fuzz

#define RELUCENT_FUZZ_JSON RELUCENT_FUZZ_MUTATOR(JsonMutator)

#endif
