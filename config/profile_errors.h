#pragma once

#include <string_view>
#include <vector>

#include "relucent/error.h"

namespace relucent::config {

/// Every mistake in a profile, in the order of its lines; empty if parse_config() accepts it. A text that is not TOML
/// gives only the first mistake of its notation. `name` is the file's name in the places.
std::vector<Error> profile_errors(std::string_view toml, std::string_view name);

}  // namespace relucent::config
