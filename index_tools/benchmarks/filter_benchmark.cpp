#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "base/text.h"
#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/benchmarks/generated_collection.h"
#include "index_tools/benchmarks/generated_index.h"
#include "relucent/search_session.h"

namespace relucent::benchmarks {
namespace {

/// Documents have the keyword `part`, once for each share of them, a `number` from 0 to 999, and as `title` the first
/// words of their text.
GeneratedIndex index_of(const FilterBenchmark& settings) {
  GeneratedIndex index{settings.index, settings.documents};
  index.kind = "part, number, title";
  index.fields.keyword_fields = {"part"};
  index.fields.number_fields = {"number"};
  index.fields.analyzed_fields = {"title"};
  index.metadata = [](int number, const std::string& text) {
    std::string parts = "\"all\"";
    if (number % 2 == 0) parts += ", \"half\"";
    if (number % 10 == 0) parts += ", \"tenth\"";
    if (number % 100 == 0) parts += ", \"hundredth\"";
    if (number % 1000 == 0) parts += ", \"thousandth\"";
    std::size_t end = 0;
    for (int words = 0; words < 6 && end < text.size(); ++words) end = std::min(text.find(' ', end + 1), text.size());
    // The generated words need no escapes.
    return fmt::format(R"({{"part": [{}], "number": {}, "title": "{}"}})", parts,
                       static_cast<std::uint32_t>(number) * 2654435761U % 1000, text.substr(0, end));
  };
  return index;
}

struct Case {
  std::string name;
  SearchRequest request;
  std::vector<std::chrono::nanoseconds> medians = {};  ///< of the queries
  double matches = 0;
};

std::vector<Case> cases_of(const FilterBenchmark& settings) {
  SearchRequest plain;
  plain.hits = settings.hits;
  plain.texts = HitTexts::none;
  std::vector<Case> cases = {{"no filter", plain}};
  const auto with = [&](const std::string& name, auto&& change) {
    change(cases.emplace_back(Case{name, plain}).request);
  };
  for (const char* part : {"all", "half", "tenth", "hundredth", "thousandth"}) {
    with(fmt::format("keyword, {} of the documents", part),
         [&](SearchRequest& request) { request.filter = fmt::format(R"({{"part": "{}"}})", part); });
  }
  for (const int share : {500, 100, 10}) {
    with(fmt::format("range of numbers, {} of 1000", share), [&](SearchRequest& request) {
      request.filter = fmt::format(R"({{"number": {{"gte": 100, "lt": {}}}}})", 100 + share);
    });
  }
  with("keyword and range, half of each",
       [](SearchRequest& request) { request.filter = R"({"part": "half", "number": {"lt": 500}})"; });
  for (const int page : {2, 10}) {
    with(fmt::format("page {}", page), [&](SearchRequest& request) { request.offset = settings.hits * (page - 1); });
  }
  with("facets", [](SearchRequest& request) { request.facets = {"part"}; });
  with("contents and title^2", [](SearchRequest& request) { request.search_fields = {"contents", "title^2"}; });
  return cases;
}

}  // namespace

std::vector<Measurement> run(const FilterBenchmark& settings, std::ostream& log) {
  keep_generated_index(index_of(settings), log);
  Config config;
  config.rescorer.enabled = false;
  config.first_stage.count = kCountOfPrograms;
  const SearchSession session(settings.index, config, QuerySyntax::words);

  std::vector<Case> cases = cases_of(settings);
  GeneratedCollection collection(2);
  for (int i = 0; i < settings.queries; ++i) {
    const std::string query = join(collection.next_query(settings.terms), " ");
    std::vector<std::vector<std::chrono::nanoseconds>> times(cases.size());
    for (int round = 0; round < settings.rounds; ++round) {
      for (std::size_t step = 0; step < cases.size(); ++step) {
        // Each round begins with another case, and every other round goes backwards.
        const std::size_t turn = (step + static_cast<std::size_t>(round)) % cases.size();
        const std::size_t place = round % 2 == 0 ? turn : cases.size() - 1 - turn;
        cases[place].request.query = query;
        SearchResult result;
        times[place].push_back(time_of([&] { result = session.search(cases[place].request); }));
        if (round == 0) cases[place].matches += static_cast<double>(result.total_hits) / settings.queries;
      }
    }
    for (std::size_t place = 0; place < cases.size(); ++place) {
      cases[place].medians.push_back(summarize("", times[place]).median);
    }
  }

  std::vector<Measurement> measurements;
  for (Case& one : cases) {
    Measurement& measured = measurements.emplace_back(summarize(one.name, std::move(one.medians)));
    measured.figures = {{"documents", settings.documents},
                        {"matches_counted", one.matches},
                        {"times_no_filter", in_seconds(measured.median) / in_seconds(measurements.front().median)}};
  }
  return measurements;
}

}  // namespace relucent::benchmarks
