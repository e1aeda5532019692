#include <algorithm>
#include <array>
#include <charconv>
#include <cctype>

#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using Kind = Measure::Kind;

enum class Cutoff { none, optional, required };

struct Known {
  std::string_view name;  // lower case
  Kind kind;
  Cutoff cutoff;
};

constexpr std::array kKnown = {
    Known{"ndcg", Kind::ndcg, Cutoff::optional},
    Known{"ndcg_cut", Kind::ndcg, Cutoff::required},
    Known{"map", Kind::average_precision, Cutoff::optional},
    Known{"ap", Kind::average_precision, Cutoff::optional},
    Known{"map_cut", Kind::average_precision, Cutoff::required},
    Known{"rr", Kind::reciprocal_rank, Cutoff::optional},
    Known{"mrr", Kind::reciprocal_rank, Cutoff::optional},
    Known{"recip_rank", Kind::reciprocal_rank, Cutoff::optional},
    Known{"p", Kind::precision, Cutoff::required},
    Known{"precision", Kind::precision, Cutoff::required},
    Known{"r", Kind::recall, Cutoff::required},
    Known{"recall", Kind::recall, Cutoff::required},
    Known{"judged", Kind::judged, Cutoff::required},
    Known{"num_ret", Kind::returned, Cutoff::none},
    Known{"num_rel", Kind::relevant, Cutoff::none},
    Known{"num_rel_ret", Kind::relevant_returned, Cutoff::none},
    Known{"num_q", Kind::queries, Cutoff::none},
};

[[noreturn]] void unknown(std::string_view name, std::string_view problem) {
  throw Error(ErrorKind::usage, "measure " + excerpt(name), problem, "choose from " + std::string(measure_names()));
}

int positive(std::string_view digits, std::string_view name, std::string_view what) {
  int value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size() || value < 1) {
    unknown(name, "has " + std::string(what) + " that is no whole number from 1");
  }
  return value;
}

// Takes "(rel>=2)" or "(rel=2)" out of `rest`.
int take_relevance(std::string& rest, std::string_view name) {
  const std::size_t open = rest.find('(');
  if (open == std::string::npos) return 1;
  const std::size_t close = rest.find(')', open);
  if (close == std::string::npos) unknown(name, "has an opening parenthesis without a closing one");
  std::string inside = rest.substr(open + 1, close - open - 1);
  rest.erase(open, close - open + 1);
  for (const std::string_view prefix : {"rel>=", "rel="}) {
    if (inside.starts_with(prefix)) return positive(std::string_view(inside).substr(prefix.size()), name, "a grade");
  }
  unknown(name, "has something other than a grade in parentheses");
}

}  // namespace

std::string_view measure_names() noexcept {
  return "nDCG, nDCG@k, MAP, MAP@k, RR, RR@k, P@k, R@k, Judged@k, num_q, num_ret, num_rel, num_rel_ret; trec_eval's "
         "map, recip_rank, P_k, recall_k, ndcg, ndcg_cut_k (or P.k ...) are the same; (rel>=2) after a name counts "
         "grades from 2";
}

Measure parse_measure(std::string_view name) {
  Measure measure;
  measure.name = trim(name);
  std::string rest = measure.name;
  std::transform(rest.begin(), rest.end(), rest.begin(), [](unsigned char c) { return std::tolower(c); });
  measure.relevant = take_relevance(rest, name);

  // The cutoff stands behind '@', or behind the last '_' or '.' where only digits follow.
  std::string_view base = rest, cutoff;
  bool has_cutoff = false;
  std::size_t cut = rest.find('@');
  if (cut == std::string::npos) {
    cut = rest.find_last_of("_.");
    if (cut != std::string::npos && rest.find_first_not_of("0123456789", cut + 1) != std::string::npos)
      cut = std::string::npos;
  }
  if (cut != std::string::npos) {
    base = std::string_view(rest).substr(0, cut);
    cutoff = std::string_view(rest).substr(cut + 1);
    has_cutoff = true;
  }
  const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& entry) { return entry.name == base; });
  if (known == kKnown.end()) unknown(name, "is not known");
  if (has_cutoff && known->cutoff == Cutoff::none) unknown(name, "takes no cutoff");
  if (!has_cutoff && known->cutoff == Cutoff::required) unknown(name, "needs a cutoff, such as @10");
  if (has_cutoff) {
    measure.cutoff = positive(cutoff, name, "a cutoff");
    std::replace(measure.name.begin(), measure.name.end(), '.', '_');  // trec_eval is asked for P.10 and prints P_10
  }
  measure.kind = known->kind;
  return measure;
}

std::vector<Measure> parse_measures(std::string_view names) {
  std::vector<Measure> measures;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = trim(names.substr(begin, end - begin));
    if (!name.empty()) measures.push_back(parse_measure(name));
    begin = end + 1;
  }
  if (measures.empty())
    throw Error(ErrorKind::usage, "measures", "none is named", "choose from " + std::string(measure_names()));
  return measures;
}

}  // namespace relucent::index_tools
