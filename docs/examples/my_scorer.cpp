// A custom scorer as a module: the share of the query's words that occur in the text.
// Build:   g++ -std=c++20 -shared -fPIC my_scorer.cpp -o my_scorer.so $(pkg-config --cflags relucent)
// Use:     [rescorer]
//          module = "my_scorer.so"
#include <relucent/scorer.h>

#include <set>
#include <sstream>

namespace {

std::set<std::string> words_of(std::string_view text) {
  std::string letters(text);
  for (char& c : letters) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::istringstream in(letters);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

class WordOverlap : public relucent::Scorer {
 public:
  explicit WordOverlap(const relucent::ScorerConfig&) {}

  void score(std::string_view query, std::span<const relucent::Candidate> candidates,
             std::span<relucent::CandidateScore> scores, const relucent::StopSignal&) const override {
    const std::set<std::string> wanted = words_of(query);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::set<std::string> found = words_of(candidates[i].text);
      float both = 0;
      for (const auto& word : wanted) both += found.contains(word) ? 1.0F : 0.0F;
      scores[i].score = wanted.empty() ? 0 : both / static_cast<float>(wanted.size());
    }
  }

  std::string describe() const override { return "word overlap"; }
};

}  // namespace

RELUCENT_SCORER_MODULE(WordOverlap)
