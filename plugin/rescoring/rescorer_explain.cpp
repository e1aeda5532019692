#include <Explanation.h>
#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "plugin/rescoring/rescorer_implementation.h"
#include "relucent/rescorer.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

using Lucene::newLucene;

std::string plain(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

Lucene::ExplanationPtr node(double value, const std::string& description) {
  return newLucene<Lucene::Explanation>(value, to_lucene(description));
}

const char* formula(ScoreMode mode) {
  switch (mode) {
    case ScoreMode::replace: return "the rescored part";
    case ScoreMode::total: return "the sum of";
    case ScoreMode::multiply: return "the product of";
    case ScoreMode::avg: return "half the sum of";
    case ScoreMode::max: return "the larger of";
    case ScoreMode::min: return "the smaller of";
  }
  return "";
}

Lucene::ExplanationPtr model_part(const CandidateScore& score, const Scorer& scorer) {
  std::string description = "score of " + scorer.describe();
  if (score.tokens > 0) description += fmt::format(", {} tokens", score.tokens);
  description += score.truncated ? ", the end of the text was cut off" : ", the whole text was read";
  if (score.query_truncated) description += ", the end of the query was cut off";
  return node(score.score, description);
}

std::string normalized(Normalize how) {
  return how == Normalize::none ? "" : fmt::format(" after {} over the rescore window", to_string(how));
}

Lucene::ExplanationPtr explain_rescored(const CombinedHit& combined, const CandidateScore& score,
                                        const Lucene::ExplanationPtr& first_stage, const RescorerConfig& config,
                                        const Scorer& scorer, const std::string& rank) {
  const auto root = node(combined.score, fmt::format("combined score, score_mode {}: {}", to_string(config.score_mode),
                                                     formula(config.score_mode)));
  const auto rescored =
      node(combined.rescore_term, fmt::format("rescore_weight {} times the model's score{}",
                                              plain(config.rescore_weight), normalized(config.normalize)));
  rescored->addDetail(model_part(score, scorer));
  root->addDetail(rescored);
  const bool takes_part = config.score_mode != ScoreMode::replace;
  const auto first = node(combined.first_stage_term,
                          takes_part ? fmt::format("query_weight {} times the first-stage score{}, {}",
                                                   plain(config.query_weight), normalized(config.normalize), rank)
                                     : "the first stage does not count in the score, " + rank);
  first->addDetail(first_stage);
  root->addDetail(first);
  return root;
}

}  // namespace

Lucene::ExplanationPtr Rescorer::explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                         const Lucene::ExplanationPtr& firstPassExplanation, std::string_view queryText,
                                         std::int32_t document) const {
  return explain(searcher, firstPass, firstPassExplanation, ModelQuery{well_formed_utf8(queryText), {}}, document);
}

Lucene::ExplanationPtr Rescorer::explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                         const Lucene::ExplanationPtr& firstPassExplanation, const ModelQuery& query,
                                         std::int32_t document) const {
  const SecondStageResult result =
      implementation_->stage().run(searcher, first_stage_hits(firstPass), query,
                                   [this](auto scores, auto logits) { return combine(scores, logits); });
  const auto wrapped = [&](double value, const std::string& description) {
    const auto root = node(value, description);
    root->addDetail(firstPassExplanation);
    return root;
  };
  for (std::size_t i = 0; i < result.hits.size(); ++i) {
    const FirstStageHit& hit = result.hits[i];
    if (hit.document != document) continue;
    if (result.rescored.in_first_stage_order)
      return wrapped(hit.score, "first-stage score; not rescored: " + result.rescored.reason);
    const std::string rank = fmt::format("first-stage rank {}", hit.rank);
    for (const auto& combined : result.rescored.order) {
      if (combined.index != i) continue;
      if (i >= result.rescored.scores.size()) {
        return wrapped(
            combined.score,
            fmt::format("first-stage score, lowered to stay below the rescored hits; beyond the rescore window of {}",
                        config().rescorer.window));
      }
      if (!result.rescored.scores[i]) {
        return wrapped(
            combined.score,
            fmt::format(
                "first-stage score, lowered to stay below the rescored hits; no stored text in field \"{}\", {}",
                join(config().index.fields_read(), "\", \""), rank));
      }
      return explain_rescored(combined, *result.rescored.scores[i], firstPassExplanation, config().rescorer, scorer(),
                              rank);
    }
    return wrapped(0, "not returned: the combined score is below min_score, " + rank);
  }
  return wrapped(0, "not among the hits that were rescored");
}

}  // namespace relucent
