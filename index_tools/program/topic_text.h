#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "index_tools/evaluation/topics.h"
#include "index_tools/program/flags.h"

namespace relucent::program {

/// Adds --topic-text, whose value parse_topic_text() reads.
inline void add_topic_text_flag(CLI::App& command, std::string& value) {
  add_choice(command, "--topic-text,--topicfield", value, {"title", "description", "narrative"},
             "Which text of a topic to use as the query");
}

inline index_tools::TopicText parse_topic_text(const std::string& value) {
  return value == "title"         ? index_tools::TopicText::title
         : value == "description" ? index_tools::TopicText::description
                                  : index_tools::TopicText::narrative;
}

}  // namespace relucent::program
