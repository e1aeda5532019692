#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "index_tools/evaluation/topics.h"

namespace relucent::index_tools {

/// The topics of a TREC file in SGML or XML form; `content` is the whole of it. Throws Error as read_topics().
std::vector<Topic> parse_markup_topics(const std::string& content, const std::filesystem::path& file);

}  // namespace relucent::index_tools
