#include <nlohmann/json.hpp>

#include "index_tools/evaluation/report.h"

namespace relucent::index_tools {
namespace {

using Json = nlohmann::ordered_json;

Json values_json(const std::vector<Measure>& measures, const std::vector<double>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < measures.size(); ++i) json[measures[i].name] = values[i];
  return json;
}

Json to_json(const PairedTests& tests) {
  const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json json = {{"n", tests.n},
               {"mean_a", tests.mean_a},
               {"mean_b", tests.mean_b},
               {"mean_diff", tests.mean_difference},
               {"sd_diff", or_null(tests.standard_deviation)},
               {"se", or_null(tests.standard_error)}};
  for (const auto& [name, figure] : kTestFigures) {
    json[name] = tests.result ? Json((*tests.result).*figure) : Json(nullptr);
  }
  json["undefined"] = !tests.result.has_value();
  return json;
}

}  // namespace

std::string format_json(const Report& report) {
  Json json = {{"runs", Json::array()}};
  for (const EvaluatedRun& run : report.runs) {
    Json entry = {{"run", run.file},
                  {"tag", run.tag},
                  {"queries", run.evaluation.averaged_over},
                  {"all", values_json(report.measures, run.evaluation.all)}};
    if (report.per_query) {
      entry["per_query"] = Json::object();
      for (const auto& [query, values] : run.evaluation.queries)
        entry["per_query"][query] = values_json(report.measures, values);
    }
    json["runs"].push_back(std::move(entry));
  }
  if (!report.comparisons.empty()) json["comparisons"] = Json::array();
  for (const Comparison& comparison : report.comparisons) {
    Json entry = {{"a", report.runs[comparison.a].file},
                  {"b", report.runs[comparison.b].file},
                  {"bounds", {-kEquivalenceBound, kEquivalenceBound}}};
    for (std::size_t i = 0; i < comparison.tests.size(); ++i) {
      if (comparison.tests[i]) entry["measures"][report.measures[i].name] = to_json(*comparison.tests[i]);
    }
    json["comparisons"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace relucent::index_tools
