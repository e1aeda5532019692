#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "plugin/index_format/fields/number_terms.h"

namespace relucent::fields {

/// The number in JSON; nothing if it is beyond 2^53. A whole number is compared before it becomes a double, which would
/// round 2^53 + 1 to 2^53.
inline std::optional<double> exact_number(const nlohmann::json& value) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  if (value.is_number_unsigned()) {
    if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) return std::nullopt;
  } else if (value.is_number_integer()) {
    if (const auto number = value.get<std::int64_t>(); number < -most || number > most) return std::nullopt;
  }
  const auto number = value.get<double>();
  return is_exact_number(number) ? std::optional(number) : std::nullopt;
}

}  // namespace relucent::fields
