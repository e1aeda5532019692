#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "index_tools/corpora/byte_stream.h"
#include "index_tools/corpora/line_reader.h"
#include "index_tools/corpora/read_report.h"

namespace relucent::index_tools {

/// One document of a corpus.
struct Document {
  std::string id;
  std::string text;       ///< UTF-8; may be empty
  std::string metadata;   ///< what else its record has, as an object in JSON; empty: nothing
  std::int64_t line = 0;  ///< first line of its record, from 1; the record's number in formats without useful lines
};

/// One file or archive entry of a corpus, for readers that need its raw bytes. The referenced objects outlive the
/// reader.
struct CorpusPart {
  ByteStream& bytes;
  const std::string& name;  ///< for messages: the file, then the entries inside it
  const std::string& path;  ///< relative to the input; '/' separates folders and entries
  ReadReport& report;

  /// Counts the record at `line` as malformed. Returns false.
  bool malformed(std::string_view kind, std::int64_t line) const {
    report.malformed(kind, name, line);
    return false;
  }
};

/// Reads the documents of one file or archive entry of a corpus. A malformed record is reported and skipped. To add a
/// corpus, implement this class and add a line to corpora.cpp.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// Overwrites `document`; false at the end.
  virtual bool next(Document& document) = 0;
};

}  // namespace relucent::index_tools
