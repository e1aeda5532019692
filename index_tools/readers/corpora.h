#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/readers/document_reader.h"

namespace relucent::index_tools {

/// What is known about a corpus that can be read.
struct Corpus {
  std::string id;                     ///< as --corpus names it; ir_datasets' id where it has one
  std::string format;                 ///< one line for people
  std::vector<std::string> names;     ///< its files' names in folders and archives, as patterns
  std::int64_t official_documents;    ///< in the whole corpus; 0 where there is no such number
  std::unique_ptr<DocumentReader> (*read)(LineReader& lines);
};

/// Every corpus, in the order of the documentation.
const std::vector<Corpus>& corpora();
/// Throws Error `usage` that lists the known ones.
const Corpus& find_corpus(std::string_view id);

}  // namespace relucent::index_tools
