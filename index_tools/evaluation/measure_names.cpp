#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "index_tools/evaluation/measure_table.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using Cutoff = KnownMeasure::Cutoff;

[[noreturn]] void unknown(std::string_view name, std::string_view problem) {
  throw Error(ErrorKind::usage, "measure " + excerpt(name), problem, fmt::format("choose from {}", measure_names()));
}

/// `base` and `cutoff`: the parts of the name, in lower case.
[[noreturn]] void unknown_name(std::string_view name, std::string_view base, std::string_view cutoff) {
  std::vector<std::string> lower;
  std::vector<std::string_view> names;
  for (const KnownMeasure& known : known_measures()) {
    for (const std::string_view one : known.names) names.push_back(one), lower.push_back(lower_ascii(one));
  }
  const auto found = std::ranges::find(lower, closest_name(base, lower));
  const std::string meant =
      found == lower.end() ? "" : fmt::format("did you mean \"{}{}\"? ", names[found - lower.begin()], cutoff);
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
  if (is_blank(inside)) unknown(name, "has empty parentheses");
  return inside;
}

void read_parameter(std::string_view text, std::string_view name, Measure& measure) {
  const std::size_t equals = text.find('=');
  std::string_view key = trim(text.substr(0, equals));
  if (key == "rel>") key = "rel";
  using enum KnownMeasure::Parameter;
  const unsigned parameter = key == "rel" ? rel : key == "p" ? p : key == "max_rel" ? max_rel : no_parameter;
  if (parameter == no_parameter || equals == std::string_view::npos) {
    unknown(name,
            fmt::format("has the unknown parameter {} (known: rel=GRADE, p=NUMBER, max_rel=GRADE)", excerpt(text)));
  }
  if ((measure.known->parameters & parameter) == 0) unknown(name, "takes no parameter " + excerpt(key));
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
  for (const KnownMeasure& known : known_measures()) {
    if (known.cutoff != Cutoff::required) names.emplace_back(known.names.front());
    if (known.cutoff != Cutoff::none) names.push_back(fmt::format("{}@k", known.names.front()));
  }
  return join(names, ", ") +
         "; trec_eval's map, recip_rank, P_k, recall_k, ndcg, ndcg_cut_k, success_k (or P.k ...) are synonyms; (rel=2) "
         "after a name counts grades of 2 and more as relevant; RBP(p=0.95) sets the persistence (default 0.8), "
         "ERR(max_rel=3) the highest grade (default 4)";
}

std::string measure_meanings() {
  std::string lines;
  for (const KnownMeasure& known : known_measures()) {
    const char* const cutoff = known.cutoff == Cutoff::none ? "" : known.cutoff == Cutoff::optional ? "[@k]" : "@k";
    lines += fmt::format("  {:<13}{}\n", fmt::format("{}{}", known.names.front(), cutoff), known.meaning);
  }
  return lines;
}

Measure parse_measure(std::string_view name) {
  Measure measure;
  measure.name = trim(name);
  std::erase(measure.name, ' ');  // printed names must be a single word
  std::string rest = lower_ascii(measure.name);
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
  const auto all = known_measures();
  const auto known = std::ranges::find_if(all, [&](const KnownMeasure& one) {
    return std::ranges::any_of(one.names, [&](std::string_view each) { return lower_ascii(each) == base; });
  });
  if (known == all.end()) unknown_name(name, base, cut == std::string::npos ? "" : rest.substr(cut));
  if (has_cutoff && known->cutoff == Cutoff::none) unknown(name, "takes no cutoff");
  if (!has_cutoff && (known->cutoff == Cutoff::required || base.ends_with("_cut")))
    unknown(name, "needs a cutoff, such as @10");
  if (has_cutoff) {
    measure.cutoff = positive(cutoff, name, "a cutoff");
    if (cut != std::string::npos && rest[cut] == '.') {  // trec_eval accepts P.10 and prints P_10
      measure.name[measure.name.find(fmt::format(".{}", cutoff))] = '_';
    }
  }
  measure.known = &*known;
  if (!parameters.empty()) {
    for (const std::string_view parameter : split_at_commas(parameters)) read_parameter(parameter, name, measure);
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
