#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace relucent::benchmarks {

/// Documents and queries generated from a fixed seed with the statistics of MS MARCO passages without stop words: about
/// 40 indexed tokens per document (log-normal), 300,000 distinct words, word frequencies ~ 1 / (rank + 30). Words end
/// in "k", so that the stemmer leaves them alone. The same seed gives the same text on every machine.
class GeneratedCollection {
 public:
  explicit GeneratedCollection(std::uint64_t seed = 1);

  /// The next document's text.
  std::string next_document();
  /// A document's words as natural-looking text: with stop words, sentences, punctuation and an occasional non-ASCII
  /// character; about 330 bytes.
  std::string next_passage();
  /// A query of `terms` words: the first from the 100 most frequent (the "what" and "how" of real queries), the others
  /// with the frequencies of documents.
  std::vector<std::string> next_query(int terms);

 private:
  std::uint64_t random();
  double uniform();
  std::size_t word_as_in_documents();
  int document_length();

  std::uint64_t state_;
  std::vector<double> cumulative_;    // [words], of the word frequencies
  std::vector<std::uint32_t> start_;  // [1024 + 1]: where each 1024th of the probability begins
  std::vector<std::string> words_;
};

}  // namespace relucent::benchmarks
