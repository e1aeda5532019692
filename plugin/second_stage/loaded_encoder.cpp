#include "plugin/second_stage/loaded_encoder.h"

namespace relucent {

Error copy_of(const Error& error) { return {error.kind(), error.place(), error.problem(), error.remedy()}; }

}  // namespace relucent
