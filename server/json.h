#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.h"
#include "relucent/config.h"

namespace relucent::server {

/// For requests: a map, in which an object with very many keys costs no more than others.
using Json = nlohmann::json;

/// How many values and names of members a request may have (base/nesting.h).
inline constexpr std::size_t kMaxValues = 50'000;

/// The object in a request's body. Throws Refusal: 400 for what is not JSON or nested too deeply, 413 for more than
/// `max_values` values and names, 422 for another value than an object.
JsonTree parse_object(std::string_view body, std::size_t max_values = kMaxValues);

/// The fields of a request. All throw Refusal 422 that names the field. A field that is null counts as absent.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  /// nullptr if it is absent.
  const Json* find(const char* name) const;
  /// UTF-8 of at most `max_bytes`; Refusal 413 if it is longer.
  std::string text(const char* name, std::size_t max_bytes) const;
  bool boolean(const char* name, bool absent) const;
  /// From `low` to `high`; Refusal 413 above it.
  std::int64_t whole_number(const char* name, std::int64_t absent, std::int64_t low, std::int64_t high) const;

 private:
  const Json& object_;
};

/// The string `query`, of at most 64 KiB (kQueryBytes) and [server] text_bytes: the first stage has no deadline of its
/// own, and takes as long as a query has words. Throws Refusal.
std::string query_of(const Fields& fields, const ServerConfig& limits);
/// The string `index`, which names one of the server's indexes; empty if it is absent. Throws Refusal.
std::string index_of(const Fields& fields);
inline constexpr std::size_t kQueryBytes = std::size_t{64} << 10;

/// "a string", "a number": for messages.
std::string kind_of(const Json& value);

/// A score, printed as the shortest decimal number that reads back to the same 32-bit float; to the same double if it
/// is not a 32-bit float.
double as_json(double score);

}  // namespace relucent::server
