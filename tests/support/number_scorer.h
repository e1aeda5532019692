#pragma once

// A scorer whose "model" reads numbers in the texts, without Lucene++'s types.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/scorer.h"

namespace relucent::testing {

/// The score is the number that the text begins with, so that a test decides the "model's" scores. Remembers its calls.
class NumberScorer : public Scorer {
 public:
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    if (before) before(stop);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::string text(candidates[i].text);
      scores[i].score = std::strtof(text.c_str(), nullptr);
      scores[i].tokens = static_cast<std::int32_t>(text.size());
      scores[i].truncated = text.find("long") != std::string::npos;
    }
    const std::lock_guard lock(mutex);
    queries.emplace_back(query);
    sizes.push_back(candidates.size());
    ids.clear();
    for (const auto& candidate : candidates) ids.emplace_back(candidate.id);
  }
  std::string describe() const override { return "the number in the text"; }

  std::function<void(const StopSignal&)> before;
  mutable std::mutex mutex;
  mutable std::vector<std::string> queries;
  mutable std::vector<std::size_t> sizes;
  mutable std::vector<std::string> ids;  ///< of the last call
};

inline Config small_config() {
  Config config;
  config.first_stage.analyzer = AnalyzerKind::whitespace;
  config.rescorer.timeout = std::chrono::milliseconds(0);
  config.log.level = LogLevel::off;
  return config;
}

}  // namespace relucent::testing
