#include "index_tools/readers/jsonl_reader.h"

#include "index_tools/readers/json_record.h"

namespace relucent::index_tools {
namespace {

class JsonlReader : public DocumentReader {
 public:
  explicit JsonlReader(LineReader& lines) : lines_(lines) {}

  bool next(Document& document) override {
    while (lines_.next(line_)) {
      if (line_.find_first_not_of(" \t") == std::string::npos) continue;
      if (const char* problem = read(document)) {
        lines_.malformed(problem, lines_.number());
        continue;
      }
      document.line = lines_.number();
      return true;
    }
    return false;
  }

 private:
  // What is wrong with the line; null if nothing.
  const char* read(Document& document) {
    nlohmann::json record;
    if (const char* problem = parse_json_object(line_, record)) return problem;

    const auto id = find_first(record, {"id", "docno", "_id", "docid"});
    if (id == record.end()) return "no id, docno, _id or docid";
    if (!take_id(*id, document.id)) return "the id is neither a string nor a whole number";

    const auto text = find_first(record, {"text", "contents"});
    if (text == record.end()) return "no text or contents";
    if (!text->is_string()) return "the text is not a string";
    const auto title = record.find("title");
    document.text.clear();
    if (title != record.end() && !title->is_null()) {
      if (!title->is_string()) return "the title is not a string";
      document.text = title->get_ref<const std::string&>();
      if (!document.text.empty()) document.text += ' ';
    }
    document.text += text->get_ref<const std::string&>();
    return nullptr;
  }

  LineReader& lines_;
  std::string line_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_jsonl(LineReader& lines) { return std::make_unique<JsonlReader>(lines); }

}  // namespace relucent::index_tools
