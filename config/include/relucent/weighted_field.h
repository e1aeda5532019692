#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// An indexed field that the first stage searches, and the factor of its scores.
struct WeightedField {
  std::string name;
  float weight = 1;

  friend bool operator==(const WeightedField&, const WeightedField&) = default;
};

inline constexpr float kLeastFieldWeight = 1e-6F, kMostFieldWeight = 1e6F;

/// Reads "NAME" or "NAME^WEIGHT", whose last ^ counts. Nothing for an empty name and for a weight that is not a number
/// from kLeastFieldWeight to kMostFieldWeight.
RELUCENT_API std::optional<WeightedField> parse_weighted_field(std::string_view text);

/// Reads several. Throws Error `usage` at `place` for what parse_weighted_field() refuses and for a name that occurs
/// twice.
RELUCENT_API std::vector<WeightedField> parse_weighted_fields(const std::vector<std::string>& texts,
                                                              std::string_view place);

/// The fields that the first stage searches: [first_stage] fields, or [index] contents_field alone. Throws as
/// parse_weighted_fields().
RELUCENT_API std::vector<WeightedField> searched_fields(const IndexConfig& index, const FirstStageConfig& first_stage);

}  // namespace relucent
