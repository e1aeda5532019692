#pragma once

#include <Query.h>
#include <Scorer.h>
#include <Term.h>
#include <Weight.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugin/lucene/bm25/field_model.h"
#include "plugin/lucene/bm25/term_score.h"

namespace relucent::bm25 {

/// A Weight that already includes its boosts. normalize() does nothing, because BM25 has no query norm.
class ModelWeight : public Lucene::Weight {
 public:
  explicit ModelWeight(const Lucene::QueryPtr& query) : query_(query) {}
  Lucene::QueryPtr getQuery() override { return query_; }
  double getValue() override { return 1; }
  double sumOfSquaredWeights() override { return 1; }
  void normalize(double) override {}

 private:
  Lucene::QueryPtr query_;
};
using ModelWeightPtr = boost::shared_ptr<ModelWeight>;

/// Explains one term's or phrase's part of the score as modern Lucene does: boost, idf and tf, or the likelihoods.
Lucene::ExplanationPtr explain_contribution(const std::string& what, const FieldModel& model,
                                            const Importance& importance, float frequency, std::uint8_t length);
Lucene::ExplanationPtr explain_no_match(const std::string& why);

/// One term.
class TermWeight : public ModelWeight {
 public:
  TermWeight(const Lucene::QueryPtr& query, const Lucene::TermPtr& term, std::shared_ptr<const FieldModel> model,
             Importance importance);

  Lucene::ScorerPtr scorer(const Lucene::IndexReaderPtr& leaf, bool in_order, bool top) override;
  Lucene::ExplanationPtr explain(const Lucene::IndexReaderPtr& leaf, std::int32_t document) override;

  const Lucene::TermPtr& term() const { return term_; }
  const FieldModel& model() const { return *model_; }
  float weight() const { return importance_.weight(); }
  float boost() const { return importance_.boost; }
  const TermScore& score() const { return score_; }
  std::int64_t document_frequency() const { return importance_.document_frequencies.front(); }

 private:
  Lucene::TermPtr term_;
  std::shared_ptr<const FieldModel> model_;
  Importance importance_;
  TermScore score_;
};
using TermWeightPtr = boost::shared_ptr<TermWeight>;

/// A phrase or span query: Lucene++'s own scorer finds the matches and their frequency, TermScore scores them.
class FrequencyWeight : public ModelWeight {
 public:
  FrequencyWeight(const Lucene::QueryPtr& query, const Lucene::WeightPtr& matcher,
                  std::shared_ptr<const FieldModel> model, Importance importance);
  Lucene::ScorerPtr scorer(const Lucene::IndexReaderPtr& leaf, bool in_order, bool top) override;
  Lucene::ExplanationPtr explain(const Lucene::IndexReaderPtr& leaf, std::int32_t document) override;

 private:
  Lucene::WeightPtr matcher_;
  std::shared_ptr<const FieldModel> model_;
  Importance importance_;
  TermScore score_;
};

}  // namespace relucent::bm25
