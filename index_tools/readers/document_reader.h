#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "index_tools/readers/line_reader.h"

namespace relucent::index_tools {

/// One document of a corpus.
struct Document {
  std::string id;
  std::string text;         ///< UTF-8; may be empty
  std::int64_t line = 0;    ///< where its record starts, from 1
};

/// Reads the documents of one file or archive entry of a corpus. A malformed record is reported to the LineReader and
/// skipped. To add a corpus, write one of these and a line in corpora.cpp.
class DocumentReader {
 public:
  virtual ~DocumentReader() = default;
  /// False at the end. Whatever `document` held is replaced.
  virtual bool next(Document& document) = 0;
};

}  // namespace relucent::index_tools
