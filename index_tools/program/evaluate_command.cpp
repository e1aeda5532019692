#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/significance.h"
#include "index_tools/program/commands.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

using index_tools::Evaluation;
using index_tools::EvaluationOptions;
using index_tools::Measure;
using index_tools::PairedTests;
using Json = nlohmann::ordered_json;

struct EvaluateOptions {
  std::string qrels;
  std::vector<std::string> runs;
  std::string measures = "nDCG@10,RR@10,MAP,P@10,R@100,Judged@10";
  std::string scores = "float";
  bool per_query = false, complete = false, compare = false, json = false, table = false;
};

struct EvaluatedRun {
  std::string file, tag;
  Evaluation evaluation;
};

struct Comparison {
  const EvaluatedRun& a;
  const EvaluatedRun& b;
  std::vector<PairedTests> tests;  // one a measure
};

// trec_eval's way: four decimals, counts as whole numbers.
std::string value_text(const Measure& measure, double value) {
  char text[64];
  std::snprintf(text, sizeof text, measure.is_count() ? "%.0f" : "%.4f", value);
  return text;
}

std::vector<Measure> tested_measures(const std::vector<Measure>& measures) {
  std::vector<Measure> tested;
  for (const Measure& measure : measures) {
    if (!measure.is_count()) tested.push_back(measure);
  }
  return tested;
}

std::vector<Comparison> compare(const std::vector<EvaluatedRun>& runs, const std::vector<Measure>& measures) {
  std::vector<Comparison> comparisons;
  for (std::size_t other = 1; other < runs.size(); ++other) {
    Comparison comparison{runs[0], runs[other], {}};
    for (std::size_t m = 0; m < measures.size(); ++m) {
      if (measures[m].is_count()) continue;
      std::vector<double> a, b;
      for (const auto& [query, values] : runs[0].evaluation.queries) {
        const auto found = runs[other].evaluation.queries.find(query);
        if (found == runs[other].evaluation.queries.end()) continue;
        a.push_back(values[m]);
        b.push_back(found->second[m]);
      }
      comparison.tests.push_back(index_tools::paired_tests(a, b));
    }
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

void print_lines(const std::vector<EvaluatedRun>& runs, const std::vector<Measure>& measures, bool per_query) {
  for (const EvaluatedRun& run : runs) {
    if (runs.size() > 1) std::cout << "runid\tall\t" << run.tag << "\n";
    if (per_query) {
      for (const auto& [query, values] : run.evaluation.queries) {
        for (std::size_t i = 0; i < measures.size(); ++i) {
          if (measures[i].kind == Measure::Kind::queries) continue;
          std::cout << measures[i].name << "\t" << query << "\t" << value_text(measures[i], values[i]) << "\n";
        }
      }
    }
    for (std::size_t i = 0; i < measures.size(); ++i) {
      std::cout << measures[i].name << "\tall\t" << value_text(measures[i], run.evaluation.all[i]) << "\n";
    }
  }
}

void print_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      // Words to the left, numbers to the right.
      std::cout << (i == 0 ? row[i] + gap : "  " + gap + row[i]);
    }
    std::cout << "\n";
  }
}

void print_table(const std::vector<EvaluatedRun>& runs, const std::vector<Measure>& measures, bool per_query) {
  std::vector<std::vector<std::string>> rows(1, {per_query ? "run, query" : "run"});
  for (const Measure& measure : measures) rows[0].push_back(measure.name);
  const auto add = [&](const std::string& name, const std::vector<double>& values) {
    rows.push_back({name});
    for (std::size_t i = 0; i < measures.size(); ++i) rows.back().push_back(value_text(measures[i], values[i]));
  };
  for (const EvaluatedRun& run : runs) {
    if (per_query) {
      for (const auto& [query, values] : run.evaluation.queries) add(run.file + " " + query, values);
    }
    add(run.file, run.evaluation.all);
  }
  print_columns(rows);
}

std::string p_text(double p) {
  char text[32];
  std::snprintf(text, sizeof text, p < 0.0001 ? "%.1e" : "%.4f", p);
  return text;
}

void print_comparisons(const std::vector<Comparison>& comparisons, const std::vector<Measure>& measures) {
  for (const Comparison& comparison : comparisons) {
    std::cout << "\nA = " << comparison.a.file << "\nB = " << comparison.b.file << "\n";
    std::vector<std::vector<std::string>> rows(1, {"measure", "A", "B", "A - B", "queries", "t", "p (t-test)", "p (TOST 0.02)", "at level 0.05"});
    for (std::size_t i = 0; i < comparison.tests.size(); ++i) {
      const PairedTests& tests = comparison.tests[i];
      char difference[32], t[32] = "-";
      std::snprintf(difference, sizeof difference, "%+.4f", tests.mean_difference);
      std::string p_t = "-", p_tost = "-", verdict = "undefined";
      if (tests.result) {
        std::snprintf(t, sizeof t, "%.3f", tests.result->t);
        p_t = p_text(tests.result->p_t);
        p_tost = p_text(tests.result->p_tost);
        const bool differs = tests.result->p_t < 0.05, equivalent = tests.result->p_tost < 0.05;
        verdict = differs ? (equivalent ? "different, but equivalent" : "different") : (equivalent ? "equivalent" : "undecided");
      }
      rows.push_back({measures[i].name, value_text(measures[i], tests.mean_a), value_text(measures[i], tests.mean_b), difference,
                      std::to_string(tests.n), t, p_t, p_tost, verdict});
    }
    print_columns(rows);
  }
}

Json values_json(const std::vector<Measure>& measures, const std::vector<double>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < measures.size(); ++i) json[measures[i].name] = values[i];
  return json;
}

Json to_json(const PairedTests& tests) {
  const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json json = {{"n", tests.n}, {"mean_a", tests.mean_a}, {"mean_b", tests.mean_b}, {"mean_diff", tests.mean_difference},
               {"sd_diff", or_null(tests.standard_deviation)}, {"se", or_null(tests.standard_error)}};
  const auto& result = tests.result;
  const auto number = [&](double PairedTests::Result::*member) { return result ? Json((*result).*member) : Json(nullptr); };
  json["t"] = number(&PairedTests::Result::t);
  json["p_t"] = number(&PairedTests::Result::p_t);
  json["t_low"] = number(&PairedTests::Result::t_low);
  json["p_low"] = number(&PairedTests::Result::p_low);
  json["t_high"] = number(&PairedTests::Result::t_high);
  json["p_high"] = number(&PairedTests::Result::p_high);
  json["p_tost"] = number(&PairedTests::Result::p_tost);
  json["undefined"] = !result.has_value();
  return json;
}

void print_json(const std::vector<EvaluatedRun>& runs, const std::vector<Measure>& measures, bool per_query,
                const std::vector<Comparison>& comparisons) {
  Json json = {{"runs", Json::array()}};
  for (const EvaluatedRun& run : runs) {
    Json entry = {{"run", run.file}, {"tag", run.tag}, {"queries", run.evaluation.averaged_over},
                  {"all", values_json(measures, run.evaluation.all)}};
    if (per_query) {
      entry["per_query"] = Json::object();
      for (const auto& [query, values] : run.evaluation.queries) entry["per_query"][query] = values_json(measures, values);
    }
    json["runs"].push_back(std::move(entry));
  }
  if (!comparisons.empty()) json["comparisons"] = Json::array();
  for (const Comparison& comparison : comparisons) {
    Json entry = {{"a", comparison.a.file}, {"b", comparison.b.file}, {"bounds", {-index_tools::kEquivalenceBound, index_tools::kEquivalenceBound}}};
    const auto tested = tested_measures(measures);
    for (std::size_t i = 0; i < tested.size(); ++i) entry["measures"][tested[i].name] = to_json(comparison.tests[i]);
    json["comparisons"].push_back(std::move(entry));
  }
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

int run(const EvaluateOptions& options) {
  const std::vector<Measure> measures = index_tools::parse_measures(options.measures);
  if (options.compare && options.runs.size() < 2) {
    throw Error(ErrorKind::usage, "--compare", "needs at least two runs", "name them behind --run: --run A.run B.run");
  }
  EvaluationOptions how;
  how.complete = options.complete;
  if (options.scores == "double") how.scores = index_tools::ScoreType::double_precision;

  const index_tools::Qrels qrels = index_tools::read_qrels(options.qrels);
  std::vector<EvaluatedRun> runs;
  for (const std::string& file : options.runs) {
    const index_tools::Run run = index_tools::read_run(file);
    runs.push_back({file, run.tag, index_tools::evaluate(run, qrels, measures, how)});
    if (runs.back().evaluation.queries.empty() && !options.complete) {
      throw Error(ErrorKind::invalid_data, file, "has no query in common with " + options.qrels + " (its first is \"" +
                  run.queries.begin()->first + "\", there it is \"" + qrels.begin()->first + "\")",
                  "evaluate it with the judgments of its own topics");
    }
  }
  const std::vector<Comparison> comparisons = options.compare ? compare(runs, measures) : std::vector<Comparison>{};
  if (options.json) {
    print_json(runs, measures, options.per_query, comparisons);
    return ok;
  }
  if (options.table) {
    print_table(runs, measures, options.per_query);
  } else {
    print_lines(runs, measures, options.per_query);
  }
  print_comparisons(comparisons, tested_measures(measures));
  return ok;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("evaluate", "Measure runs against judgments, as trec_eval does");
  auto options = std::make_shared<EvaluateOptions>();
  command->add_option("--qrels", options->qrels, "Judgments: TREC, SMART (cranqrel) or JSON lines")->required()->type_name("FILE");
  command->add_option("--run", options->runs, "TREC runs")->required()->type_name("FILE")->expected(1, -1);
  command->add_option("--measures", options->measures, "Names between commas")->capture_default_str();
  command->add_flag("--per-query", options->per_query, "Also each query's values");
  command->add_flag("--compare", options->compare, "Test the first run against each other one: paired t-test, and TOST with bounds 0.02");
  command->add_flag("--complete", options->complete, "Average over all queries of the judgments, missing ones as 0 (trec_eval -c)");
  command->add_option("--scores", options->scores,
                      "Compare scores as float (trec_eval up to 9.0.8) or double (later ones)")
      ->capture_default_str()
      ->check(CLI::IsMember({"float", "double"}));
  command->add_flag("--table", options->table, "Print a table, a row a run");
  command->add_flag("--json", options->json, "Print JSON with all digits");
  command->footer("Measures: " + std::string(index_tools::measure_names()) + ".\n\n"
                  "Grades are used as the judgments' file states them: higher is better. Cranfield's readme calls grade 1 the\n"
                  "best and 4 the least, ir_datasets reads them the other way round; here, too, 4 counts most in nDCG.\n\n"
                  "Example:\n"
                  "  relucent evaluate --qrels qrels.txt --run bm25.run --measures nDCG@10,RR@10\n"
                  "  relucent evaluate --qrels qrels.txt --run model.run bm25.run --compare");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace relucent::program
