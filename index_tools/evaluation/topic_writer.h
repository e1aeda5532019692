#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/topics.h"

namespace relucent::index_tools {

/// The formats' names on a command line: trec, xml, smart, jsonl, tsv.
std::string_view to_string(TopicFormat format) noexcept;
/// Throws Error `usage` for another name.
TopicFormat parse_topic_format(std::string_view name);
/// What a file's name asks for, a compression's ending left aside: .tsv, .jsonl, .xml, .qry (SMART), .trec;
/// nothing for others.
std::optional<TopicFormat> topic_form_of(const std::filesystem::path& file);

/// Whether a format has a place for descriptions and narratives.
bool carries_descriptions(TopicFormat format) noexcept;

/// Topics as a file of the format, to be read back as they are by read_topics() as far as the format has a place
/// for their texts. Throws Error `invalid_data` naming the topic: for an id that holds a blank (but in
/// JSONL), a topic without a title (in SMART, JSONL and TSV), and in SMART for ids other than 1, 2, 3 ...,
/// because its readers count.
std::string format_topics(const std::vector<Topic>& topics, TopicFormat format);

}  // namespace relucent::index_tools
