#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/qrels_writer.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/text_output.h"

namespace relucent::program {
namespace {

using index_tools::Judgment;
using index_tools::JudgmentFile;
using index_tools::QrelsFormat;
using index_tools::with_commas;

struct QrelsOptions {
  std::string from, to = "-", format;
};

int show(const QrelsOptions& options) {
  const JudgmentFile file = index_tools::read_judgment_file(options.from);
  std::map<std::string, std::size_t> relevant;
  std::map<int, std::size_t> grades;
  for (const Judgment& judgment : file.judgments) {
    relevant[judgment.query] += judgment.grade >= 1 ? 1 : 0;
    ++grades[judgment.grade];
  }
  std::cout << index_tools::input_name(options.from) << ": " << index_tools::to_string(file.format) << ", "
            << with_commas(file.judgments.size()) << " judgments for " << with_commas(relevant.size()) << " queries\n";
  for (const auto& [grade, count] : grades) std::cout << "  grade " << grade << "  " << with_commas(count) << "\n";
  const auto [fewest, most] = std::minmax_element(relevant.begin(), relevant.end(),
                                                  [](const auto& a, const auto& b) { return a.second < b.second; });
  std::cout << "  relevant (grade 1 or more) per query: " << with_commas(fewest->second) << " to "
            << with_commas(most->second) << "\n";
  return ok;
}

int convert(const QrelsOptions& options) {
  const QrelsFormat format = index_tools::qrels_formats().chosen(options.format, options.to);
  const JudgmentFile file = index_tools::read_judgment_file(options.from);
  write_result(options.to, index_tools::format_judgments(file.judgments, format));
  std::cout.flush();
  std::cerr << with_commas(file.judgments.size()) << " judgments: " << index_tools::to_string(file.format) << " -> "
            << index_tools::to_string(format) << "\n";
  const bool carries_iteration = format == QrelsFormat::trec || format == QrelsFormat::jsonl;
  const bool iterations = std::any_of(file.judgments.begin(), file.judgments.end(),
                                      [](const Judgment& judgment) { return judgment.iteration != "0"; });
  if (iterations && !carries_iteration)
    std::cerr << "Left out: the iterations (TREC's second column), which this format cannot hold\n";
  return ok;
}

}  // namespace

void add_qrels(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("qrels", "Show judgments, or convert them to another format");
  command->require_subcommand(1);
  command->footer("Example:\n  relucent qrels show qrels.txt\n  relucent qrels convert cranqrel cranfield.qrels");
  auto options = std::make_shared<QrelsOptions>();

  CLI::App* show_command = command->add_subcommand("show", "Describe a file of judgments");
  show_command->add_option("FILE", options->from, "Judgments: TREC, SMART, NPL, JSON lines or BEIR's TSV")->required();
  show_command->footer("Example:\n  relucent qrels show qrels.txt");
  on_selection(*show_command, chosen, [options] { return show(*options); });

  CLI::App* convert_command = command->add_subcommand("convert", "Write judgments in another format");
  convert_command->add_option("FROM", options->from, "Judgments: TREC, SMART, NPL, JSON lines or BEIR's TSV")
      ->required();
  convert_command->add_option("TO", options->to,
                              "New file; .qrels, .trec, .jsonl, .rel (SMART), .tsv (BEIR) set the format, .gz after it "
                              "compresses; \"-\" (default): standard output");
  add_value(*convert_command, "--to FORMAT", options->format,
            "trec | smart | jsonl | beir (default: by the file name)");
  convert_command->footer(
      "Grades are written as they stand.\n\nExample:\n"
      "  relucent qrels convert cranqrel cranfield.qrels\n"
      "  relucent qrels convert qrels.txt --to jsonl | head -1");
  on_selection(*convert_command, chosen, [options] { return convert(*options); });
}

}  // namespace relucent::program
