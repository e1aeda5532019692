#include <vector>

#include "index_tools/corpora/json_record.h"
#include "index_tools/corpora/line_record_reader.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

// The members of a line's object that form a document.
struct Members {
  const char* id;
  std::vector<const char*> text;  // joined by a space
  const char* no_id;
  const char* no_text;
};

const Members kPassage = {"pid", {"passage"}, "no pid", "no passage"};
const Members kDocument = {"docid", {"title", "headings", "body"}, "no docid", "no title, headings or body"};

class MsMarcoV2Reader : public LineRecordReader {
 public:
  MsMarcoV2Reader(LineReader& lines, const Members& members) : LineRecordReader(lines), members_(members) {}

 private:
  const char* read(std::string& line, Document& document) override {
    nlohmann::json record;
    if (const char* problem = parse_json_object(line, record)) return problem;
    const auto id = record.find(members_.id);
    if (id == record.end() || !take_id(*id, document.id)) return members_.no_id;
    document.text.clear();
    for (const char* member : members_.text) {
      if (member != members_.text.front()) document.text += ' ';
      if (!append_text(record, member, document.text)) return members_.no_text;
    }
    return nullptr;
  }

  const Members& members_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_msmarco_passage_v2(LineReader& lines) {
  return std::make_unique<MsMarcoV2Reader>(lines, kPassage);
}

std::unique_ptr<DocumentReader> read_msmarco_document_v2(LineReader& lines) {
  return std::make_unique<MsMarcoV2Reader>(lines, kDocument);
}

}  // namespace relucent::index_tools
