#include <string_view>

#include "base/text.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

class VaswaniReader : public DocumentReader {
 public:
  explicit VaswaniReader(LineReader& lines) : lines_(lines) {}

  bool next(Document& document) override {
    while (lines_.next(line_)) {
      const std::string_view line = trim(line_, " \t");
      if (line.empty()) continue;
      if (!form_known_) {
        trec_ = line == "<DOC>";
        form_known_ = true;
      }
      document.line = lines_.number();
      document.text.clear();
      if (trec_ ? read_trec(line, document) : read_plain(line, document)) return true;
    }
    return false;
  }

 private:
  bool malformed(std::string_view kind, const Document& document) {
    lines_.malformed(kind, document.line);
    return false;
  }

  bool read_trec(std::string_view first, Document& document) {
    constexpr std::string_view open = "<DOCNO>", close = "</DOCNO>";
    if (first != "<DOC>") {
      // Report everything up to the next record once.
      while (lines_.next(line_)) {
        if (trim(line_, " \t") != "<DOC>") continue;
        lines_.put_back(line_);
        break;
      }
      return malformed("text outside <DOC>", document);
    }
    bool numbered = false;
    while (lines_.next(line_)) {
      const std::string_view line = trim(line_, " \t");
      if (line == "</DOC>") return numbered ? true : malformed("no <DOCNO>", document);
      if (line == "<DOC>") {
        lines_.put_back(line_);
        return malformed("no </DOC>", document);
      }
      if (!numbered && line.starts_with(open) && line.ends_with(close)) {
        document.id = trim(line.substr(open.size(), line.size() - open.size() - close.size()), " \t");
        numbered = true;
      } else {
        document.text.append(line_) += '\n';
      }
    }
    return malformed("no </DOC>", document);
  }

  bool read_plain(std::string_view first, Document& document) {
    if (first == "/") return false;  // the file ends with an empty record
    document.id = first;
    while (lines_.next(line_)) {
      if (trim(line_, " \t") == "/") return true;
      document.text.append(line_) += '\n';
    }
    return malformed("no line \"   /\" at the end", document);
  }

  LineReader& lines_;
  bool form_known_ = false, trec_ = false;
  std::string line_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_vaswani(LineReader& lines) { return std::make_unique<VaswaniReader>(lines); }

}  // namespace relucent::index_tools
