#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "index_tools/corpora/byte_stream.h"
#include "index_tools/corpora/line_reader.h"
#include "index_tools/corpora/read_report.h"

namespace relucent::index_tools {

/// One document of a corpus.
struct Document {
  std::string id;
  std::string text;       ///< UTF-8; may be empty
  std::int64_t line = 0;  ///< where its record starts, from 1; its number among the records where lines say little
};

/// One file or archive entry of a corpus, for readers that want its own bytes. What it refers to outlives the reader.
struct CorpusPart {
  ByteStream& bytes;
  const std::string& name;  ///< for people: the file, then the entries inside it
  const std::string& path;  ///< below the input that was named, '/' between folders and entries
  ReadReport& report;
};

/// Reads the documents of one file or archive entry of a corpus. A malformed record is reported and skipped. To add a
/// corpus, write one of these and a line in corpora.cpp.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// False at the end. Whatever `document` held is replaced.
  virtual bool next(Document& document) = 0;
};

}  // namespace relucent::index_tools
