#include "index_tools/benchmarks/model_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "index_tools/benchmarks/generated_texts.h"
#include "relucent/error.h"
#include "relucent/kernels/peak.h"
#include "relucent/times.h"

namespace relucent::benchmarks {
namespace {

double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

struct Scored {
  std::vector<std::chrono::nanoseconds> total, tokenize, encode, device;  // one per run of every client
  std::uint64_t device_bytes = 0;                                         // maximum over all calls
  std::chrono::nanoseconds wall{0};
  // Memory after the first tenth of the runs, when buffers have reached their size, and after the last.
  MemoryUse early, late;
};

Scored score_from_clients(const CrossEncoder& encoder, const std::string& query,
                          std::span<const std::string_view> documents, const ModelBenchmark& settings) {
  std::vector<Scored> of_client(static_cast<std::size_t>(settings.clients));
  Scored all;
  all.wall = time_of([&] {
    run_clients(settings.clients, [&](int client) {
      Scored& mine = of_client[static_cast<std::size_t>(client)];
      for (auto* samples : {&mine.total, &mine.tokenize, &mine.encode, &mine.device}) {
        samples->reserve(static_cast<std::size_t>(settings.runs));
      }
      for (int run = 0; run < settings.runs; ++run) {
        if (client == 0 && run == settings.runs / 10) all.early = memory_use();
        PairScores scores;
        mine.total.push_back(time_of([&] { scores = encoder.score(query, documents); }));
        mine.tokenize.push_back(scores.times.tokenize);
        mine.encode.push_back(scores.times.encode);
        mine.device.push_back(scores.times.device);
        mine.device_bytes = std::max(mine.device_bytes, scores.device_bytes);
        if (scores.documents.front().tokens != settings.tokens) {
          throw Error(ErrorKind::usage, "bench model",
                      fmt::format("an input has {} tokens, not {}", scores.documents.front().tokens, settings.tokens),
                      "--query-tokens is at most 30 and --tokens at most the model's maximum");
        }
      }
    });
  });
  all.late = memory_use();
  for (const Scored& one : of_client) {
    all.total.insert(all.total.end(), one.total.begin(), one.total.end());
    all.tokenize.insert(all.tokenize.end(), one.tokenize.begin(), one.tokenize.end());
    all.encode.insert(all.encode.end(), one.encode.begin(), one.encode.end());
    all.device.insert(all.device.end(), one.device.begin(), one.device.end());
    all.device_bytes = std::max(all.device_bytes, one.device_bytes);
  }
  return all;
}

/// The GPU's own time, and its share of the peak rate.
Measurement device_row(const Scored& scored, double gflop, double peak_gflop_per_s, int candidates) {
  Measurement row = summarize("  device", scored.device);
  const double rate = gflop / in_seconds(row.median);
  row.figures = {{"gflop_per_s", rate},
                 {"peak_gflop_per_s", peak_gflop_per_s},
                 {"share_of_peak", rate / peak_gflop_per_s},
                 {"kb_per_candidate", static_cast<double>(scored.device_bytes) / 1000 / candidates}};
  return row;
}

}  // namespace

double operations(const EncoderDescription& d, int candidates, int query_tokens, int document_tokens) {
  const double hidden = d.hidden_size, intermediate = d.intermediate_size;
  const double a_row = 2 * (4 * hidden * hidden + 2 * hidden * intermediate);
  const double query_rows = query_tokens, document_rows = document_tokens;
  double a_candidate = 0, once = 0;
  for (std::size_t layer = 0; layer < d.patterns.size(); ++layer) {
    const AttentionPattern& pattern = d.patterns[layer];
    const bool last = layer + 1 == d.patterns.size();
    const double band = pattern.window ? std::min<double>(2.0 * *pattern.window + 1, document_rows) : document_rows;
    const double keys_of_document = band + 1 + query_rows, all_rows = 1 + query_rows + document_rows;
    if (last) {
      a_candidate += a_row - 4 * hidden * hidden;                // [CLS] through the block
      a_candidate += 4 * hidden * hidden * (1 + document_rows);  // keys and values
      a_candidate += 4 * hidden * all_rows;
      (pattern.query_is_independent() ? once : a_candidate) += 4 * hidden * hidden * query_rows;
    } else {
      a_candidate += a_row * (1 + document_rows) + 4 * hidden * (all_rows + document_rows * keys_of_document);
      const double keys_of_query =
          query_rows + (pattern.query_cls ? 1 : 0) + (pattern.query_document ? document_rows : 0);
      (pattern.query_is_independent() ? once : a_candidate) += query_rows * (a_row + 4 * hidden * keys_of_query);
    }
  }
  return candidates * a_candidate + once;
}

std::vector<Measurement> run(const ModelBenchmark& settings) {
  const auto folder = settings.model.empty() ? default_model() : settings.model;
  std::shared_ptr<const CrossEncoder> encoder;
  const std::chrono::nanoseconds load = time_of([&] { encoder = CrossEncoder::load(folder, settings.options); });
  const GeneratedTexts texts = generate_texts(folder, settings.candidates, settings.tokens, settings.query_tokens);
  const std::string& query = texts.query;
  const std::vector<std::string>& documents = texts.documents;
  if (!settings.write_pairs.empty()) {
    std::ofstream out(settings.write_pairs);
    for (const std::string& document : documents) {
      out << nlohmann::json{{"query", query}, {"text", document}}.dump() << '\n';
    }
    if (!out.flush())
      throw Error(ErrorKind::io, settings.write_pairs.string(), "cannot be written",
                  "check the directory and the free space");
  }
  const std::vector<std::string_view> views(documents.begin(), documents.end());
  const std::chrono::nanoseconds first = time_of([&] { encoder->score(query, views); });
  const Scored scored = score_from_clients(*encoder, query, views, settings);
  const BackendInfo& backend = encoder->backend();
  const std::string what = fmt::format("{} {} {} {}x{}", backend.device, to_string(backend.precision),
                                       backend.instruction_set, settings.candidates, settings.tokens);
  const double gflop = 1e-9 * operations(encoder->description(), settings.candidates, settings.query_tokens + 1,
                                         settings.tokens - settings.query_tokens - 2);
  Measurement whole = summarize("model " + what, scored.total);
  // With several clients a query waits for others, so the rate covers all clients together.
  const auto queries = static_cast<double>(scored.total.size());
  const double rate = gflop / (settings.clients == 1 ? in_seconds(whole.median) : in_seconds(scored.wall) / queries);
  whole.figures = {{"threads", backend.threads}, {"gflop", gflop}, {"gflop_per_s", rate}};
  const double peak = 1e-9 * measured_peak(backend);
  const bool on_gpu = percentile(scored.device, 0.5).count() > 0;
  if (peak > 0 && !on_gpu) {
    whole.figures.insert(whole.figures.end(), {{"peak_gflop_per_s", peak}, {"share_of_peak", rate / peak}});
  }
  // Percentiles need enough runs.
  if (queries >= 100) {
    whole.figures.insert(whole.figures.end(), {{"clients", settings.clients},
                                               {"queries_per_s", queries / in_seconds(scored.wall)},
                                               {"p95_ms", in_milliseconds(percentile(scored.total, 0.95))},
                                               {"p99_ms", in_milliseconds(percentile(scored.total, 0.99))}});
  }
  whole.figures.insert(whole.figures.end(), {{"rss_mb", scored.late.resident_mb},
                                             {"rss_growth_mb", scored.late.resident_mb - scored.early.resident_mb},
                                             {"peak_rss_mb", scored.late.peak_mb}});
  std::vector<Measurement> rows = {whole, summarize("  tokenize", scored.tokenize),
                                   summarize("  encode", scored.encode)};
  if (on_gpu) rows.push_back(device_row(scored, gflop, peak, settings.candidates));
  rows.push_back(summarize("  load", {load}));
  rows.push_back(summarize("  first query", {first}));
  return rows;
}

}  // namespace relucent::benchmarks
