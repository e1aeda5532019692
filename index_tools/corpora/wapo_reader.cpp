#include "index_tools/corpora/json_record.h"
#include "index_tools/corpora/line_record_reader.h"
#include "index_tools/corpora/readers.h"
#include "index_tools/corpora/xml_text.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;

const json& member(const json& object, const char* name) {
  static const json null;
  const auto found = object.find(name);
  return found != object.end() ? *found : null;
}

bool is(const json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

// The member that holds the text of a part of an article; null if it has none.
const json& text_of(const json& part) {
  static const json null;
  const json& type = member(part, "type");
  if (is(type, "sanitized_html")) return member(part, "content");
  if (is(type, "image")) return member(part, "fullcaption");
  if (is(type, "video") || is(type, "gallery")) return member(part, "blurb");
  if (is(type, "tweet")) {
    const json& tweet = member(part, "content");
    return tweet.is_object() ? member(tweet, "text") : tweet;
  }
  return null;
}

class WapoReader : public LineRecordReader {
 public:
  using LineRecordReader::LineRecordReader;

 private:
  const char* read(std::string& line, Document& document) override {
    json record;
    if (const char* problem = parse_json_object(line, record)) return problem;
    const auto id = record.find("id");
    if (id == record.end() || !take_id(*id, document.id)) return "no id";
    document.text.clear();
    if (!append_text(record, "title", document.text)) return "no title";
    document.text += ' ';
    const std::size_t body = document.text.size();
    const json& contents = member(record, "contents");
    if (!contents.is_array()) return "no contents";
    for (const json& part : contents) {
      if (part.is_null()) continue;
      if (!part.is_object()) return "a part of the contents is not an object";
      const json& text = text_of(part);
      if (text.is_null()) continue;
      if (!text.is_string()) return "a part of the contents has no text but something else";
      const std::string& markup = text.get_ref<const std::string&>();
      if (is(member(part, "type"), "sanitized_html") && is(member(part, "mime"), "text/html")) {
        try {
          append_xml_text(markup, document.text);
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::invalid_data) throw;
          return "tags with too many attributes";
        }
      } else {
        document.text += markup;
      }
      document.text += '\n';
    }
    while (document.text.size() > body && document.text.back() == '\n') document.text.pop_back();
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<DocumentReader> read_wapo(LineReader& lines) { return std::make_unique<WapoReader>(lines); }

}  // namespace relucent::index_tools
