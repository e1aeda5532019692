// Orders texts by a question without any index, as another search engine's second stage.
// Usage: rerank_texts QUESTION < one text per line
#include <relucent/error.h>
#include <relucent/rescore_candidates.h>

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::string> texts;
  for (std::string line; std::getline(std::cin, line);) texts.push_back(line);
  // Candidates are views: the texts must outlive them. Their order is the first stage's.
  std::vector<relucent::Candidate> candidates;
  for (const std::string& text : texts) {
    relucent::Candidate candidate;
    candidate.text = text;
    candidate.first_stage_rank = static_cast<std::int32_t>(candidates.size()) + 1;
    candidate.first_stage_score = 1.0 / candidate.first_stage_rank;
    candidates.push_back(candidate);
  }
  try {
    const relucent::SecondStageConfig config;
    const auto stages = relucent::make_stages(config, relucent::make_scorers(config));  // loads the model once
    const auto result = relucent::rescore_candidates(config, stages, argv[1], candidates, relucent::StopSignal());
    if (result.degraded) std::cerr << "degraded: " << result.reason << '\n';
    for (const relucent::CombinedHit& hit : result.order) std::cout << hit.score << '\t' << texts[hit.index] << '\n';
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
