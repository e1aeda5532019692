#include "index_tools/evaluation/topics.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/ascii.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/markup_topics.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kTopicFormats = "use TREC, TREC XML, SMART, NPL, JSON lines, or lines of id, tab, query";

using Lines = std::vector<std::pair<std::int64_t, std::string>>;

// ".W", ".A" and so on: a letter alone, or followed by text on the same line.
bool starts_section(std::string_view line) {
  return line.size() >= 2 && line[0] == '.' && line[1] >= 'A' && line[1] <= 'Z' &&
         (line.size() == 2 || is_blank(line.substr(2, 1)));
}

std::vector<Topic> parse_smart(const Lines& lines, const std::filesystem::path& file) {
  std::vector<Topic> topics;
  std::vector<std::int64_t> begins;  // their .I lines
  bool text = false, bare = false;   // within .W; nothing since the last .I
  for (const auto& [number, line] : lines) {
    if (line.starts_with(".I")) {
      topics.push_back({std::to_string(topics.size() + 1), "", "", ""});
      begins.push_back(number);
      text = false;
      bare = true;
      continue;
    }
    if (is_blank(line)) continue;
    if (topics.empty())
      bad_line(file, number, "comes before the first .I line: " + excerpt(line), "begin each topic with a .I line");
    bare = false;
    if (starts_section(line)) text = line[1] == 'W';
    if (text) topics.back().title += (starts_section(line) ? line.substr(2) : line) + "\n";
  }
  // A final .I line with nothing after it marks the end: ".I 0" in CACM, ".I" in MED.
  if (bare) topics.pop_back();
  for (std::size_t i = 0; i < topics.size(); ++i) {
    topics[i].title = collapse_blanks(topics[i].title);
    if (topics[i].title.empty())
      bad_line(file, begins[i], fmt::format("query {} has no text", topics[i].id),
               "add .W and its text, or remove the query");
  }
  return topics;
}

bool ends_npl_record(std::string_view line) { return trim(line) == "/"; }

// A number alone on its line, and a line "/" somewhere after it.
bool is_npl(const Lines& lines, std::string_view first) {
  return split_fields(first).size() == 1 &&
         std::any_of(lines.begin(), lines.end(), [](const auto& line) { return ends_npl_record(line.second); });
}

std::vector<Topic> parse_npl(const Lines& lines, const std::filesystem::path& file) {
  std::vector<Topic> topics;
  std::int64_t begin = 0;  // the record's first line; 0 between records
  const auto finish = [&] {
    Topic& topic = topics.back();
    topic.title = collapse_blanks(topic.title);
    if (topic.title.empty())
      bad_line(file, begin, fmt::format("query {} has no text", topic.id), "add it, or remove the query");
    begin = 0;
  };
  for (const auto& [number, line] : lines) {
    if (ends_npl_record(line)) {
      if (begin > 0) finish();
    } else if (begin > 0) {
      topics.back().title += line + "\n";
    } else if (!is_blank(line)) {
      if (split_fields(line).size() != 1)
        bad_line(file, number, "is not a query number: " + excerpt(line),
                 "begin each query with its number on a line of its own");
      topics.push_back({std::string(trim(line)), "", "", ""});
      begin = number;
    }
  }
  if (begin > 0) finish();
  return topics;
}

std::string text_field(const JsonRecord& record, std::initializer_list<const char*> names) {
  const JsonRecord* field = find_field(record, names);
  return field != nullptr && field->is_string() ? collapse_blanks(field->get_ref<const std::string&>()) : std::string();
}

std::vector<Topic> parse_jsonl(const Lines& lines, const std::filesystem::path& file) {
  std::vector<Topic> topics;
  for (const auto& [number, line] : lines) {
    if (is_blank(line)) continue;
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
      bad_line(file, number, fmt::format("topic {} has no text in \"query\"", topic.id), "add it, or remove the line");
    topics.push_back(std::move(topic));
  }
  return topics;
}

std::vector<Topic> parse_tsv(const Lines& lines, const std::filesystem::path& file) {
  std::vector<Topic> topics;
  for (const auto& [number, line] : lines) {
    if (is_blank(line)) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) bad_line(file, number, "has no tab: " + excerpt(line), kTopicFormats);
    Topic topic;
    topic.id = trim(std::string_view(line).substr(0, tab));
    topic.title = collapse_blanks(std::string_view(line).substr(tab + 1));
    if (topic.id.empty()) bad_line(file, number, "has no id before the tab: " + excerpt(line), kTopicFormats);
    if (topic.title.empty())
      bad_line(file, number, fmt::format("topic {} has no query after the tab", topic.id),
               "add it, or remove the line");
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
    result = {TopicFormat::smart, parse_smart(lines, file)};
  } else if (first.starts_with('{')) {
    result = {TopicFormat::jsonl, parse_jsonl(lines, file)};
  } else if (is_npl(lines, first)) {
    result = {TopicFormat::npl, parse_npl(lines, file)};
  } else if (!first.empty()) {
    result = {TopicFormat::tsv, parse_tsv(lines, file)};
  }
  if (result.topics.empty())
    throw Error(ErrorKind::invalid_data, input_name(file), "contains no topics", kTopicFormats);
  std::unordered_set<std::string_view> seen;
  for (const Topic& topic : result.topics) {
    if (!seen.insert(topic.id).second) {
      throw Error(ErrorKind::invalid_data, input_name(file), fmt::format("topic {} occurs twice", topic.id),
                  "keep one of them");
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
    throw Error(ErrorKind::invalid_data, "topic " + topic.id, "lacks the requested text",
                "choose another with --topic-text");
  }
  return chosen;
}

}  // namespace relucent::index_tools
