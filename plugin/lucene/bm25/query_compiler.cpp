#include "plugin/lucene/bm25/query_compiler.h"

#include <DisjunctionMaxQuery.h>
#include <FilteredQuery.h>
#include <LuceneHeaders.h>
#include <SpanQuery.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <typeinfo>

#include "plugin/lucene/bm25/boolean_weight.h"
#include "plugin/lucene/bm25/formula.h"

namespace relucent::bm25 {
namespace {

using Lucene::BooleanClause;
using Lucene::BooleanQueryPtr;
using Lucene::QueryPtr;
using Lucene::TermPtr;
using Lucene::WeightPtr;

/// Replaces a query inside one of Lucene++'s compound queries, which ask their parts for weights themselves.
class CompiledQuery : public Lucene::Query {
 public:
  CompiledQuery(const QueryPtr& original, const WeightPtr& weight) : original_(original), weight_(weight) {}
  WeightPtr createWeight(const Lucene::SearcherPtr&) override { return weight_; }
  QueryPtr rewrite(const Lucene::IndexReaderPtr&) override {
    return boost::static_pointer_cast<Query>(LuceneObject::shared_from_this());
  }
  void extractTerms(Lucene::SetTerm terms) override { original_->extractTerms(terms); }
  using Query::toString;
  Lucene::String toString(const Lucene::String& field) override { return original_->toString(field); }

 private:
  QueryPtr original_;
  WeightPtr weight_;
};

template <typename Type>
boost::shared_ptr<Type> exactly(const QueryPtr& query) {
  const Lucene::Query& of_any_type = *query;
  return typeid(of_any_type) == typeid(Type) ? boost::static_pointer_cast<Type>(query) : boost::shared_ptr<Type>();
}

bool is_disjunction(const BooleanQueryPtr& query) {
  return query->getMinimumNumberShouldMatch() <= 1 && std::all_of(query->begin(), query->end(), [](const auto& clause) {
           return clause->getOccur() == BooleanClause::SHOULD;
         });
}

std::vector<TermPtr> terms_of(const QueryPtr& query) {
  auto set = Lucene::SetTerm::newInstance();
  query->extractTerms(set);
  std::vector<TermPtr> terms(set.begin(), set.end());
  std::ranges::sort(terms, [](const TermPtr& a, const TermPtr& b) { return a->compareTo(b) < 0; });
  return terms;
}

}  // namespace

struct QueryCompiler::Part {
  BooleanClause::Occur occur;
  QueryPtr query;
  float boost;     ///< the product of the enclosing boosts and, after join_repeated(), the term's own
  double sum = 0;  ///< of the boosts of equal terms
};

QueryCompiler::QueryCompiler(const Lucene::SearcherPtr& searcher, const Lucene::IndexReaderPtr& reader,
                             Statistics statistics)
    : searcher_(searcher), reader_(reader), statistics_(std::move(statistics)) {}

QueryPtr QueryCompiler::resolve(QueryPtr query, float& boost) const {
  for (;;) {
    if (const auto boolean = exactly<Lucene::BooleanQuery>(query)) {
      const auto clauses = boolean->getClauses();
      if (boolean->getMinimumNumberShouldMatch() != 0 || clauses.size() != 1 || clauses[0]->isProhibited())
        return query;
      boost *= static_cast<float>(query->getBoost());
      query = clauses[0]->getQuery();
      continue;
    }
    if (exactly<Lucene::DisjunctionMaxQuery>(query) || exactly<Lucene::FilteredQuery>(query)) return query;
    const QueryPtr rewritten = query->rewrite(reader_);
    if (rewritten == query) return query;
    query = rewritten;
  }
}

void QueryCompiler::unfold(const BooleanQueryPtr& query, float boost, std::vector<Part>& parts) const {
  const bool disjunction = is_disjunction(query);
  for (const auto& clause : *query) {
    float part_boost = boost;
    const QueryPtr part = resolve(clause->getQuery(), part_boost);
    const auto inner = exactly<Lucene::BooleanQuery>(part);
    if (disjunction && inner && is_disjunction(inner)) {
      unfold(inner, part_boost * static_cast<float>(inner->getBoost()), parts);
    } else {
      parts.push_back({clause->getOccur(), part, part_boost});
    }
  }
}

/// Joins equal required terms and, if `optional_too`, equal optional ones. The first one's position is kept.
std::vector<QueryCompiler::Part> QueryCompiler::join_repeated(const std::vector<Part>& parts, bool optional_too) {
  using Key = std::tuple<BooleanClause::Occur, Lucene::String, Lucene::String>;
  std::map<Key, std::size_t> places;  // in `joined`
  std::vector<Part> joined;
  for (Part part : parts) {
    if (const auto query = exactly<Lucene::TermQuery>(part.query)) {
      part.boost *= static_cast<float>(query->getBoost());
      part.sum = part.boost;
      const TermPtr term = query->getTerm();
      if (part.occur == BooleanClause::MUST || (part.occur == BooleanClause::SHOULD && optional_too)) {
        const auto [place, first] = places.try_emplace({part.occur, term->field(), term->text()}, joined.size());
        if (!first) {
          Part& same = joined[place->second];
          same.sum += part.boost;
          same.boost = static_cast<float>(same.sum);
          continue;
        }
      }
    }
    joined.push_back(std::move(part));
  }
  return joined;
}

Importance QueryCompiler::importance(const std::vector<TermPtr>& terms, const FieldModel& model, float boost) {
  Importance importance;
  importance.boost = boost;
  double idf = 0;
  for (const TermPtr& term : terms) {
    const std::int64_t matching = statistics_.document_frequency(term);
    if (matching == 0 && terms.size() > 1) continue;
    importance.document_frequencies.push_back(matching);
    if (model.settings().scoring != FirstStageScoring::bm25) {
      importance.total_frequencies.push_back(matching == 0 ? 0 : statistics_.total_frequency(term));
    }
    idf += inverse_document_frequency(matching, model.statistics().document_count);
  }
  importance.idf = static_cast<float>(idf);
  return importance;
}

TermWeightPtr QueryCompiler::term(const QueryPtr& query, const TermPtr& term, float boost) {
  const auto model = statistics_.model(term->field());
  return Lucene::newLucene<TermWeight>(query, term, model, importance({term}, *model, boost));
}

WeightPtr QueryCompiler::frequency(const QueryPtr& query, const std::vector<TermPtr>& terms, float boost) {
  const auto model = statistics_.model(terms.front()->field());
  return Lucene::newLucene<FrequencyWeight>(query, query->createWeight(searcher_), model,
                                            importance(terms, *model, boost));
}

WeightPtr QueryCompiler::compile_boolean(const BooleanQueryPtr& query, float boost) {
  std::vector<Part> parts;
  unfold(query, boost, parts);
  parts = join_repeated(parts, query->getMinimumNumberShouldMatch() <= 1);

  const bool disjunction = is_disjunction(query);
  const auto weight_of = [&](const Part& part) -> WeightPtr {
    if (const auto term_query = exactly<Lucene::TermQuery>(part.query)) {
      return term(part.query, term_query->getTerm(), part.boost);
    }
    return compile_resolved(part.query, part.boost);
  };
  if (disjunction && std::ranges::all_of(parts, [](const Part& part) {
        return static_cast<bool>(exactly<Lucene::TermQuery>(part.query));
      })) {
    std::vector<TermWeightPtr> terms;
    for (const Part& part : parts) {
      terms.push_back(term(part.query, exactly<Lucene::TermQuery>(part.query)->getTerm(), part.boost));
    }
    return Lucene::newLucene<DisjunctionWeight>(query, terms);
  }
  std::vector<BooleanWeight::Clause> clauses;
  for (const Part& part : parts) clauses.push_back({part.occur, weight_of(part)});
  return Lucene::newLucene<BooleanWeight>(query, clauses, query->getMinimumNumberShouldMatch());
}

WeightPtr QueryCompiler::compile(const QueryPtr& query, float boost) {
  const QueryPtr resolved = resolve(query, boost);
  return compile_resolved(resolved, boost);
}

WeightPtr QueryCompiler::compile_resolved(const QueryPtr& query, float outer_boost) {
  const float boost = outer_boost * static_cast<float>(query->getBoost());
  if (const auto boolean = exactly<Lucene::BooleanQuery>(query)) return compile_boolean(boolean, boost);
  if (const auto term_query = exactly<Lucene::TermQuery>(query)) {
    return Lucene::newLucene<DisjunctionWeight>(query,
                                                std::vector<TermWeightPtr>{term(query, term_query->getTerm(), boost)});
  }
  if (const auto phrase = exactly<Lucene::PhraseQuery>(query)) {
    const auto terms = phrase->getTerms();
    if (terms.size() == 1) return term(query, terms[0], boost);
    if (!terms.empty()) return frequency(query, {terms.begin(), terms.end()}, boost);
  }
  if (const auto phrase = exactly<Lucene::MultiPhraseQuery>(query)) {
    std::vector<TermPtr> terms;
    for (const auto& place : phrase->getTermArrays()) terms.insert(terms.end(), place.begin(), place.end());
    if (!terms.empty()) return frequency(query, terms, boost);
  }
  if (boost::dynamic_pointer_cast<Lucene::SpanQuery>(query)) {
    const auto terms = terms_of(query);
    if (!terms.empty()) return frequency(query, terms, boost);
  }
  if (exactly<Lucene::DisjunctionMaxQuery>(query)) {
    const auto copy = boost::dynamic_pointer_cast<Lucene::DisjunctionMaxQuery>(query->clone());
    copy->setBoost(1);
    for (auto& part : *copy) part = Lucene::newLucene<CompiledQuery>(part, compile(part, boost));
    return copy->createWeight(searcher_);
  }
  if (const auto filtered = exactly<Lucene::FilteredQuery>(query)) {
    const QueryPtr inner = filtered->getQuery();
    const auto copy = Lucene::newLucene<Lucene::FilteredQuery>(
        Lucene::newLucene<CompiledQuery>(inner, compile(inner, boost)), filtered->getFilter());
    return copy->createWeight(searcher_);
  }
  const WeightPtr own = query->createWeight(searcher_);
  own->sumOfSquaredWeights();
  own->normalize(outer_boost);
  return own;
}

}  // namespace relucent::bm25
