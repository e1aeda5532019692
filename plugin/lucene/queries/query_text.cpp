#include "plugin/lucene/queries/query_text.h"

#include <BooleanClause.h>
#include <BooleanQuery.h>
#include <ConstantScoreQuery.h>
#include <DisjunctionMaxQuery.h>
#include <FilteredQuery.h>
#include <FuzzyQuery.h>
#include <MatchAllDocsQuery.h>
#include <MultiPhraseQuery.h>
#include <NumericRangeQuery.h>
#include <PhraseQuery.h>
#include <PrefixQuery.h>
#include <SpanQuery.h>
#include <Term.h>
#include <TermQuery.h>
#include <TermRangeQuery.h>
#include <WildcardQuery.h>

#include <algorithm>

namespace relucent {
namespace {

using boost::dynamic_pointer_cast;

// The parts of `query`, without prohibited clauses.
std::vector<Lucene::QueryPtr> parts(const Lucene::QueryPtr& query) {
  std::vector<Lucene::QueryPtr> all;
  if (const auto boolean = dynamic_pointer_cast<Lucene::BooleanQuery>(query)) {
    for (const auto& clause : boolean->getClauses()) {
      if (!clause->isProhibited()) all.push_back(clause->getQuery());
    }
  } else if (const auto disjunction = dynamic_pointer_cast<Lucene::DisjunctionMaxQuery>(query)) {
    for (const auto& disjunct : *disjunction) all.push_back(disjunct);
  } else if (const auto filtered = dynamic_pointer_cast<Lucene::FilteredQuery>(query)) {
    all.push_back(filtered->getQuery());
  } else if (const auto rescore = dynamic_pointer_cast<RescoreQuery>(query)) {
    all.push_back(rescore->inner());
  }
  return all;
}

void add_terms(const Lucene::QueryPtr& query, const Lucene::String& field, std::vector<Lucene::String>& terms) {
  const auto add = [&](const Lucene::TermPtr& term) {
    if (term->field() == field && !term->text().empty()) terms.push_back(term->text());
  };
  if (const auto single = dynamic_pointer_cast<Lucene::TermQuery>(query)) {
    add(single->getTerm());
  } else if (const auto phrase = dynamic_pointer_cast<Lucene::PhraseQuery>(query)) {
    for (const auto& term : phrase->getTerms()) add(term);
  } else if (const auto phrases = dynamic_pointer_cast<Lucene::MultiPhraseQuery>(query)) {
    for (const auto& alternatives : phrases->getTermArrays()) {
      if (!alternatives.empty()) add(alternatives[0]);
    }
  } else if (const auto fuzzy = dynamic_pointer_cast<Lucene::FuzzyQuery>(query)) {
    add(fuzzy->getTerm());
  } else if (dynamic_pointer_cast<Lucene::SpanQuery>(query)) {
    auto set = Lucene::SetTerm::newInstance();
    query->extractTerms(set);
    for (const auto& term : set) add(term);
  }
  for (const auto& part : parts(query)) add_terms(part, field, terms);
}

}  // namespace

RescoreQueryPtr find_rescore_query(const Lucene::QueryPtr& query) {
  if (!query) return {};
  if (const auto rescore = dynamic_pointer_cast<RescoreQuery>(query)) return rescore;
  for (const auto& part : parts(query)) {
    if (const auto found = find_rescore_query(part)) return found;
  }
  return {};
}

bool matches_by_rule_alone(const Lucene::QueryPtr& query) {
  if (!query) return true;
  const auto is_rule = [&]<typename... Rule>() {
    return (... || static_cast<bool>(dynamic_pointer_cast<Rule>(query)));
  };
  if (is_rule.operator()<Lucene::MatchAllDocsQuery, Lucene::PrefixQuery, Lucene::WildcardQuery, Lucene::TermRangeQuery,
                         Lucene::NumericRangeQuery, Lucene::ConstantScoreQuery>()) {
    return true;
  }
  // An unknown kind of query may have words.
  const auto all = parts(query);
  return !all.empty() && std::all_of(all.begin(), all.end(), matches_by_rule_alone);
}

std::vector<Lucene::String> terms_in_order(const Lucene::QueryPtr& query, const Lucene::String& field) {
  std::vector<Lucene::String> terms;
  if (query) add_terms(query, field, terms);
  return terms;
}

}  // namespace relucent
