#include "index_tools/readers/tsv_reader.h"

#include "index_tools/readers/double_encoding.h"

namespace relucent::index_tools {
namespace {

class TsvReader : public DocumentReader {
 public:
  TsvReader(LineReader& lines, bool msmarco) : lines_(lines), msmarco_(msmarco) {}

  bool next(Document& document) override {
    while (lines_.next(line_)) {
      if (line_.empty()) continue;
      const std::size_t tab = line_.find('\t');
      if (tab == std::string::npos) {
        lines_.malformed("no tab between id and text", lines_.number());
        continue;
      }
      if (msmarco_ && line_.find('\t', tab + 1) != std::string::npos) {
        lines_.malformed("more than two columns", lines_.number());
        continue;
      }
      document.id.assign(line_, 0, tab);
      document.text.assign(line_, tab + 1);
      document.line = lines_.number();
      if (msmarco_) undo_double_encoding(document.text);
      return true;
    }
    return false;
  }

 private:
  LineReader& lines_;
  bool msmarco_;
  std::string line_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_tsv(LineReader& lines) { return std::make_unique<TsvReader>(lines, false); }

std::unique_ptr<DocumentReader> read_msmarco_passage(LineReader& lines) {
  return std::make_unique<TsvReader>(lines, true);
}

}  // namespace relucent::index_tools
