#include "model/tokenizer/component.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "base/json_builder.h"
#include "base/nesting.h"
#include "model/formats/json_file.h"
#include "relucent/error.h"

namespace relucent {
namespace {

using Json = nlohmann::json;

constexpr const char* kDownload = "correct the file or download it again";

/// A number as serde_json reads it: up to 64 bits of digits, times a power of ten, each step rounded.
double serde_number(const std::string& text) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t digits = 0;
  int exponent = 0;
  bool full = false, fraction = false;
  std::size_t at = text.starts_with('-') ? 1 : 0;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    full = full || digits > (most - digit) / 10;
    if (!full) digits = digits * 10 + digit;
    if (!full && fraction) --exponent;
    if (full && !fraction) ++exponent;
  }
  // Larger exponents are those of no score: the result is infinite or zero whatever they are.
  if (at < text.size()) exponent += static_cast<int>(std::strtol(text.c_str() + at + 1, nullptr, 10) % 100000);
  auto value = static_cast<double>(digits);
  while (exponent < -308 && value != 0) {
    value /= 1e308;
    exponent += 308;
  }
  const double power = std::pow(10.0L, static_cast<long double>(std::min(std::abs(exponent), 308)));
  value = exponent >= 0 ? value * power : value / power;
  return text.starts_with('-') ? -value : value;
}

/// Refuses repeated keys, and gives numbers serde_json's values.
class Builder : public JsonBuilder<Json> {
 public:
  Builder(const std::filesystem::path& path, Json& root)
      : JsonBuilder(root, [&path](Json&, const std::string& key) {
          throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path.string(), key), "appears twice",
                      "remove one of the two");
        }) {}

  bool number_float(double, const std::string& digits) {
    return JsonBuilder::number_float(serde_number(digits), digits);
  }
};

}  // namespace

JsonTree read_tokenizer_document(const std::filesystem::path& path, std::string_view bytes) {
  require_limited_json(path, bytes, kMaxJsonValues);
  JsonTree result;
  Builder builder(path, *result);
  try {
    Json::sax_parse(bytes.begin(), bytes.end(), &builder);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::invalid_data, path.string(), fmt::format("cannot be read: {}", error.what()), kDownload);
  }
  if (const auto& problem = builder.problem()) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), problem->byte),
                problem->out_of_range ? "has a number that is out of range" : "is not valid JSON", kDownload);
  }
  if (!result->is_object()) {
    throw Error(ErrorKind::invalid_data, path.string(), "is not a JSON object", "download the file again");
  }
  return result;
}

std::string Component::place_of(std::string_view key) const {
  return place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key);
}

std::optional<Component> Component::find(std::string_view key) const {
  if (!value_.is_object()) fail("is not an object");
  const auto found = value_.find(std::string(key));
  if (found == value_.end() || found->is_null()) return std::nullopt;
  return Component(file_, *found, place_of(key));
}

Component Component::at(std::string_view key) const {
  const auto found = find(key);
  if (!found) Component(file_, value_, place_of(key)).fail("is missing");
  return *found;
}

std::vector<Component> Component::elements(std::string_view key) const {
  const Component list = at(key);
  if (!list.value().is_array()) list.fail("is not an array");
  std::vector<Component> elements;
  elements.reserve(list.value().size());
  for (const Json& element : list.value()) {
    elements.emplace_back(file_, element, fmt::format("{}[{}]", list.place(), elements.size()));
  }
  return elements;
}

std::string Component::text() const {
  if (!value_.is_string()) fail("is not a string");
  return value_.get<std::string>();
}

double Component::number() const {
  if (!value_.is_number()) fail("is not a number");
  return value_.get<double>();
}

std::int64_t Component::integer(std::int64_t most) const {
  if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    fail(fmt::format("is {}, not a whole number from 0 to {}", value_.is_number() ? value_.dump() : "something else",
                     most));
  }
  return value_.get<std::int64_t>();
}

std::string Component::string(std::string_view key) const { return at(key).text(); }

std::string Component::string(std::string_view key, std::string_view usual) const {
  const auto found = find(key);
  return found ? found->text() : std::string(usual);
}

bool Component::boolean(std::string_view key) const {
  const Component found = at(key);
  if (!found.value().is_boolean()) found.fail("is not true or false");
  return found.value().get<bool>();
}

bool Component::boolean(std::string_view key, bool usual) const { return find(key) ? boolean(key) : usual; }

std::int64_t Component::integer(std::string_view key, std::int64_t most) const { return at(key).integer(most); }

void Component::fail(const std::string& problem) const {
  throw Error(ErrorKind::invalid_data,
              place_.empty() ? file_.string() : fmt::format("{}, key {}", file_.string(), place_), problem, kDownload);
}

void Component::refuse(const std::string& problem) const {
  throw Error(ErrorKind::unsupported, fmt::format("{}, key {}", file_.string(), place_), problem,
              "use a checkpoint with another tokenizer");
}

}  // namespace relucent
