#include "model/formats/json_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/file/file_io.h"
#include "base/json_builder.h"
#include "base/nesting.h"
#include "relucent/error.h"

namespace relucent {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxValues = 1'000'000;

/// Adds a member without a look at the others, of which none may have this name. (The object's own emplace() compares
/// the name with all of them; and where its vector grows, that copies every value, because the names are constant.)
OrderedJson& add_member(OrderedJson& object, const std::string& name) {
  auto& members = object.get_ref<OrderedJson::object_t&>();
  if (members.size() == members.capacity()) {
    OrderedJson::object_t larger;
    larger.reserve(std::max<std::size_t>(4, 2 * members.size()));
    for (const auto& member : members) larger.emplace_back(member.first, nullptr);
    auto place = larger.begin();
    for (auto& member : members) (place++)->second.swap(member.second);
    members = std::move(larger);
  }
  return members.emplace_back(name, nullptr).second;
}

/// Copies a value into null. (Where memory runs out, the library's own copy destroys its parts, which needs memory.)
void copy_into(OrderedJson& to, const OrderedJson& from) {
  if (from.is_object()) {
    to = OrderedJson::object();
    auto& members = to.get_ref<OrderedJson::object_t&>();
    members.reserve(from.size());
    for (const auto& [name, value] : from.get_ref<const OrderedJson::object_t&>()) {
      copy_into(members.emplace_back(name, nullptr).second, value);
    }
  } else if (from.is_array()) {
    to = OrderedJson::array();
    auto& elements = to.get_ref<OrderedJson::array_t&>();
    elements.reserve(from.size());
    for (const OrderedJson& value : from) copy_into(elements.emplace_back(nullptr), value);
  } else {
    to = from;
  }
}

/// Refuses repeated keys, and takes time in proportion to the file. (nlohmann's parser replaces their first value, and
/// compares each key with all before it.)
class TreeBuilder : public JsonBuilder<OrderedJson> {
 public:
  TreeBuilder(const std::filesystem::path& path, OrderedJson& root) : JsonBuilder(root), path_(path) {}

  bool start_object(std::size_t size) {
    keys_.emplace_back();
    return JsonBuilder::start_object(size);
  }
  bool end_object() {
    keys_.pop_back();
    return JsonBuilder::end_object();
  }
  bool key(std::string& name) {
    last_key_ = name;
    if (!keys_.back().insert(name).second) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path_.string(), name), "appears twice",
                  "remove one of the two");
    }
    set_member(add_member(innermost(), name));
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& token, const OrderedJson::exception& error) {
    JsonBuilder::parse_error(byte, token, error);
    if (!problem()->out_of_range) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path_.string(), byte), "is not valid JSON",
                  "correct the file or download it again");
    }
    // Valid JSON that no C++ type can hold, such as 1e999: the parser reports what is wrong, but not where.
    throw Error(ErrorKind::invalid_data, path_.string() + (last_key_.empty() ? "" : ", after key " + last_key_),
                fmt::format("cannot be read: {}", error.what()), "correct the file or download it again");
  }

 private:
  const std::filesystem::path& path_;
  std::vector<std::set<std::string>> keys_;  // of the open objects
  std::string last_key_;
};

}  // namespace

void require_limited_json(const std::filesystem::path& path, std::string_view text, std::size_t most) {
  if (const auto place = too_deep_in_json(text)) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), *place),
                fmt::format("nests deeper than {} levels", kMaxNesting), "download the file again");
  }
  if (const auto place = too_many_in_json(text, most)) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), *place),
                fmt::format("has more than {} values and names", most), "download the file again");
  }
}

bool is_off(const OrderedJson& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

JsonFile::JsonFile(const JsonFile& other) : JsonFile() {
  path_ = other.path_;
  copy_into(object_, other.object_);
}

JsonFile& JsonFile::operator=(JsonFile other) noexcept {
  path_.swap(other.path_);
  object_.swap(other.object_);
  return *this;
}

JsonFile::~JsonFile() { take_apart(object_); }

JsonFile JsonFile::read(const std::filesystem::path& path) {
  const std::string text = read_file(path, kMaxBytes);
  require_limited_json(path, text, kMaxValues);
  JsonFile file;
  file.path_ = path;
  TreeBuilder builder(path, file.object_);
  OrderedJson::sax_parse(text, &builder);
  if (!file.object_.is_object()) {
    throw Error(ErrorKind::invalid_data, path.string(), "is not a JSON object", "download the file again");
  }
  return file;
}

void JsonFile::update(const JsonFile& other) {
  const auto& members = object_.get_ref<const OrderedJson::object_t&>();
  std::map<std::string, std::size_t, std::less<>> places;
  for (const auto& [name, value] : members) places.emplace(name, places.size());
  for (const auto& [name, value] : other.object_.get_ref<const OrderedJson::object_t&>()) {
    const auto found = places.find(name);
    const bool is_new = found == places.end();
    OrderedJson& member =
        is_new ? add_member(object_, name) : object_.get_ref<OrderedJson::object_t&>().data()[found->second].second;
    take_apart(member);
    member = nullptr;
    copy_into(member, value);
  }
}

const OrderedJson* JsonFile::find(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFile::fail(std::string_view key, const std::string& problem, const std::string& remedy) const {
  throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path_.string(), key), problem,
              remedy.empty() ? "correct it or download the file again" : remedy);
}

void JsonFile::unsupported(std::string_view key, const std::string& problem, const std::string& remedy) const {
  throw Error(ErrorKind::unsupported, fmt::format("{}, key {}", path_.string(), key), problem, remedy);
}

void JsonFile::require_known(std::initializer_list<std::string_view> known, const std::string& remedy) const {
  for (const auto& [key, value] : object_.items()) {
    if (!is_off(value) && std::ranges::find(known, key) == known.end()) unsupported(key, "is not supported", remedy);
  }
}

std::optional<bool> JsonFile::boolean(std::string_view key) const {
  const OrderedJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(key, fmt::format("is {}, not true or false", value->dump()));
  return value->get<bool>();
}

std::optional<std::string> JsonFile::string(std::string_view key) const {
  const OrderedJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(key, fmt::format("is {}, not a string", value->dump()));
  return value->get<std::string>();
}

std::optional<std::int64_t> JsonFile::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
  const OrderedJson* value = find(key);
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
  const OrderedJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail(key, fmt::format("is {}, not a number", value->dump()));
  return value->get<double>();
}

}  // namespace relucent
