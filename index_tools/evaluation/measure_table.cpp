#include "index_tools/evaluation/measure_table.h"

#include <algorithm>
#include <cmath>

namespace relucent::index_tools {
namespace {

double ratio(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Hits down to the cutoff.
std::size_t depth(const Measure& measure, const JudgedRanking& ranking) {
  const std::size_t hits = ranking.grades.size();
  return measure.cutoff > 0 ? std::min(hits, static_cast<std::size_t>(measure.cutoff)) : hits;
}

bool is_relevant(const Measure& measure, const std::optional<int>& grade) {
  return grade && *grade >= measure.relevant;
}

std::size_t relevant(const Measure& measure, const JudgedRanking& ranking) {
  return static_cast<std::size_t>(
      std::ranges::count_if(ranking.all_grades, [&](int grade) { return grade >= measure.relevant; }));
}

/// Relevant ones among the first hits.
std::size_t relevant_among(std::size_t hits, const Measure& measure, const JudgedRanking& ranking) {
  const auto first = std::span(ranking.grades).first(std::min(hits, ranking.grades.size()));
  return static_cast<std::size_t>(
      std::ranges::count_if(first, [&](const auto& grade) { return is_relevant(measure, grade); }));
}

std::size_t relevant_returned(const Measure& measure, const JudgedRanking& ranking) {
  return relevant_among(depth(measure, ranking), measure, ranking);
}

double discounted(int grade, std::size_t rank) {
  return grade > 0 ? grade / std::log2(static_cast<double>(rank) + 1) : 0;
}

double ndcg(const Measure& measure, const JudgedRanking& ranking) {
  double gain = 0, ideal = 0;
  for (std::size_t hit = 0; hit < depth(measure, ranking); ++hit) {
    gain += discounted(ranking.grades[hit].value_or(0), hit + 1);
  }
  for (std::size_t i = 0; i < ranking.all_grades.size(); ++i) {
    if (measure.cutoff > 0 && i >= static_cast<std::size_t>(measure.cutoff)) break;
    ideal += discounted(ranking.all_grades[i], i + 1);
  }
  return ideal > 0 ? gain / ideal : 0;
}

double average_precision(const Measure& measure, const JudgedRanking& ranking) {
  double sum = 0;
  std::size_t found = 0;
  for (std::size_t hit = 0; hit < depth(measure, ranking); ++hit) {
    if (is_relevant(measure, ranking.grades[hit])) sum += ratio(++found, hit + 1);
  }
  const std::size_t all = relevant(measure, ranking);
  return all == 0 ? 0 : sum / static_cast<double>(all);
}

double reciprocal_rank(const Measure& measure, const JudgedRanking& ranking) {
  for (std::size_t hit = 0; hit < depth(measure, ranking); ++hit) {
    if (is_relevant(measure, ranking.grades[hit])) return 1 / static_cast<double>(hit + 1);
  }
  return 0;
}

double precision(const Measure& measure, const JudgedRanking& ranking) {
  return ratio(relevant_returned(measure, ranking), static_cast<std::size_t>(measure.cutoff));
}

double recall(const Measure& measure, const JudgedRanking& ranking) {
  return ratio(relevant_returned(measure, ranking), relevant(measure, ranking));
}

double r_precision(const Measure& measure, const JudgedRanking& ranking) {
  const std::size_t all = relevant(measure, ranking);
  return ratio(relevant_among(all, measure, ranking), all);
}

double success(const Measure& measure, const JudgedRanking& ranking) {
  return relevant_returned(measure, ranking) > 0 ? 1 : 0;
}

/// With R relevant documents: for each relevant hit, the share of the first R non-relevant ones that rank below it
/// (Buckley and Voorhees 2004). A negative grade is not a judgment.
double binary_preference(const Measure& measure, const JudgedRanking& ranking) {
  const auto is_nonrelevant = [&](int grade) { return grade >= 0 && grade < measure.relevant; };
  const std::size_t all = relevant(measure, ranking);
  const auto nonrelevant = static_cast<std::size_t>(std::ranges::count_if(ranking.all_grades, is_nonrelevant));
  double sum = 0;
  std::size_t above = 0;
  for (const std::optional<int>& grade : ranking.grades) {
    if (is_relevant(measure, grade)) {
      sum += above == 0 ? 1 : 1 - ratio(std::min(above, all), std::min(nonrelevant, all));
    } else if (grade && is_nonrelevant(*grade)) {
      ++above;
    }
  }
  return all == 0 ? 0 : sum / static_cast<double>(all);
}

/// Chapelle et al. (2009): a hit of grade g stops the reader with probability (2^g - 1) / 2^max_grade.
double expected_reciprocal_rank(const Measure& measure, const JudgedRanking& ranking) {
  double sum = 0, reaches = 1;
  for (std::size_t hit = 0; hit < depth(measure, ranking); ++hit) {
    const int grade = ranking.grades[hit].value_or(0);
    if (grade <= 0) continue;
    const double stops = (std::ldexp(1, grade) - 1) / std::ldexp(1, measure.max_grade);
    sum += reaches * stops / static_cast<double>(hit + 1);
    reaches *= 1 - stops;
  }
  return sum;
}

/// Moffat and Zobel (2008): (1 - p) times the sum of p^(rank - 1) over the relevant hits.
double rank_biased_precision(const Measure& measure, const JudgedRanking& ranking) {
  double sum = 0, weight = 1 - measure.persistence;
  for (std::size_t hit = 0; hit < depth(measure, ranking); ++hit, weight *= measure.persistence) {
    if (is_relevant(measure, ranking.grades[hit])) sum += weight;
  }
  return sum;
}

double judged(const Measure& measure, const JudgedRanking& ranking) {
  const auto first = std::span(ranking.grades).first(depth(measure, ranking));
  const auto count = std::ranges::count_if(first, [](const auto& grade) { return grade.has_value(); });
  return ratio(static_cast<std::size_t>(count), first.size());
}

template <std::size_t (*Count)(const Measure&, const JudgedRanking&)>
double count(const Measure& measure, const JudgedRanking& ranking) {
  return static_cast<double>(Count(measure, ranking));
}

double one(const Measure&, const JudgedRanking&) { return 1; }

}  // namespace

std::span<const KnownMeasure> known_measures() {
  using enum KnownMeasure::Cutoff;
  using enum KnownMeasure::Total;
  using enum KnownMeasure::Parameter;
  // clang-format off
  static const std::vector<KnownMeasure> table = {
      {{"nDCG", "ndcg_cut"}, optional, no_parameter, mean, ndcg,
       "gain = grade, discount = log2(rank + 1), ideal from all judgments"},
      {{"MAP", "AP", "map_cut"}, optional, rel, mean, average_precision,
       "average precision over all relevant documents of the judgments"},
      {{"RR", "MRR", "recip_rank"}, optional, rel, mean, reciprocal_rank, "1 / rank of the first relevant hit"},
      {{"P", "Precision"}, required, rel, mean, precision,
       "relevant hits among the first k, divided by k even if there are fewer hits"},
      {{"R", "Recall"}, required, rel, mean, recall,
       "share of the relevant documents that are among the first k hits"},
      {{"Rprec"}, none, rel, mean, r_precision, "precision among as many hits as there are relevant documents"},
      {{"Success"}, required, rel, mean, success, "1 if a relevant document is among the first k hits, else 0"},
      {{"Bpref"}, none, rel, mean, binary_preference,
       "share of the judged non-relevant documents that rank below the relevant ones"},
      {{"ERR"}, optional, max_rel, mean, expected_reciprocal_rank,
       "expected reciprocal rank; a hit of grade g satisfies with probability (2^g - 1) / 2^max_rel"},
      {{"RBP"}, optional, rel | p, mean, rank_biased_precision,
       "rank-biased precision: (1 - p) times the sum of p^(rank - 1) over the relevant hits"},
      {{"Judged"}, required, no_parameter, mean, judged, "share of the first k hits that are judged"},
      {{"num_q", "NumQ"}, none, no_parameter, queries, one, "number of queries"},
      {{"num_ret", "NumRet"}, none, no_parameter, sum, count<depth>, "number of hits"},
      {{"num_rel", "NumRel"}, none, rel, sum, count<relevant>, "number of relevant documents"},
      {{"num_rel_ret", "NumRelRet"}, none, rel, sum, count<relevant_returned>, "number of relevant hits"},
  };
  // clang-format on
  return table;
}

bool Measure::is_count() const noexcept { return known->total != KnownMeasure::Total::mean; }
bool Measure::is_query_count() const noexcept { return known->total == KnownMeasure::Total::queries; }

}  // namespace relucent::index_tools
