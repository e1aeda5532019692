#include "index_tools/evaluation/topic_writer.h"

#include <fmt/core.h>

#include <cctype>

#include "base/ascii.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

// Programs that read TREC's SGML may not know entities, so only text that looks like an entity or a tag is escaped.
std::string sgml_text(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool letter = std::isalpha(static_cast<unsigned char>(next)) != 0;
    if (text[i] == '&' && (letter || next == '#') && text.find(';', i) != std::string_view::npos) {
      result += "&amp;";
    } else if (text[i] == '<' && (letter || next == '/' || next == '!' || next == '?')) {
      result += "&lt;";
    } else {
      result += text[i];
    }
  }
  return result;
}

// Readers drop a label at the start of a title. A title that seems to start with one gets an extra label to drop.
std::string title_label(std::string_view title) {
  const std::string start = lower_ascii(title.substr(0, 6));
  return start.starts_with("topic") || start.starts_with("title") ? "Topic: " : "";
}

std::string trec(const Topic& topic) {
  std::string text = fmt::format("<top>\n<num> Number: {}\n", sgml_text(topic.id));
  if (!topic.title.empty()) text += fmt::format("<title> {}{}\n", title_label(topic.title), sgml_text(topic.title));
  if (!topic.description.empty()) text += fmt::format("\n<desc> Description:\n{}\n", sgml_text(topic.description));
  if (!topic.narrative.empty()) text += fmt::format("\n<narr> Narrative:\n{}\n", sgml_text(topic.narrative));
  return text + "</top>\n\n";
}

std::string trec_xml(const Topic& topic) {
  std::string text = fmt::format("  <topic number=\"{}\">\n", escape_xml(topic.id));
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("    <{0}>{1}</{0}>\n", name, escape_xml(value));
  };
  add("query", topic.title);
  add("description", topic.description);
  add("narrative", topic.narrative);
  return text + "  </topic>\n";
}

std::string smart(const Topic& topic, std::size_t number) {
  if (topic.id != std::to_string(number)) {
    throw Error(
        ErrorKind::invalid_data, "topic " + topic.id,
        fmt::format("would be renumbered: SMART readers number topics by position, and it is number {}", number),
        "choose another format, which keeps its id");
  }
  // A leading blank keeps a text from being read as a command of the format.
  return fmt::format(".I {}\n.W\n{}{}\n", topic.id, topic.title.starts_with('.') ? " " : "", topic.title);
}

std::string jsonl(const Topic& topic) {
  JsonLine record = {{"qid", topic.id}, {"query", topic.title}};
  if (!topic.description.empty()) record["description"] = topic.description;
  if (!topic.narrative.empty()) record["narrative"] = topic.narrative;
  return record.dump(-1, ' ', false, JsonLine::error_handler_t::replace) + "\n";
}

std::string tsv(const Topic& topic) {
  if (topic.id.starts_with('<') || topic.id.starts_with('{') || topic.id.starts_with(".I")) {
    throw Error(ErrorKind::invalid_data, "topic " + topic.id, "its id would make the TSV file look like another format",
                "write JSON lines");
  }
  return fmt::format("{}\t{}\n", topic.id, topic.title);
}

}  // namespace

const FileFormats<TopicFormat>& topic_formats() {
  static const FileFormats<TopicFormat> formats = {"topic",
                                                   {{TopicFormat::trec, "trec", {".trec"}},
                                                    {TopicFormat::trec_xml, "xml", {".xml"}},
                                                    {TopicFormat::smart, "smart", {".qry"}},
                                                    {TopicFormat::jsonl, "jsonl", {".jsonl"}},
                                                    {TopicFormat::tsv, "tsv", {".tsv"}},
                                                    {TopicFormat::npl, "npl"}}};
  return formats;
}

bool carries_descriptions(TopicFormat format) noexcept {
  return format == TopicFormat::trec || format == TopicFormat::trec_xml || format == TopicFormat::jsonl;
}

std::string format_topics(const std::vector<Topic>& topics, TopicFormat format) {
  std::string text;
  if (format == TopicFormat::trec_xml) text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topics>\n";
  std::size_t number = 0;
  for (const Topic& topic : topics) {
    ++number;
    if (format != TopicFormat::jsonl) require_word(topic.id, "topic id", "this format");
    if (format != TopicFormat::trec && format != TopicFormat::trec_xml) topic_text(topic, TopicText::title);
    switch (format) {
      case TopicFormat::trec: text += trec(topic); break;
      case TopicFormat::trec_xml: text += trec_xml(topic); break;
      case TopicFormat::smart: text += smart(topic, number); break;
      case TopicFormat::npl:
        throw Error(ErrorKind::usage, "format npl", "can be read but not written",
                    "choose trec, xml, smart, jsonl or tsv");
      case TopicFormat::jsonl: text += jsonl(topic); break;
      case TopicFormat::tsv: text += tsv(topic); break;
    }
  }
  if (format == TopicFormat::trec_xml) text += "</topics>\n";
  return text;
}

}  // namespace relucent::index_tools
