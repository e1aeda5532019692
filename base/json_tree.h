#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_builder.h"

namespace relucent {

/// A tree of nlohmann/json that needs no memory to be destroyed. The library's own destructor collects nested values in
/// a vector; where that finds no memory, the process ends, also while a std::bad_alloc is on its way to an answer.
/// Parts of it must not be copied for the same reason.
class JsonTree {
 public:
  JsonTree() = default;  ///< null
  /// Takes a value over, which must nest no deeper than too_deep_in_json() allows.
  explicit JsonTree(nlohmann::json&& value) noexcept : value_(std::move(value)) {}
  JsonTree(JsonTree&& other) noexcept : value_(std::move(other.value_)) {}
  JsonTree& operator=(JsonTree&&) = delete;
  ~JsonTree();

  /// Replaces null with the value of a text, which must have passed too_deep_in_json(). If it is not JSON, returns why,
  /// and the tree stays null. `repeated`, if any, is called with each name that occurs again in its object, whose last
  /// value counts; what it throws, passes.
  std::optional<JsonProblem> read(std::string_view text, const std::function<void(const std::string&)>& repeated = {});

  nlohmann::json& operator*() noexcept { return value_; }
  const nlohmann::json& operator*() const noexcept { return value_; }
  nlohmann::json* operator->() noexcept { return &value_; }
  const nlohmann::json* operator->() const noexcept { return &value_; }

 private:
  nlohmann::json value_;
};

}  // namespace relucent
