#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace relucent {

/// Empties a value of nlohmann::json or nlohmann::ordered_json from its leaves on, so that it needs no memory to be
/// destroyed: only a container that has elements does. It must have passed too_deep_in_json().
template <typename Tree>
void take_apart(Tree& value) noexcept {
  if (!value.is_structured()) return;
  for (Tree& element : value) take_apart(element);
  value.clear();
}

/// Why a text is not JSON.
struct JsonProblem {
  std::size_t byte = 0;       ///< how many bytes the parser had read
  bool out_of_range = false;  ///< a number that no double holds; else a syntax error
};

/// Fills in a tree from the events of nlohmann::json::sax_parse(). Unlike nlohmann::json::parse(), which returns a
/// tree, it leaves the unfinished one to its owner when memory runs out.
///
/// `Tree`: a type with the members of nlohmann::json that are used here. Members of objects that occur again take the
/// place of the first ones. A class that derives from it may hide events of sax_parse(), which is a template.
template <typename Tree>
class JsonBuilder {
 public:
  /// Called with the first value of a name that occurs again in its object, and the name.
  using Repeated = std::function<void(Tree& first, const std::string& name)>;

  /// @param root  outlives the builder
  explicit JsonBuilder(Tree& root, Repeated repeated = {}) : root_(root), repeated_(std::move(repeated)) {}

  /// Null: the text was JSON.
  const std::optional<JsonProblem>& problem() const noexcept { return problem_; }

  // What sax_parse() calls.
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // no part of JSON
  bool start_object(std::size_t) { return open(Tree::object()); }
  bool start_array(std::size_t) { return open(Tree::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Tree& object = innermost();
    const auto before = object.size();
    set_member(object[name]);
    if (object.size() == before && repeated_) repeated_(*member_, name);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) {
    constexpr int kOutOfRange = 406;
    problem_ = JsonProblem{byte, error.id == kOutOfRange};
    return false;
  }

 protected:
  /// The object or array that is being filled in.
  Tree& innermost() { return *open_.back(); }
  /// The next value is this member of the innermost object.
  void set_member(Tree& member) { member_ = &member; }

 private:
  /// Where the next value belongs.
  Tree& place() {
    if (open_.empty()) return root_;
    Tree& parent = *open_.back();
    if (!parent.is_array()) return *member_;
    parent.push_back(nullptr);
    return parent.back();
  }
  template <typename Value>
  bool put(Value&& value) {
    place() = Tree(std::forward<Value>(value));
    return true;
  }
  bool open(Tree empty) {
    Tree& value = place();
    value = std::move(empty);
    open_.push_back(&value);  // its parent has no new members before it is closed
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Tree& root_;
  Repeated repeated_;
  std::vector<Tree*> open_;
  Tree* member_ = nullptr;  // of the innermost object, under the name read last
  std::optional<JsonProblem> problem_;
};

}  // namespace relucent
