#include <Explanation.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "plugin/lucene/search/rescorer_implementation.h"
#include "relucent/error.h"
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

/// `instead`: the kind of stored input that it read instead of the text; empty: it read the text.
Lucene::ExplanationPtr model_part(const CandidateScore& score, const Scorer& scorer, std::string_view instead) {
  std::string description = "score of " + scorer.describe();
  if (score.tokens > 0) description += fmt::format(", {} tokens", score.tokens);
  if (!instead.empty()) {
    description += fmt::format(", from the stored {}", instead);
  } else {
    description += score.truncated ? ", the end of the text was cut off" : ", the whole text was read";
  }
  if (score.query_truncated) description += ", the end of the query was cut off";
  if (score.cached) description += ", from the cache of scores";
  return node(score.score, description);
}

std::string normalized(Normalize how) {
  return how == Normalize::none ? "" : fmt::format(" after {} over the rescore window", to_string(how));
}

/// Explains a stage that scored the hit; `before` explains the score that the hit had until then.
Lucene::ExplanationPtr explain_stage(const StageScore& scored, const Lucene::ExplanationPtr& before,
                                     const RescoringStage& stage, const std::string& before_name,
                                     const std::string& rank, std::string_view instead) {
  const StageConfig& config = stage.config;
  const CombinedHit& combined = scored.combined;
  const auto root = node(combined.score, fmt::format("combined score, score_mode {}: {}", to_string(config.score_mode),
                                                     formula(config.score_mode)));
  const auto rescored =
      node(combined.rescore_term, fmt::format("rescore_weight {} times the model's score{}",
                                              plain(config.rescore_weight), normalized(config.normalize)));
  rescored->addDetail(model_part(scored.score, *stage.scorer, instead));
  root->addDetail(rescored);
  const bool takes_part = config.score_mode != ScoreMode::replace;
  const auto first =
      node(combined.first_stage_term,
           takes_part ? fmt::format("query_weight {} times the score of {}{}{}", plain(config.query_weight),
                                    before_name, normalized(config.normalize), rank)
                      : fmt::format("{} does not count in the score{}", before_name, rank));
  first->addDetail(before);
  root->addDetail(first);
  return root;
}

/// Explains the last stage that scored the hit, with those before it as details.
Lucene::ExplanationPtr explain_rescored(std::size_t hit, const CombinedHit& combined, const SecondStageResult& result,
                                        const std::vector<RescoringStage>& stages,
                                        const Lucene::ExplanationPtr& first_stage, std::int32_t rank) {
  const RescoredCandidates& rescored = result.rescored;
  Lucene::ExplanationPtr explained = first_stage;
  std::string before = "the first stage", place = fmt::format(", first-stage rank {}", rank);
  std::size_t last = 0;
  for (const StageScore& scored : rescored.window[hit].stages) {
    last = scored.stage;
    explained = explain_stage(scored, explained, stages[last], before, place, result.hits[hit].read_instead[last]);
    before = fmt::format("stage {}", last + 1);
    place.clear();
  }
  if (last + 1 == rescored.stages.size()) return explained;
  const auto root =
      node(combined.score,
           fmt::format("score of stage {}, lowered to stay below the hits that stage {} scored", last + 1, last + 2));
  root->addDetail(explained);
  return root;
}

}  // namespace

Lucene::ExplanationPtr Rescorer::explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                         const Lucene::ExplanationPtr& firstPassExplanation, std::string_view queryText,
                                         std::int32_t document) const {
  return explain(searcher, firstPass, firstPassExplanation, ModelQuery{well_formed_utf8(queryText), {}, {}}, document);
}

Lucene::ExplanationPtr Rescorer::explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                         const Lucene::ExplanationPtr& firstPassExplanation, const ModelQuery& query,
                                         std::int32_t document) const {
  const SecondStageResult result =
      implementation_->stage().run(searcher, first_stage_hits(firstPass), query,
                                   [this](auto scores, auto logits) { return combine(scores, logits); });
  return explain(result, firstPassExplanation, document);
}

Lucene::ExplanationPtr Rescorer::explain(const RescoredTopDocsPtr& rescored,
                                         const Lucene::ExplanationPtr& firstPassExplanation,
                                         std::int32_t document) const {
  if (!rescored->details) {
    throw Error(ErrorKind::usage, "Rescorer", "was asked to explain hits that it did not rescore",
                "pass the hits that rescore() returned");
  }
  return explain(*rescored->details, firstPassExplanation, document);
}

Lucene::ExplanationPtr Rescorer::explain(const SecondStageResult& result,
                                         const Lucene::ExplanationPtr& firstPassExplanation,
                                         std::int32_t document) const {
  const auto wrapped = [&](double value, const std::string& description) {
    const auto root = node(value, description);
    root->addDetail(firstPassExplanation);
    return root;
  };
  for (std::size_t i = 0; i < result.hits.size(); ++i) {
    const SecondStageHit& hit = result.hits[i];
    if (hit.document != document) continue;
    if (result.rescored.in_first_stage_order)
      return wrapped(hit.score, "first-stage score; not rescored: " + result.rescored.reason);
    const std::string rank = fmt::format("first-stage rank {}", hit.rank);
    for (const auto& combined : result.rescored.order) {
      if (combined.index != i) continue;
      if (i >= result.rescored.window.size()) {
        return wrapped(
            combined.score,
            fmt::format("first-stage score, lowered to stay below the rescored hits; beyond the rescore window of {}",
                        config().rescorer.first_window()));
      }
      if (result.rescored.last_score(i) == nullptr) {
        return wrapped(
            combined.score,
            fmt::format(
                "first-stage score, lowered to stay below the rescored hits; no stored text in field \"{}\", {}",
                join(config().index.fields_read(), "\", \""), rank));
      }
      return explain_rescored(i, combined, result, stages(), firstPassExplanation, hit.rank);
    }
    return wrapped(0, "not returned: the combined score is below min_score, " + rank);
  }
  return wrapped(0, "not among the hits that were rescored");
}

}  // namespace relucent
