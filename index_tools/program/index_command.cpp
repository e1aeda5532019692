#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/indexing/indexer.h"
#include "index_tools/indexing/interrupt.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/indexing/updater.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/encode_command.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/profile.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/index_files.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/threads.h"
#include "relucent/times.h"

namespace relucent::program {
namespace {

using index_tools::IndexJob;
using index_tools::IndexSummary;
using index_tools::UpdateSummary;
using index_tools::with_commas;

struct IndexOptions {
  IndexJob job;
  std::string config, language, token_ids_of, model;
  std::vector<std::string> keywords, numbers, texts;
  bool token_ids = false;
  std::string duplicates = "error";
  double max_malformed_percent = 0.1;
  bool resume = false, force_resume = false, overwrite = false, update = false, json = false;
};

nlohmann::json examples_json(const std::map<std::string, index_tools::ReadReport::Kind, std::less<>>& kinds) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [kind, entry] : kinds) json[kind] = {{"count", entry.count}, {"examples", entry.examples}};
  return json;
}

nlohmann::json to_json(const IndexJob& job, const IndexSummary& summary, std::int64_t official,
                       const std::optional<std::int64_t>& encoded) {
  nlohmann::json result = {{"corpus", job.corpus},
                           {"index", job.index.string()},
                           {"documents", summary.documents},
                           {"resumed_from", summary.resumed_from},
                           {"recovered", summary.recovered},
                           {"documents_with_tokens", summary.totals.documents_with_tokens},
                           {"tokens", summary.totals.tokens},
                           {"empty_texts", summary.report.empty_texts()},
                           {"malformed_records", summary.report.malformed_records()},
                           {"malformed", examples_json(summary.report.kinds())},
                           {"skipped_files", summary.report.skipped_files()},
                           {"skipped", examples_json(summary.report.skipped_kinds())},
                           {"replaced_utf8_sequences", summary.report.replaced_sequences()},
                           {"duplicates_skipped", summary.duplicates},
                           {"metadata_left_out", summary.metadata_left_out},
                           {"input_files", summary.input_files},
                           {"input_bytes", summary.input_bytes},
                           {"files_left_out", summary.left_out_files},
                           {"links_skipped", summary.broken_links},
                           {"token_ids_of", job.token_ids_of.string()},
                           {"index_bytes", summary.index_bytes},
                           {"seconds", in_milliseconds(summary.time) / 1000}};
  if (official > 0) result["official_documents"] = official;
  if (encoded) result["encoded"] = *encoded;
  return result;
}

std::string counted(std::int64_t number, const std::string& one, const std::string& more) {
  return fmt::format("{} {}", with_commas(number), number == 1 ? one : more);
}

/// The input and what was odd about it.
void print_input(const IndexSummary& summary) {
  std::cout << "  " << counted(summary.input_files, "file", "files") << ", " << format_bytes(summary.input_bytes)
            << ", " << std::llround(in_milliseconds(summary.time) / 100) / 10.0 << " s\n";
  if (summary.left_out_files > 0) {
    std::cout << "  " << counted(summary.left_out_files, "other file", "other files")
              << " in the directories skipped\n";
  }
  if (!summary.broken_links.empty()) {
    std::cout << "  " << counted(static_cast<std::int64_t>(summary.broken_links.size()), "link", "links")
              << " skipped: "
              << join(std::span(summary.broken_links).first(std::min<std::size_t>(summary.broken_links.size(), 5)))
              << (summary.broken_links.size() > 5 ? ", ...\n" : "\n");
  }
  if (summary.report.malformed_records() > 0) std::cout << "  " << summary.report.malformed_summary() << "\n";
  if (summary.report.skipped_files() > 0) std::cout << "  " << summary.report.skipped_summary() << "\n";
  if (summary.report.empty_texts() > 0) {
    std::cout << "  " << counted(summary.report.empty_texts(), "document", "documents") << " without text\n";
  }
  if (summary.report.replaced_sequences() > 0) {
    std::cout << "  "
              << counted(summary.report.replaced_sequences(), "malformed UTF-8 sequence", "malformed UTF-8 sequences")
              << " became U+FFFD\n";
  }
  if (summary.duplicates > 0) {
    std::cout << "  " << counted(summary.duplicates, "document", "documents") << " skipped because of a duplicate id:";
    for (const std::string& example : summary.duplicate_examples) std::cout << " " << example;
    std::cout << "\n";
  }
  if (summary.metadata_left_out > 0) {
    std::cout << "  the metadata of " << counted(summary.metadata_left_out, "document", "documents")
              << " left out because it is longer than " << IndexBuilder::kMaxMetadataBytes / 1024 << " KiB:";
    for (const std::string& example : summary.metadata_examples) std::cout << " " << example;
    std::cout << "\n";
  }
}

void print(const IndexJob& job, const IndexSummary& summary, std::int64_t official) {
  std::cout << "Indexed " << counted(summary.documents, "document", "documents") << " of " << job.corpus << " into "
            << job.index.string() << "\n";
  if (summary.resumed_from > 0) {
    std::cout << "  resumed after " << with_commas(summary.resumed_from) << " documents\n";
  }
  std::cout << "  " << counted(summary.totals.tokens, "token", "tokens") << " in "
            << counted(summary.totals.documents_with_tokens, "document", "documents") << ", "
            << format_bytes(summary.index_bytes) << " on disk\n";
  print_input(summary);
  if (official > 0) {
    std::cout << "  the whole corpus has " << with_commas(official) << " documents"
              << (official == summary.documents ? ": all are here" : "") << "\n";
  }
  // As it was called, so that the line can be pasted.
  std::cout << "Next: " << program_invocation_name << " search --index " << job.index.string()
            << " \"your question\"\n";
}

void print_update(const IndexJob& job, const UpdateSummary& update) {
  std::cout << fmt::format("Updated {} with {}: {} replaced, {} new\n", job.index.string(),
                           counted(update.read, "document", "documents"), with_commas(update.replaced),
                           with_commas(update.added))
            << "  " << counted(update.index.documents, "document", "documents") << " now, "
            << format_bytes(update.index.index_bytes) << " on disk\n";
  print_input(update.index);
}

bool has_token_ids(const std::filesystem::path& index) {
  try {
    return index_files(index).token_ids;
  } catch (const Error&) {
    return false;  // the update names what is wrong
  }
}

/// Returns how many documents were encoded.
std::int64_t encode(const IndexOptions& options, Config config) {
  config.rescorer.model = options.model;
  config.rescorer.stages.clear();
  const auto summary = encode_documents(options.job.index, config, EmbeddingNumbers::fp16, options.job.quiet);
  if (!options.json) print_encoded(options.job.index, summary);
  return summary.encoded;
}

int run(IndexOptions& options) {
  IndexJob& job = options.job;
  refuse_if(options.overwrite && (options.resume || options.force_resume), "--overwrite",
            "cannot be combined with --resume", "choose one");
  refuse_if(options.update && (options.overwrite || options.resume || options.force_resume), "--update",
            "cannot be combined with --resume or --overwrite", "choose one");
  if (options.overwrite) job.start = IndexJob::Start::overwrite;
  if (options.resume || options.force_resume) job.start = IndexJob::Start::resume;
  job.any_input = options.force_resume;
  job.duplicates = index_tools::duplicates_from(options.duplicates);
  job.max_malformed = options.max_malformed_percent / 100;
  Config config = load_profile_file(options.config);
  if (!options.language.empty()) config.index.language = parse_language(options.language, "--language");
  if (!options.keywords.empty() || !options.numbers.empty() || !options.texts.empty()) {
    config.index.keyword_fields = options.keywords;
    config.index.number_fields = options.numbers;
    config.index.analyzed_fields = options.texts;
  }
  check_config(config);
  if (options.token_ids || config.index.token_ids || (options.update && has_token_ids(job.index))) {
    const std::string& model = options.token_ids_of.empty() ? config.rescorer.model : options.token_ids_of;
    job.token_ids_of = model_folder(model);
  }
  job.fields = config.index;
  job.first_stage = config.first_stage;

  const std::int64_t official = index_tools::find_corpus(job.corpus).official_documents;
  std::optional<UpdateSummary> update;
  const IndexSummary summary = [&] {
    const index_tools::InterruptGuard guard;
    job.interrupted = index_tools::InterruptGuard::interrupted;
    if (!options.update) return index_tools::run_index(job);
    update = index_tools::update_index(job);
    return update->index;
  }();
  if (!summary.recovered.empty()) {
    std::cerr << "relucent: warning: the last commit was incomplete (" << summary.recovered
              << "); resumed after the previous commit\n";
  }
  if (!options.json && update) print_update(job, *update);
  if (!options.json && !update) print(job, summary, official);
  std::optional<std::int64_t> encoded;
  if (!options.model.empty()) encoded = encode(options, config);
  if (options.json) {
    nlohmann::json result = to_json(job, summary, official, encoded);
    if (update) result.update({{"read", update->read}, {"replaced", update->replaced}, {"added", update->added}});
    std::cout << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  if (summary.report.skipped_files() == 0) return ok;
  std::cerr << fmt::format("relucent: degraded: {} not indexed, because their text cannot be read\n",
                           counted(summary.report.skipped_files(), "file was", "files were"));
  return degraded;
}

std::string footer() {
  std::string text = "Your own documents, --corpus:\n";
  bool own = true;
  for (const auto& corpus : index_tools::corpora()) {
    if (own && corpus.official_documents > 0) {
      own = false;
      text += "Research collections:\n";
    }
    text += fmt::format("  {:<19} {}\n", corpus.id, corpus.format);
  }
  return text +
         "Every file may be compressed (gz, bz2, xz, zstd, Z) or be inside a tar or zip archive; files are read in "
         "place.\n\n"
         "Example:\n"
         "  relucent index --corpus jsonl --input 'docs/*.jsonl.gz' --index my.index\n"
         "  relucent index --corpus jsonl --input docs.jsonl --keyword lang --number year --index my.index\n"
         "  relucent index --corpus jsonl --input changed.jsonl --index my.index --update\n"
         "  relucent index --corpus text --input notes/ --index my.index\n"
         "  relucent index --corpus files --input papers/ --index my.index\n"
         "  relucent index --corpus text --input notizen/ --language german --index my.index\n"
         "  relucent index --corpus msmarco-passage --input collection.tar.gz --index marco.index\n";
}

}  // namespace

void add_index(CLI::App& program, Action& chosen) {
  auto* command = program.add_subcommand("index", "Index a corpus or your own documents");
  auto options = std::make_shared<IndexOptions>();
  IndexJob& job = options->job;
  add_value(*command, "--corpus ID", job.corpus, "Format of the input; see below")->required();
  add_value(*command, "--input PATH", job.inputs,
            "Files, directories or patterns, compressed or not; \"-\": standard input")
      ->required()
      ->expected(1, -1);
  add_value(*command, "--index DIR", job.index, "Index directory")->required();
  command->add_flag("--resume", options->resume, "Continue an interrupted run after its last commit");
  command->add_flag("--force-resume", options->force_resume, "Like --resume, even if the input has changed");
  command->add_flag("--update", options->update,
                    "Replace the documents with the input's ids in a finished index, and add the others");
  auto* overwrite =
      command->add_flag("--overwrite", options->overwrite, "Replace an index that `relucent index` wrote");
  command
      ->add_flag("--force", job.force, "With --overwrite: also replace an index that another program wrote or changed")
      ->needs(overwrite);
  add_value(*command, "--names PATTERN", job.names,
            "Files to read from directories and archives, instead of the corpus's own patterns");
  add_value(*command, "--threads N", job.threads,
            "Indexing threads; 0 (default): one per core that this process may use. At most 32 are "
            "started; the result does not depend on the number")
      ->check(CLI::Range(0, kMaxThreads));
  command->add_flag("--strict", job.strict, "Fail at the first malformed record and at links that cannot be followed");
  add_value(*command, "--max-malformed PERCENT", options->max_malformed_percent,
            "Fail if a larger share of the records is malformed, in percent (default 0.1)")
      ->check(CLI::Range(0.0, 100.0));
  add_value(*command, "--duplicates POLICY", options->duplicates,
            "What to do with a duplicate id: error (default), skip-later or keep");
  add_value(*command, "--commit-every N", job.commit_every, "Documents between commits (default 1000000)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  auto* token_ids =
      command->add_option("--token-ids", options->token_ids_of,
                          "Also store the token ids of each text, for models that share the tokenizer of MODEL "
                          "(default: the profile's model, or the bundled one)");
  token_ids->type_name("[MODEL]")->expected(0, 1);
  add_value(*command, "--model DIR", options->model,
            "Then encode the documents with this MixEncoder, as `relucent encode` does with its defaults");
  add_value(*command, "--language NAME", options->language,
            "Language of the documents and of queries, as arabic or ar (default: the profile's [index] language, "
            "or english); see docs/languages.md");
  add_value(*command, "--keyword KEY", options->keywords,
            "Key of the JSON documents whose strings searches can filter by and count; repeat it for several. "
            "With --number and --text, replaces the profile's; see docs/fields-and-filters.md")
      ->allow_extra_args(false);
  add_value(*command, "--number KEY", options->numbers, "The same for a key whose numbers searches can filter by")
      ->allow_extra_args(false);
  add_value(*command, "--text KEY", options->texts,
            "The same for a key whose strings become a field of their own that searches can weight, as title^2")
      ->allow_extra_args(false);
  add_value(*command, "--config FILE", options->config, "Profile that provides [index] and [first_stage]");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->add_flag("--quiet", job.quiet, "Do not show progress");
  command->footer(footer());
  on_selection(*command, chosen, [options, token_ids] {
    options->token_ids = token_ids->count() > 0;
    return run(*options);
  });
}

}  // namespace relucent::program
