#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

// Elements whose lines are text, as ir_datasets has them for TREC's formats.
constexpr std::array<std::string_view, 10> kTextElements = {"TEXT", "HEADLINE", "TITLE", "HL", "HEAD",
                                                            "TTL",  "DD",       "DATE",  "LP", "LEADPARA"};

bool opens_with(std::string_view line, std::string_view bracket) {
  if (!line.starts_with(bracket)) return false;
  line.remove_prefix(bracket.size());
  return std::any_of(kTextElements.begin(), kTextElements.end(), [line](std::string_view name) {
    return line.starts_with(name) && line.size() > name.size() && line[name.size()] == '>';
  });
}

class TrecFormat : public DocumentReader {
 public:
  explicit TrecFormat(LineReader& lines) : lines_(lines) {}

  bool next(Document& document) override {
    while (lines_.next(line_)) {
      if (line_.empty()) continue;
      document.line = lines_.number();
      const char* problem = line_ == "<DOC>" ? read(document) : pass_over();
      if (problem == nullptr) return true;
      lines_.malformed(problem, document.line);
    }
    return false;
  }

 private:
  // Report everything up to the next record once.
  const char* pass_over() {
    while (lines_.next(line_)) {
      if (line_ != "<DOC>") continue;
      lines_.put_back(line_);
      break;
    }
    return "text outside <DOC>";
  }

  // The problem with the record; null if there is none.
  const char* read(Document& document) {
    document.id.clear();
    text_.clear();
    bool in_text = false;
    while (lines_.next(line_)) {
      if (line_ == "</DOC>") return take(document);
      if (line_ == "<DOC>") {
        lines_.put_back(line_);
        return "no </DOC>";
      }
      if (line_.starts_with("<DOCNO>")) {
        document.id = trim(std::string_view(line_).substr(7, line_.find("</DOCNO>") - 7), " \t");
        continue;
      }
      if (opens_with(line_, "</")) in_text = false;
      if (in_text) text_.append(line_).append(lines_.line_end());
      if (opens_with(line_, "<")) in_text = true;
    }
    return "no </DOC>";
  }

  // The text's first line is the url, its second the title.
  const char* take(Document& document) const {
    if (document.id.empty()) return "no <DOCNO>";
    const std::size_t url = std::min(text_.find_first_not_of('\n'), text_.size());
    const std::size_t url_end = text_.find('\n', url);
    if (url_end == std::string::npos) return "no url and title";
    document.text.assign(text_, url_end + 1);
    const std::size_t title_end = document.text.find('\n');
    if (title_end != std::string::npos) {
      document.text[title_end] = ' ';
    } else {
      document.text += ' ';
    }
    return nullptr;
  }

  LineReader& lines_;
  std::string line_, text_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_msmarco_document(LineReader& lines) {
  std::string line;
  while (lines.next(line)) {
    if (line.empty()) continue;
    lines.put_back(line);
    if (line.starts_with("<DOC>")) return std::make_unique<TrecFormat>(lines);
    break;
  }
  return read_msmarco_document_table(lines);
}

}  // namespace relucent::index_tools
