#pragma once

#include "relucent/export.h"

namespace relucent {

/// The library's version, "MAJOR.MINOR.PATCH".
RELUCENT_API const char* version() noexcept;

}  // namespace relucent
