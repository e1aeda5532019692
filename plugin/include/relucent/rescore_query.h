#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Query.h>

#include <chrono>
#include <string>
#include <string_view>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

/// A query together with the text a person typed. The second stage reads that text, since a Lucene++ query holds only
/// analyzed terms. A RescoringSearcher also finds it inside BooleanQuery clauses; any other searcher treats it as the
/// inner query.
class RELUCENT_API RescoreQuery : public Lucene::Query {
 public:
  /// @param text  UTF-8; malformed bytes count as U+FFFD
  RescoreQuery(const Lucene::QueryPtr& inner, std::string_view text);
  ~RescoreQuery() override;

  static Lucene::String _getClassName() { return L"RescoreQuery"; }
  Lucene::String getClassName() override { return _getClassName(); }

  const Lucene::QueryPtr& inner() const noexcept { return inner_; }
  const std::string& text() const noexcept { return text_; }

  /// How long parsing took, if a RescoringQueryParser made the query; reported in RescoredTopDocs.
  std::chrono::nanoseconds parseTime{0};

  using Lucene::Query::toString;
  Lucene::String toString(const Lucene::String& field) override;
  Lucene::QueryPtr rewrite(const Lucene::IndexReaderPtr& reader) override;
  Lucene::WeightPtr createWeight(const Lucene::SearcherPtr& searcher) override;
  void extractTerms(Lucene::SetTerm terms) override;
  Lucene::LuceneObjectPtr clone(const Lucene::LuceneObjectPtr& other = Lucene::LuceneObjectPtr()) override;
  bool equals(const Lucene::LuceneObjectPtr& other) override;
  std::int32_t hashCode() override;

 private:
  Lucene::QueryPtr inner_;
  std::string text_;
};
using RescoreQueryPtr = boost::shared_ptr<RescoreQuery>;

/// During its lifetime, searches on this thread use this text if their query carries none. Scopes nest; the innermost
/// one counts.
class RELUCENT_API QueryTextScope {
 public:
  explicit QueryTextScope(std::string_view text);
  ~QueryTextScope();
  QueryTextScope(const QueryTextScope&) = delete;
  QueryTextScope& operator=(const QueryTextScope&) = delete;

  /// The innermost scope's text on this thread, or nullptr.
  static const std::string* current() noexcept;

 private:
  std::string text_;
  const QueryTextScope* outer_;
};

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
