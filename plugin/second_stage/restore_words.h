#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/stop.h"

namespace relucent {

/// Turns stems into words, joined by spaces, for a model that reads words. A stem that is not itself a word of the
/// texts is replaced with the most frequent word of the texts that has this stem (on ties the first in byte order), or
/// kept if there is none. Depends only on the stems and the texts; reads only the beginning of long texts. Throws Error
/// when due.
std::string restore_words(const std::vector<std::string>& stems, std::span<const std::string_view> texts,
                          const StopSignal& stop);

}  // namespace relucent
