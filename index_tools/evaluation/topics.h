#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// A query with its id. Runs of blanks and line ends in the texts are one space.
struct Topic {
  std::string id;
  std::string title;        ///< the text to search for: title or query
  std::string description;  ///< one sentence; may be empty
  std::string narrative;    ///< describes which documents are relevant; may be empty
};

/// Which of a topic's texts serves as the query.
enum class TopicText { title, description, narrative };

/// File formats of topics. `npl` can be read but not written.
enum class TopicFormat { trec, trec_xml, smart, npl, jsonl, tsv };

struct TopicFile {
  TopicFormat format = TopicFormat::tsv;
  std::vector<Topic> topics;  ///< in the file's order
};

/// Reads topics. The format is detected from the beginning of the file:
///   TREC     <top> <num> Number: 301 <title> ... <desc> ... <narr> ... </top>, fields closed or not
///   TREC XML <topic number="1"> with <query> or <title>, <description> or <question>, <narrative>
///   SMART    .I and .W lines; numbered by position from 1, as in Cranfield's judgments, whatever .I contains. A final
///            .I line with nothing after it marks the end (CACM, MED)
///   NPL      a line with the number, lines of text, a line "/" (Vaswani's query-text)
///   JSONL    {"qid" or "query_id" or "_id" or "id": ..., "query" or "title" or "text": ...};
///            "description" and "narrative" also from TIREx's "original_query"
///   TSV      id, tab, query
/// The file may be compressed. Throws Error: `io` if the file cannot be read; `invalid_data` at file:line for a topic
/// without an id or a title, two with the same id, a malformed line, and a file without topics.
TopicFile read_topic_file(const std::filesystem::path& file);
/// The topics alone.
std::vector<Topic> read_topics(const std::filesystem::path& file);

/// The chosen text. Throws Error `invalid_data` naming the topic if it is empty.
const std::string& topic_text(const Topic& topic, TopicText text);

}  // namespace relucent::index_tools
