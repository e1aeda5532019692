#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/benchmarks/generated_texts.h"
#include "index_tools/benchmarks/work_folder.h"
#include "plugin/index_format/records/segment_records_writer.h"
#include "plugin/second_stage/embeddings.h"
#include "relucent/kernels/peak.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/model/mix_encoder.h"

namespace relucent::benchmarks {
namespace {

namespace fs = std::filesystem;

/// Twice the multiply-adds of the interaction with one candidate.
double operations_of_interaction(const EncoderDescription& d, int query_tokens) {
  const double hidden = d.hidden_size, context = d.groups[kContext].derived->tokens;
  double sum = 0, gates = 2;  // at first the gated token is zero
  for (const Layer& layer : d.stacks.back().layers) {
    const double tail = hidden * hidden + 2 * hidden * layer.feed_forward.size;
    const double heads = hidden * (query_tokens * (2 * context + 2) + 2 * context * context);
    sum += context * (3 * hidden * hidden + tail) + (1 + gates) * hidden * hidden + tail + heads;
    gates = 3;
  }
  return 2 * sum;
}

/// An index of one segment, of which only the embeddings exist.
class SegmentOnDisk final : public InputIndex {
 public:
  SegmentOnDisk(std::filesystem::path folder, SegmentIdentity segment)
      : folder_(std::move(folder)), segment_(std::move(segment)) {}
  std::filesystem::path folder() const override { return folder_; }
  std::vector<SegmentIdentity> segments() const override { return {segment_}; }

 private:
  std::filesystem::path folder_;
  SegmentIdentity segment_;
};

/// Writing, opening and reading a file with the embeddings of many documents: those of `states`, again and again.
std::vector<Measurement> time_stored(const MixEncoder& model, std::span<const float> states, int documents, int runs) {
  const WorkFolder folder;
  const EmbeddingForm form{{model.fingerprint(), model.rows(), model.hidden()}, EmbeddingNumbers::fp16, {"text"}};
  const std::size_t size = form.shape.values();
  const SegmentIdentity segment{"_0", static_cast<std::uint32_t>(documents), 0};
  const auto write = [&] {
    SegmentRecordsWriter writer(folder.path(), kEmbeddings, header_of(segment, form));
    std::string record;
    for (std::size_t i = 0; writer.documents() < segment.documents; ++i) {
      record.clear();
      store_embedding(form, states.subspan(i * size % states.size(), size), record);
      writer.add(record);
    }
    writer.commit();
  };
  std::vector<Measurement> rows;
  rows.push_back(summarize(fmt::format("write embeddings {} fp16", documents), {time_of(write)}));
  const auto bytes = static_cast<double>(fs::file_size(records_file(folder.path(), kEmbeddings, segment.name)));
  rows.back().figures = {{"documents_per_s", documents / in_seconds(rows.back().median)},
                         {"bytes_per_document", bytes / documents}};

  std::vector<std::chrono::nanoseconds> opening, reading;
  constexpr std::uint32_t rows_read = 1000;
  const auto index = std::make_shared<const SegmentOnDisk>(folder.path(), segment);
  std::mt19937 random(1);
  for (int i = 0; i < runs; ++i) {
    std::optional<StoredEmbeddings> stored;
    opening.push_back(time_of([&] { stored.emplace(index, form.shape, MissingEmbeddings::error); }));
    reading.push_back(time_of([&] {
      for (std::uint32_t k = 0; k < rows_read; ++k) {
        stored->read({static_cast<std::int32_t>(random() % segment.documents), {}, {}}, {});
      }
    }));
  }
  rows.push_back(summarize(fmt::format("open embeddings {}", documents), opening));
  rows.push_back(summarize(fmt::format("read {} of {} embeddings", rows_read, documents), reading));
  rows.back().figures = {{"us_per_candidate", 1e6 * in_seconds(rows.back().median) / rows_read}};
  return rows;
}

}  // namespace

std::vector<Measurement> run(const MixEncoderBenchmark& settings) {
  const auto model = MixEncoder::load(settings.model, settings.backend);
  const EncoderDescription description = inspect_checkpoint(settings.model).description;
  const GeneratedTexts texts = generate_texts(settings.model, settings.texts, settings.tokens, settings.query_tokens);
  const std::vector<std::string_view> views(texts.documents.begin(), texts.documents.end());
  const BackendInfo& backend = model->backend();
  const std::string where =
      fmt::format("{} {} {}", backend.device, to_string(backend.precision), backend.instruction_set);

  std::vector<Measurement> rows;
  const std::size_t size = static_cast<std::size_t>(model->rows()) * static_cast<std::size_t>(model->hidden());
  std::vector<float> states(views.size() * size);
  Measurement encoding = summarize(fmt::format("encode {} {}x{}", where, views.size(), settings.tokens),
                                   times_of(settings.runs, [&] { model->encode(views, states); }));
  encoding.figures = {{"texts_per_s", static_cast<double>(views.size()) / in_seconds(encoding.median)},
                      {"bytes_per_text", static_cast<double>(4 * size)},
                      {"threads", backend.threads}};
  rows.push_back(std::move(encoding));

  if (settings.stored > 0) {
    for (Measurement& row : time_stored(*model, states, settings.stored, settings.runs)) rows.push_back(std::move(row));
  }

  const std::size_t first_scoring = rows.size();
  const double peak = 1e-9 * measured_peak(backend).best;
  for (const int count : settings.candidates) {
    std::vector<MixCandidate> candidates;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      candidates.push_back({"", std::span<const float>(states).subspan(i % views.size() * size, size)});
    }
    Measurement row = summarize(fmt::format("mixencoder {} {}", where, count),
                                times_of(settings.runs, [&] { model->score(texts.query, candidates); }));
    const double per_candidate = in_seconds(row.median) / count;
    const double rate = 1e-9 * operations_of_interaction(description, settings.query_tokens + 2) / per_candidate;
    row.figures = {{"us_per_candidate", 1e6 * per_candidate}, {"gflop_per_s", rate}};
    if (peak > 0) row.figures.emplace_back("share_of_peak", rate / peak);
    rows.push_back(std::move(row));
  }
  if (settings.cross_encoder.empty()) return rows;

  CrossEncoderOptions options;
  options.backend = settings.backend;
  options.max_length = settings.tokens;
  options.max_query_length = settings.query_tokens;
  const auto cross_encoder = CrossEncoder::load(settings.cross_encoder, options);
  const auto count = static_cast<std::size_t>(settings.cross_candidates);
  std::vector<std::string_view> pairs;
  for (std::size_t i = 0; i < count; ++i) pairs.push_back(views[i % views.size()]);
  Measurement row = summarize(fmt::format("cross-encoder {} {}x{}", where, count, settings.tokens),
                              times_of(settings.runs, [&] { cross_encoder->score(texts.query, pairs); }));
  const double of_pair = in_seconds(row.median) / static_cast<double>(count);
  row.figures = {{"us_per_candidate", 1e6 * of_pair}};
  for (std::size_t i = 0; i < settings.candidates.size(); ++i) {
    const double mixed = in_seconds(rows[first_scoring + i].median) / settings.candidates[i];
    row.figures.emplace_back(fmt::format("times_mixencoder_{}", settings.candidates[i]), of_pair / mixed);
  }
  rows.push_back(std::move(row));
  return rows;
}

}  // namespace relucent::benchmarks
