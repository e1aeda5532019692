#include "index_tools/benchmarks/generated_collection.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace relucent::benchmarks {
namespace {

constexpr std::size_t kWords = 300'000;
constexpr double kRankOffset = 30;
constexpr double kMeanLogLength = 3.6, kSpreadLogLength = 0.42;  // a mean of 40 tokens
constexpr std::size_t kSlices = 1024;

// Spells the rank in consonant-vowel syllables with a final "k": 0 = "bak", 1 = "bek", ...
std::string word_of_rank(std::size_t rank) {
  constexpr char consonants[] = "bdfghlmnprstvz", vowels[] = "aeiou";
  std::string word;
  do {
    word += consonants[rank / 5 % 14];
    word += vowels[rank % 5];
    rank /= 70;
  } while (rank != 0);
  return word + 'k';
}

}  // namespace

GeneratedCollection::GeneratedCollection(std::uint64_t seed) : state_(seed) {
  words_.reserve(kWords);
  cumulative_.reserve(kWords);
  double sum = 0;
  for (std::size_t rank = 0; rank < kWords; ++rank) {
    words_.push_back(word_of_rank(rank));
    cumulative_.push_back(sum += 1 / (static_cast<double>(rank) + kRankOffset));
  }
  for (double& value : cumulative_) value /= sum;
  for (std::size_t slice = 0; slice <= kSlices; ++slice) {
    const double from = static_cast<double>(slice) / kSlices;
    const auto at = std::lower_bound(cumulative_.begin(), cumulative_.end(), from);
    start_.push_back(static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(at - cumulative_.begin(), kWords - 1)));
  }
}

// SplitMix64 (Steele, Lea, Flood 2014): a fixed sequence everywhere, unlike the standard library's distributions.
std::uint64_t GeneratedCollection::random() {
  std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

double GeneratedCollection::uniform() { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::size_t GeneratedCollection::word_as_in_documents() {
  const double u = uniform();
  const auto slice = static_cast<std::size_t>(u * kSlices);
  const auto first = cumulative_.begin() + start_[slice];
  const auto last = cumulative_.begin() + start_[slice + 1] + 1;
  return static_cast<std::size_t>(std::lower_bound(first, last, u) - cumulative_.begin());
}

int GeneratedCollection::document_length() {
  const double normal = std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  return std::clamp(static_cast<int>(std::exp(kMeanLogLength + kSpreadLogLength * normal)), 3, 250);
}

std::string GeneratedCollection::next_document() {
  const int length = document_length();
  std::string text;
  for (int i = 0; i < length; ++i) {
    if (i != 0) text += ' ';
    text += words_[word_as_in_documents()];
  }
  return text;
}

std::string GeneratedCollection::next_passage() {
  constexpr const char* stop_words[] = {"the", "of",   "and",  "to", "a",   "in", "is",
                                        "for", "that", "with", "as", "are", "by"};
  constexpr const char* marks[] = {".", ".", ".", ".", ",", ",", ",", "'s", ":", "\xE2\x80\x99s", " \xE2\x80\x93"};
  const int length = document_length();
  std::string text;
  bool sentence_starts = true;
  for (int i = 0; i < length; ++i) {
    std::string word = words_[word_as_in_documents()];
    if (random() % 100 < 42) word = stop_words[random() % std::size(stop_words)] + (" " + word);
    if (sentence_starts) word[0] = static_cast<char>(word[0] - 'a' + 'A');
    sentence_starts = false;
    if (i != 0) text += ' ';
    text += word;
    if (random() % 100 < 12) {
      const std::string mark = marks[random() % (random() % 8 == 0 ? std::size(marks) : 7)];
      text += mark;
      sentence_starts = mark == ".";
    }
  }
  return text + '.';
}

std::vector<std::string> GeneratedCollection::next_query(int terms) {
  std::vector<std::string> query;
  for (int i = 0; i < terms; ++i) {
    query.push_back(words_[i == 0 ? random() % 100 : word_as_in_documents()]);
  }
  return query;
}

}  // namespace relucent::benchmarks
