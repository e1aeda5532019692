#include "model/formats/json_file.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "base/file/mapped_file.h"
#include "base/nesting.h"
#include "relucent/error.h"

namespace relucent {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
/// Objects that keep their order compare a new key with all before it: this allows 16,000 keys in one, and takes about
/// a second.
constexpr std::size_t kMaxComparisons = 128'000'000;

}  // namespace

JsonFile JsonFile::read(const std::filesystem::path& path) {
  const auto mapping = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(mapping->bytes().data()), mapping->bytes().size());

  if (const auto place = too_deep_in_json(text)) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), *place),
                fmt::format("nests deeper than {} levels", kMaxNesting), "download the file again");
  }
  if (text.size() > kMaxBytes) {
    throw Error(ErrorKind::invalid_data, path.string(), fmt::format("has {} bytes, more than 64 MiB", text.size()),
                "download the file again");
  }
  std::vector<std::set<std::string>> keys;  // of the open objects
  std::size_t comparisons = 0;
  std::string last_key;
  const auto refuse_repetition = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    last_key = value.get<std::string>();
    if (!keys.back().insert(last_key).second) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path.string(), last_key), "appears twice",
                  "remove one of the two");
    }
    comparisons += keys.back().size();
    if (comparisons > kMaxComparisons) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path.string(), last_key),
                  "has too many neighbours", "download the file again");
    }
    return true;
  };
  JsonFile file;
  file.path_ = path;
  try {
    file.object_ = Json::parse(text.begin(), text.end(), refuse_repetition);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), error.byte), "is not valid JSON",
                "correct the file or download it again");
  } catch (const Json::exception& error) {
    // Valid JSON that no C++ type can hold, such as 1e999: the parser says what is wrong, but not where.
    throw Error(ErrorKind::invalid_data, path.string() + (last_key.empty() ? "" : ", after key " + last_key),
                fmt::format("cannot be read: {}", error.what()), "correct the file or download it again");
  }
  if (!file.object_.is_object()) {
    throw Error(ErrorKind::invalid_data, path.string(), "is not a JSON object", "download the file again");
  }
  return file;
}

const Json* JsonFile::find(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFile::fail(std::string_view key, const std::string& problem, const std::string& remedy) const {
  throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path_.string(), key), problem,
              remedy.empty() ? "correct it or download the file again" : remedy);
}

std::optional<bool> JsonFile::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(key, fmt::format("is {}, not true or false", value->dump()));
  return value->get<bool>();
}

std::optional<std::string> JsonFile::string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(key, fmt::format("is {}, not a string", value->dump()));
  return value->get<std::string>();
}

std::optional<std::int64_t> JsonFile::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) &&
                    value->get<std::int64_t>() >= least && value->get<std::int64_t>() <= most;
  if (!fits) {
    fail(key, fmt::format("is {}, not a whole number from {} to {}", value->dump(), least, most));
  }
  return value->get<std::int64_t>();
}

std::int64_t JsonFile::required_integer(std::string_view key, std::int64_t least, std::int64_t most) const {
  const auto value = integer(key, least, most);
  if (!value) fail(key, "is missing", "add it or download the file again");
  return *value;
}

std::optional<double> JsonFile::number(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail(key, fmt::format("is {}, not a number", value->dump()));
  return value->get<double>();
}

}  // namespace relucent
