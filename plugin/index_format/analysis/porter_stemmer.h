#pragma once

#include <cstddef>

namespace relucent::analysis {

/// Stems a lower-case word in place and returns its new length (never longer than `length`). M. F. Porter, "An
/// algorithm for suffix stripping", Program 14(3), 1980, with the author's two later changes (bli -> ble, logi -> log).
/// Counts UTF-16 units, as Lucene does: words of one or two units stay unchanged.
std::size_t porter_stem(char16_t* word, std::size_t length);

}  // namespace relucent::analysis
