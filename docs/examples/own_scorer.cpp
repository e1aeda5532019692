// A scorer that is part of the program instead of a module: prefers short texts.
// Usage: own_scorer INDEX QUESTION
#include <relucent/error.h>
#include <relucent/rescorer.h>
#include <relucent/search_session.h>
#include <relucent/searcher_manager.h>

#include <iostream>
#include <memory>

class Brevity : public relucent::Scorer {
 public:
  void score(std::string_view, std::span<const relucent::Candidate> candidates,
             std::span<relucent::CandidateScore> scores, const relucent::StopSignal& stop) const override {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      stop.throw_if_due("measuring texts");  // the host's deadline, or its wish to stop
      scores[i].score = -static_cast<float>(candidates[i].text.size());
    }
  }
  // The score depends on the text alone, so [rescorer] cache_mb may keep it.
  bool cacheable() const override { return true; }
  std::string describe() const override { return "brevity"; }
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const auto rescorer = std::make_shared<const relucent::Rescorer>(relucent::Config(), std::make_shared<Brevity>());
    const relucent::SearcherManager manager(argv[1], rescorer);
    const relucent::SearchSession session(manager.acquire(), argv[1], relucent::QuerySyntax::words);
    for (const auto& hit : session.search(argv[2], 5, relucent::HitTexts::whole).hits) {
      std::cout << hit.rank << '\t' << hit.id << '\t' << hit.text.size() << " bytes\n";
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
