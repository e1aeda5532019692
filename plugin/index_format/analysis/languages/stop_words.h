#pragma once

#include <span>
#include <string_view>
#include <unordered_set>

#include "relucent/analyzer_kind.h"

namespace relucent::analysis {

/// A file of stop_words/, one word per line; lines that start with # are comments.
struct StopWordList {
  AnalyzerKind language;
  std::string_view text;  ///< UTF-8
};

std::span<const StopWordList> stop_word_lists();

using StopWords = std::unordered_set<std::u16string_view>;

/// The default stop words of a language in Lucene; lives as long as the program. Thread-safe.
const StopWords& stop_words(AnalyzerKind language);

}  // namespace relucent::analysis
