#include "plugin/index_format/analysis/term_places.h"

#include "base/utf8.h"
#include "relucent/analysis.h"

namespace relucent::analysis {

std::vector<TermPlace> places_of_terms(AnalyzerKind analyzer, std::string_view text) {
  std::vector<TermPlace> terms;
  std::size_t byte = 0, code_points = 0;
  const auto code_points_before = [&](std::size_t end) {
    for (; byte < end; ++code_points) next_code_point(text, byte);
    return code_points;
  };
  for (AnalyzedToken& token : analyze(analyzer, text)) {
    const std::size_t begin = code_points_before(token.start);
    terms.push_back({std::move(token.term), {begin, code_points_before(token.end)}});
  }
  return terms;
}

}  // namespace relucent::analysis
