// Queries in both syntaxes, parsed, searched for and explained in a small index. After the first NUL byte stands a
// filter; an even first byte means words instead of Lucene's syntax.
#include "relucent/config.h"
#include "relucent/index_builder.h"
#include "relucent/search_session.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/text_input.h"

namespace relucent::fuzz {
namespace {

Config profile() {
  Config config;
  config.rescorer.enabled = false;
  config.index.keyword_fields = {"lang"};
  config.index.number_fields = {"year"};
  return config;
}

std::filesystem::path make_index() {
  const std::filesystem::path index = scratch() / "index";
  IndexBuilder::Options options;
  options.fields = profile().index;
  const auto builder = IndexBuilder::open(index, IndexBuilder::Mode::create, options);
  for (int i = 0; i < 60; ++i) {
    const std::string number = std::to_string(i);
    builder->add("d" + number, "common words often number" + number + " na\xC3\xAFve banana",
                 R"({"lang": ")" + std::string(i % 3 == 0 ? "de" : "en") + R"(", "year": )" + number + "}");
    if (i == 30) builder->commit({});
  }
  builder->close();
  return index;
}

const SearchSession& session(QuerySyntax syntax) {
  static const std::filesystem::path index = make_index();
  static const SearchSession words(index, profile(), QuerySyntax::words), lucene(index, profile(), QuerySyntax::lucene);
  return syntax == QuerySyntax::words ? words : lucene;
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_JSON
RELUCENT_FUZZ_TARGET(query) {
  if (input.empty()) return;
  const SearchSession& searches =
      session(static_cast<unsigned char>(input[0]) % 2 == 0 ? QuerySyntax::words : QuerySyntax::lucene);
  const auto [text, filter] = at_first_nul(input.substr(1));
  SearchRequest request;
  request.query = text;
  request.filter = filter;
  request.facets = {"lang"};
  answer_or_error([&] {
    const SearchResult result = searches.search(request);
    if (result.total_is_exact && result.total_hits < static_cast<std::int64_t>(result.hits.size())) {
      report("more hits than documents that match");
    }
    for (std::size_t i = 1; i < result.hits.size(); ++i) {
      if (!(result.hits[i].score <= result.hits[i - 1].score)) report("hits that are not in the order of their scores");
    }
    if (!result.hits.empty()) searches.explain(request.query, result.hits.front().document);
  });
  answer_or_error([&] { searches.statistics(request.query); });
}
