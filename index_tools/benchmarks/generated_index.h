#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "relucent/config.h"

namespace relucent::benchmarks {

/// An index of GeneratedCollection's documents in one segment.
struct GeneratedIndex {
  std::filesystem::path folder;
  int documents = 0;
  IndexConfig fields = {};
  /// The metadata of a document, by its number and text; null: none.
  std::function<std::string(int number, const std::string& text)> metadata = {};
  /// Names what `fields` and `metadata` add, so that an index without them is not taken for this one.
  std::string kind = {};
};

/// Builds the index unless the folder has it. Progress goes to `log`.
void keep_generated_index(const GeneratedIndex& wanted, std::ostream& log);

}  // namespace relucent::benchmarks
