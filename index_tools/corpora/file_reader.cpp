#include <string_view>

#include "base/utf8.h"
#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/input_files.h"
#include "index_tools/corpora/path_id.h"
#include "index_tools/corpora/readers.h"
#include "index_tools/corpora/web_page.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

class FileReader : public DocumentReader {
 public:
  FileReader(const CorpusPart& part, bool html) : part_(part), bytes_(part.bytes), html_(html) {}

  bool next(Document& document) override {
    if (done_) return false;
    done_ = true;
    while (bytes_.ahead().size() <= kMaxRecord && bytes_.more()) {
    }
    if (bytes_.ahead().size() > kMaxRecord) return part_.malformed("file over 64 MiB", 1);
    document.id = id_of_path(part_.path);
    document.line = 1;
    if (!html_) {
      std::string_view bytes = bytes_.ahead();
      if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
      document.text = bytes;
      if (const std::size_t replaced = replace_malformed_utf8(document.text); replaced > 0)
        part_.report.replaced(replaced);
      return true;
    }
    try {
      document.text = text_of_html_file(bytes_.ahead());
    } catch (const Error& error) {
      return part_.malformed(error.problem(), 1);
    }
    return true;
  }

 private:
  const CorpusPart part_;
  ByteBuffer bytes_;
  bool html_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<DocumentReader> read_html(const CorpusPart& part) {
  return std::make_unique<FileReader>(part, !name_matches(part.path, {"*.txt"}));
}

std::unique_ptr<DocumentReader> read_text(const CorpusPart& part) { return std::make_unique<FileReader>(part, false); }

}  // namespace relucent::index_tools
