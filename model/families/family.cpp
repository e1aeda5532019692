#include "model/families/family.h"

#include <array>

#include "base/text.h"
#include "model/families/bert.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::array kFamilies{kBertFamily};

}  // namespace

const Family& find_family(const JsonFile& config) {
  const auto model_type = config.string("model_type");
  if (!model_type) config.fail("model_type", "is missing", "add it or download the file again");
  for (const Family& family : kFamilies) {
    if (family.model_type == *model_type) return family;
  }
  throw Error(ErrorKind::unsupported, config.path().string() + ", key model_type", "unknown model type " + *model_type,
              "use a checkpoint of one of these types: " + join(kFamilies, ", ", &Family::model_type));
}

}  // namespace relucent
