#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/topic_writer.h"
#include "index_tools/evaluation/topics.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/terminal.h"
#include "index_tools/program/text_output.h"
#include "index_tools/program/topic_text.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

using index_tools::Topic;
using index_tools::TopicFile;
using index_tools::TopicFormat;
using index_tools::with_commas;

constexpr std::size_t kShown = 10;

struct TopicsOptions {
  std::string from, to = "-", format, topic_text = "title";
  std::vector<std::string> ids;
  bool all = false;
};

struct TextCounts {
  std::int64_t titles = 0, descriptions = 0, narratives = 0;
};

TextCounts count_texts(const std::vector<Topic>& topics) {
  TextCounts counts;
  for (const Topic& topic : topics) {
    counts.titles += topic.title.empty() ? 0 : 1;
    counts.descriptions += topic.description.empty() ? 0 : 1;
    counts.narratives += topic.narrative.empty() ? 0 : 1;
  }
  return counts;
}

void print_topic(const Topic& topic) {
  std::cout << "topic        " << printable(topic.id) << "\n";
  const auto line = [](const char* name, const std::string& text) {
    if (!text.empty()) std::cout << name << printable(text) << "\n";
  };
  line("title        ", topic.title);
  line("description  ", topic.description);
  line("narrative    ", topic.narrative);
}

int show(const TopicsOptions& options) {
  const TopicFile file = index_tools::read_topic_file(options.from);
  if (!options.ids.empty()) {
    for (std::size_t i = 0; i < options.ids.size(); ++i) {
      const auto topic = std::find_if(file.topics.begin(), file.topics.end(),
                                      [&](const Topic& one) { return one.id == options.ids[i]; });
      if (topic == file.topics.end()) {
        throw Error(ErrorKind::usage, options.from, "has no topic " + options.ids[i],
                    fmt::format("list its ids: relucent topics show {} --all", options.from));
      }
      if (i > 0) std::cout << "\n";
      print_topic(*topic);
    }
    return ok;
  }
  const TextCounts counts = count_texts(file.topics);
  std::cout << index_tools::input_name(options.from) << ": " << index_tools::to_string(file.format) << ", "
            << with_commas(file.topics.size()) << " topics (title " << with_commas(counts.titles) << ", description "
            << with_commas(counts.descriptions) << ", narrative " << with_commas(counts.narratives) << ")\n";
  const std::size_t shown = options.all ? file.topics.size() : std::min(kShown, file.topics.size());
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, display_columns(printable(file.topics[i].id)));
  const std::size_t columns = terminal_columns(100);
  for (std::size_t i = 0; i < shown; ++i) {
    const Topic& topic = file.topics[i];
    const std::string id = printable(topic.id);
    std::cout << "  " << id << std::string(width - display_columns(id) + 2, ' ')
              << shortened(printable(topic.title.empty() ? topic.description : topic.title),
                           columns > width + 14 ? columns - width - 4 : 10)
              << "\n";
  }
  if (shown < file.topics.size()) std::cout << "  ... (--all shows all)\n";
  return ok;
}

// The texts that are neither the query nor supported by the format.
std::string left_out(const TextCounts& counts, index_tools::TopicText query, TopicFormat format) {
  const bool carried = index_tools::carries_descriptions(format);
  std::vector<std::string> texts;
  const auto add = [&](std::int64_t count, const char* name) {
    if (count > 0) texts.push_back(fmt::format("{} {}", with_commas(count), name));
  };
  if (query != index_tools::TopicText::title) add(counts.titles, "titles");
  if (query != index_tools::TopicText::description && !carried) add(counts.descriptions, "descriptions");
  if (query != index_tools::TopicText::narrative && !carried) add(counts.narratives, "narratives");
  return join(texts);
}

int convert(const TopicsOptions& options) {
  const TopicFormat format = index_tools::topic_formats().chosen(options.format, options.to);
  TopicFile file = index_tools::read_topic_file(options.from);
  const index_tools::TopicText text = parse_topic_text(options.topic_text);
  const TextCounts counts = count_texts(file.topics);
  for (Topic& topic : file.topics) {
    if (text != index_tools::TopicText::title) topic.title = index_tools::topic_text(topic, text);
  }
  write_result(options.to, index_tools::format_topics(file.topics, format));
  std::cout.flush();
  std::cerr << with_commas(file.topics.size()) << " topics: " << index_tools::to_string(file.format) << " -> "
            << index_tools::to_string(format) << "\n";
  if (const std::string others = left_out(counts, text, format); !others.empty()) {
    std::cerr << "Left out, because this format cannot hold them: " << others << "\n";
  }
  return ok;
}

}  // namespace

void add_topics(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("topics", "Show topics, or convert them to another format");
  command->require_subcommand(1);
  command->footer(
      "Example:\n  relucent topics show topics.robust04.txt\n  relucent topics convert topics.robust04.txt "
      "robust04.tsv");
  auto options = std::make_shared<TopicsOptions>();

  CLI::App* show_command = command->add_subcommand("show", "Describe a topics file");
  show_command->add_option("FILE", options->from, "Topics: TREC, TREC XML, SMART, NPL, JSON lines or TSV")->required();
  show_command->add_option("ID", options->ids, "Topics to show with all their texts");
  show_command->add_flag("--all", options->all, "List every topic, not only the first 10");
  show_command->footer(
      "Example:\n  relucent topics show topics.robust04.txt\n  relucent topics show topics.robust04.txt 301 "
      "302");
  on_selection(*show_command, chosen, [options] { return show(*options); });

  CLI::App* convert_command = command->add_subcommand("convert", "Write topics in another format");
  convert_command->add_option("FROM", options->from, "Topics: TREC, TREC XML, SMART, NPL, JSON lines or TSV")
      ->required();
  convert_command->add_option("TO", options->to,
                              "New file; .tsv, .jsonl, .xml, .trec, .qry set the format, .gz after it compresses; "
                              "\"-\" (default): standard output");
  add_value(*convert_command, "--to FORMAT", options->format,
            "trec | xml | smart | jsonl | tsv (default: by the file name)");
  add_topic_text_flag(*convert_command, options->topic_text);
  convert_command->footer(
      "Example:\n"
      "  relucent topics convert topics.robust04.txt robust04.tsv\n"
      "  relucent topics convert topics.robust04.txt descriptions.tsv --topic-text description\n"
      "  relucent topics convert topics.covid-round5.xml --to jsonl | head -1");
  on_selection(*convert_command, chosen, [options] { return convert(*options); });
}

}  // namespace relucent::program
