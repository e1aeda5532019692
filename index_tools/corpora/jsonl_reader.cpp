#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_members.h"
#include "index_tools/corpora/gzip_stream.h"
#include "index_tools/corpora/json_elements.h"
#include "index_tools/corpora/json_record.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;

constexpr std::size_t kLookAhead = 64 * 1024;
constexpr std::string_view kWhite = " \t\r\n";

// Whether a text that starts like this is an array of objects, or objects that span several lines each.
bool is_one_json_text(std::string_view first) {
  if (first.starts_with("\xEF\xBB\xBF")) first.remove_prefix(3);
  first.remove_prefix(std::min(first.find_first_not_of(kWhite), first.size()));
  if (first.starts_with('[')) {
    const std::size_t inside = first.find_first_not_of(kWhite, 1);
    return inside == std::string_view::npos || first[inside] == '{' || first[inside] == ']';
  }
  const std::string_view line = first.substr(0, first.find('\n'));
  if (!line.starts_with('{') || line.size() == first.size()) return false;
  const char last = line[line.find_last_not_of(kWhite)];
  return last == '{' || last == '[' || last == ',';
}

const char* take_own(const json& record, Document& document) {
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

const char* take_beir(const json& record, Document& document) {
  const auto id = record.find("_id");
  if (id == record.end() || !take_id(*id, document.id)) return "no _id";
  document.text.clear();
  if (!append_text(record, "title", document.text)) return "no title";
  document.text += ' ';
  if (!append_text(record, "text", document.text)) return "no text";
  return nullptr;
}

// Extracts a record's id and text; returns the problem, null if there is none.
using Take = const char* (*)(const json& record, Document& document);

// How records are read, and the names of the members that may be the id and the text; the first one there counts.
struct RecordForm {
  Take take;
  std::vector<const char*> ids, texts;
};

// A record's members without its id and its text. A title stays, of which the text has a copy.
std::string metadata_of(std::string_view text, const json& record, const RecordForm& form) {
  if (record.size() == 2) return {};
  const auto first_of = [&](const std::vector<const char*>& names) -> std::string {
    const auto found = std::ranges::find_if(names, [&](const char* name) { return record.contains(name); });
    return found == names.end() ? "" : *found;
  };
  const std::string id = first_of(form.ids), contents = first_of(form.texts);
  std::vector<JsonMember> members = json_members(text);
  std::erase_if(members, [&](const JsonMember& member) { return member.name == id || member.name == contents; });
  return json_object_of(members);
}

class JsonlReader : public DocumentReader {
 public:
  JsonlReader(const CorpusPart& part, RecordForm form)
      : part_(part), form_(std::move(form)), bytes_(part.bytes, kLookAhead) {
    if (is_one_json_text(bytes_.first())) {
      elements_.emplace(bytes_, part.name, part.report, "");
    } else {
      lines_.emplace(bytes_, part.name, part.report);
    }
  }

  bool next(Document& document) override {
    while (next_record()) {
      document.line = elements_ ? elements_->number() : lines_->number();
      const char* problem = read(document);
      if (problem == nullptr) return true;
      part_.malformed(problem, document.line);
    }
    return false;
  }

 private:
  bool next_record() {
    if (elements_) return elements_->next(record_);
    while (lines_->next(record_)) {
      if (record_.find_first_not_of(kWhite) != std::string::npos) return true;
    }
    return false;
  }

  const char* read(Document& document) {
    json record;
    if (const char* problem = parse_json_object(record_, record)) return problem;
    if (const char* problem = form_.take(record, document)) return problem;
    document.metadata = metadata_of(record_, record, form_);
    return nullptr;
  }

  CorpusPart part_;
  RecordForm form_;
  PeekedStream bytes_;
  std::optional<LineReader> lines_;
  std::optional<JsonElements> elements_;
  std::string record_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_jsonl(const CorpusPart& part) {
  return std::make_unique<JsonlReader>(part,
                                       RecordForm{take_own, {"id", "docno", "_id", "docid"}, {"text", "contents"}});
}

std::unique_ptr<DocumentReader> read_beir(const CorpusPart& part) {
  return std::make_unique<JsonlReader>(part, RecordForm{take_beir, {"_id"}, {"text"}});
}

}  // namespace relucent::index_tools
