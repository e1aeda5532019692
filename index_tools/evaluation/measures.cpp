#include "index_tools/evaluation/measures.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "index_tools/evaluation/measure_table.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

JudgedRanking judge(std::vector<RunHit> hits, const Judgments& judgments, ScoreType scores) {
  JudgedRanking ranking;
  sort_as_trec_eval(hits, scores);
  for (const RunHit& hit : hits) {
    const auto found = judgments.find(hit.docno);
    ranking.grades.push_back(found == judgments.end() ? std::nullopt : std::optional(found->second));
  }
  for (const auto& [docno, grade] : judgments) ranking.all_grades.push_back(grade);
  std::sort(ranking.all_grades.begin(), ranking.all_grades.end(), std::greater<>());
  return ranking;
}

// A grade above the scale would make ERR's probabilities exceed 1.
void require_grades_on_scale(const Qrels& qrels, const std::vector<Measure>& measures) {
  for (const Measure& measure : measures) {
    if ((measure.known->parameters & KnownMeasure::max_rel) == 0) continue;
    for (const auto& [query, judgments] : qrels) {
      for (const auto& [docno, grade] : judgments) {
        if (grade <= measure.max_grade) continue;
        throw Error(ErrorKind::invalid_data, fmt::format("query {}, docno {}", query, docno),
                    fmt::format("grade {} exceeds the scale of {}, whose highest grade is {}", grade, measure.name,
                                measure.max_grade),
                    fmt::format("state the highest grade of these judgments, for example ERR(max_rel={})@20", grade));
      }
    }
  }
}

}  // namespace

Evaluation evaluate(const Run& run, const Qrels& qrels, const std::vector<Measure>& measures,
                    const EvaluationOptions& options) {
  require_grades_on_scale(qrels, measures);
  Evaluation result;
  result.all.assign(measures.size(), 0);
  for (const auto& [query, hits] : run.queries) {
    const auto judgments = qrels.find(query);
    if (judgments == qrels.end()) continue;
    const JudgedRanking ranking = judge(hits, judgments->second, options.scores);
    std::vector<double>& values = result.queries[query];
    for (std::size_t i = 0; i < measures.size(); ++i) {
      values.push_back(measures[i].known->value(measures[i], ranking));
      result.all[i] += values.back();
    }
  }
  result.averaged_over = options.complete ? qrels.size() : result.queries.size();
  for (std::size_t i = 0; i < measures.size(); ++i) {
    if (measures[i].is_query_count()) {
      result.all[i] = static_cast<double>(result.averaged_over);
    } else if (!measures[i].is_count() && result.averaged_over > 0) {
      result.all[i] /= static_cast<double>(result.averaged_over);
    }
  }
  return result;
}

}  // namespace relucent::index_tools
