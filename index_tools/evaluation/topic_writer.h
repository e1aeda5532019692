#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/file_formats.h"
#include "index_tools/evaluation/topics.h"

namespace relucent::index_tools {

const FileFormats<TopicFormat>& topic_formats();
inline std::string_view to_string(TopicFormat format) { return topic_formats().name_of(format); }

/// Whether a format can hold descriptions and narratives.
bool carries_descriptions(TopicFormat format) noexcept;

/// Formats topics. read_topics() reads them back unchanged, as far as the format can hold their texts. Throws Error
/// `invalid_data` naming the topic: for an id that contains white space (except in JSONL), for a topic without a title
/// (in SMART, JSONL and TSV), and in SMART for ids other than 1, 2, 3 ..., because SMART readers number topics by
/// position.
std::string format_topics(const std::vector<Topic>& topics, TopicFormat format);

}  // namespace relucent::index_tools
