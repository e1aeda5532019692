#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/topics.h"

namespace relucent::index_tools {

/// The forms' names on a command line: trec, xml, smart, jsonl, tsv.
std::string_view to_string(TopicForm form) noexcept;
/// Throws Error `usage` for another name.
TopicForm parse_topic_form(std::string_view name);
/// What a file's name asks for, a compression's ending left aside: .tsv, .jsonl, .xml, .qry (SMART), .trec;
/// nothing for others.
std::optional<TopicForm> topic_form_of(const std::filesystem::path& file);

/// Whether a form has a place for descriptions and narratives.
bool carries_descriptions(TopicForm form) noexcept;

/// Topics as a file of the form, to be read back as they are by read_topics() as far as the form has a place
/// for their texts. Throws Error `invalid_data` naming the topic: for an id that holds a blank (but in
/// JSONL), a topic without a title (in SMART, JSONL and TSV), and in SMART for ids other than 1, 2, 3 ...,
/// because its readers count.
std::string format_topics(const std::vector<Topic>& topics, TopicForm form);

}  // namespace relucent::index_tools
