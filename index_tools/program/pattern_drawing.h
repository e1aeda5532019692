#pragma once

#include <string>
#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent::program {

/// Who sees whom in some layers of an encoder, shown on a short input.
struct PatternDrawing {
  std::string title;                    ///< "layers 0 to 5, window 4"
  std::vector<std::string> tokens;      ///< "[CLS]", "q1", "d1", "s1" (before a sentence) ...
  std::vector<std::vector<bool>> sees;  ///< [token][token]
};

/// One drawing per stack and run of layers that see alike. Pivots of passages are left out. A window beyond kMostWindow
/// is drawn as that, and the title states both.
std::vector<PatternDrawing> draw_pattern(const EncoderDescription& description);
inline constexpr int kMostWindow = 4;

/// A line per token: "#" where it sees the column's token, "." where not.
std::string pattern_text(const std::vector<PatternDrawing>& drawings);
/// The same as a picture.
std::string pattern_svg(const std::vector<PatternDrawing>& drawings, const std::string& title);

}  // namespace relucent::program
