#include "plugin/lucene/bm25/weights.h"

#include <ComplexExplanation.h>
#include <TermDocs.h>
#include <fmt/core.h>

#include "plugin/lucene/bm25/formula.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {
namespace {

using Lucene::Scorer;

/// Computes a document's contribution from a frequency.
struct Scoring {
  Scoring(TermScore term_score, const FieldModel& model, const Lucene::IndexReaderPtr& leaf)
      : score(std::move(term_score)), lengths(model.lengths(leaf.get())), documents(leaf->maxDoc()) {}
  float operator()(std::int32_t document, float frequency) const {
    if (document < 0 || document >= documents) {
      throw Error(ErrorKind::invalid_data, "BM25", "a postings list is damaged",
                  "restore the index from a copy, or rebuild it");
    }
    return score(frequency, lengths == nullptr ? std::uint8_t{1} : lengths[document]);
  }
  TermScore score;
  const std::uint8_t* lengths;
  std::int32_t documents;
};

class TermScorer : public Scorer {
 public:
  TermScorer(const Lucene::WeightPtr& owner, const Lucene::TermDocsPtr& postings, const Scoring& scoring)
      : Scorer(owner), postings_(postings), scoring_(scoring) {}

  std::int32_t docID() override { return document_; }
  std::int32_t nextDoc() override { return document_ = postings_->next() ? postings_->doc() : NO_MORE_DOCS; }
  std::int32_t advance(std::int32_t target) override {
    if (target == NO_MORE_DOCS) return document_ = NO_MORE_DOCS;
    return document_ = postings_->skipTo(target) ? postings_->doc() : NO_MORE_DOCS;
  }
  double score() override { return scoring_(document_, static_cast<float>(postings_->freq())); }
  float termFreq() override { return static_cast<float>(postings_->freq()); }

 private:
  Lucene::TermDocsPtr postings_;
  Scoring scoring_;
  std::int32_t document_ = -1;
};

class FrequencyScorer : public Scorer {
 public:
  FrequencyScorer(const Lucene::WeightPtr& owner, const Lucene::ScorerPtr& matches, const Scoring& scoring)
      : Scorer(owner), matches_(matches), scoring_(scoring) {}

  std::int32_t docID() override { return matches_->docID(); }
  std::int32_t nextDoc() override { return matches_->nextDoc(); }
  std::int32_t advance(std::int32_t target) override { return matches_->advance(target); }
  double score() override { return scoring_(matches_->docID(), matches_->termFreq()); }
  float termFreq() override { return matches_->termFreq(); }

 private:
  Lucene::ScorerPtr matches_;
  Scoring scoring_;
};

Lucene::ExplanationPtr node(double value, const std::string& text) {
  return Lucene::newLucene<Lucene::Explanation>(value, to_lucene(text));
}

std::uint8_t length_of(const FieldModel& model, const Lucene::IndexReader* leaf, std::int32_t document) {
  const std::uint8_t* lengths = model.lengths(leaf);
  return lengths == nullptr ? 1 : lengths[document];
}

Lucene::ExplanationPtr explain_likelihood(const std::string& what, const FieldModel& model,
                                          const Importance& importance, float frequency, std::uint8_t length) {
  const ScoringSettings& settings = model.settings();
  const bool dirichlet = settings.scoring == FirstStageScoring::qld;
  const auto score = node(TermScore(model, importance)(frequency, length),
                          fmt::format("score(freq={:g}), computed as boost * {} from:", static_cast<double>(frequency),
                                      dirichlet ? "max(0, log(1 + freq / (mu * p)) + log(mu / (dl + mu)))"
                                                : "log(1 + ((1 - lambda) * freq / dl) / (lambda * p))"));
  if (importance.boost != 1.0F) score->addDetail(node(importance.boost, "boost"));
  score->addDetail(dirichlet ? node(settings.mu, "mu") : node(settings.lambda, "lambda"));
  score->addDetail(node(frequency, "freq, occurrences of term within document"));
  score->addDetail(
      node(byte_length(length), length > 39 ? "dl, length of field (approximate)" : "dl, length of field"));
  const std::int64_t tokens = model.statistics().sum_total_term_freq;
  for (const std::int64_t total : importance.total_frequencies) {
    score->addDetail(node(
        collection_probability(total, tokens),
        fmt::format("p, the term's probability in the collection, computed as ({} + 1) / ({} + 1)", total, tokens)));
  }
  const auto result = Lucene::newLucene<Lucene::ComplexExplanation>(
      true, score->getValue(),
      to_lucene(fmt::format("weight({}) [{}], result of:", what, to_string(settings.scoring))));
  result->addDetail(score);
  return result;
}

}  // namespace

Lucene::ExplanationPtr explain_no_match(const std::string& why) {
  return Lucene::newLucene<Lucene::ComplexExplanation>(false, 0.0, to_lucene(why));
}

Lucene::ExplanationPtr explain_contribution(const std::string& what, const FieldModel& model,
                                            const Importance& importance, float frequency, std::uint8_t length) {
  if (model.settings().scoring != FirstStageScoring::bm25) {
    return explain_likelihood(what, model, importance, frequency, length);
  }
  const float factor = model.factors()[length];
  const auto all = static_cast<double>(model.statistics().document_count);

  const auto idf_of = [&](std::int64_t matching) {
    const auto idf = node(inverse_document_frequency(matching, model.statistics().document_count),
                          "idf, computed as log(1 + (N - n + 0.5) / (n + 0.5)) from:");
    idf->addDetail(node(static_cast<double>(matching), "n, number of documents containing term"));
    idf->addDetail(node(all, "N, total number of documents with field"));
    return idf;
  };
  Lucene::ExplanationPtr idf;
  if (importance.document_frequencies.size() == 1) {
    idf = idf_of(importance.document_frequencies.front());
  } else {
    idf = node(importance.idf, "idf, sum of:");
    for (const auto matching : importance.document_frequencies) idf->addDetail(idf_of(matching));
  }

  const auto tf = node(1.0F - 1.0F / (1.0F + frequency * factor),
                       "tf, computed as freq / (freq + k1 * (1 - b + b * dl / avgdl)) from:");
  tf->addDetail(node(frequency, "freq, occurrences of term within document"));
  tf->addDetail(node(model.settings().k1, "k1, term saturation parameter"));
  tf->addDetail(node(model.settings().b, "b, length normalization parameter"));
  tf->addDetail(node(byte_length(length), length > 39 ? "dl, length of field (approximate)" : "dl, length of field"));
  tf->addDetail(node(model.average_length(), "avgdl, average length of field"));

  const float value = contribution(importance.weight(), frequency, factor);
  const auto score =
      node(value, fmt::format("score(freq={:g}), computed as boost * idf * tf from:", static_cast<double>(frequency)));
  if (importance.boost != 1.0F) score->addDetail(node(importance.boost, "boost"));
  score->addDetail(idf);
  score->addDetail(tf);

  const auto result = Lucene::newLucene<Lucene::ComplexExplanation>(
      true, value, to_lucene(fmt::format("weight({}) [BM25], result of:", what)));
  result->addDetail(score);
  return result;
}

TermWeight::TermWeight(const Lucene::QueryPtr& query, const Lucene::TermPtr& term,
                       std::shared_ptr<const FieldModel> model, Importance importance)
    : ModelWeight(query),
      term_(term),
      model_(std::move(model)),
      importance_(std::move(importance)),
      score_(*model_, importance_) {}

Lucene::ScorerPtr TermWeight::scorer(const Lucene::IndexReaderPtr& leaf, bool, bool) {
  if (document_frequency() == 0) return {};
  const auto postings = leaf->termDocs(term_);
  if (!postings) return {};
  return Lucene::newLucene<TermScorer>(shared_from_this(), postings, Scoring(score_, *model_, leaf));
}

Lucene::ExplanationPtr TermWeight::explain(const Lucene::IndexReaderPtr& leaf, std::int32_t document) {
  const std::string what = fmt::format("{}:{}", to_utf8(term_->field()), to_utf8(term_->text()));
  const auto matches = scorer(leaf, true, false);
  if (!matches || matches->advance(document) != document) return explain_no_match("no matching term " + what);
  return explain_contribution(what, *model_, importance_, matches->termFreq(),
                              length_of(*model_, leaf.get(), document));
}

FrequencyWeight::FrequencyWeight(const Lucene::QueryPtr& query, const Lucene::WeightPtr& matcher,
                                 std::shared_ptr<const FieldModel> model, Importance importance)
    : ModelWeight(query),
      matcher_(matcher),
      model_(std::move(model)),
      importance_(std::move(importance)),
      score_(*model_, importance_) {}

Lucene::ScorerPtr FrequencyWeight::scorer(const Lucene::IndexReaderPtr& leaf, bool, bool) {
  const auto matches = matcher_->scorer(leaf, true, false);
  if (!matches) return {};
  return Lucene::newLucene<FrequencyScorer>(shared_from_this(), matches, Scoring(score_, *model_, leaf));
}

Lucene::ExplanationPtr FrequencyWeight::explain(const Lucene::IndexReaderPtr& leaf, std::int32_t document) {
  const std::string what = to_utf8(getQuery()->toString());
  const auto matches = scorer(leaf, true, false);
  if (!matches || matches->advance(document) != document) return explain_no_match("no match of " + what);
  return explain_contribution(what, *model_, importance_, matches->termFreq(),
                              length_of(*model_, leaf.get(), document));
}

}  // namespace relucent::bm25
