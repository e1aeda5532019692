#pragma once

#include <filesystem>
#include <string>

#include "index_tools/evaluation/topics.h"

namespace relucent::index_tools {

/// The topics of a TREC file, in XML format where they are <topic> elements, in SGML format where they are <top>;
/// `content` is the whole of it. Throws Error as read_topic_file().
TopicFile parse_markup_topics(const std::string& content, const std::filesystem::path& file);

}  // namespace relucent::index_tools
