#include "relucent/kernels/max_sim.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/vector_kernels.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::size_t kRowsTogether = 48;  // as floats they stay in the first-level cache
constexpr std::size_t kDocumentsTogether = 8;

const cpu::VectorKernels& kernels_named(const std::string& name) {
  const cpu::VectorLevels available = cpu::available_vector_kernels();
  if (name.empty()) return cpu::best_of(available, true);
  for (std::size_t i = 0; i < available.count; ++i) {
    if (name == available.levels[i]->name) return *available.levels[i];
  }
  throw Error(
      ErrorKind::usage, "instruction set " + name, "is not available on this processor",
      "use one that it has: " + join(std::span(available.levels, available.count), ", ", &cpu::VectorKernels::name));
}

float score_of(const MaxSimQuery& query, std::span<const float> best) {
  const float greatest = *std::max_element(best.begin(), best.end());
  double sum = 0, weights = 0;
  for (const float one : best) {
    switch (query.over) {
      case MaxSimQuery::Over::max: return greatest;
      case MaxSimQuery::Over::sum:
      case MaxSimQuery::Over::mean: sum += one; break;
      case MaxSimQuery::Over::softmax: {
        const double weight = std::exp(static_cast<double>(one) - greatest);
        sum += weight * one;
        weights += weight;
        break;
      }
    }
  }
  if (query.over == MaxSimQuery::Over::mean) weights = static_cast<double>(best.size());
  return static_cast<float>(weights > 0 ? sum / weights : sum);
}

/// A worker's memory.
struct Room {
  cpu::Buffer<float> rows;  // [kRowsTogether][size]
  cpu::Buffer<float> best;
};

}  // namespace

void max_sim(const MaxSimQuery& query, std::span<const StoredVectors> documents, std::span<float> scores, int threads,
             const StopSignal& stop, const std::string& instruction_set) {
  const cpu::VectorKernels& kernels = kernels_named(instruction_set);
  const std::size_t size = query.size, count = size > 0 ? query.vectors.size() / size : 0;
  if (count == 0 || query.vectors.size() != count * size) {
    throw Error(ErrorKind::usage, "query",
                fmt::format("has {} numbers, not vectors of {}", query.vectors.size(), size));
  }
  if (scores.size() != documents.size()) {
    throw Error(ErrorKind::usage, "documents",
                fmt::format("are {}, but there is room for {} scores", documents.size(), scores.size()));
  }
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::size_t bytes = documents[i].bytes.size(), of_vector = stored_size(documents[i].numbers, size);
    if (bytes > 0 && bytes % of_vector == 0) continue;
    throw Error(ErrorKind::usage, fmt::format("document {}", i),
                fmt::format("has {} bytes, but a vector has {}", bytes, of_vector),
                "encode the documents with the same checkpoint");
  }
  const std::size_t stride = (count + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  std::vector<float> queries(size * stride);
  for (std::size_t q = 0; q < count; ++q) {
    for (std::size_t f = 0; f < size; ++f) queries[f * stride + q] = query.vectors[q * size + f];
  }
  const auto pool = shared_pool(threads > 0 ? threads : available_cores());
  std::vector<Room> rooms(static_cast<std::size_t>(pool->size()));
  const auto score = [&](const StoredVectors& document, Room& room) {
    float* const rows = room.rows.grow(kRowsTogether * size);
    float* const best = room.best.grow(stride);
    std::fill_n(best, stride, std::numeric_limits<float>::lowest());
    const std::size_t of_vector = stored_size(document.numbers, size), all = document.bytes.size() / of_vector;
    for (std::size_t first = 0; first < all; first += kRowsTogether) {
      const std::size_t some = std::min(kRowsTogether, all - first);
      kernels.widen(document.numbers, document.bytes.data() + first * of_vector, size, some, rows);
      kernels.best_products({queries.data(), stride, size, rows, some, best});
    }
    return score_of(query, {best, count});
  };
  const std::size_t parts = (documents.size() + kDocumentsTogether - 1) / kDocumentsTogether;
  pool->run(parts, [&](std::size_t part, int worker) {
    stop.throw_if_due("scoring the candidates");
    const std::size_t first = part * kDocumentsTogether, end = std::min(first + kDocumentsTogether, documents.size());
    for (std::size_t i = first; i < end; ++i) {
      scores[i] = score(documents[i], rooms[static_cast<std::size_t>(worker)]);
    }
  });
}

}  // namespace relucent
