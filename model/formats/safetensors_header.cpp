#include "model/formats/safetensors_header.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>

#include "relucent/error.h"

namespace relucent {
namespace {

constexpr const char* kDamagedFile = "the file is damaged; download it again";

/// A state machine over the parser's events: the header may have 100 MB, so it is never held as a tree, and the
/// first error ends the parsing.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::filesystem::path& path) : path_(path) {}

  SafetensorsHeader header;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is not a whole number below 2^64");
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::shape && state_ != State::offsets) return unexpected("a number");
    numbers_.push_back(value);
    if (state_ == State::offsets && numbers_.size() > 2) return problem("data_offsets has more than two numbers");
    if (numbers_.size() > 64) return problem("shape has more than 64 dimensions");
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::metadata) {
      header.metadata[key_] = value;
      return true;
    }
    if (state_ != State::field || key_ != "dtype") return unexpected("a string");
    entry_.type = value;
    return true;
  }

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::outside: state_ = State::top; return true;
      case State::name:
        state_ = in_metadata_ ? State::metadata : State::field;
        keys_.clear();
        return true;
      default: return unexpected("an object");
    }
  }

  bool key(string_t& value) override {
    if (state_ == State::top) {
      in_metadata_ = value == "__metadata__";
      entry_ = {};
      entry_.name = value;
      if (!names_.insert(value).second) return problem("appears twice");
      state_ = State::name;
      return true;
    }
    key_ = value;
    if (!keys_.insert(value).second) return problem(fmt::format("has the key {} twice", value));
    if (state_ == State::field && value != "dtype" && value != "shape" && value != "data_offsets") {
      return problem("has the unknown key " + value);
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::field) {
      for (const char* wanted : {"dtype", "shape", "data_offsets"}) {
        if (!keys_.contains(wanted)) return problem(fmt::format("has no {}", wanted));
      }
      header.entries.push_back(std::move(entry_));
      state_ = State::top;
    } else if (state_ == State::metadata) {
      state_ = State::top;
    } else {
      state_ = State::outside;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ != State::field || key_ == "dtype") return unexpected("a list");
    state_ = key_ == "shape" ? State::shape : State::offsets;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    if (state_ == State::shape) {
      entry_.shape = numbers_;
    } else {
      if (numbers_.size() != 2) return problem("data_offsets must have two numbers");
      entry_.begin = numbers_[0];
      entry_.end = numbers_[1];
      if (entry_.begin > entry_.end) {
        return problem(fmt::format("begins at byte {} and ends before it, at {}", entry_.begin, entry_.end));
      }
    }
    state_ = State::field;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path_.string(), kLengthFieldBytes + position),
                "the header is not valid JSON", kDamagedFile);
  }

 private:
  enum class State { outside, top, name, field, shape, offsets, metadata };

  bool unexpected(const char* what) {
    if (state_ == State::outside) {
      throw Error(ErrorKind::invalid_data, path_.string() + ", byte 8",
                  fmt::format("the header is {}, not an object", what), kDamagedFile);
    }
    return problem(fmt::format("has {} where the format does not allow it", what));
  }

  bool problem(const std::string& what) const {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, tensor {}", path_.string(), entry_.name), what, kDamagedFile);
  }

  const std::filesystem::path& path_;
  State state_ = State::outside;
  bool in_metadata_ = false;
  std::string key_;
  std::set<std::string> names_, keys_;
  std::vector<std::uint64_t> numbers_;
  SafetensorsEntry entry_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::filesystem::path& path) {
  HeaderReader reader(path);
  if (json.empty() || json.front() != '{') {
    throw Error(ErrorKind::invalid_data, path.string() + ", byte 8", "the header does not begin with '{'",
                kDamagedFile);
  }
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  return std::move(reader.header);
}

}  // namespace relucent
