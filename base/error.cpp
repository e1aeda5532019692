#include "relucent/error.h"

namespace relucent {
namespace {

std::string compose(std::string_view place, std::string_view problem, std::string_view remedy) {
  std::string text;
  if (!place.empty()) text.append(place).append(": ");
  text.append(problem);
  if (!remedy.empty()) text.append("; ").append(remedy);
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string_view place, std::string_view problem, std::string_view remedy)
    : std::runtime_error(compose(place, problem, remedy)),
      kind_(kind),
      place_(place),
      problem_(problem),
      remedy_(remedy) {}

}  // namespace relucent
