#include "plugin/lucene/bm25/boolean_weight.h"

#include <ComplexExplanation.h>

#include <algorithm>

#include "relucent/stored_text.h"

namespace relucent::bm25 {
namespace {

using Lucene::BooleanClause;
using Lucene::ScorerPtr;

class BooleanScorer : public Lucene::Scorer {
 public:
  BooleanScorer(const Lucene::WeightPtr& owner, std::vector<ScorerPtr> required, std::vector<ScorerPtr> optional,
                std::vector<ScorerPtr> prohibited, std::int32_t minimum_should_match)
      : Scorer(owner),
        required_(std::move(required)),
        optional_(std::move(optional)),
        prohibited_(std::move(prohibited)),
        minimum_(minimum_should_match) {}

  std::int32_t docID() override { return document_; }
  std::int32_t nextDoc() override { return document_ == NO_MORE_DOCS ? document_ : find(document_ + 1); }
  std::int32_t advance(std::int32_t target) override { return find(target); }

  double score() override {
    double required = 0, optional = 0;
    bool any_optional = false;
    for (const auto& scorer : required_) required += scorer->score();
    for (const auto& scorer : optional_) {
      if (to(scorer, document_) != document_) continue;
      optional += scorer->score();
      any_optional = true;
    }
    const auto required_score = static_cast<float>(required), optional_score = static_cast<float>(optional);
    if (required_.empty()) return optional_score;
    if (!any_optional) return required_score;
    if (minimum_ > 0) return static_cast<float>(static_cast<double>(required_score) + optional_score);
    return required_score + optional_score;
  }

 private:
  /// Advances the scorer to its first document at or after `target`.
  static std::int32_t to(const ScorerPtr& scorer, std::int32_t target) {
    const std::int32_t here = scorer->docID();
    return here >= target ? here : scorer->advance(target);
  }

  std::int32_t find(std::int32_t target) {
    for (;; ++target) {
      target = required_.empty() ? first_optional(target) : all_required(target);
      if (target == NO_MORE_DOCS) return document_ = NO_MORE_DOCS;
      const auto here = [&](const ScorerPtr& scorer) { return to(scorer, target) == target; };
      if (std::ranges::any_of(prohibited_, here)) continue;
      if (minimum_ > 0 && std::ranges::count_if(optional_, here) < minimum_) continue;
      return document_ = target;
    }
  }

  std::int32_t first_optional(std::int32_t target) {
    std::int32_t first = NO_MORE_DOCS;
    for (const auto& scorer : optional_) first = std::min(first, to(scorer, target));
    return first;
  }

  std::int32_t all_required(std::int32_t target) {
    for (std::size_t agreeing = 0, i = 0; agreeing < required_.size(); i = (i + 1) % required_.size()) {
      const std::int32_t document = to(required_[i], target);
      if (document == NO_MORE_DOCS) return NO_MORE_DOCS;
      agreeing = document == target ? agreeing + 1 : 1;
      target = document;
    }
    return target;
  }

  std::vector<ScorerPtr> required_, optional_, prohibited_;
  std::int32_t minimum_;
  std::int32_t document_ = -1;
};

std::vector<BooleanWeight::Clause> optional_clauses(const std::vector<TermWeightPtr>& terms) {
  std::vector<BooleanWeight::Clause> clauses;
  for (const auto& term : terms) clauses.push_back({BooleanClause::SHOULD, term});
  return clauses;
}

}  // namespace

BooleanWeight::BooleanWeight(const Lucene::QueryPtr& query, std::vector<Clause> clauses,
                             std::int32_t minimum_should_match)
    : ModelWeight(query), clauses_(std::move(clauses)), minimum_should_match_(minimum_should_match) {}

Lucene::ScorerPtr BooleanWeight::scorer(const Lucene::IndexReaderPtr& leaf, bool, bool) {
  std::vector<ScorerPtr> required, optional, prohibited;
  for (const auto& [occur, weight] : clauses_) {
    const auto scorer = weight->scorer(leaf, true, false);
    if (!scorer) {
      if (occur == BooleanClause::MUST) return {};
      continue;
    }
    (occur == BooleanClause::MUST     ? required
     : occur == BooleanClause::SHOULD ? optional
                                      : prohibited)
        .push_back(scorer);
  }
  if (required.empty() && optional.empty()) return {};
  if (static_cast<std::int32_t>(optional.size()) < minimum_should_match_) return {};
  return Lucene::newLucene<BooleanScorer>(shared_from_this(), required, optional, prohibited, minimum_should_match_);
}

Lucene::ExplanationPtr BooleanWeight::explain(const Lucene::IndexReaderPtr& leaf, std::int32_t document) {
  const auto matches = scorer(leaf, true, false);
  const bool match = matches && matches->advance(document) == document;
  const auto sum = Lucene::newLucene<Lucene::ComplexExplanation>(
      match, match ? matches->score() : 0.0,
      to_lucene(
          match ? "sum of:"
                : "no match: a required clause does not match, a prohibited one does, or too few optional ones do"));
  for (const auto& [occur, weight] : clauses_) {
    const auto part = weight->explain(leaf, document);
    if (part->isMatch() ? occur != BooleanClause::MUST_NOT || !match : occur == BooleanClause::MUST)
      sum->addDetail(part);
  }
  return sum;
}

DisjunctionWeight::DisjunctionWeight(const Lucene::QueryPtr& query, std::vector<TermWeightPtr> terms)
    : BooleanWeight(query, optional_clauses(terms), 0), terms_(std::move(terms)) {}

}  // namespace relucent::bm25
