#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/component.h"
#include "relucent/stop.h"
#include "relucent/text_range.h"

namespace relucent {

/// What the expressions of a tokenizer may still do for one text, all pieces of it together.
struct PatternBudget {
  StopSignal stop;
  std::int32_t steps = 5000;  ///< of the engine, each 10,000 times that it tries another way: some seconds
};

/// The pattern of a Replace or Split: a string, or a regular expression that ICU runs. Immutable, thread-safe.
class TextPattern {
 public:
  /// Reads {"String": ...} or {"Regex": ...}. Throws Error `unsupported` for an expression that ICU does not accept.
  static TextPattern read(const Component& pattern);

  /// All matches in order; they do not overlap, and empty ones count only where the previous one did not end. `text` is
  /// well-formed UTF-8. Throws Error `unsupported` if the budget is used up, `interrupted` and `deadline` for its stop.
  std::vector<TextRange> find_all(std::string_view text, PatternBudget& budget) const;

  /// Whether no match has a part of "a b" (ASCII letters or digits) and of what stands before or after it.
  bool spares_single_spaces() const;
  /// Whether it is the expression with which ByteLevel splits.
  bool is_byte_level() const;

 private:
  class Expression;
  TextPattern(std::string place, std::string text) : place_(std::move(place)), text_(std::move(text)) {}

  std::string place_, text_;
  std::shared_ptr<const Expression> expression_;  // null: `text_` itself
};

}  // namespace relucent
