#include "model/formats/json_file.h"

#include <fmt/core.h>

#include <set>
#include <vector>

#include "base/file/file_io.h"
#include "base/json_values.h"
#include "base/nesting.h"
#include "relucent/error.h"

namespace relucent {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxValues = 1'000'000;
/// Objects that keep their order compare a new key with all before it: this allows 16,000 keys in one, and takes about
/// a second.
constexpr std::size_t kMaxComparisons = 128'000'000;

/// Refuses repeated keys, by a pass of its own: a parser with a callback goes through all elements of an array or
/// object after each one that closes in it, to look for one that was dropped.
class KeyCheck : public nlohmann::json_sax<OrderedJson> {
 public:
  explicit KeyCheck(const std::filesystem::path& path) : path_(path) {}

  /// The last key before the end or an error, which the parser of the values reports.
  const std::string& last() const noexcept { return last_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& key) override {
    last_ = key;
    const auto refuse = [&](const char* problem, const char* remedy) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path_.string(), last_), problem, remedy);
    };
    if (!keys_.back().insert(last_).second) refuse("appears twice", "remove one of the two");
    comparisons_ += keys_.back().size();
    if (comparisons_ > kMaxComparisons) refuse("has too many neighbours", "download the file again");
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const OrderedJson::exception&) override { return false; }

 private:
  const std::filesystem::path& path_;
  std::vector<std::set<std::string>> keys_;  // of the open objects
  std::size_t comparisons_ = 0;
  std::string last_;
};

}  // namespace

JsonFile JsonFile::read(const std::filesystem::path& path) {
  const std::string text = read_file(path, kMaxBytes);

  if (const auto place = too_deep_in_json(text)) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), *place),
                fmt::format("nests deeper than {} levels", kMaxNesting), "download the file again");
  }
  if (const auto place = too_many_in_json(text, kMaxValues)) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), *place),
                fmt::format("has more than {} values and names", kMaxValues), "download the file again");
  }
  KeyCheck keys(path);
  OrderedJson::sax_parse(text.begin(), text.end(), &keys);
  const std::string& last_key = keys.last();
  JsonFile file;
  file.path_ = path;
  try {
    file.object_ = OrderedJson::parse(text.begin(), text.end());
  } catch (const OrderedJson::parse_error& error) {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path.string(), error.byte), "is not valid JSON",
                "correct the file or download it again");
  } catch (const OrderedJson::exception& error) {
    // Valid JSON that no C++ type can hold, such as 1e999: the parser reports what is wrong, but not where.
    throw Error(ErrorKind::invalid_data, path.string() + (last_key.empty() ? "" : ", after key " + last_key),
                fmt::format("cannot be read: {}", error.what()), "correct the file or download it again");
  }
  if (!file.object_.is_object()) {
    throw Error(ErrorKind::invalid_data, path.string(), "is not a JSON object", "download the file again");
  }
  return file;
}

const OrderedJson* JsonFile::find(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFile::fail(std::string_view key, const std::string& problem, const std::string& remedy) const {
  throw Error(ErrorKind::invalid_data, fmt::format("{}, key {}", path_.string(), key), problem,
              remedy.empty() ? "correct it or download the file again" : remedy);
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
