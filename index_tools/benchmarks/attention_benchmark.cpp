#include <fmt/core.h>

#include <algorithm>

#include "index_tools/benchmarks/benchmarks.h"
#include "relucent/kernels/attention_time.h"
#include "relucent/model/cross_encoder.h"

namespace relucent::benchmarks {

std::vector<Measurement> run(const AttentionBenchmark& settings) {
  CrossEncoderOptions options;
  options.backend = settings.backend;
  const auto model = CrossEncoder::load(model_folder(settings.model), options);
  const Attention& layer = model->description().stacks.front().layers.front().attentions.front();
  AttentionShape shape;
  shape.sequences = static_cast<std::size_t>(settings.candidates);
  shape.heads = static_cast<std::size_t>(layer.heads);
  shape.head_size = static_cast<std::size_t>(layer.head_size);
  std::vector<Measurement> rows;
  for (const int length : settings.lengths) {
    for (const std::optional<std::size_t>& window : settings.windows) {
      shape.tokens = static_cast<std::size_t>(length);
      shape.window = window;
      Measurement& row = rows.emplace_back(
          summarize(fmt::format("{} tokens, w = {}", length, window ? std::to_string(*window) : "inf"),
                    time_attention(model->backend(), shape, settings.runs)));
      const double seen = window ? std::min<double>(2.0 * static_cast<double>(*window) + 1, length) : length;
      const double operations = 4.0 * settings.candidates * layer.heads * layer.head_size * length * seen;
      row.figures = {{"us_per_candidate", 1e6 * in_seconds(row.median) / settings.candidates},
                     {"gflop_per_s", 1e-9 * operations / in_seconds(row.median)}};
    }
  }
  return rows;
}

}  // namespace relucent::benchmarks
