#pragma once

#include <span>
#include <string>
#include <vector>

#include "relucent/stop.h"

namespace relucent {

/// Words for stems, joined by spaces, for a model that reads words: a stem that is no word of the texts is replaced by
/// the word that stands for it most often there (of equally frequent ones the first in byte order); one that no text
/// has stays. A function of the stems and the texts alone. Of long texts only the beginning is looked at. Throws Error
/// when due.
std::string restore_words(const std::vector<std::string>& stems, std::span<const std::string> texts,
                          const StopSignal& stop);

}  // namespace relucent
