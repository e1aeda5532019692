#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/run.h"

namespace relucent::index_tools {

struct KnownMeasure;

/// A measure, computed as in trec_eval; ERR as in TREC's gdeval.pl, RBP as in cwl_eval.
struct Measure {
  const KnownMeasure* known = nullptr;  ///< its row of the table (measure_table.h); never null after parse_measure()
  int cutoff = 0;                       ///< rank; 0: all hits
  int relevant = 1;                     ///< lowest grade that counts as relevant
  double persistence = 0.8;             ///< RBP's p
  int max_grade = 4;                    ///< ERR's scale; 4 is gdeval.pl's
  std::string name;                     ///< as requested and as printed

  bool is_count() const noexcept;  ///< summed over queries, not averaged
  bool is_query_count() const noexcept;
};

/// Parses a measure's name, ignoring case: one of the table's, ir_measures' and trec_eval's, with "@10", "_10" or ".10"
/// as the cutoff. Parameters stand in parentheses after the name or the cutoff: P(rel=2)@10, MAP(rel>=2),
/// RBP(p=0.95,rel=2), ERR(max_rel=3)@20. Throws Error `usage` with the known names for anything else.
Measure parse_measure(std::string_view name);
/// Parses names separated by commas outside of parentheses.
std::vector<Measure> parse_measures(std::string_view names);
/// The names that parse_measure() knows, for help texts.
std::string measure_names();
/// A line per measure with its name and its meaning, for help texts.
std::string measure_meanings();

struct EvaluationOptions {
  ScoreType scores = ScoreType::single_precision;
  bool complete = false;  ///< average over all queries of the qrels; missing ones count as 0 (trec_eval -c)
};

struct Evaluation {
  /// One value per measure, for each query that is in both run and qrels.
  std::map<std::string, std::vector<double>> queries;
  std::vector<double> all;  ///< mean or sum, one per measure
  std::size_t averaged_over = 0;
};

/// Throws Error `invalid_data` for a grade above ERR's scale.
Evaluation evaluate(const Run& run, const Qrels& qrels, const std::vector<Measure>& measures,
                    const EvaluationOptions& options = {});

}  // namespace relucent::index_tools
