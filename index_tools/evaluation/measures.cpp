#include "index_tools/evaluation/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

/// The grades of a query's hits and judgments.
struct JudgedRanking {
  std::vector<std::optional<int>> grades;  ///< per hit, best first; nothing: not judged
  std::vector<int> all_grades;             ///< of every judged document, highest first
};

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

double discounted(int grade, std::size_t rank) {
  return grade > 0 ? grade / std::log2(static_cast<double>(rank) + 1) : 0;
}

class QueryMeasure {
 public:
  QueryMeasure(const Measure& measure, const JudgedRanking& ranking)
      : measure_(measure),
        ranking_(ranking),
        depth_(measure.cutoff > 0 ? std::min(ranking.grades.size(), static_cast<std::size_t>(measure.cutoff))
                                  : ranking.grades.size()) {}

  double value() const {
    switch (measure_.kind) {
      case Measure::Kind::ndcg: return ndcg();
      case Measure::Kind::average_precision: return average_precision();
      case Measure::Kind::reciprocal_rank: return reciprocal_rank();
      case Measure::Kind::precision:
        return ratio(relevant_returned(), measure_.cutoff > 0 ? measure_.cutoff : ranking_.grades.size());
      case Measure::Kind::recall: return ratio(relevant_returned(), relevant());
      case Measure::Kind::r_precision: return r_precision();
      case Measure::Kind::success: return relevant_returned() > 0 ? 1 : 0;
      case Measure::Kind::binary_preference: return binary_preference();
      case Measure::Kind::expected_reciprocal_rank: return expected_reciprocal_rank();
      case Measure::Kind::rank_biased_precision: return rank_biased_precision();
      case Measure::Kind::judged: return judged();
      case Measure::Kind::returned: return static_cast<double>(ranking_.grades.size());
      case Measure::Kind::relevant: return static_cast<double>(relevant());
      case Measure::Kind::relevant_returned: return static_cast<double>(relevant_returned());
      case Measure::Kind::queries: return 1;
    }
    return 0;
  }

 private:
  static double ratio(std::size_t part, std::size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }

  bool is_relevant(std::size_t hit) const {
    return ranking_.grades[hit].value_or(measure_.relevant - 1) >= measure_.relevant;
  }

  std::size_t relevant() const {
    return static_cast<std::size_t>(std::count_if(ranking_.all_grades.begin(), ranking_.all_grades.end(),
                                                  [this](int grade) { return grade >= measure_.relevant; }));
  }

  std::size_t relevant_returned() const {
    std::size_t count = 0;
    for (std::size_t hit = 0; hit < depth_; ++hit) count += is_relevant(hit) ? 1 : 0;
    return count;
  }

  double ndcg() const {
    double gain = 0, ideal = 0;
    for (std::size_t hit = 0; hit < depth_; ++hit) gain += discounted(ranking_.grades[hit].value_or(0), hit + 1);
    for (std::size_t i = 0; i < ranking_.all_grades.size(); ++i) {
      if (measure_.cutoff > 0 && i >= static_cast<std::size_t>(measure_.cutoff)) break;
      ideal += discounted(ranking_.all_grades[i], i + 1);
    }
    return ideal > 0 ? gain / ideal : 0;
  }

  double average_precision() const {
    double sum = 0;
    std::size_t found = 0;
    for (std::size_t hit = 0; hit < depth_; ++hit) {
      if (is_relevant(hit)) sum += ratio(++found, hit + 1);
    }
    const std::size_t all = relevant();
    return all == 0 ? 0 : sum / static_cast<double>(all);
  }

  double reciprocal_rank() const {
    for (std::size_t hit = 0; hit < depth_; ++hit) {
      if (is_relevant(hit)) return 1 / static_cast<double>(hit + 1);
    }
    return 0;
  }

  double r_precision() const {
    const std::size_t all = relevant();
    std::size_t found = 0;
    for (std::size_t hit = 0; hit < std::min(all, ranking_.grades.size()); ++hit) found += is_relevant(hit) ? 1 : 0;
    return ratio(found, all);
  }

  // With R relevant documents: for each relevant hit, the share of the first R non-relevant ones that rank below it.
  double binary_preference() const {
    const auto is_nonrelevant = [this](int grade) { return grade >= 0 && grade < measure_.relevant; };
    const std::size_t all = relevant();
    const auto nonrelevant =
        static_cast<std::size_t>(std::count_if(ranking_.all_grades.begin(), ranking_.all_grades.end(), is_nonrelevant));
    double sum = 0;
    std::size_t above = 0;
    for (std::size_t hit = 0; hit < ranking_.grades.size(); ++hit) {
      if (is_relevant(hit)) {
        sum += above == 0 ? 1 : 1 - ratio(std::min(above, all), std::min(nonrelevant, all));
      } else if (ranking_.grades[hit] && is_nonrelevant(*ranking_.grades[hit])) {
        ++above;
      }
    }
    return all == 0 ? 0 : sum / static_cast<double>(all);
  }

  double expected_reciprocal_rank() const {
    double sum = 0, reaches = 1;
    for (std::size_t hit = 0; hit < depth_; ++hit) {
      const int grade = ranking_.grades[hit].value_or(0);
      if (grade <= 0) continue;
      const double stops = (std::ldexp(1, grade) - 1) / std::ldexp(1, measure_.max_grade);
      sum += reaches * stops / static_cast<double>(hit + 1);
      reaches *= 1 - stops;
    }
    return sum;
  }

  double rank_biased_precision() const {
    double sum = 0, weight = 1 - measure_.persistence;
    for (std::size_t hit = 0; hit < depth_; ++hit, weight *= measure_.persistence) {
      if (is_relevant(hit)) sum += weight;
    }
    return sum;
  }

  double judged() const {
    std::size_t count = 0;
    for (std::size_t hit = 0; hit < depth_; ++hit) count += ranking_.grades[hit].has_value() ? 1 : 0;
    return ratio(count, depth_);
  }

  const Measure& measure_;
  const JudgedRanking& ranking_;
  std::size_t depth_;
};

// A grade above the scale would make ERR's probabilities exceed 1.
void require_grades_on_scale(const Qrels& qrels, const std::vector<Measure>& measures) {
  for (const Measure& measure : measures) {
    if (measure.kind != Measure::Kind::expected_reciprocal_rank) continue;
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
      values.push_back(QueryMeasure(measures[i], ranking).value());
      result.all[i] += values.back();
    }
  }
  result.averaged_over = options.complete ? qrels.size() : result.queries.size();
  for (std::size_t i = 0; i < measures.size(); ++i) {
    if (measures[i].kind == Measure::Kind::queries) {
      result.all[i] = static_cast<double>(result.averaged_over);
    } else if (!measures[i].is_count() && result.averaged_over > 0) {
      result.all[i] /= static_cast<double>(result.averaged_over);
    }
  }
  return result;
}

}  // namespace relucent::index_tools
