#include "bm25/term_at_a_time.h"

#include <BitVector.h>
#include <DocIdSet.h>
#include <DocIdSetIterator.h>
#include <SegmentReader.h>

#include <algorithm>
#include <memory>

#include "bm25/formula.h"
#include "bm25/postings.h"

namespace relucent::bm25 {
namespace {

constexpr std::int32_t kWindow = 1 << 15;  // documents; the sums take 256 KiB, which stays in the second cache
constexpr std::int32_t kGroup = 64;        // documents that share one mark "touched"

/// The sums of one window. All zero between queries, also after an exception.
struct Window {
  std::array<double, kWindow> sums{};
  std::array<std::uint8_t, kWindow / kGroup> touched{};

  void clear() {
    sums.fill(0);
    touched.fill(0);
  }
};

Window& window_of_this_thread() {
  thread_local const std::unique_ptr<Window> window = std::make_unique<Window>();
  return *window;
}

/// One term's way through the segment.
class TermCursor {
 public:
  TermCursor(const Lucene::SegmentReaderPtr& segment, const TermWeight& term)
      : postings_(segment), weight_(term.weight()), factors_(term.model().factors().data()),
        lengths_(term.model().lengths(segment.get())) {
    postings_.seek(term.term());
    more_ = postings_.next_block();
  }

  Lucene::BitVectorPtr deletions() const { return postings_.deletions(); }

  /// The next document to add; past the segment's end at the end.
  std::int32_t document() const {
    return more_ ? postings_.documents()[position_] : std::numeric_limits<std::int32_t>::max();
  }

  void add_up_to(std::int32_t end, std::int32_t start, Window& window) {
    while (more_) {
      const auto documents = postings_.documents();
      std::size_t last = documents.size();
      const bool whole = documents.back() < end;
      if (!whole) {
        last = static_cast<std::size_t>(
            std::lower_bound(documents.begin() + static_cast<std::ptrdiff_t>(position_), documents.end(), end) -
            documents.begin());
      }
      if (lengths_ != nullptr) {
        add(last, start, window, [this](std::int32_t document) { return lengths_[document]; });
      } else {
        add(last, start, window, [](std::int32_t) { return std::uint8_t{1}; });
      }
      position_ = last;
      if (!whole) return;
      more_ = postings_.next_block();
      position_ = 0;
    }
  }

 private:
  template <typename Length>
  void add(std::size_t last, std::int32_t start, Window& window, Length&& length) {
    const std::int32_t* documents = postings_.documents().data();
    const std::int32_t* frequencies = postings_.frequencies().data();
    for (std::size_t i = position_; i < last; ++i) {
      const std::int32_t document = documents[i];
      const float part = contribution(weight_, static_cast<float>(frequencies[i]), factors_[length(document)]);
      const auto place = static_cast<std::size_t>(document - start);
      window.sums[place] += static_cast<double>(part);
      window.touched[place / kGroup] = 1;
    }
  }

  Postings postings_;
  float weight_;
  const float* factors_;
  const std::uint8_t* lengths_;
  std::size_t position_ = 0;
  bool more_;
};

/// The documents a filter lets through, in order.
class Allowed {
 public:
  Allowed(const Lucene::FilterPtr& filter, const Lucene::IndexReaderPtr& leaf) {
    if (const auto set = filter->getDocIdSet(leaf)) iterator_ = set->iterator();
    document_ = iterator_ ? iterator_->nextDoc() : Lucene::DocIdSetIterator::NO_MORE_DOCS;
  }
  /// The first allowed document from `target` on.
  std::int32_t from(std::int32_t target) {
    if (document_ < target) document_ = iterator_->advance(target);
    return document_;
  }

 private:
  Lucene::DocIdSetIteratorPtr iterator_;
  std::int32_t document_;
};

/// Takes the window's documents into `top` and leaves the window zero.
class Collector {
 public:
  /// @param deletions may be null
  Collector(const Lucene::SegmentReaderPtr& segment, const Lucene::BitVectorPtr& deletions,
            std::int32_t first_document, const Lucene::FilterPtr& filter, TopHits& top)
      : deletions_(deletions), first_document_(first_document), top_(top) {
    if (filter) allowed_ = std::make_unique<Allowed>(filter, segment);
  }

  void collect(std::int32_t start, std::int32_t size, Window& window) {
    const auto groups = static_cast<std::size_t>((size + kGroup - 1) / kGroup);
    for (std::size_t group = 0; group < groups; ++group) {
      if (window.touched[group] == 0) continue;
      window.touched[group] = 0;
      double* sums = window.sums.data() + group * kGroup;
      const std::int32_t first = start + static_cast<std::int32_t>(group) * kGroup;
      if (allowed_) {
        for (std::int32_t document = allowed_->from(first); document < first + kGroup;
             document = allowed_->from(document + 1)) {
          take(sums[document - first], document);
        }
      } else if (deletions_) {
        for (std::int32_t i = 0; i < kGroup; ++i) take(sums[i], first + i);
      } else {
        take_group(sums, first);
      }
      std::fill_n(sums, kGroup, 0.0);
    }
  }

  std::int32_t matches() const { return matches_; }

 private:
  void take(double sum, std::int32_t document) {
    if (sum <= 0 || (deletions_ && deletions_->get(document))) return;
    ++matches_;
    if (sum > top_.threshold()) top_.offer(static_cast<float>(sum), first_document_ + document);
  }

  void take_group(const double* sums, std::int32_t first) {
    double best = 0;
    std::int32_t matches = 0;
    for (std::int32_t i = 0; i < kGroup; ++i) {
      matches += sums[i] > 0 ? 1 : 0;
      best = std::max(best, sums[i]);
    }
    matches_ += matches;
    // Rounding to float keeps the order, so a sum that is not above the threshold cannot get above it.
    if (best <= top_.threshold()) return;
    for (std::int32_t i = 0; i < kGroup; ++i) {
      if (sums[i] > 0 && sums[i] > top_.threshold()) {
        top_.offer(static_cast<float>(sums[i]), first_document_ + first + i);
      }
    }
  }

  Lucene::BitVectorPtr deletions_;
  std::int32_t first_document_;
  TopHits& top_;
  std::unique_ptr<Allowed> allowed_;
  std::int32_t matches_ = 0;
};

}  // namespace

bool can_go_term_at_a_time(const std::vector<TermWeightPtr>& terms) {
  return std::ranges::all_of(terms, [](const TermWeightPtr& term) {
    return term->document_frequency() == 0 || contribution(term->weight(), 1, term->model().smallest_factor()) > 0;
  });
}

std::int32_t term_at_a_time(const Lucene::SegmentReaderPtr& segment, std::int32_t first_document,
                            const std::vector<TermWeightPtr>& terms, const Lucene::FilterPtr& filter, TopHits& top) {
  std::vector<std::unique_ptr<TermCursor>> cursors;
  for (const auto& term : terms) {
    if (term->document_frequency() > 0) cursors.push_back(std::make_unique<TermCursor>(segment, *term));
  }
  if (cursors.empty()) return 0;
  Window& window = window_of_this_thread();
  Collector collector(segment, cursors.front()->deletions(), first_document, filter, top);
  const std::int32_t documents = segment->maxDoc();
  try {
    for (;;) {
      std::int32_t first = documents;
      for (const auto& cursor : cursors) first = std::min(first, cursor->document());
      if (first >= documents) break;
      const std::int32_t start = first / kGroup * kGroup;
      const std::int32_t size = std::min(kWindow, documents - start);
      for (const auto& cursor : cursors) cursor->add_up_to(start + size, start, window);
      collector.collect(start, size, window);
    }
  } catch (...) {
    window.clear();
    throw;
  }
  return collector.matches();
}

}  // namespace relucent::bm25
