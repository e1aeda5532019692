#include "index_tools/evaluation/fusion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

template <typename Value>
Value value_named(std::string_view name, std::initializer_list<std::pair<std::string_view, Value>> known,
                  const char* what) {
  for (const auto& [known_name, value] : known) {
    if (known_name == name) return value;
  }
  throw Error(ErrorKind::usage, {}, fmt::format("unknown {} {}", what, excerpt(name)),
              "choose from " + join(known, ", ", [](const auto& each) { return each.first; }));
}

void check(std::size_t runs, const FusionOptions& options) {
  if (runs == 0) throw Error(ErrorKind::usage, "fusion", "has no runs", "pass at least one");
  if (!std::isfinite(options.k) || options.k < 0) {
    throw Error(ErrorKind::usage, "k", "is not a number of 0 or more", "60 is the usual value");
  }
  const auto& weights = options.weights;
  if (weights.empty()) return;
  if (weights.size() != runs) {
    throw Error(ErrorKind::usage, "weights", fmt::format("{} given for {} runs", weights.size(), runs),
                "give one per run");
  }
  const bool any = std::any_of(weights.begin(), weights.end(), [](double weight) { return weight != 0; });
  if (!any || !std::all_of(weights.begin(), weights.end(), [](double weight) { return std::isfinite(weight); })) {
    throw Error(ErrorKind::usage, "weights", "must be finite numbers, and at least one must not be 0",
                "give one number per run");
  }
}

double highest_above_0(const RankedQuery& query, double highest) {
  if (highest > 0) return highest;
  throw Error(ErrorKind::invalid_data, "query " + query.id,
              "a run's highest score is not above 0, so scores cannot be divided by it",
              "normalize by min-max, or fuse with rrf");
}

// The unweighted contribution of each hit, best first, to its document's score.
std::vector<double> normalized(const RankedQuery& query, ScoreNormalization normalization) {
  std::vector<double> scores;
  for (const RunHit& hit : query.hits) {
    if (!std::isfinite(static_cast<float>(hit.score))) {
      throw Error(ErrorKind::invalid_data, fmt::format("query {}, docno {}", query.id, hit.docno),
                  "the score is not finite as a 32-bit float", "fuse with rrf, or remove the line");
    }
    scores.push_back(hit.score);
  }
  if (scores.empty()) return scores;
  const auto count = static_cast<double>(scores.size());
  const auto [lowest_place, highest_place] = std::minmax_element(scores.begin(), scores.end());
  const double lowest = *lowest_place, highest = *highest_place;
  const auto scaled = [&scores](double origin, double unit) {
    for (double& score : scores) score = unit > 0 ? (score - origin) / unit : 0;
  };
  switch (normalization) {
    case ScoreNormalization::none: break;
    case ScoreNormalization::min_max: scaled(lowest, highest - lowest); break;
    case ScoreNormalization::max: scaled(0, highest_above_0(query, highest)); break;
    case ScoreNormalization::sum: {
      double sum = 0;
      for (const double score : scores) sum += score - lowest;
      scaled(lowest, sum);
      break;
    }
    case ScoreNormalization::z_score: {
      const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / count;
      double squares = 0;
      for (const double score : scores) squares += (score - mean) * (score - mean);
      // Rounding errors of the mean must not turn equal scores into variance.
      scaled(mean, highest > lowest ? std::sqrt(squares / count) : 0);
      break;
    }
    case ScoreNormalization::rank:
      for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = 1 - static_cast<double>(i) / count;
  }
  return scores;
}

std::vector<double> summands(const RankedQuery& query, const FusionOptions& options) {
  if (options.method == FusionMethod::weighted_sum) return normalized(query, options.normalization);
  std::vector<double> result;
  for (std::size_t i = 0; i < query.hits.size(); ++i) result.push_back(1 / (options.k + static_cast<double>(i + 1)));
  return result;
}

// Adds in ascending order, so that the sum does not depend on the order of the runs.
double sum_of(std::vector<double>& parts) {
  std::sort(parts.begin(), parts.end());
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace

FusionMethod parse_fusion_method(std::string_view name) {
  return value_named<FusionMethod>(name, {{"rrf", FusionMethod::reciprocal_rank}, {"sum", FusionMethod::weighted_sum}},
                                   "fusion method");
}

ScoreNormalization parse_score_normalization(std::string_view name) {
  using enum ScoreNormalization;
  return value_named<ScoreNormalization>(
      name, {{"none", none}, {"min-max", min_max}, {"max", max}, {"sum", sum}, {"z-score", z_score}, {"rank", rank}},
      "score normalization");
}

std::vector<RankedQuery> fuse(const std::vector<Run>& runs, const FusionOptions& options) {
  check(runs.size(), options);
  using PartsOfDocnos = std::unordered_map<std::string, std::vector<double>>;
  std::vector<std::string> order;
  std::unordered_map<std::string, PartsOfDocnos> queries;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const double weight = options.weights.empty() ? 1 : options.weights[r];
    for (const RankedQuery& query : ranked_queries(runs[r], options.order, options.depth)) {
      const auto [place, is_new] = queries.try_emplace(query.id);
      if (is_new) order.push_back(query.id);
      const std::vector<double> parts = summands(query, options);
      for (std::size_t i = 0; i < parts.size(); ++i) place->second[query.hits[i].docno].push_back(weight * parts[i]);
    }
  }
  std::vector<RankedQuery> fused;
  for (const std::string& id : order) {
    RankedQuery query{id, {}};
    for (auto& [docno, parts] : queries.at(id)) query.hits.push_back({docno, sum_of(parts)});
    sort_as_trec_eval(query.hits, ScoreType::double_precision);
    if (options.hits > 0 && query.hits.size() > options.hits) query.hits.resize(options.hits);
    fused.push_back(std::move(query));
  }
  return fused;
}

}  // namespace relucent::index_tools
