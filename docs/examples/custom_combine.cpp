// A rule of its own for the final order: reciprocal rank fusion of BM25's order and the model's.
// Usage: custom_combine INDEX QUESTION
#include <relucent/error.h>
#include <relucent/rescorer.h>
#include <relucent/search_session.h>
#include <relucent/searcher_manager.h>

#include <algorithm>
#include <iostream>
#include <memory>

class RankFusion : public relucent::Rescorer {
 public:
  using relucent::Rescorer::Rescorer;

 protected:
  // Scores must never increase down the list, and each hit may occur once.
  std::vector<relucent::CombinedHit> combine(std::span<const double> first_stage,
                                             std::span<const std::optional<float>> logits) const override {
    // relucent::combine's order, from which only the model's ranks are taken: hits without a logit stand last.
    std::vector<relucent::CombinedHit> hits = relucent::combine(first_stage, logits, relucent::StageConfig());
    for (std::size_t i = 0; i < hits.size(); ++i) {
      constexpr double k = 60;
      const auto bm25_rank = static_cast<double>(hits[i].index + 1), model_rank = static_cast<double>(i + 1);
      hits[i].score = static_cast<float>(1 / (k + bm25_rank) + 1 / (k + model_rank));
    }
    std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    return hits;
  }
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const auto rescorer = std::make_shared<const RankFusion>(relucent::Config());
    const relucent::SearcherManager manager(argv[1], rescorer);
    const relucent::SearchSession session(manager.acquire(), argv[1], relucent::QuerySyntax::words);
    for (const auto& hit : session.search(argv[2], 5, relucent::HitTexts::none).hits) {
      std::cout << hit.rank << '\t' << hit.id << '\t' << hit.score << "\tBM25's rank " << hit.first_stage_rank << '\n';
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
