#include "relucent/rescored_top_docs.h"

#include <utility>

namespace relucent {

RescoredHit::RescoredHit(std::int32_t document, double hit_score, HitOutcome outcome)
    : Lucene::ScoreDoc(document, hit_score), HitOutcome(std::move(outcome)) {}
RescoredHit::~RescoredHit() = default;

RescoredTopDocs::RescoredTopDocs(std::int32_t total, const Lucene::Collection<Lucene::ScoreDocPtr>& hits, double best,
                                 RescoreReport report)
    : Lucene::TopDocs(total, hits, best), RescoreReport(std::move(report)) {}
RescoredTopDocs::~RescoredTopDocs() = default;

const char* to_string(QueryTextSource source) noexcept {
  switch (source) {
    case QueryTextSource::query: return "query";
    case QueryTextSource::scope: return "scope";
    case QueryTextSource::terms: return "terms";
    case QueryTextSource::none: return "none";
  }
  return "none";
}

}  // namespace relucent
