#include "index_tools/readers/jsonl_reader.h"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <optional>

namespace relucent::index_tools {
namespace {

using nlohmann::json;

// The code unit of "\uXXXX" at `at`, if there is one.
std::optional<unsigned> escaped_unit(const std::string& line, std::size_t at) {
  if (at + 6 > line.size() || line[at] != '\\' || line[at + 1] != 'u') return std::nullopt;
  unsigned unit = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const char c = line[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<unsigned>(digit);
  }
  return unit;
}

// JSON written by other programs may hold half a surrogate pair as an escape, which no UTF-8 text can hold.
void replace_lone_surrogates(std::string& line) {
  for (std::size_t i = line.find('\\'); i != std::string::npos; i = line.find('\\', i)) {
    const std::optional<unsigned> unit = escaped_unit(line, i);
    if (!unit) {
      i += 2;
      continue;
    }
    const std::optional<unsigned> next = escaped_unit(line, i + 6);
    const bool high = *unit >= 0xD800 && *unit <= 0xDBFF;
    const bool low = *unit >= 0xDC00 && *unit <= 0xDFFF;
    if (high && next && *next >= 0xDC00 && *next <= 0xDFFF) {
      i += 12;
      continue;
    }
    if (high || low) line.replace(i + 2, 4, "fffd");
    i += 6;
  }
}

json::const_iterator find_first(const json& record, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (auto found = record.find(key); found != record.end()) return found;
  }
  return record.end();
}

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
    replace_lone_surrogates(line_);
    const json record = json::parse(line_, nullptr, false);
    if (record.is_discarded()) return "not JSON";
    if (!record.is_object()) return "not a JSON object";

    const auto id = find_first(record, {"id", "docno", "_id", "docid"});
    if (id == record.end()) return "no id, docno, _id or docid";
    if (id->is_number_integer()) {
      document.id = id->dump();
    } else if (id->is_string()) {
      document.id = id->get_ref<const std::string&>();
    } else {
      return "the id is neither a string nor a whole number";
    }

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
