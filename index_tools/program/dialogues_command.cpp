#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "index_tools/evaluation/dialogues.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"

namespace relucent::program {
namespace {

struct DialoguesOptions {
  std::string format, input, output, qrels;
  bool quiet = false;
};

int run(const DialoguesOptions& options) {
  using index_tools::DialogueFormat;
  const InterruptStop interrupt;
  index_tools::OutputFile output(options.output), qrels(options.qrels);
  std::int64_t dialogues = 0, candidates = 0;
  const auto write = [&](const index_tools::Dialogue& dialogue) {
    interrupt.throw_if_interrupted("converting the dialogues");
    ++dialogues;
    for (std::size_t i = 0; i < dialogue.candidates.size(); ++i) {
      const auto& [id, text, correct] = dialogue.candidates[i];
      // There is no first stage: the order is the file's.
      const nlohmann::ordered_json record = {{"qid", dialogue.id}, {"query", dialogue.context},
                                             {"docno", id},        {"text", text},
                                             {"rank", i + 1},      {"score", -static_cast<double>(i)}};
      output.write(record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
      qrels.write(fmt::format("{} 0 {} {}\n", dialogue.id, id, correct ? 1 : 0));
      ++candidates;
    }
  };
  read_dialogues(options.input, options.format == "dstc7" ? DialogueFormat::dstc7 : DialogueFormat::ubuntu_v2, write);
  output.commit();
  qrels.commit();
  if (!options.quiet) {
    std::cerr << fmt::format("Wrote {} candidates of {} dialogues -> {}, {}\n", index_tools::with_commas(candidates),
                             index_tools::with_commas(dialogues), options.output, options.qrels);
  }
  return ok;
}

}  // namespace

void add_dialogues(CLI::App& program, Action& chosen) {
  CLI::App* command =
      program.add_subcommand("dialogues", "Convert collections of dialogues to candidates and judgments");
  auto options = std::make_shared<DialoguesOptions>();
  command
      ->add_option("--from", options->format,
                   "ubuntu-v2: test.csv or valid.csv of the Ubuntu Dialogue Corpus v2; dstc7: JSON of DSTC 7, track 1, "
                   "subtask 1")
      ->required()
      ->check(CLI::IsMember({"ubuntu-v2", "dstc7"}));
  add_value(*command, "--input FILE", options->input, "The collection's file, plain or compressed")->required();
  add_value(*command, "--output FILE", options->output, "Candidates, for rerank and experiments: X.jsonl, X.jsonl.gz")
      ->required();
  add_value(*command, "--qrels FILE", options->qrels, "Judgments: 1 for the correct answers, 0 for the others")
      ->required();
  command->add_flag("--quiet", options->quiet, "Do not print a summary");
  command->footer(
      "Example:\n"
      "  relucent dialogues --from ubuntu-v2 --input test.csv --output ubuntu.rerank.jsonl.gz --qrels "
      "qrels.ubuntu.txt");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
