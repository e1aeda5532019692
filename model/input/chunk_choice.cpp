#include "model/input/chunk_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace relucent {
namespace {

constexpr std::size_t kMaxTerms = 255;  // a query has 30 word pieces at most

}  // namespace

ChunkChoice::ChunkChoice(std::span<const std::int32_t> query, std::int32_t vocabulary_size, std::size_t most)
    : most_(std::max<std::size_t>(most, 1)), term_of_(static_cast<std::size_t>(vocabulary_size), 0) {
  for (const std::int32_t id : query) {
    std::uint8_t& term = term_of_[static_cast<std::size_t>(id)];
    if (term == 0 && terms_ < kMaxTerms) term = static_cast<std::uint8_t>(++terms_);
  }
}

/// Each chunk's score for the query.
std::vector<double> ChunkChoice::match(const std::vector<Chunk>& chunks, std::span<const std::int32_t> pieces,
                                       const StopSignal& stop) const {
  std::vector<std::uint32_t> counts(chunks.size() * terms_);  // [chunks][terms]
  std::vector<std::size_t> chunks_with(terms_);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i % 256 == 0) stop.throw_if_due("choosing the documents' chunks");
    std::uint32_t* const count = counts.data() + i * terms_;
    for (const std::int32_t id : pieces.subspan(chunks[i].begin, chunks[i].size)) {
      if (const std::uint8_t term = term_of_[static_cast<std::size_t>(id)]; term != 0) ++count[term - 1];
    }
    for (std::size_t t = 0; t < terms_; ++t) chunks_with[t] += count[t] > 0 ? 1 : 0;
  }
  const auto all = static_cast<double>(chunks.size());
  std::vector<double> scores(chunks.size());
  for (std::size_t t = 0; t < terms_; ++t) {
    const auto with = static_cast<double>(chunks_with[t]);
    const double idf = std::log(1 + (all - with + 0.5) / (with + 0.5));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const double tf = counts[i * terms_ + t];
      scores[i] += idf * tf / (tf + 1.2);
    }
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
