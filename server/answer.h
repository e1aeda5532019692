#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace relucent::server {

/// A value of an answer in JSON. Members of objects stay in the order in which they were added. It is written as
/// nlohmann::ordered_json is, in braces ({{"id", 1}, {"texts", {"a", "b"}}}: a list of pairs that begin with a string
/// is an object, any other an array), and dumped as the same bytes; but it needs no memory to be destroyed, so that an
/// answer for which there is no memory does not end the process (base/json_tree.h).
class Answer {
 public:
  class Part;
  struct Member;

  Answer(std::nullptr_t = nullptr) noexcept;
  template <typename Number>
  requires std::is_arithmetic_v<Number> Answer(Number value)
  noexcept : value_(widened(value)) {}
  Answer(const char* text);
  Answer(std::string_view text);
  Answer(std::string text) noexcept;
  Answer(const std::vector<std::string>& texts);
  Answer(std::initializer_list<Part> parts);
  static Answer array(std::initializer_list<Part> elements = {});
  static Answer object();
  /// A text in JSON that is written as it is.
  static Answer verbatim(std::string json);
  /// The value of a text, which must have passed too_deep_in_json(); null if it is not JSON. The last value of a name
  /// that occurs again takes the place of the first. Each name is compared with all before it.
  static Answer parse(std::string_view text);

  bool is_array() const noexcept { return std::holds_alternative<Elements>(value_); }
  bool is_object() const noexcept { return std::holds_alternative<Members>(value_); }
  /// The elements of an array or the members of an object; 0 for others.
  std::size_t size() const noexcept;

  /// The member with this name, which is added as null if there is none. Only for objects, and for null, which becomes
  /// one.
  Answer& operator[](std::string_view name);
  /// Adds a member that the object does not have, without a look at the others.
  void add(std::string name, Answer value);
  /// Takes over all members of an object.
  void update(Answer other);
  void erase(std::string_view name);

  /// Only for arrays.
  Answer& operator[](std::size_t index) { return std::get<Elements>(value_).at(index); }
  void push_back(Answer value);
  Answer& back() { return std::get<Elements>(value_).back(); }

  /// As one line; malformed UTF-8, which only an index of another program can have, becomes U+FFFD.
  friend std::string to_text(const Answer& answer);

 private:
  using Elements = std::vector<Answer>;
  using Members = std::vector<Member>;
  struct Verbatim {
    std::string json;
  };

  template <typename Number>
  static auto widened(Number value) noexcept {
    if constexpr (std::same_as<Number, bool>) {
      return value;
    } else if constexpr (std::is_floating_point_v<Number>) {
      return static_cast<double>(value);
    } else if constexpr (std::is_signed_v<Number>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }
  static Elements taken(std::initializer_list<Part> parts);
  bool is_named() const noexcept;
  void write(std::string& out) const;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Verbatim, Elements, Members>
      value_;
};

struct Answer::Member {
  std::string name;
  Answer value;
};

// These need a complete Member.
inline Answer::Answer(std::nullptr_t) noexcept {}
inline Answer::Answer(const char* text) : value_(std::string(text)) {}
inline Answer::Answer(std::string_view text) : value_(std::string(text)) {}
inline Answer::Answer(std::string text) noexcept : value_(std::move(text)) {}

/// A value in braces. It is taken over, as elements of a std::initializer_list cannot be.
class Answer::Part {
 public:
  template <typename Value>
  requires(!std::same_as<std::remove_cvref_t<Value>, Part> && std::constructible_from<Answer, Value>)
      Part(Value&& value)
      : value_(std::forward<Value>(value)) {}
  Part(std::initializer_list<Part> parts) : value_(parts) {}

 private:
  friend class Answer;
  mutable Answer value_;
};

/// Appends a string with its quotation marks.
void append_json_string(std::string& out, std::string_view text);

std::string to_text(const Answer& answer);

/// Writes a flat JSON object member by member, in no more memory than its text needs.
class JsonObject {
 public:
  /// Malformed UTF-8 becomes U+FFFD.
  JsonObject& text(std::string_view name, std::string_view value);
  /// Finite; whole numbers are written without a fraction.
  JsonObject& number(std::string_view name, double value);
  JsonObject& flag(std::string_view name, bool value);

  std::string str() const { return text_ + "}"; }

 private:
  void begin(std::string_view name);

  std::string text_ = "{";
};

}  // namespace relucent::server
