#pragma once

namespace relucent::analysis {

/// Rules for ICU's RuleBasedBreakIterator (ICU 72) that cut text into words as the StandardTokenizer of Java Lucene 8
/// does: UAX #29 of Unicode 9 and the emoji sequences of Emoji 11. A stretch with rule status > 0 is a word.
extern const char* const kWordRules;

}  // namespace relucent::analysis
