#include "relucent/rescorer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include "plugin/lucene/search/rescorer_implementation.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

RescoredHitPtr hit_of(const SecondStageResult& result, const CombinedHit& combined) {
  const SecondStageHit& first = result.hits[combined.index];
  HitOutcome outcome = result.rescored.outcome(combined.index);
  outcome.first_stage_score = first.score;
  outcome.first_stage_rank = first.rank;
  // Without rescoring, the score is exactly the first stage's.
  const double score = outcome.status == HitStatus::not_rescored ? first.score : static_cast<double>(combined.score);
  return Lucene::newLucene<RescoredHit>(first.document, score, std::move(outcome));
}

}  // namespace

Rescorer::Rescorer(const Config& config) : Rescorer(config, make_scorers(config.rescorer)) {}

Rescorer::Rescorer(const Config& config, std::shared_ptr<const Scorer> scorer)
    : Rescorer(config, std::vector{std::move(scorer)}) {}

Rescorer::Rescorer(const Config& config, std::vector<std::shared_ptr<const Scorer>> scorers) {
  check_config(config);
  // NOLINTNEXTLINE(modernize-make-unique): an aggregate
  implementation_.reset(new Implementation{config, make_stages(config.rescorer, std::move(scorers)), Log(config.log)});
  for (const RescoringStage& stage : implementation_->stages) {
    implementation_->log.info(
        fmt::format("rescoring the best {} hits with {}", stage.config.window, stage.scorer->describe()));
    if (const std::string notice = stage.scorer->notice(); !notice.empty()) implementation_->log.info(notice);
    if (const std::string warning = stage.scorer->warning(); !warning.empty()) implementation_->log.warning(warning);
    if (stage.config.cache_mb > 0 && !stage.scorer->cacheable()) {
      implementation_->log.warning(fmt::format(
          "[rescorer] cache_mb has no effect, because the scorer does not state that its scores may be kept "
          "(Scorer::cacheable): {}",
          stage.scorer->describe()));
    }
  }
}

Rescorer::~Rescorer() = default;

const Config& Rescorer::config() const noexcept { return implementation_->config; }
const Scorer& Rescorer::scorer() const noexcept { return *stages().back().scorer; }
const std::vector<RescoringStage>& Rescorer::stages() const noexcept { return implementation_->stages; }

std::vector<CombinedHit> Rescorer::combine(std::span<const double> firstStageScores,
                                           std::span<const std::optional<float>> logits) const {
  return relucent::combine(firstStageScores, logits, stages().back().config, config().rescorer.min_score);
}

RescoredTopDocsPtr Rescorer::rescore(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                     std::string_view queryText, std::int32_t n) const {
  return rescore(searcher, firstPass, ModelQuery{well_formed_utf8(queryText), {}, {}}, n);
}

RescoredTopDocsPtr Rescorer::rescore(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                     const ModelQuery& query, std::int32_t n) const {
  if (n < 1) throw Error(ErrorKind::usage, "Rescorer", fmt::format("was asked for {} hits", n), "ask for at least 1");
  const auto details = std::make_shared<SecondStageResult>(
      implementation_->stage().run(searcher, first_stage_hits(firstPass), query,
                                   [this](auto scores, auto logits) { return combine(scores, logits); }));
  const SecondStageResult& result = *details;
  const RescoredCandidates& rescored = result.rescored;

  auto hits = Lucene::Collection<Lucene::ScoreDocPtr>::newInstance();
  std::chrono::nanoseconds passages{0};
  for (const auto& combined : rescored.order) {
    if (hits.size() == n) break;
    const RescoredHitPtr hit = hit_of(result, combined);
    if (config().rescorer.find_passages) {
      const auto start = std::chrono::steady_clock::now();
      hit->passage = implementation_->stage().passage(result, combined.index);
      passages += time_since(start);
    }
    hits.add(hit);
  }
  const double best = hits.empty() ? std::numeric_limits<double>::quiet_NaN() : hits[0]->score;
  const auto answer = Lucene::newLucene<RescoredTopDocs>(firstPass->totalHits, hits, best, rescored.report());
  answer->totalIsExact = boost::dynamic_pointer_cast<AtLeastTopDocs>(firstPass) == nullptr;
  answer->queryText = result.query_text;
  answer->queryTextSource = result.query_text.empty() ? QueryTextSource::none : QueryTextSource::query;
  answer->belowMinScore = static_cast<std::int32_t>(result.hits.size() - rescored.order.size());
  answer->encoded = result.encoded;
  answer->times.passages = passages;
  details->drop_inputs();
  answer->details = details;
  return answer;
}

}  // namespace relucent
