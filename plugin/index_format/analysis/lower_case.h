#pragma once

#include <string>
#include <string_view>

namespace relucent::analysis {

/// Maps each code point separately (Unicode's simple mapping), which never changes the number of code points, nor the
/// number of units of a character of Unicode 9. Replaces the contents of `lower`.
void lower_case(std::u16string_view word, std::u16string& lower);

}  // namespace relucent::analysis
