#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/benchmarks/generated_texts.h"
#include "relucent/model/late_interaction.h"

namespace relucent::benchmarks {
std::vector<Measurement> run(const LateInteractionBenchmark& settings) {
  const auto model = LateInteraction::load(settings.model, settings.backend);
  // A pair has the query and one more special token than a text.
  const GeneratedTexts texts = generate_texts(settings.model, settings.texts,
                                              settings.tokens + settings.query_tokens + 1, settings.query_tokens);
  if (!settings.write_texts.empty()) write_pairs(settings.write_texts, texts);
  const std::vector<std::string_view> views(texts.documents.begin(), texts.documents.end());
  const BackendInfo& backend = model->backend();
  const std::string where =
      fmt::format("{} {} {}", backend.device, to_string(backend.precision), backend.instruction_set);
  const auto size = static_cast<std::size_t>(model->size());

  std::vector<Measurement> rows;
  std::vector<std::vector<float>> vectors;
  Measurement encoding = summarize(fmt::format("encode {} {}x{}", where, views.size(), settings.tokens),
                                   times_of(settings.runs, [&] { vectors = model->encode(views); }));
  encoding.figures = {
      {"texts_per_s", static_cast<double>(views.size()) / in_seconds(encoding.median)},
      {"tokens_per_s", static_cast<double>(views.size()) * settings.tokens / in_seconds(encoding.median)},
      {"threads", backend.threads}};
  rows.push_back(std::move(encoding));

  for (const auto numbers : {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8}) {
    std::vector<std::string> stored(vectors.size());
    double bytes = 0;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      for (std::size_t at = 0; at < vectors[i].size(); at += size) {
        store_vector(numbers, std::span(vectors[i]).subspan(at, size), stored[i]);
      }
      bytes += static_cast<double>(stored[i].size());
    }
    for (const int count : settings.candidates) {
      std::vector<std::string> copies;  // each of its own, as candidates of an index have them
      std::vector<LateCandidate> candidates;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) copies.push_back(stored[i % stored.size()]);
      for (const std::string& one : copies) candidates.push_back({{}, {numbers, one}});
      Measurement row = summarize(fmt::format("late-interaction {} {} {}", where, to_string(numbers), count),
                                  times_of(settings.runs, [&] { model->score(texts.query, candidates); }));
      row.figures = {{"us_per_candidate", 1e6 * in_seconds(row.median) / count},
                     {"bytes_per_document", bytes / static_cast<double>(stored.size())}};
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace relucent::benchmarks
