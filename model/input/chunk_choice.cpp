#include "model/input/chunk_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace relucent {
namespace {

constexpr std::uint32_t kMaxTerms = 65'535;  // the later ones of a longer query do not count

}  // namespace

ChunkChoice::ChunkChoice(std::span<const std::int32_t> query, std::int32_t vocabulary_size, std::size_t most)
    : most_(std::max<std::size_t>(most, 1)), term_of_(static_cast<std::size_t>(vocabulary_size), 0) {
  for (const std::int32_t id : query) {
    std::uint16_t& term = term_of_[static_cast<std::size_t>(id)];
    if (term == 0 && terms_ < kMaxTerms) term = static_cast<std::uint16_t>(++terms_);
  }
}

/// Each chunk's score for the query.
std::vector<double> ChunkChoice::match(const std::vector<Chunk>& chunks, std::span<const std::int32_t> pieces,
                                       const StopSignal& stop) const {
  // Each chunk has only the terms that it contains, in their order.
  struct Count {
    std::uint32_t term, tf;
  };
  std::vector<std::vector<Count>> counts(chunks.size());
  std::vector<std::size_t> chunks_with(terms_);
  std::vector<std::uint32_t> tf(terms_), found;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i % 256 == 0) stop.throw_if_due("choosing the documents' chunks");
    found.clear();
    for (const std::int32_t id : pieces.subspan(chunks[i].begin, chunks[i].size)) {
      const std::uint16_t term = term_of_[static_cast<std::size_t>(id)];
      if (term != 0 && tf[term - 1]++ == 0) found.push_back(term - 1U);
    }
    std::sort(found.begin(), found.end());
    for (const std::uint32_t term : found) {
      counts[i].push_back({term, std::exchange(tf[term], 0)});
      ++chunks_with[term];
    }
  }
  const auto all = static_cast<double>(chunks.size());
  std::vector<double> idf(terms_), scores(chunks.size());
  for (std::size_t t = 0; t < terms_; ++t) {
    const auto with = static_cast<double>(chunks_with[t]);
    idf[t] = std::log(1 + (all - with + 0.5) / (with + 0.5));
  }
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    for (const auto& [term, count] : counts[i]) scores[i] += idf[term] * count / (count + 1.2);
  }
  return scores;
}

std::vector<Chunk> ChunkChoice::choose(std::vector<Chunk> chunks, std::span<const std::int32_t> pieces,
                                       const StopSignal& stop) const {
  if (chunks.size() <= most_) return chunks;
  const std::vector<double> scores = match(chunks, pieces, stop);
  std::vector<std::size_t> order(chunks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The first chunk always stays: it has the title and introduces the document.
  std::partial_sort(
      order.begin() + 1, order.begin() + static_cast<std::ptrdiff_t>(most_), order.end(),
      [&](std::size_t a, std::size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  order.resize(most_);
  std::sort(order.begin(), order.end());
  std::vector<Chunk> chosen;
  for (const std::size_t i : order) chosen.push_back(chunks[i]);
  return chosen;
}

}  // namespace relucent
