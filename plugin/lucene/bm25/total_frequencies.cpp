#include "plugin/lucene/bm25/total_frequencies.h"

#include <SegmentReader.h>
#include <Term.h>
#include <TermDocs.h>

#include "plugin/lucene/index/postings.h"

namespace relucent::bm25 {
namespace {

struct Count {
  std::int64_t postings = 0, occurrences = 0;
};

void count(const Lucene::IndexReaderPtr& leaf, const Lucene::TermPtr& term, Count& sum) {
  if (const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf)) {
    Postings postings(segment);
    postings.seek(term);
    while (postings.next_block()) {
      sum.postings += static_cast<std::int64_t>(postings.documents().size());
      for (const std::int32_t frequency : postings.frequencies()) sum.occurrences += frequency;
    }
    return;
  }
  const Lucene::TermDocsPtr postings = leaf->termDocs(term);
  while (postings && postings->next()) {
    ++sum.postings;
    sum.occurrences += postings->freq();
  }
}

}  // namespace

std::int64_t TotalFrequencies::of(const Lucene::TermPtr& term) {
  const Lucene::String name = term->field() + L'\0' + term->text();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
  }
  Count sum;
  for (const auto& leaf : leaves_) count(leaf, term, sum);
  if (sum.postings > kFewPostings) {
    const std::lock_guard lock(mutex_);
    known_.emplace(name, sum.occurrences);
  }
  return sum.occurrences;
}

}  // namespace relucent::bm25
