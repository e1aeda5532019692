#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// Creates a reader that reads UTF-8 text line by line.
using ReadLines = std::unique_ptr<DocumentReader> (*)(LineReader& lines);
/// Creates a reader of arbitrary bytes.
using ReadBytes = std::unique_ptr<DocumentReader> (*)(const CorpusPart& part);

/// A corpus that can be read.
struct Corpus {
  std::string id;                   ///< as --corpus names it; ir_datasets' id where it has one
  std::string format;               ///< one human-readable line
  std::vector<std::string> names;   ///< patterns of its file names in folders and archives
  std::int64_t official_documents;  ///< in the whole corpus; 0 if there is no official number
  std::variant<ReadLines, ReadBytes> read;
  bool concatenate_parts = false;  ///< its files are consecutive pieces of one text (ReadBytes only)
  /// Only files that are named as archives are opened, because its own files may look like archives.
  bool archives_by_name = false;
};

/// Every corpus: first formats for any documents, which have no official number, then research collections.
const std::vector<Corpus>& corpora();
/// Throws Error `usage` that lists the known corpora.
const Corpus& find_corpus(std::string_view id);

}  // namespace relucent::index_tools
