#include "index_tools/benchmarks/model_benchmark.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "index_tools/benchmarks/generated_texts.h"
#include "relucent/error.h"
#include "relucent/kernels/peak.h"
#include "relucent/kernels/plan.h"
#include "relucent/times.h"

namespace relucent::benchmarks {
namespace {

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
                      "--tokens is at most the model's maximum");
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

/// Whether a layer computes the states of a single token: what W_K and W_V would do to every token that it sees is then
/// done once per head, before and after its attention.
bool only_token(const EncoderDescription& description, const std::vector<GroupPlan>& groups) {
  const auto first = std::ranges::find(groups, Need::states, &GroupPlan::need);
  return std::ranges::count(groups, Need::states, &GroupPlan::need) == 1 &&
         description.groups[static_cast<std::size_t>(first - groups.begin())].input == Dependence::nothing;
}

}  // namespace

double operations(const EncoderDescription& d, int candidates, int query_tokens, int document_tokens, int sentences) {
  const Plan plan = make_plan(d);
  const auto rows_of = [&](std::size_t group) -> double {
    if (d.groups[group].name == "sentences") return sentences;
    switch (d.groups[group].input) {
      case Dependence::nothing: return 1;
      case Dependence::query: return query_tokens;
      case Dependence::candidate:
      case Dependence::pair:
      case Dependence::set: break;
    }
    return document_tokens;
  };
  double once = 0, per_candidate = 0;
  for (std::size_t s = 0; s < plan.stacks.size(); ++s) {
    for (std::size_t l = 0; l < plan.stacks[s].size(); ++l) {
      const Layer& layer = d.stacks[s].layers[l];
      const bool one = only_token(d, plan.stacks[s][l]);
      for (std::size_t group = 0; group < d.groups.size(); ++group) {
        const GroupPlan& of = plan.stacks[s][l][group];
        double keys = 0, states = layer.feed_forward.size * d.hidden_size * (layer.feed_forward.gated ? 3.0 : 2.0);
        for (const Attention& attention : layer.attentions) {
          const double width = attention.heads * attention.head_size;
          const double projections = 2 * d.hidden_size * width;  // of queries and outputs, or of keys and values
          if (!one) keys += projections / attention.sharing();
          states += one ? 2 * projections : projections;
          if (group >= attention.views.size()) continue;
          for (std::size_t to = 0; to < attention.views[group].size(); ++to) {
            const View& view = attention.views[group][to];
            if (view.kind == View::Kind::none) continue;
            double seen = rows_of(to);
            if (view.kind == View::Kind::window) seen = std::min(2.0 * view.window + 1, seen);
            if (view.kind == View::Kind::before) seen = (seen + 1) / 2;
            states += 2 * (one ? attention.heads * d.hidden_size : width) * seen;
          }
        }
        const auto add = [&](Dependence dependence, double multiply_adds) {
          (within(dependence, Dependence::query) ? once : per_candidate) += 2 * multiply_adds * rows_of(group);
        };
        if (of.need != Need::nothing) add(of.before, keys);
        if (of.need == Need::states) add(of.after, states);
      }
    }
  }
  return candidates * per_candidate + once;
}

std::vector<Measurement> run(const ModelBenchmark& settings) {
  const auto folder = model_folder(settings.model);
  std::shared_ptr<const CrossEncoder> encoder;
  const std::chrono::nanoseconds load = time_of([&] { encoder = CrossEncoder::load(folder, settings.options); });
  const GeneratedTexts texts = generate_texts(folder, settings.candidates, settings.tokens, settings.query_tokens);
  const std::string& query = texts.query;
  const std::vector<std::string>& documents = texts.documents;
  if (!settings.write_pairs.empty()) write_pairs(settings.write_pairs, texts);
  const std::vector<std::string_view> views(documents.begin(), documents.end());
  const std::chrono::nanoseconds first = time_of([&] { encoder->score(query, views); });
  const Scored scored = score_from_clients(*encoder, query, views, settings);
  const BackendInfo& backend = encoder->backend();
  const std::string what = fmt::format("{} {} {} {}x{}", backend.device, to_string(backend.precision),
                                       backend.instruction_set, settings.candidates, settings.tokens);
  // A decoder's prompt stands before the document as the query does.
  const bool causal = encoder->description().head.groups == std::vector<std::int32_t>{kDocument};
  const std::string_view nothing[] = {""};
  const int shared = causal ? encoder->score(query, nothing).documents.front().tokens : settings.query_tokens + 1;
  const double gflop = 1e-9 * operations(encoder->description(), settings.candidates, shared,
                                         settings.tokens - settings.query_tokens - 2);
  Measurement whole = summarize("model " + what, scored.total);
  // With several clients a query waits for others, so the rate covers all clients together.
  const auto queries = static_cast<double>(scored.total.size());
  const double rate = gflop / (settings.clients == 1 ? in_seconds(whole.median) : in_seconds(scored.wall) / queries);
  whole.figures = {{"threads", backend.threads}, {"gflop", gflop}, {"gflop_per_s", rate}};
  const auto [best, lowest] = measured_peak(backend);
  const double peak = 1e-9 * best;
  const bool on_gpu = percentile(scored.device, 0.5).count() > 0;
  if (peak > 0 && !on_gpu) {
    whole.figures.insert(
        whole.figures.end(),
        {{"peak_gflop_per_s", peak}, {"lowest_peak_gflop_per_s", 1e-9 * lowest}, {"share_of_peak", rate / peak}});
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
