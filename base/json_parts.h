#pragma once

namespace relucent {

/// Empties a value of nlohmann::json or nlohmann::ordered_json from its leaves on, so that it needs no memory to be
/// destroyed: only a container that has elements does. It must have passed too_deep_in_json().
template <typename Tree>
void take_apart(Tree& value) noexcept {
  if (!value.is_structured()) return;
  for (Tree& element : value) take_apart(element);
  value.clear();
}

}  // namespace relucent
