#pragma once

#include <filesystem>
#include <string>

#include "index_tools/evaluation/topics.h"

namespace relucent::index_tools {

/// Parses the topics of a TREC file: <topic> elements in XML format or <top> elements in SGML format. `content` is the
/// whole file. Throws Error like read_topic_file().
TopicFile parse_markup_topics(const std::string& content, const std::filesystem::path& file);

}  // namespace relucent::index_tools
