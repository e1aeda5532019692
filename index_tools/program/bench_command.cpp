#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/benchmarks/cost_study.h"
#include "index_tools/benchmarks/model_benchmark.h"
#include "index_tools/benchmarks/model_sweep.h"
#include "index_tools/experiments/experiment_file.h"
#include "index_tools/experiments/study_plot.h"
#include "index_tools/experiments/study_report.h"
#include "index_tools/program/cache_folder.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/profile.h"
#include "index_tools/program/text_output.h"
#include "relucent/error.h"
#include "relucent/model/mix_encoder.h"
#include "relucent/threads.h"

namespace relucent::program {
namespace {

constexpr int kLongest = 1'000'000;  // of inputs and windows, in tokens

struct Study {
  benchmarks::CostStudy costs;
  std::string model, plot, format = "table";
  std::vector<int> lengths = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  std::vector<std::string> patterns = {"full", "sparse"}, windows = {"64", "4"}, devices, precisions, long_documents;
  int candidates = 20, query_tokens = 10, runs = 5;
};

struct Options {
  benchmarks::ModelBenchmark model;
  benchmarks::MixEncoderBenchmark mix;
  benchmarks::LateInteractionBenchmark late;
  benchmarks::Bm25Benchmark bm25;
  benchmarks::FilterBenchmark filters;
  benchmarks::IndexBenchmark index;
  benchmarks::PipelineBenchmark pipeline;
  benchmarks::AttentionBenchmark attention;
  std::vector<std::string> windows = {"inf", "64", "4"};
  Study study;
  std::string device = "auto", precision = "auto", config;
  int attention_window = -2;  // below -1: the checkpoint's
  bool json = false, sweep = false;
  double latency_ms = 200;
};

/// Adds --json; the command then prints what `run` measures.
void add_report(CLI::App& command, Action& chosen, const std::shared_ptr<Options>& options,
                const std::function<std::vector<benchmarks::Measurement>(Options&)>& run) {
  command.add_flag("--json", options->json, "Print a JSON array");
  on_selection(command, chosen, [options, run] {
    benchmarks::report(std::cout, run(*options), options->json);
    return ok;
  });
}

/// Adds the flags of a model that runs on a CPU. The first two become settings in set_backend().
void add_backend(CLI::App& command, Options& options, BackendOptions& backend) {
  add_default(command, "--device", options.device, "auto | ref | cpu");
  add_default(command, "--precision", options.precision, "auto | fp32 | bf16 | int16 | int8");
  add_default(command, "--threads", backend.threads, "0: every core this process may use");
}

void set_backend(const Options& options, BackendOptions& backend) {
  backend.device = parse_device(options.device);
  backend.precision = parse_precision(options.precision);
}

/// Adds the flags of a benchmark that searches a generated collection.
template <typename Settings>
void add_collection(CLI::App& command, Settings& settings) {
  command.add_option("--index", settings.index,
                     "Directory of the generated index (default: in the user's cache directory)");
  add_positive(command, "--documents", settings.documents, "Generated documents");
  add_positive(command, "--queries", settings.queries, "Generated queries");
  add_positive(command, "--terms", settings.terms, "Terms per query");
}

template <typename Settings>
std::vector<benchmarks::Measurement> run_on_collection(Settings& settings, const char* name) {
  if (settings.index.empty()) {
    settings.index = cache_folder() / fmt::format("bench-{}-{}", name, settings.documents);
    std::filesystem::create_directories(settings.index);
  }
  return benchmarks::run(settings, std::cerr);
}

void add_model_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command =
      bench.add_subcommand("model", "Time the cross-encoder from text to logits on generated candidates");
  command->footer(
      "Examples:\n"
      "  relucent bench model --candidates 100 --tokens 174 --device cpu --precision fp32\n"
      "  relucent bench model --sweep --latency-ms 100");
  auto& model = options->model;
  command->add_option("--model", model.model,
                      "Checkpoint directory, or ORG/NAME in Hugging Face's cache (default: the bundled checkpoint)");
  add_default(*command, "--device", options->device, "auto | ref | cpu | cuda:N | cuda");
  add_default(*command, "--precision", options->precision, "auto | fp32 | tf32 | bf16 | fp16 | int16 | int8");
  command->add_option("--instruction-set", model.options.backend.instruction_set,
                      "plain | avx2 | avx_vnni | avx512 | avx512_vnni | avx512_bf16 | amx, or on Arm plain | neon | "
                      "neon_dot | neon_i8mm | neon_bf16 (default: the best available)");
  add_default(*command, "--threads", model.options.backend.threads, "0: every core this process may use");
  add_default(*command, "--candidates", model.candidates, "Documents per query");
  add_default(*command, "--tokens", model.tokens, "Tokens per input, query and special tokens included");
  add_default(*command, "--query-tokens", model.query_tokens, "Word pieces of the query");
  command->add_option("--attention-window", options->attention_window,
                      "Attention window; -1: unlimited (default: the checkpoint's)");
  add_positive(*command, "--runs", model.runs, "Timed runs per client after one warm-up; 100 or more add p95 and p99");
  add_default(*command, "--clients", model.clients, "Threads that send queries concurrently")
      ->check(CLI::Range(1, 1024));
  command->add_option("--write-pairs", model.write_pairs, "Write the texts as JSON lines, for other programs to score");
  CLI::Option* sweep = command->add_flag(
      "--sweep", options->sweep,
      "Try the precisions and numbers of threads, and suggest the settings with the largest window (at most "
      "--candidates) for --latency-ms");
  add_positive(*command, "--latency-ms", options->latency_ms,
               "With --sweep: the time that a query's rescoring may take")
      ->needs(sweep);
  for (const char* one : {"--precision", "--threads", "--runs", "--clients", "--write-pairs"}) {
    sweep->excludes(command->get_option(one));
  }
  command->add_flag("--json", options->json, "Print JSON");
  on_selection(*command, chosen, [options] {
    auto& settings = options->model;
    set_backend(*options, settings.options.backend);
    settings.options.max_length = settings.tokens;
    settings.options.max_query_length = settings.query_tokens;
    if (options->attention_window >= -1) settings.options.attention_window = options->attention_window;
    if (options->sweep) {
      const auto latency = std::chrono::duration<double, std::milli>(options->latency_ms);
      const auto found =
          benchmarks::sweep(settings, std::chrono::duration_cast<std::chrono::nanoseconds>(latency), std::cerr);
      benchmarks::report(std::cout, found, options->json);
    } else {
      benchmarks::report(std::cout, benchmarks::run(settings), options->json);
    }
    return ok;
  });
}

void add_late_interaction_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command = bench.add_subcommand(
      "late-interaction",
      "Time late interaction or a Deformer: texts as they are indexed, and a query against what is stored of them");
  command->footer(
      "Example:\n"
      "  relucent bench late-interaction --model answerai-colbert-small-v1 --candidates 1000");
  auto& late = options->late;
  command->add_option("--model", late.model, "Checkpoint directory, or ORG/NAME in Hugging Face's cache")->required();
  add_backend(*command, *options, late.backend);
  add_list(*command, "--candidates", late.candidates, "Numbers of candidates per query")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_positive(*command, "--texts", late.texts, "Texts to encode at a time");
  add_default(*command, "--tokens", late.tokens, "Tokens of a text, special tokens included");
  add_default(*command, "--query-tokens", late.query_tokens, "Word pieces of the query");
  add_positive(*command, "--runs", late.runs, "Timed runs after one warm-up");
  command->add_option("--write-texts", late.write_texts, "Write the texts as JSON lines, for other programs to encode");
  add_report(*command, chosen, options, [](Options& asked) {
    set_backend(asked, asked.late.backend);
    return benchmarks::run(asked.late);
  });
}

void add_mix_encoder_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command = bench.add_subcommand(
      "mixencoder", "Time a MixEncoder: texts as they are indexed, stored embeddings, and a query against candidates");
  command->footer(
      "Examples:\n"
      "  relucent bench mixencoder --model my-mixencoder\n"
      "  relucent bench mixencoder --model my-mixencoder --cross-encoder bert-cross-encoder --candidates 10,1000");
  auto& mix = options->mix;
  command->add_option("--model", mix.model, "Directory of a MixEncoder's checkpoint")->required();
  command->add_option("--cross-encoder", mix.cross_encoder, "Directory of a cross-encoder to compare with");
  add_backend(*command, *options, mix.backend);
  add_list(*command, "--candidates", mix.candidates, "Numbers of stored candidates per query")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_positive(*command, "--cross-candidates", mix.cross_candidates, "Candidates per query of the cross-encoder");
  add_default(*command, "--stored", mix.stored,
              "Documents of a generated file of embeddings, written and opened; 0: none")
      ->check(CLI::Range(0, 100'000'000));
  add_positive(*command, "--texts", mix.texts, "Texts to encode at a time");
  add_default(*command, "--tokens", mix.tokens, "Tokens of query and text, special tokens included");
  add_default(*command, "--query-tokens", mix.query_tokens, "Word pieces of the query");
  add_positive(*command, "--runs", mix.runs, "Timed runs after one warm-up");
  add_report(*command, chosen, options, [](Options& asked) {
    set_backend(asked, asked.mix.backend);
    return benchmarks::run(asked.mix);
  });
}

void add_bm25_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command =
      bench.add_subcommand("bm25", "Time BM25 against Lucene++'s own scoring on a generated collection");
  command->footer(
      "The index is built on the first run and kept.\n"
      "Example:\n  relucent bench bm25 --documents 1000000 --queries 200");
  auto& bm25 = options->bm25;
  add_collection(*command, bm25);
  add_positive(*command, "--hits", bm25.hits, "Hits per query");
  add_positive(*command, "--runs", bm25.rounds, "Timed runs per query");
  command->add_option("--write-texts", bm25.write_texts,
                      "Write the documents, one per line, for other programs to index");
  command->add_option("--write-queries", bm25.write_queries, "Write the queries, one per line");
  command->add_option("--write-hits", bm25.write_hits, "Write the hits of each query, one query per line");
  add_report(*command, chosen, options, [](Options& asked) { return run_on_collection(asked.bm25, "bm25"); });
}

void add_filter_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command = bench.add_subcommand(
      "filters", "Time first-stage searches with filters, pages, facets and fields on a generated collection");
  command->footer(
      "The index is built on the first run and kept.\n"
      "Example:\n  relucent bench filters --documents 1000000");
  auto& filters = options->filters;
  add_collection(*command, filters);
  add_default(*command, "--hits", filters.hits, "Hits per page")->check(CLI::Range(1, 100'000'000));
  add_positive(*command, "--runs", filters.rounds, "Timed runs per query and case");
  add_report(*command, chosen, options, [](Options& asked) { return run_on_collection(asked.filters, "filters"); });
}

void add_index_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command =
      bench.add_subcommand("index", "Time indexing against a loop with Lucene++'s own writer and analyzer");
  command->footer("Example:\n  relucent bench index --documents 1000000 --threads 2");
  auto& index = options->index;
  add_positive(*command, "--documents", index.documents, "Generated documents");
  add_default(*command, "--threads", index.threads, "0: every core")->check(CLI::Range(0, kMaxThreads));
  add_positive(*command, "--runs", index.runs, "Timed runs");
  command->add_option("--folder", index.folder,
                      "Directory for the text and the indexes (default: the system's temporary directory)");
  command->add_flag("!--no-stock", index.stock, "Skip Lucene++'s own loop");
  add_report(*command, chosen, options, [](Options& asked) { return benchmarks::run(asked.index, std::cerr); });
}

void add_pipeline_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command = bench.add_subcommand("pipeline", "Time whole searches over an index, part by part");
  command->footer("Example:\n  relucent bench pipeline --index DIR --topics queries.tsv --candidates 100");
  auto& pipeline = options->pipeline;
  command->add_option("--index", pipeline.index, "Index directory")->required();
  command->add_option("--topics", pipeline.topics, "Topics file in any supported format")->required();
  command->add_option("--config", options->config, "TOML profile");
  add_positive(*command, "--candidates", pipeline.hits, "Hits per query");
  add_positive(*command, "--runs", pipeline.rounds, "Rounds over the topics");
  add_report(*command, chosen, options, [](Options& asked) {
    auto& settings = asked.pipeline;
    if (asked.config.empty()) {
      settings.config.rescorer.timeout = {};
    } else {
      settings.config = load_profile_file(asked.config);
    }
    return benchmarks::run(settings);
  });
}

std::string quoted_list(const std::vector<std::string>& values) {
  return "[" + join(values, ", ", [](const std::string& value) { return "\"" + value + "\""; }) + "]";
}

template <typename Value>
void refuse_repeated(const std::string& flag, std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  const auto twice = std::adjacent_find(values.begin(), values.end());
  if (twice != values.end()) throw Error(ErrorKind::usage, flag, fmt::format("names {} twice", *twice), "name it once");
}

/// The windows as TOML writes them.
std::vector<std::string> parsed_windows(const std::vector<std::string>& windows) {
  std::vector<std::string> parsed;
  for (const std::string& window : windows) {
    int number = 0;
    const auto [end, problem] = std::from_chars(window.data(), window.data() + window.size(), number);
    const bool is_number = problem == std::errc() && end == window.data() + window.size() && number >= 0;
    refuse_if(window != "inf" && (!is_number || number > kLongest), "--windows",
              fmt::format("{} is not a window", window),
              fmt::format("name numbers of tokens from 0 to {}, or inf", kLongest));
    parsed.push_back(is_number ? std::to_string(number) : "\"inf\"");
  }
  return parsed;
}

/// Names the flag, not a line of the experiment that they become.
void check_flags(const Study& study) {
  for (const int length : study.lengths) {
    refuse_if(length < study.query_tokens + 4, "--lengths",
              fmt::format("{} tokens leave no room for a document", length),
              fmt::format("name lengths of at least {} (--query-tokens + 4)", study.query_tokens + 4));
  }
  for (const std::string& name : study.devices) parse_device(name);
  for (const std::string& name : study.precisions) parse_precision(name);
  refuse_repeated("--lengths", study.lengths);
  refuse_repeated("--patterns", study.patterns);
  refuse_repeated("--windows", parsed_windows(study.windows));
  refuse_repeated("--devices", study.devices);
  refuse_repeated("--precisions", study.precisions);
  refuse_repeated("--long-documents", study.long_documents);
}

/// `relucent bench study` is an experiment with [costs], written by its flags.
index_tools::Experiment study_of(const Study& study) {
  check_flags(study);
  const std::string windows = join(parsed_windows(study.windows));
  std::string rows, settings;
  if (!study.devices.empty()) settings += fmt::format("devices = {}\n", quoted_list(study.devices));
  if (!study.precisions.empty()) settings += fmt::format("precisions = {}\n", quoted_list(study.precisions));
  if (!study.long_documents.empty())
    settings += fmt::format("long_documents = {}\n", quoted_list(study.long_documents));
  std::string name;
  if (!study.long_documents.empty()) name += " {long_documents}";
  if (study.devices.size() > 1) name += " {device}";
  if (study.precisions.size() > 1) name += " {precision}";
  const auto add_row = [&](const std::string& of_row, const std::string& keys) {
    rows += fmt::format("[[rows]]\nname = \"{}{}\"\nmodels = [\"model\"]\n{}{}", of_row, name, keys, settings);
  };
  std::error_code absent;  // which the study itself reports
  const bool is_mir = !study.model.empty() && std::filesystem::exists(model_folder(study.model), absent) &&
                      checkpoint_model_type(study.model) == "mir";
  refuse_if(is_mir && study.patterns != Study().patterns, "--patterns",
            "does not apply to a MIR, whose passages see everything", "remove it");
  if (is_mir) add_row("MIR", "");
  for (const std::string& pattern : is_mir ? std::vector<std::string>() : study.patterns) {
    const std::string of_pattern = fmt::format("patterns = [\"{}\"]\n", pattern);
    if (pattern == "full") {
      add_row("full", of_pattern);
    } else {
      add_row(pattern + " w={window}", fmt::format("{}windows = [{}]\n", of_pattern, windows));
    }
  }
  index_tools::Experiment experiment = index_tools::parse_experiment(
      fmt::format(
          "title = \"time and memory per candidate\"\n[costs]\nlengths = [{}]\ncandidates = {}\nquery_tokens = {}\n"
          "runs = {}\n[[models]]\nname = \"model\"\n{}",
          join(study.lengths), study.candidates, study.query_tokens, study.runs, rows),
      "bench study", std::filesystem::current_path());
  if (!study.model.empty()) experiment.models[0].folder = std::filesystem::absolute(model_folder(study.model));
  return experiment;
}

void add_study(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command = bench.add_subcommand("study", "Time and memory per candidate by length and attention window");
  command->footer(
      "Examples:\n"
      "  relucent bench study --plot costs.svg\n"
      "  relucent bench study --lengths 128,512,4096 --windows 4,64 --devices cpu --precisions fp32,bf16 --format "
      "csv\n\n"
      "Results are kept, so an interrupted study resumes where it stopped.");
  Study& study = options->study;
  const auto list = [&](const char* flag, auto& values, const char* help) {
    return add_list(*command, flag, values, help)->capture_default_str();
  };
  command->add_option(
      "--model", study.model,
      "Checkpoint directory, or ORG/NAME in Hugging Face's cache: a cross-encoder or a MIR (default: the "
      "bundled checkpoint)");
  list("--lengths", study.lengths, "Tokens per input, query and special tokens included")
      ->check(CLI::Range(1, kLongest));
  list("--patterns", study.patterns, "full | local | longformer | qds | sparse")
      ->check(CLI::IsMember({"full", "local", "longformer", "qds", "sparse"}));
  list("--windows", study.windows, "Attention windows of the patterns that have one; inf: unlimited");
  list("--long-documents", study.long_documents,
       "Also read the texts in chunks of 225 word pieces: truncate | maxp | firstp | sump | avgp | topk");
  list("--devices", study.devices, "auto | ref | cpu | cuda:N (default: auto)");
  list("--precisions", study.precisions, "auto | fp32 | tf32 | bf16 | fp16 | int16 | int8 (default: auto)");
  add_default(*command, "--candidates", study.candidates, "Documents per query")->check(CLI::Range(1, 100'000));
  add_default(*command, "--query-tokens", study.query_tokens, "Word pieces of the query")->check(CLI::Range(1, 30));
  add_default(*command, "--runs", study.runs, "Timed runs after one warm-up")->check(CLI::Range(1, 100'000));
  add_default(*command, "--threads", study.costs.threads, "0: every core this process may use")
      ->check(CLI::Range(0, kMaxThreads));
  add_value(*command, "--peers FILE", study.costs.peers, "Add the contenders of a table that tests/benchmarks printed");
  add_value(*command, "--cache DIR", study.costs.cache,
            "Folder of what was measured (default: in the user's cache directory)");
  command->add_flag("--fresh", study.costs.fresh, "Measure everything again, also what is in the cache");
  add_value(*command, "--plot FILE.svg", study.plot, "Draw time and memory by length as SVG");
  add_choice(*command, "--format", study.format, {"table", "csv", "json", "latex", "markdown"},
             "table, csv, json, latex, markdown");
  command->add_flag("--quiet", study.costs.quiet, "Do not show progress");
  on_selection(*command, chosen, [options] {
    Study& asked = options->study;
    const index_tools::Experiment experiment = study_of(asked);
    const InterruptStop interrupt;
    asked.costs.cache = experiment_cache(asked.costs.cache);
    asked.costs.stop = interrupt.token();
    const index_tools::StudyReport report = benchmarks::measure_costs(experiment, asked.costs);
    std::cout << formatted_study(report, asked.format);
    if (!asked.plot.empty()) write_result(asked.plot, index_tools::study_plot(experiment, report));
    return ok;
  });
}

void add_attention_benchmark(CLI::App& bench, Action& chosen, const std::shared_ptr<Options>& options) {
  CLI::App* command =
      bench.add_subcommand("attention", "Time one layer's attention alone by length and attention window");
  command->footer(
      "Example:\n"
      "  relucent bench attention --lengths 512,4096 --windows inf,64,4 --threads 1");
  benchmarks::AttentionBenchmark& attention = options->attention;
  command->add_option("--model", attention.model,
                      "Cross-encoder whose heads the layer has (default: the bundled checkpoint)");
  add_list(*command, "--lengths", attention.lengths, "Tokens per input")
      ->capture_default_str()
      ->check(CLI::Range(1, kLongest));
  add_list(*command, "--windows", options->windows, "Attention windows; inf: unlimited")->capture_default_str();
  add_default(*command, "--device", options->device, "cpu | cuda:N | cuda: the first GPU, auto: one if there is one");
  add_default(*command, "--precision", options->precision, "auto | fp32 | bf16 | int16 | int8 | fp16 | tf32");
  add_default(*command, "--threads", attention.backend.threads, "0: every core this process may use")
      ->check(CLI::Range(0, kMaxThreads));
  add_default(*command, "--candidates", attention.candidates, "Inputs")->check(CLI::Range(1, 100'000));
  add_default(*command, "--runs", attention.runs, "Timed runs after one warm-up")->check(CLI::Range(1, 100'000));
  add_report(*command, chosen, options, [](Options& asked) {
    benchmarks::AttentionBenchmark& settings = asked.attention;
    settings.backend.device = parse_device(asked.device);
    settings.backend.precision = parse_precision(asked.precision);
    settings.windows.clear();
    for (const std::string& window : parsed_windows(asked.windows)) {
      settings.windows.push_back(window == "\"inf\"" ? std::nullopt : std::optional(std::stoul(window)));
    }
    return benchmarks::run(settings);
  });
}

}  // namespace

void add_bench(CLI::App& program, Action& chosen) {
  CLI::App* bench = program.add_subcommand("bench", "Time the models, BM25, indexing or whole searches");
  bench->require_subcommand(1);
  bench->footer("Example:\n  relucent bench model --candidates 100 --tokens 174");
  const auto options = std::make_shared<Options>();
  add_model_benchmark(*bench, chosen, options);
  add_late_interaction_benchmark(*bench, chosen, options);
  add_mix_encoder_benchmark(*bench, chosen, options);
  add_bm25_benchmark(*bench, chosen, options);
  add_filter_benchmark(*bench, chosen, options);
  add_index_benchmark(*bench, chosen, options);
  add_pipeline_benchmark(*bench, chosen, options);
  add_attention_benchmark(*bench, chosen, options);
  add_study(*bench, chosen, options);
}

}  // namespace relucent::program
