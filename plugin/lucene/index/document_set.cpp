#include "plugin/lucene/index/document_set.h"

#include <DocIdSetIterator.h>
#include <SegmentReader.h>
#include <TermDocs.h>
#include <TermEnum.h>

#include <bit>
#include <utility>

namespace relucent {
namespace {

class SetIterator : public Lucene::DocIdSetIterator {
 public:
  explicit SetIterator(std::shared_ptr<const DocumentSet> documents) : documents_(std::move(documents)) {}
  std::int32_t docID() override { return document_; }
  std::int32_t nextDoc() override { return advance(document_ + 1); }
  std::int32_t advance(std::int32_t target) override {
    if (document_ == kNoDocument) return kNoDocument;
    return document_ = documents_->next(target);
  }

 private:
  std::shared_ptr<const DocumentSet> documents_;
  std::int32_t document_ = -1;
};

class LuceneSet : public Lucene::DocIdSet {
 public:
  explicit LuceneSet(std::shared_ptr<const DocumentSet> documents) : documents_(std::move(documents)) {}
  Lucene::DocIdSetIteratorPtr iterator() override { return Lucene::newLucene<SetIterator>(documents_); }
  bool isCacheable() override { return true; }

 private:
  std::shared_ptr<const DocumentSet> documents_;
};

}  // namespace

void DocumentSet::keep_those_in(const DocumentSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
}

std::int32_t DocumentSet::next(std::int32_t start) const noexcept {
  auto word = static_cast<std::size_t>(start) / 64;
  if (word >= words_.size()) return kNoDocument;
  std::uint64_t bits = words_[word] & (~std::uint64_t{0} << (static_cast<unsigned>(start) % 64));
  while (bits == 0) {
    if (++word == words_.size()) return kNoDocument;
    bits = words_[word];
  }
  return static_cast<std::int32_t>(word * 64) + std::countr_zero(bits);
}

Lucene::DocIdSetPtr to_lucene_set(std::shared_ptr<const DocumentSet> documents) {
  return Lucene::newLucene<LuceneSet>(std::move(documents));
}

TermDocuments::TermDocuments(Lucene::IndexReaderPtr leaf) : leaf_(std::move(leaf)) {
  if (const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf_)) {
    postings_ = std::make_unique<bm25::Postings>(segment);
  }
}

template <typename Place>
void TermDocuments::read(const Place& place, const Use& use) {
  if (postings_) {
    postings_->seek(place);
    while (postings_->next_block()) use(postings_->documents());
    return;
  }
  const Lucene::TermDocsPtr documents = leaf_->termDocs();
  documents->seek(place);
  while (documents->next()) {
    const std::int32_t document = documents->doc();
    use({&document, 1});
  }
}

void TermDocuments::of_term(const Lucene::String& field, const Lucene::String& term, const Use& use) {
  read(Lucene::newLucene<Lucene::Term>(field, term), use);
}

void TermDocuments::of_terms(const Lucene::String& field, const Lucene::String& first,
                             const std::optional<Lucene::String>& last,
                             const std::function<void(const Lucene::String& term)>& start, const Use& use) {
  const Lucene::TermEnumPtr terms = leaf_->terms(Lucene::newLucene<Lucene::Term>(field, first));
  do {
    const Lucene::TermPtr term = terms->term();
    if (!term || term->field() != field || (last && term->text() > *last)) break;
    start(term->text());
    read(terms, use);
  } while (terms->next());
  terms->close();
}

}  // namespace relucent
