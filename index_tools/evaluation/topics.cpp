#include "index_tools/evaluation/topics.h"

#include <unordered_set>
#include <utility>

#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/markup_topics.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kForms = "write TREC, TREC XML, SMART, JSON lines, or id, tab, query on each line";

using Lines = std::vector<std::pair<std::int64_t, std::string>>;

std::vector<Topic> parse_smart(const Lines& lines, const std::filesystem::path& file) {
  std::vector<Topic> topics;
  bool text = false;
  for (const auto& [number, line] : lines) {
    if (line.starts_with(".I")) {
      // MED.QRY and its like end with an empty record.
      if (trim(std::string_view(line).substr(2)).empty()) continue;
      topics.push_back({std::to_string(topics.size() + 1), "", "", ""});
      text = false;
    } else if (line.size() >= 2 && line[0] == '.' && line[1] >= 'A' && line[1] <= 'Z' && trim(line).size() == 2) {
      text = line[1] == 'W';
    } else if (topics.empty()) {
      bad_line(file, number, "stands before the first .I line: " + excerpt(line));
    } else if (text) {
      topics.back().title += line + "\n";
    }
  }
  for (Topic& topic : topics) {
    topic.title = collapse_blanks(topic.title);
    if (topic.title.empty())
      throw Error(ErrorKind::invalid_data, file.string(), "query " + topic.id + " has no text (.W)");
  }
  return topics;
}

std::string text_field(const JsonRecord& record, std::initializer_list<const char*> names) {
  const JsonRecord* field = find_field(record, names);
  return field != nullptr && field->is_string() ? collapse_blanks(field->get_ref<const std::string&>()) : std::string();
}

std::vector<Topic> parse_jsonl(const Lines& lines, const std::filesystem::path& file) {
  std::vector<Topic> topics;
  for (const auto& [number, line] : lines) {
    if (trim(line).empty()) continue;
    const JsonRecord record = parse_record(line, file, number);
    Topic topic;
    topic.id = id_field(record, {"qid", "query_id", "_id", "id"}, file, number);
    topic.title = text_field(record, {"query", "title", "text"});
    topic.description = text_field(record, {"description"});
    topic.narrative = text_field(record, {"narrative"});
    if (const JsonRecord* original = find_field(record, {"original_query"});
        original != nullptr && original->is_object()) {
      if (topic.description.empty()) topic.description = text_field(*original, {"description"});
      if (topic.narrative.empty()) topic.narrative = text_field(*original, {"narrative"});
    }
    if (topic.title.empty())
      bad_line(file, number, "topic " + topic.id + " has no text in \"query\"", "add it, or remove the line");
    topics.push_back(std::move(topic));
  }
  return topics;
}

std::vector<Topic> parse_tsv(const Lines& lines, const std::filesystem::path& file) {
  std::vector<Topic> topics;
  for (const auto& [number, line] : lines) {
    if (trim(line).empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) bad_line(file, number, "has no tab: " + excerpt(line), kForms);
    Topic topic;
    topic.id = trim(std::string_view(line).substr(0, tab));
    topic.title = collapse_blanks(std::string_view(line).substr(tab + 1));
    if (topic.id.empty()) bad_line(file, number, "has no id before the tab: " + excerpt(line), kForms);
    if (topic.title.empty())
      bad_line(file, number, "topic " + topic.id + " has no query behind the tab", "add it, or remove the line");
    topics.push_back(std::move(topic));
  }
  return topics;
}

}  // namespace

TopicFile read_topic_file(const std::filesystem::path& file) {
  Lines lines;
  std::string first;
  for_each_line(file, [&](const std::string& line, std::int64_t number) {
    if (first.empty()) first = trim(line);
    lines.emplace_back(number, line);
  });
  TopicFile result;
  if (first.starts_with('<')) {
    std::string content;
    for (const auto& [number, line] : lines) content += line + "\n";
    result = parse_markup_topics(content, file);
  } else if (first.starts_with(".I")) {
    result = {TopicForm::smart, parse_smart(lines, file)};
  } else if (first.starts_with('{')) {
    result = {TopicForm::jsonl, parse_jsonl(lines, file)};
  } else if (!first.empty()) {
    result = {TopicForm::tsv, parse_tsv(lines, file)};
  }
  if (result.topics.empty()) throw Error(ErrorKind::invalid_data, file.string(), "holds no topic", kForms);
  std::unordered_set<std::string_view> seen;
  for (const Topic& topic : result.topics) {
    if (!seen.insert(topic.id).second) {
      throw Error(ErrorKind::invalid_data, file.string(), "topic " + topic.id + " is there twice", "keep one of them");
    }
  }
  return result;
}

std::vector<Topic> read_topics(const std::filesystem::path& file) { return read_topic_file(file).topics; }

const std::string& topic_text(const Topic& topic, TopicText text) {
  const std::string& chosen = text == TopicText::title         ? topic.title
                              : text == TopicText::description ? topic.description
                                                               : topic.narrative;
  if (chosen.empty()) {
    throw Error(ErrorKind::invalid_data, "topic " + topic.id, "has no text of the kind asked for",
                "choose another with --topic-text");
  }
  return chosen;
}

}  // namespace relucent::index_tools
