#pragma once

#include <string>

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// Reads corpora with one record per line. Empty lines are skipped.
class LineRecordReader : public DocumentReader {
 public:
  explicit LineRecordReader(LineReader& lines) : lines_(lines) {}

  bool next(Document& document) final {
    while (lines_.next(line_)) {
      if (line_.empty()) continue;
      document.line = lines_.number();
      const char* problem = read(line_, document);
      if (problem == nullptr) return true;
      lines_.malformed(problem, document.line);
    }
    return false;
  }

 private:
  /// Sets id and text; may change the line. The problem with the line; null if there is none.
  virtual const char* read(std::string& line, Document& document) = 0;

  LineReader& lines_;
  std::string line_;
};

}  // namespace relucent::index_tools
