#include "plugin/lucene/bm25/field_model.h"

#include <algorithm>

#include "plugin/lucene/bm25/formula.h"
#include "relucent/error.h"

namespace relucent::bm25 {

FieldModel::FieldModel(const FieldStatistics& statistics, const ScoringSettings& settings)
    : statistics_(statistics),
      settings_(settings),
      average_length_(statistics.average_length()),
      factors_(length_factors(settings.k1, settings.b, average_length_)) {}

FieldModel::FieldModel(const FieldModel& documents, const FieldStatistics& statistics)
    : FieldModel(statistics, documents.settings_) {
  longest_ = documents.longest_;
  for (const auto& [reader, leaf] : documents.leaves_) {
    Leaf& ours = leaves_[reader];
    ours.norms = leaf.norms;
    ours.own = leaf.own;
    ours.bytes = leaf.bytes;
  }
}

void FieldModel::add_norms(const Lucene::IndexReaderPtr& leaf, const Lucene::ByteArray& norms) {
  leaves_[leaf.get()].norms = norms;
  add(leaf, norms ? norms.get() : nullptr);
}

void FieldModel::add_lengths(const Lucene::IndexReaderPtr& leaf, std::vector<std::uint8_t> lengths) {
  Leaf& entry = leaves_[leaf.get()];
  entry.own = std::make_shared<const std::vector<std::uint8_t>>(std::move(lengths));
  add(leaf, entry.own->empty() ? nullptr : entry.own->data());
}

void FieldModel::add(const Lucene::IndexReaderPtr& leaf, const std::uint8_t* bytes) {
  leaves_[leaf.get()].bytes = bytes;
  if (bytes != nullptr) longest_ = std::max(longest_, *std::max_element(bytes, bytes + leaf->maxDoc()));
}

const std::uint8_t* FieldModel::lengths(const Lucene::IndexReader* leaf) const { return known(leaf).bytes; }

std::shared_ptr<const SkippingPostings> FieldModel::postings(const Lucene::SegmentReaderPtr& leaf,
                                                             const Lucene::TermPtr& term,
                                                             std::int32_t document_frequency) const {
  const Leaf& entry = known(leaf.get());
  auto found = entry.postings->find(term->text());
  if (found != nullptr) return found;
  const auto documents = static_cast<std::size_t>(leaf->maxDoc());
  const std::size_t limit = std::max(kSkippingBytes, documents * kSkippingBytesPerDocument);
  const bool is_short = ShortPostings::holds(document_frequency, leaf->maxDoc());
  const std::size_t bytes = (is_short ? ShortPostings::expected_memory : PostingRanges::expected_memory)(
      static_cast<std::size_t>(document_frequency), documents);
  const bool keep = entry.postings->admits(term->text(), bytes, limit);
  if (is_short) {
    found = std::make_shared<const SkippingPostings>(read_short_postings(leaf, term, entry.bytes, factors_));
  } else if (keep) {
    found = std::make_shared<const SkippingPostings>(read_posting_ranges(leaf, term, entry.bytes, factors_));
  }
  if (keep) entry.postings->keep(term->text(), found, limit);
  return found;
}

const FieldModel::Leaf& FieldModel::known(const Lucene::IndexReader* leaf) const {
  const auto found = leaves_.find(leaf);
  if (found == leaves_.end()) {
    throw Error(ErrorKind::usage, "BM25", "the query's weight belongs to another searcher",
                "create it with this searcher");
  }
  return found->second;
}

}  // namespace relucent::bm25
