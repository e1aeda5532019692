#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "base/ascii.h"
#include "index_tools/corpora/csv_reader.h"
#include "index_tools/corpora/readers.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kShownHeader = 80;  // bytes

class CsvCorpusReader : public DocumentReader {
 public:
  explicit CsvCorpusReader(LineReader& lines) : lines_(lines), records_(lines) {}

  bool next(Document& document) override {
    if (width_ == 0 && !read_header()) return false;
    while (records_.next(fields_)) {
      document.line = records_.line();
      if (fields_.size() == width_) {
        document.id = fields_[id_];
        document.text = title_ && !fields_[*title_].empty() ? fields_[*title_] + " " : std::string();
        document.text += fields_[text_];
        return true;
      }
      lines_.malformed("not as many fields as the first line has", records_.line());
    }
    return false;
  }

 private:
  bool read_header() {
    if (!records_.next(fields_)) return false;
    for (std::string& field : fields_) field = lower_ascii(trim(field));
    id_ = required({"id", "docno", "_id", "docid"});
    text_ = required({"text", "contents"});
    title_ = column({"title"});
    width_ = fields_.size();
    return true;
  }

  std::optional<std::size_t> column(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const auto found = std::find(fields_.begin(), fields_.end(), name);
      if (found != fields_.end()) return static_cast<std::size_t>(found - fields_.begin());
    }
    return std::nullopt;
  }

  std::size_t required(std::initializer_list<const char*> names) const {
    if (const auto found = column(names)) return *found;
    const std::string header = join(fields_);
    throw Error(
        ErrorKind::invalid_data, fmt::format("{}:{}", lines_.part(), records_.line()),
        fmt::format("the first line names no column {}: \"{}{}\"", join(names, " or "), header.substr(0, kShownHeader),
                    header.size() > kShownHeader ? "..." : ""),
        header.find_first_of(";\t") == std::string::npos
            ? "name the columns in the first line: id,text or id,title,text"
            : "separate the columns by commas: id,text; a table without a first line of names, with tabs, is tsv");
  }

  LineReader& lines_;
  CsvReader records_;
  std::vector<std::string> fields_;
  std::size_t width_ = 0, id_ = 0, text_ = 0;  // a width of 0: the first line has not been read
  std::optional<std::size_t> title_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_csv(LineReader& lines) { return std::make_unique<CsvCorpusReader>(lines); }

}  // namespace relucent::index_tools
