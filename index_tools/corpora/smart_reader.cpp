#include <map>
#include <string_view>

#include "base/text.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

// As Python's str.strip() does for ASCII.
constexpr std::string_view kStripped = " \t\n\v\f\r\x1C\x1D\x1E\x1F";

class SmartReader : public DocumentReader {
 public:
  SmartReader(LineReader& lines, bool with_title) : lines_(lines), with_title_(with_title) {}

  bool next(Document& document) override {
    for (;;) {
      if (!at_record_ && !find_record()) return false;
      const std::string id(trim(std::string_view(line_).substr(2), kStripped));
      const std::int64_t start = lines_.number();
      const bool any_section = read_sections();
      if (id.empty() && !any_section && !at_record_) return false;  // MED ends with such a line
      if (id.empty()) {
        lines_.malformed(".I without a number", start);
      } else if (!any_section) {
        lines_.malformed("a record without .T or .W", start);
      } else {
        document.id = id;
        document.text = with_title_ ? std::string(trim(sections_['T'], kStripped)) + " " : std::string();
        document.text += trim(sections_['W'], kStripped);
        document.line = start;
        return true;
      }
    }
  }

 private:
  static bool starts_record(std::string_view line) {
    return line.starts_with(".I") && (line.size() == 2 || line[2] == ' ' || line[2] == '\t');
  }
  static bool starts_section(std::string_view line) {
    return line.size() >= 2 && line[0] == '.' && line[1] >= 'A' && line[1] <= 'Z' &&
           trim(line.substr(2), kStripped).empty();
  }

  // Advances to the next .I line.
  bool find_record() {
    bool stray = false;
    while (lines_.next(line_)) {
      if (starts_record(line_)) return at_record_ = true;
      if (!stray && !trim(line_, kStripped).empty()) {
        lines_.malformed("text before the first .I", lines_.number());
        stray = true;
      }
    }
    return false;
  }

  // Collects the sections up to the next .I line or the end; returns whether there was a document section.
  bool read_sections() {
    sections_.clear();
    at_record_ = false;
    char section = 0;
    while (lines_.next(line_)) {
      if (starts_record(line_)) {
        at_record_ = true;
        break;
      }
      if (starts_section(line_)) {
        section = line_[1];
        sections_[section];
      } else if (section != 0) {
        sections_[section].append(line_) += '\n';
      }
    }
    return sections_.contains('T') || sections_.contains('W');
  }

  LineReader& lines_;
  bool with_title_;
  bool at_record_ = false;  // line_ is a .I line not yet read as a record
  std::string line_;
  std::map<char, std::string> sections_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_cranfield(LineReader& lines) { return std::make_unique<SmartReader>(lines, true); }

std::unique_ptr<DocumentReader> read_med(LineReader& lines) { return std::make_unique<SmartReader>(lines, false); }

}  // namespace relucent::index_tools
