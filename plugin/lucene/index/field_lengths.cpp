#include "plugin/lucene/index/field_lengths.h"

#include <ReaderUtil.h>
#include <Term.h>
#include <TermDocs.h>
#include <TermEnum.h>
#include <fmt/core.h>

#include <limits>

#include "plugin/index_format/length_byte.h"
#include "plugin/lucene/index/postings.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {
namespace {

/// Reads postings of any reader, and those of a SegmentReader faster.
class PostingsOfAnyReader {
 public:
  explicit PostingsOfAnyReader(const Lucene::IndexReaderPtr& leaf) {
    if (auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf)) {
      postings_ = std::make_unique<Postings>(segment);
    } else {
      term_documents_ = leaf->termDocs();
    }
  }

  /// Calls use(document, frequency) for each posting of the current term.
  template <typename Use>
  void each(const Lucene::TermEnumPtr& terms, Use&& use) {
    if (postings_) {
      postings_->seek(terms);
      while (postings_->next_block()) {
        const auto documents = postings_->documents();
        const auto frequencies = postings_->frequencies();
        for (std::size_t i = 0; i < documents.size(); ++i) use(documents[i], frequencies[i]);
      }
    } else {
      term_documents_->seek(terms->term());
      while (term_documents_->next()) use(term_documents_->doc(), term_documents_->freq());
    }
  }

 private:
  std::unique_ptr<Postings> postings_;
  Lucene::TermDocsPtr term_documents_;
};

}  // namespace

std::vector<Lucene::IndexReaderPtr> leaf_readers(const Lucene::IndexReaderPtr& reader) {
  auto leaves = Lucene::Collection<Lucene::IndexReaderPtr>::newInstance();
  Lucene::ReaderUtil::gatherSubReaders(leaves, reader);
  return {leaves.begin(), leaves.end()};
}

FieldLengths count_lengths(const std::vector<Lucene::IndexReaderPtr>& leaves, const Lucene::String& field) {
  FieldLengths lengths;
  for (const auto& leaf : leaves) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(leaf->maxDoc()), 0);
    PostingsOfAnyReader postings(leaf);
    const Lucene::TermEnumPtr terms = leaf->terms(Lucene::newLucene<Lucene::Term>(field));
    do {
      const Lucene::TermPtr term = terms->term();
      if (!term || term->field() != field) break;
      postings.each(terms, [&](std::int32_t document, std::int32_t frequency) {
        tokens[static_cast<std::size_t>(document)] += frequency;
      });
    } while (terms->next());
    terms->close();
    auto& bytes = lengths.leaves.emplace_back(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      bytes[i] = length_byte(
          static_cast<std::int32_t>(std::min<std::int64_t>(tokens[i], std::numeric_limits<std::int32_t>::max())));
      lengths.statistics.document_count += tokens[i] > 0 ? 1 : 0;
      lengths.statistics.sum_total_term_freq += tokens[i];
    }
  }
  return lengths;
}

std::string segments_identity(const std::vector<Lucene::IndexReaderPtr>& leaves) {
  std::string identity;
  for (const auto& leaf : leaves) {
    const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf);
    if (!segment) return {};
    identity += fmt::format("{}:{} ", to_utf8(segment->getSegmentName()), segment->maxDoc());
  }
  return identity;
}

}  // namespace relucent::bm25
