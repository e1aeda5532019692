#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/benchmarks/generated_texts.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/model/late_interaction.h"

namespace relucent::benchmarks {
namespace {

/// A model whose documents are encoded before any query, token by token.
struct StoredModel {
  std::string name;
  BackendInfo backend;
  std::size_t size = 0;  // numbers per token
  std::function<std::vector<std::vector<float>>(std::span<const std::string_view> texts)> encode;
  std::function<void(const std::string& query, std::span<const StoredVectors> documents)> score;
};

StoredModel load(const LateInteractionBenchmark& settings) {
  if (LateInteraction::is(settings.model)) {
    const auto model = LateInteraction::load(settings.model, settings.backend);
    return {"late-interaction", model->backend(), static_cast<std::size_t>(model->size()),
            [model](auto texts) { return model->encode(texts); },
            [model](const std::string& query, auto documents) {
              std::vector<LateCandidate> candidates;
              for (const StoredVectors& document : documents) candidates.push_back({{}, document});
              model->score(query, candidates);
            }};
  }
  const auto model = CrossEncoder::load(model_folder(settings.model), {{}, settings.backend});
  if (model->state_size() == 0) model->encode({});  // which tells why not
  return {"deformer", model->backend(), static_cast<std::size_t>(model->state_size()),
          [model](auto texts) { return model->encode(texts); },
          [model](const std::string& query, auto documents) {
            std::vector<PairDocument> candidates;
            for (const StoredVectors& document : documents) candidates.push_back({.text = {}, .states = document});
            model->score_documents(query, candidates);
          }};
}

}  // namespace

std::vector<Measurement> run(const LateInteractionBenchmark& settings) {
  const StoredModel model = load(settings);
  // A pair has the query and one more special token than a text.
  const GeneratedTexts texts = generate_texts(settings.model, settings.texts,
                                              settings.tokens + settings.query_tokens + 1, settings.query_tokens);
  if (!settings.write_texts.empty()) write_pairs(settings.write_texts, texts);
  const std::vector<std::string_view> views(texts.documents.begin(), texts.documents.end());
  const BackendInfo& backend = model.backend;
  const std::string where =
      fmt::format("{} {} {}", backend.device, to_string(backend.precision), backend.instruction_set);

  std::vector<Measurement> rows;
  std::vector<std::vector<float>> vectors;
  Measurement encoding = summarize(fmt::format("encode {} {}x{}", where, views.size(), settings.tokens),
                                   times_of(settings.runs, [&] { vectors = model.encode(views); }));
  encoding.figures = {
      {"texts_per_s", static_cast<double>(views.size()) / in_seconds(encoding.median)},
      {"tokens_per_s", static_cast<double>(views.size()) * settings.tokens / in_seconds(encoding.median)},
      {"threads", backend.threads}};
  rows.push_back(std::move(encoding));

  for (const auto numbers : {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8}) {
    std::vector<std::string> stored(vectors.size());
    double bytes = 0;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      for (std::size_t at = 0; at < vectors[i].size(); at += model.size) {
        store_vector(numbers, std::span(vectors[i]).subspan(at, model.size), stored[i]);
      }
      bytes += static_cast<double>(stored[i].size());
    }
    for (const int count : settings.candidates) {
      std::vector<std::string> copies;  // each of its own, as candidates of an index have them
      std::vector<StoredVectors> candidates;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) copies.push_back(stored[i % stored.size()]);
      for (const std::string& one : copies) candidates.push_back({numbers, one});
      Measurement row = summarize(fmt::format("{} {} {} {}", model.name, where, to_string(numbers), count),
                                  times_of(settings.runs, [&] { model.score(texts.query, candidates); }));
      row.figures = {{"us_per_candidate", 1e6 * in_seconds(row.median) / count},
                     {"bytes_per_document", bytes / static_cast<double>(stored.size())}};
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace relucent::benchmarks
