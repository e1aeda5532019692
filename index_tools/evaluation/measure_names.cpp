#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using Kind = Measure::Kind;

enum class Cutoff { none, optional, required };

enum Parameter : unsigned { no_parameter = 0, rel = 1, p = 2, max_rel = 4 };

/// A measure as people write it. Names are compared without regard to case.
struct Known {
  std::string_view name;
  Kind kind;
  Cutoff cutoff;
  unsigned parameters;
  bool synonym = false;  ///< of the one before it: lists leave it out
};

constexpr std::array kKnown = {
    Known{"nDCG", Kind::ndcg, Cutoff::optional, no_parameter},
    Known{"ndcg_cut", Kind::ndcg, Cutoff::required, no_parameter, true},
    Known{"MAP", Kind::average_precision, Cutoff::optional, rel},
    Known{"AP", Kind::average_precision, Cutoff::optional, rel, true},
    Known{"map_cut", Kind::average_precision, Cutoff::required, rel, true},
    Known{"RR", Kind::reciprocal_rank, Cutoff::optional, rel},
    Known{"MRR", Kind::reciprocal_rank, Cutoff::optional, rel, true},
    Known{"recip_rank", Kind::reciprocal_rank, Cutoff::optional, rel, true},
    Known{"P", Kind::precision, Cutoff::required, rel},
    Known{"Precision", Kind::precision, Cutoff::required, rel, true},
    Known{"R", Kind::recall, Cutoff::required, rel},
    Known{"Recall", Kind::recall, Cutoff::required, rel},
    Known{"Rprec", Kind::r_precision, Cutoff::none, rel},
    Known{"Success", Kind::success, Cutoff::required, rel},
    Known{"Bpref", Kind::binary_preference, Cutoff::none, rel},
    Known{"ERR", Kind::expected_reciprocal_rank, Cutoff::optional, max_rel},
    Known{"RBP", Kind::rank_biased_precision, Cutoff::optional, rel | p},
    Known{"Judged", Kind::judged, Cutoff::required, no_parameter},
    Known{"num_q", Kind::queries, Cutoff::none, no_parameter},
    Known{"NumQ", Kind::queries, Cutoff::none, no_parameter, true},
    Known{"num_ret", Kind::returned, Cutoff::none, no_parameter},
    Known{"NumRet", Kind::returned, Cutoff::none, no_parameter, true},
    Known{"num_rel", Kind::relevant, Cutoff::none, rel},
    Known{"NumRel", Kind::relevant, Cutoff::none, rel, true},
    Known{"num_rel_ret", Kind::relevant_returned, Cutoff::none, rel},
    Known{"NumRelRet", Kind::relevant_returned, Cutoff::none, rel, true},
};

std::string lower_case(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

[[noreturn]] void unknown(std::string_view name, std::string_view problem) {
  throw Error(ErrorKind::usage, "measure " + excerpt(name), problem, fmt::format("choose from {}", measure_names()));
}

// `base` and `cutoff`: the parts of the name, in lower case.
[[noreturn]] void unknown_name(std::string_view name, std::string_view base, std::string_view cutoff) {
  std::vector<std::string> lower;
  for (const Known& known : kKnown) lower.push_back(lower_case(known.name));
  const auto found = std::find(lower.begin(), lower.end(), closest_name(base, lower));
  const std::string meant = found == lower.end()
                                ? ""
                                : fmt::format("did you mean \"{}{}\"? ",
                                              kKnown.at(static_cast<std::size_t>(found - lower.begin())).name, cutoff);
  throw Error(ErrorKind::usage, "measure " + excerpt(name), "is unknown",
              fmt::format("{}choose from {}", meant, measure_names()));
}

int positive(std::string_view digits, std::string_view name, std::string_view what) {
  int value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size() || value < 1) {
    unknown(name, fmt::format("has {} that is not a positive whole number", what));
  }
  return value;
}

double between_0_and_1(std::string_view digits, std::string_view name) {
  double value = 0;
  if (!parse_number(digits, value) || !(value > 0 && value < 1))
    unknown(name, "has a p that is not a number between 0 and 1");
  return value;
}

// Removes the parentheses from `rest` and parses the parameters in them, separated by commas.
std::string take_parentheses(std::string& rest, std::string_view name) {
  const std::size_t open = rest.find('(');
  if (open == std::string::npos) return {};
  const std::size_t close = rest.find(')', open);
  if (close == std::string::npos) unknown(name, "has an opening parenthesis without a closing one");
  std::string inside = rest.substr(open + 1, close - open - 1);
  rest.erase(open, close - open + 1);
  if (trim(inside).empty()) unknown(name, "has empty parentheses");
  return inside;
}

void read_parameter(std::string_view text, const Known& known, std::string_view name, Measure& measure) {
  const std::size_t equals = text.find('=');
  std::string_view key = trim(text.substr(0, equals));
  if (key == "rel>") key = "rel";
  const unsigned parameter = key == "rel" ? rel : key == "p" ? p : key == "max_rel" ? max_rel : no_parameter;
  if (parameter == no_parameter || equals == std::string_view::npos) {
    unknown(name,
            fmt::format("has the unknown parameter {} (known: rel=GRADE, p=NUMBER, max_rel=GRADE)", excerpt(text)));
  }
  if ((known.parameters & parameter) == 0) unknown(name, "takes no parameter " + excerpt(key));
  const std::string_view value = trim(text.substr(equals + 1));
  switch (parameter) {
    case rel: measure.relevant = positive(value, name, "a grade"); break;
    case p: measure.persistence = between_0_and_1(value, name); break;
    default: measure.max_grade = positive(value, name, "a grade");
  }
  if (measure.max_grade > 30) unknown(name, "has a max_rel above 30");
}

// The pieces between commas outside of parentheses.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      if (text[i] == '(') inside = true;
      if (text[i] == ')') inside = false;
      if (text[i] != ',' || inside) continue;
    }
    pieces.push_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return pieces;
}

}  // namespace

std::string measure_names() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) {
    if (known.synonym) continue;
    if (known.cutoff != Cutoff::required) names.emplace_back(known.name);
    if (known.cutoff != Cutoff::none) names.push_back(fmt::format("{}@k", known.name));
  }
  return join(names, ", ") +
         "; trec_eval's map, recip_rank, P_k, recall_k, ndcg, ndcg_cut_k, success_k (or P.k ...) are synonyms; (rel=2) "
         "after a name counts grades of 2 and more as relevant; RBP(p=0.95) sets the persistence (default 0.8), "
         "ERR(max_rel=3) the highest grade (default 4)";
}

Measure parse_measure(std::string_view name) {
  Measure measure;
  measure.name = trim(name);
  std::erase(measure.name, ' ');  // printed names must be a single word
  std::string rest = lower_case(measure.name);
  const std::string parameters = take_parentheses(rest, name);

  // The cutoff follows '@', or the last '_' or '.' if only digits follow that.
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
  const auto known = std::ranges::find_if(kKnown, [&](const Known& one) { return lower_case(one.name) == base; });
  if (known == kKnown.end()) unknown_name(name, base, cut == std::string::npos ? "" : rest.substr(cut));
  if (has_cutoff && known->cutoff == Cutoff::none) unknown(name, "takes no cutoff");
  if (!has_cutoff && known->cutoff == Cutoff::required) unknown(name, "needs a cutoff, such as @10");
  if (has_cutoff) {
    measure.cutoff = positive(cutoff, name, "a cutoff");
    if (cut != std::string::npos && rest[cut] == '.') {  // trec_eval accepts P.10 and prints P_10
      measure.name[measure.name.find(fmt::format(".{}", cutoff))] = '_';
    }
  }
  measure.kind = known->kind;
  if (!parameters.empty()) {
    for (const std::string_view parameter : split_at_commas(parameters))
      read_parameter(parameter, *known, name, measure);
  }
  return measure;
}

std::vector<Measure> parse_measures(std::string_view names) {
  std::vector<Measure> measures;
  for (const std::string_view name : split_at_commas(names)) {
    if (!name.empty()) measures.push_back(parse_measure(name));
  }
  if (measures.empty())
    throw Error(ErrorKind::usage, "measures", "none given", fmt::format("choose from {}", measure_names()));
  return measures;
}

}  // namespace relucent::index_tools
