#include "relucent/version.h"

namespace relucent {

const char* version() noexcept { return RELUCENT_VERSION; }

}  // namespace relucent
