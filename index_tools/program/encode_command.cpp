#include "index_tools/program/encode_command.h"

#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/profile.h"
#include "relucent/error.h"
#include "relucent/threads.h"
#include "relucent/times.h"

namespace relucent::program {
namespace {

using index_tools::EncodeSummary;
using index_tools::with_commas;

struct EncodeOptions {
  std::string index, config, precision = "fp16";
  std::optional<std::string> model, device;
  std::optional<int> threads;
  bool json = false, quiet = false;
};

double seconds_of(const EncodeSummary& summary) { return in_milliseconds(summary.time) / 1000; }

double documents_per_second(const EncodeSummary& summary) {
  return summary.encoded == 0 ? 0 : static_cast<double>(summary.encoded) / seconds_of(summary);
}

void print_summary(const std::string& index, const EncodeSummary& summary) {
  const nlohmann::json result = {{"index", index},
                                 {"documents", summary.documents},
                                 {"encoded", summary.encoded},
                                 {"resumed", summary.resumed},
                                 {"without_text", summary.without_text},
                                 {"segments", summary.segments},
                                 {"kept_segments", summary.kept_segments},
                                 {"bytes", summary.bytes},
                                 {"bytes_per_document", summary.bytes_per_document},
                                 {"removed", summary.removed},
                                 {"documents_per_s", documents_per_second(summary)},
                                 {"seconds", seconds_of(summary)}};
  std::cout << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

/// The first of the profile's scorers that encodes documents ahead.
std::shared_ptr<const Scorer> encoding_scorer(const SecondStageConfig& config) {
  for (const StageConfig& stage : config.effective_stages()) {
    auto scorer = make_scorer(stage);
    if (embeddings_of(*scorer)) return scorer;
  }
  throw Error(
      ErrorKind::usage, config.model.empty() ? "--model" : config.model,
      "the model does not encode documents ahead of searches",
      "give an embedding model, a ColBERT, a MixEncoder or a Deformer; `relucent model init --as` makes the latter "
      "two");
}

int run(const EncodeOptions& options) {
  Config config = load_profile_file(options.config);
  if (options.model) {
    config.rescorer.model = *options.model;
    config.rescorer.stages.clear();
  }
  const auto set = [&](StageConfig& stage) {
    if (options.device) stage.device = parse_device(*options.device);
    if (options.threads) stage.threads = *options.threads;
  };
  set(config.rescorer);
  for (StageConfig& stage : config.rescorer.stages) set(stage);
  check_config(config);
  const EncodeSummary summary =
      encode_documents(options.index, config, embedding_numbers(options.precision), options.quiet);
  options.json ? print_summary(options.index, summary) : print_encoded(options.index, summary);
  return ok;
}

}  // namespace

EncodeSummary encode_documents(const std::filesystem::path& index, const Config& config, EmbeddingNumbers numbers,
                               bool quiet) {
  index_tools::EncodeJob job{index, config.index, encoding_scorer(config.rescorer), numbers, quiet};
  const InterruptStop interrupt;
  job.stop.stop = interrupt.token();
  return index_tools::encode_index(job);
}

void print_encoded(const std::filesystem::path& index, const EncodeSummary& summary) {
  std::cout << "Encoded " << with_commas(summary.encoded) << (summary.encoded == 1 ? " document" : " documents")
            << " of " << index.string() << "\n";
  if (summary.resumed > 0) std::cout << "  resumed after " << with_commas(summary.resumed) << " documents\n";
  if (summary.kept_segments > 0) {
    std::cout << "  " << summary.kept_segments << " of " << summary.segments << " segments had their embeddings\n";
  }
  if (summary.without_text > 0) std::cout << "  " << with_commas(summary.without_text) << " without text\n";
  std::cout << "  " << summary.bytes_per_document << " bytes per document, "
            << format_bytes(static_cast<std::uint64_t>(summary.bytes)) << " on disk";
  if (summary.encoded > 0) {
    std::cout << fmt::format(", {:.1f} documents/s, {:.1f} s", documents_per_second(summary), seconds_of(summary));
  }
  std::cout << "\n";
  if (!summary.removed.empty()) {
    std::cout << "  removed files of segments that are gone: " << join(summary.removed) << "\n";
  }
}

void add_encode(CLI::App& program, Action& chosen) {
  auto* command = program.add_subcommand(
      "encode",
      "Encode an index's documents ahead of searches, with an embedding model, a ColBERT, a MixEncoder or a Deformer");
  auto options = std::make_shared<EncodeOptions>();
  add_value(*command, "--index DIR", options->index, "Index directory")->required();
  add_value(*command, "--model DIR", options->model, "Checkpoint directory (default: the profile's)");
  add_value(*command, "--precision PRECISION", options->precision, "Numbers stored: fp32 | fp16 (default) | int8");
  add_value(*command, "--device DEVICE", options->device, "auto | ref | cpu");
  add_value(*command, "--threads N", options->threads, "Model threads (default: every core)")
      ->check(CLI::Range(0, kMaxThreads));
  add_value(*command, "--config FILE", options->config, "Profile that provides [index] and [rescorer]");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->add_flag("--quiet", options->quiet, "Do not show progress");
  command->footer(
      "Only segments without embeddings of this model are encoded. Interrupted or killed, the same command "
      "continues.\n\n"
      "Example:\n"
      "  relucent encode --index my.index --model my-mixencoder\n");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
