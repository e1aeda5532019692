#include <algorithm>

#include "index_tools/corpora/double_encoding.h"
#include "index_tools/corpora/line_record_reader.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

// The id is the first column; the text starts at column `text`, its columns joined by a space.
struct Table {
  std::size_t columns;  // 0: two, and further tabs belong to the text
  std::size_t text;     // counted from 0
  bool double_encoded;
};

constexpr Table kOwn = {0, 1, false};
constexpr Table kTwoColumns = {2, 1, false};
constexpr Table kMsMarcoPassage = {2, 1, true};
constexpr Table kFourColumns = {4, 2, false};

class TsvReader : public LineRecordReader {
 public:
  TsvReader(LineReader& lines, const Table& table) : LineRecordReader(lines), table_(table) {}

 private:
  const char* read(std::string& line, Document& document) override {
    const std::size_t id_end = line.find('\t');
    if (id_end == std::string::npos) return "no tab between id and text";
    std::size_t start = id_end + 1;
    for (std::size_t column = 1; column < table_.text; ++column) {
      const std::size_t tab = line.find('\t', start);
      if (tab == std::string::npos) return "too few columns";
      start = tab + 1;
    }
    document.text.assign(line, start);
    if (table_.columns > 0) {
      const auto tabs = static_cast<std::size_t>(std::count(document.text.begin(), document.text.end(), '\t'));
      if (tabs < table_.columns - table_.text - 1) return "too few columns";
      if (tabs > table_.columns - table_.text - 1) {
        return table_.columns == 2 ? "more than two columns" : "too many columns";
      }
      std::replace(document.text.begin(), document.text.end(), '\t', ' ');
    }
    document.id.assign(line, 0, id_end);
    if (table_.double_encoded) undo_double_encoding(document.text);
    return nullptr;
  }

  const Table& table_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_tsv(LineReader& lines) { return std::make_unique<TsvReader>(lines, kOwn); }

std::unique_ptr<DocumentReader> read_msmarco_passage(LineReader& lines) {
  return std::make_unique<TsvReader>(lines, kMsMarcoPassage);
}

std::unique_ptr<DocumentReader> read_msmarco_document_table(LineReader& lines) {
  return std::make_unique<TsvReader>(lines, kFourColumns);
}

std::unique_ptr<DocumentReader> read_antique(LineReader& lines) {
  return std::make_unique<TsvReader>(lines, kTwoColumns);
}

std::unique_ptr<DocumentReader> read_nfcorpus(LineReader& lines) {
  return std::make_unique<TsvReader>(lines, kFourColumns);
}

}  // namespace relucent::index_tools
