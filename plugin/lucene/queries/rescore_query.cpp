#include "relucent/rescore_query.h"

#include <IndexReader.h>
#include <Weight.h>

#include "relucent/stored_text.h"

namespace relucent {

using Lucene::newLucene;

RescoreQuery::RescoreQuery(const Lucene::QueryPtr& inner, std::string_view text)
    : inner_(inner), text_(well_formed_utf8(text)) {}
RescoreQuery::~RescoreQuery() = default;

Lucene::String RescoreQuery::toString(const Lucene::String& field) {
  return L"rescore(" + inner_->toString(field) + L", \"" + to_lucene(text_) + L"\")" + boostString();
}

// A searcher that does not know rescoring gets the inner query, with this query's boost.
Lucene::QueryPtr RescoreQuery::rewrite(const Lucene::IndexReaderPtr& reader) {
  const Lucene::QueryPtr rewritten = inner_->rewrite(reader);
  if (getBoost() == 1.0) return rewritten;
  const auto boosted = boost::dynamic_pointer_cast<Lucene::Query>(rewritten->clone());
  boosted->setBoost(rewritten->getBoost() * getBoost());
  return boosted;
}

Lucene::WeightPtr RescoreQuery::createWeight(const Lucene::SearcherPtr& searcher) {
  return inner_->createWeight(searcher);
}

void RescoreQuery::extractTerms(Lucene::SetTerm terms) { inner_->extractTerms(terms); }

Lucene::LuceneObjectPtr RescoreQuery::clone(const Lucene::LuceneObjectPtr& other) {
  const auto copy = boost::dynamic_pointer_cast<RescoreQuery>(
      Lucene::Query::clone(other ? other : newLucene<RescoreQuery>(inner_, text_)));
  copy->inner_ = boost::dynamic_pointer_cast<Lucene::Query>(inner_->clone());
  copy->text_ = text_;
  copy->parseTime = parseTime;
  return copy;
}

bool RescoreQuery::equals(const Lucene::LuceneObjectPtr& other) {
  const auto query = boost::dynamic_pointer_cast<RescoreQuery>(other);
  return query && getBoost() == query->getBoost() && text_ == query->text_ && inner_->equals(query->inner_);
}

std::int32_t RescoreQuery::hashCode() {
  const auto text_hash = static_cast<std::uint32_t>(std::hash<std::string>{}(text_));
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(inner_->hashCode()) * 31U + text_hash);
}

namespace {
thread_local const QueryTextScope* innermost = nullptr;
}

QueryTextScope::QueryTextScope(std::string_view text) : text_(well_formed_utf8(text)), outer_(innermost) {
  innermost = this;
}

QueryTextScope::~QueryTextScope() { innermost = outer_; }

const std::string* QueryTextScope::current() noexcept { return innermost != nullptr ? &innermost->text_ : nullptr; }

}  // namespace relucent
