#include "plugin/index_format/fields/declared_fields.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_tree.h"
#include "base/nesting.h"
#include "base/utf8.h"
#include "plugin/index_format/fields/number_terms.h"
#include "relucent/error.h"

namespace relucent::fields {
namespace {

using nlohmann::json;

/// Reads the values of one document.
class DocumentValues {
 public:
  DocumentValues(std::span<const DeclaredField> declared, std::string_view id) : declared_(declared), id_(id) {}

  std::vector<FieldValue> read(std::string_view metadata) {
    if (too_deep_in_json(metadata) || too_many_in_json(metadata)) refuse("nests too deep or has too many values");
    if (declared_.empty()) {  // a quicker check
      if (!metadata.starts_with('{') || !json::accept(metadata)) refuse("is not an object in JSON");
      return {};
    }
    JsonTree object;
    if (object.read(metadata) || !object->is_object()) refuse("is not an object in JSON");
    for (std::uint32_t i = 0; i < declared_.size(); ++i) {
      const auto member = object->find(declared_[i].name);
      if (member == object->end()) continue;
      if (!member->is_array()) {
        add(i, *member);
        continue;
      }
      for (const json& element : *member) add(i, element);
    }
    return std::move(values_);
  }

 private:
  void add(std::uint32_t field, const json& value) {
    if (value.is_null()) return;
    const DeclaredField& declared = declared_[field];
    switch (declared.kind) {
      case Kind::keyword:
        if (!value.is_string()) refuse(declared, value, "not a string or an array of strings");
        if (count_code_points(value.get_ref<const std::string&>()) > kMaxKeyword) {
          refuse(declared, value, fmt::format("longer than {} characters", kMaxKeyword));
        }
        values_.push_back({field, keyword_term(value.get<std::string>())});
        return;
      case Kind::number: {
        if (!value.is_number()) refuse(declared, value, "not a number or an array of numbers");
        const std::optional<double> number = exact_number(value);
        if (!number) refuse(declared, value, "beyond 2^53, up to which numbers are exact");
        values_.push_back({field, bytes_of_number(*number)});
        return;
      }
      case Kind::text:
        if (!value.is_string()) refuse(declared, value, "not a string or an array of strings");
        values_.push_back({field, value.get<std::string>()});
        return;
    }
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(ErrorKind::invalid_data, fmt::format("document \"{}\"", utf8_prefix(id_, 100)),
                "its metadata " + problem, "fix the document");
  }
  [[noreturn]] void refuse(const DeclaredField& field, const json& value, const std::string& problem) const {
    const std::string shown = value.dump(-1, ' ', false, json::error_handler_t::replace);
    throw Error(ErrorKind::invalid_data, fmt::format("document \"{}\"", utf8_prefix(id_, 100)),
                fmt::format("the value of \"{}\", which is declared as a {}, is {}: {}", field.name,
                            to_string(field.kind), problem, utf8_prefix(shown, 100)),
                "fix the document, or declare the key differently");
  }

  std::span<const DeclaredField> declared_;
  std::string_view id_;
  std::vector<FieldValue> values_;
};

}  // namespace

std::string_view to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::keyword: return "keyword";
    case Kind::number: return "number";
    case Kind::text: return "text";
  }
  return "";
}

std::vector<DeclaredField> declared_fields(std::span<const std::string> keywords, std::span<const std::string> numbers,
                                           std::span<const std::string> texts) {
  std::vector<DeclaredField> declared;
  for (const std::string& name : keywords) declared.push_back({name, Kind::keyword});
  for (const std::string& name : numbers) declared.push_back({name, Kind::number});
  for (const std::string& name : texts) declared.push_back({name, Kind::text});
  return declared;
}

std::vector<FieldValue> values_of(std::span<const DeclaredField> declared, std::string_view metadata,
                                  std::string_view id) {
  if (metadata.empty()) return {};
  return DocumentValues(declared, id).read(metadata);
}

std::string keyword_term(std::string text) {
  constexpr std::string_view end_of_buffer = "\xEF\xBF\xBF";
  replace_malformed_utf8(text);
  for (std::size_t at = 0; (at = text.find(end_of_buffer, at)) != std::string::npos; at += kReplacementUtf8.size()) {
    text.replace(at, end_of_buffer.size(), kReplacementUtf8);
  }
  return text;
}

}  // namespace relucent::fields
