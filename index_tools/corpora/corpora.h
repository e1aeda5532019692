#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// Makes the reader of a text in UTF-8, line by line.
using ReadLines = std::unique_ptr<DocumentReader> (*)(LineReader& lines);
/// Makes the reader of bytes of any kind.
using ReadBytes = std::unique_ptr<DocumentReader> (*)(const CorpusPart& part);

/// What is known about a corpus that can be read.
struct Corpus {
  std::string id;                   ///< as --corpus names it; ir_datasets' id where it has one
  std::string format;               ///< one line for people
  std::vector<std::string> names;   ///< its files' names in folders and archives, as patterns
  std::int64_t official_documents;  ///< in the whole corpus; 0 where there is no such number
  std::variant<ReadLines, ReadBytes> read;
  bool concatenate_parts = false;  ///< its files are one text that was cut into pieces (readers of bytes)
};

/// Every corpus, in the order of the documentation.
const std::vector<Corpus>& corpora();
/// Throws Error `usage` that lists the known ones.
const Corpus& find_corpus(std::string_view id);

}  // namespace relucent::index_tools
