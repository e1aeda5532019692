#include "plugin/lucene/bm25/term_at_a_time.h"

#include <SegmentReader.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/require_memory.h"
#include "plugin/index_format/posting_kernels.h"
#include "plugin/lucene/bm25/acceptance.h"
#include "plugin/lucene/bm25/formula.h"
#include "plugin/lucene/bm25/skipping_disjunction.h"
#include "plugin/lucene/index/postings.h"

namespace relucent::bm25 {
namespace {

constexpr std::int32_t kWindow = 1 << 14;  // documents; their sums take 128 KiB and stay in the L2 cache

/// Documents of the window that may still become hits, in no order, with their sums so far.
struct Candidates {
  std::array<std::int32_t, kWindow + 1> places;  ///< in the window
  std::array<double, kWindow + 1> sums;
  std::size_t count = 0;

  /// Drops candidates whose sums are not above `limit`.
  void keep_above(double limit) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      places[kept] = places[i];
      sums[kept] = sums[i];
      kept += sums[i] > limit ? 1 : 0;
    }
    count = kept;
  }
};

/// Everything but the candidates is zero or empty between windows and queries, even after an exception.
struct Window {
  static constexpr std::uint8_t kLarge = 255;

  std::array<double, kWindow> sums{};
  std::array<std::int32_t, kWindow + 1> added;  ///< the places of the documents that have a sum, in no order
  std::size_t added_count = 0;
  /// Not 0: some term matches. While a term is looked up: its frequency where it occurs, kLarge if that is not less.
  std::array<std::uint8_t, kWindow> marks{};
  std::vector<std::pair<std::int32_t, std::int32_t>> large;  ///< places marked kLarge, ascending, and their frequencies
  Candidates candidates;

  /// Makes the sums above `limit` the candidates.
  void take_candidates(double limit) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < added_count; ++i) {
      double& sum = sums[static_cast<std::size_t>(added[i])];
      candidates.places[count] = added[i];
      candidates.sums[count] = sum;
      count += sum > limit ? 1 : 0;
      sum = 0;
    }
    candidates.count = count;
    added_count = 0;
  }

  std::int32_t large_frequency(std::int32_t place) const {
    return std::ranges::lower_bound(large, place, {}, &std::pair<std::int32_t, std::int32_t>::first)->second;
  }

  void clear() {
    sums.fill(0);
    added_count = 0;
    marks.fill(0);
    large.clear();
  }
};

Window& window_of_this_thread() {
  thread_local const std::unique_ptr<Window> window = [] {
    auto made = std::make_unique<Window>();
    require_memory_for_thread_local();
    return made;
  }();
  return *window;
}

/// Walks through one term's postings in a segment.
class TermCursor {
 public:
  TermCursor(const Lucene::SegmentReaderPtr& segment, const TermWeight& term, const Contributions& contributions)
      : segment_(segment),
        term_(term),
        contributions_(contributions),
        postings_(segment),
        lengths_(term.model().lengths(segment.get())) {
    postings_.seek(term.term());
    more_ = postings_.next_block();
  }

  Lucene::BitVectorPtr deletions() const { return postings_.deletions(); }

  /// The next document to add; after the last one, a number beyond any document.
  std::int32_t document() const {
    return more_ ? postings_.documents()[position_] : std::numeric_limits<std::int32_t>::max();
  }

  /// The largest contribution in the segment; for a rare term, an upper bound.
  double largest() {
    if (largest_ < 0) largest_ = find_largest();
    return largest_;
  }

  void add_up_to(std::int32_t end, std::int32_t start, Window& window) {
    if (lengths_ != nullptr) {
      add_up_to(end, start, window, [this](std::int32_t document) { return lengths_[document]; });
    } else {
      add_up_to(end, start, window, [](std::int32_t) { return std::uint8_t{1}; });
    }
  }

  /// Marks all documents, but adds contributions only to the sums of candidates.
  void look_up_to(std::int32_t end, std::int32_t start, Window& window) {
    Candidates& candidates = window.candidates;
    if (candidates.count == 0) {
      each_stretch(end, [&](const std::int32_t* documents, const std::int32_t*, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) window.marks[static_cast<std::size_t>(documents[i] - start)] = 1;
      });
      return;
    }
    for (std::size_t i = 0; i < candidates.count; ++i) window.marks[static_cast<std::size_t>(candidates.places[i])] = 0;
    each_stretch(end, [&](const std::int32_t* documents, const std::int32_t* frequencies, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) {
        const std::int32_t place = documents[i] - start;
        // A damaged list may have frequencies of 0, which must not become marks.
        const bool small = static_cast<std::uint32_t>(frequencies[i]) - 1 < Window::kLarge - 1U;
        window.marks[static_cast<std::size_t>(place)] =
            small ? static_cast<std::uint8_t>(frequencies[i]) : Window::kLarge;
        if (!small) window.large.emplace_back(place, frequencies[i]);
      }
    });
    for (std::size_t i = 0; i < candidates.count; ++i) {
      const std::int32_t place = candidates.places[i];
      std::uint8_t& mark = window.marks[static_cast<std::size_t>(place)];
      if (mark != 0) {
        const std::int32_t frequency = mark == Window::kLarge ? window.large_frequency(place) : mark;
        candidates.sums[i] += contributions_(frequency, length(start + place));
      }
      mark = 1;
    }
    window.large.clear();
  }

 private:
  /// Calls use(documents, frequencies, size) for the postings before `end`, piece by piece.
  template <typename Use>
  void each_stretch(std::int32_t end, Use&& use) {
    while (more_) {
      const auto documents = postings_.documents();
      std::size_t last = documents.size();
      const bool whole = documents.back() < end;
      if (!whole) {
        last = static_cast<std::size_t>(
            std::lower_bound(documents.begin() + static_cast<std::ptrdiff_t>(position_), documents.end(), end) -
            documents.begin());
      }
      if (last > position_) {
        use(documents.data() + position_, postings_.frequencies().data() + position_, last - position_);
      }
      position_ = last;
      if (!whole) return;
      more_ = postings_.next_block();
      position_ = 0;
    }
  }

  template <typename Length>
  void add_up_to(std::int32_t end, std::int32_t start, Window& window, Length&& length_of) {
    std::size_t count = window.added_count;
    each_stretch(end, [&](const std::int32_t* documents, const std::int32_t* frequencies, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) {
        const std::int32_t document = documents[i];
        const auto place = static_cast<std::size_t>(document - start);
        window.sums[place] += contributions_(frequencies[i], length_of(document));
        window.added[count] = document - start;
        count += 1U - window.marks[place];  // new if no term has marked it
        window.marks[place] = 1;
      }
    });
    window.added_count = count;
  }

  std::uint8_t length(std::int32_t document) const { return lengths_ == nullptr ? 1 : lengths_[document]; }

  double find_largest() const {
    // No contribution exceeds the weight. That bound is good enough for rare terms, and most terms are rare.
    const std::int32_t frequent = std::max(256, segment_->maxDoc() / 1024);
    if (postings_.document_frequency() < frequent) return term_.weight();
    TermMaxima& maxima = term_.model().maxima(segment_.get());
    const Lucene::String text = term_.term()->text();
    auto largest = maxima.find(text);
    if (!largest) {
      largest = 0;
      const auto& factors = term_.model().factors();
      Postings postings(segment_);
      postings.seek(term_.term());
      while (postings.next_block()) {
        const auto documents = postings.documents();
        const auto frequencies = postings.frequencies();
        for (std::size_t i = 0; i < documents.size(); ++i) {
          const float factor = factors[length(documents[i])];
          largest = std::max(*largest, static_cast<float>(frequencies[i]) * factor);
        }
      }
      maxima.keep(text, *largest);
    }
    return contribution(term_.weight(), *largest, 1);
  }

  Lucene::SegmentReaderPtr segment_;
  const TermWeight& term_;
  const Contributions& contributions_;
  Postings postings_;
  const std::uint8_t* lengths_;
  std::size_t position_ = 0;
  bool more_;
  double largest_ = -1;
};

/// Whether contributions of these terms have the same sum in any order of addition. All are multiples of the smallest
/// one's unit in the last place (a float has 24 bits), and a sum below 2^53 such units is exact in double.
bool sums_are_exact(const std::vector<TermWeightPtr>& terms) {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (const auto& term : terms) {
    if (!term->score().is_bm25()) return false;  // a likelihood may be as small as it likes
    largest += term->weight();
    smallest = std::min<double>(smallest, contribution(term->weight(), 1, term->model().smallest_factor()));
  }
  return largest < smallest * 0x1p28;
}

/// Adding `rest` to a sum of at most this limit cannot exceed `threshold`, however either was rounded.
double limit_below(double threshold, double rest) { return threshold - rest - (threshold + rest) * 0x1p-40; }

/// Scores the terms of one segment, window by window.
class Disjunction {
 public:
  Disjunction(std::vector<std::unique_ptr<TermCursor>> cursors, bool may_skip, const TopHits& top)
      : cursors_(std::move(cursors)), may_skip_(may_skip), top_(top) {
    for (const auto& cursor : cursors_) order_.push_back(cursor.get());
  }

  std::int32_t next_document() const {
    std::int32_t next = std::numeric_limits<std::int32_t>::max();
    for (const auto& cursor : cursors_) next = std::min(next, cursor->document());
    return next;
  }

  /// Computes the window's candidates and marks all matching documents.
  void score(std::int32_t start, std::int32_t size, Window& window) {
    split();
    for (std::size_t i = skipped_; i < order_.size(); ++i) order_[i]->add_up_to(start + size, start, window);
    window.take_candidates(limit(skipped_));
    for (std::size_t i = skipped_; i-- > 0;) {
      order_[i]->look_up_to(start + size, start, window);
      window.candidates.keep_above(limit(i));
    }
  }

 private:
  /// The limit that a sum must exceed while `skipped` terms are still to be added.
  double limit(std::size_t skipped) const {
    if (skipped == 0) return std::max(0.0, top_.threshold());
    return std::max(0.0, limit_below(top_.threshold(), rest_[skipped - 1]));
  }

  /// Finds the terms that cannot lift a document above the threshold, not even together.
  void split() {
    if (!may_skip_ || top_.threshold() <= 0) return;
    if (rest_.empty()) {
      std::ranges::stable_sort(order_, {}, [](TermCursor* cursor) { return cursor->largest(); });
      for (TermCursor* cursor : order_) rest_.push_back((rest_.empty() ? 0 : rest_.back()) + cursor->largest());
    }
    while (skipped_ < order_.size() && limit_below(top_.threshold(), rest_[skipped_]) >= 0) ++skipped_;
  }

  std::vector<std::unique_ptr<TermCursor>> cursors_;
  bool may_skip_;
  const TopHits& top_;
  std::vector<TermCursor*> order_;  ///< in the query's order until terms are skipped, then by largest contribution
  std::vector<double> rest_;        ///< running sums of the largest contributions, in that order
  std::size_t skipped_ = 0;
};

}  // namespace

bool can_go_term_at_a_time(const std::vector<TermWeightPtr>& terms) {
  return std::ranges::all_of(terms, [](const TermWeightPtr& term) {
    if (term->document_frequency() == 0) return true;
    if (!term->score().is_bm25()) return term->boost() >= 0;
    return contribution(term->weight(), 1, term->model().smallest_factor()) > 0;
  });
}

TermAtATime::TermAtATime(const std::vector<TermWeightPtr>& terms, const Lucene::FilterPtr& filter, std::int64_t count,
                         TopHits& top)
    : count_(count), filter_(filter), top_(top) {
  std::ranges::copy_if(terms, std::back_inserter(terms_),
                       [](const auto& term) { return term->document_frequency() > 0; });
  for (const auto& term : terms_) {
    const FieldModel& model = term->model();
    contributions_.emplace_back(term->score(), model.longest(), term->document_frequency());
  }
  any_order_ = sums_are_exact(terms_);
}

/// Searches the rest of the segment, from document `from` on, without counting. Returns false if the caller has to.
bool TermAtATime::skip(const Lucene::SegmentReaderPtr& segment, Acceptance& acceptance, std::int32_t from,
                       std::int32_t first_document) {
  if (matches_ < count_ || !any_order_ || acceptance.filtered() || terms_.size() > kMaxSkippingTerms) return false;
  if (!search_skipping(segment, terms_, acceptance, from, first_document, top_)) return false;
  counted_all_ = false;
  return true;
}

std::int32_t TermAtATime::search(const Lucene::SegmentReaderPtr& segment, std::int32_t first_document) {
  const std::int32_t documents = segment->maxDoc();
  if (terms_.empty() || documents == 0) return 0;
  std::vector<std::unique_ptr<TermCursor>> cursors;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    cursors.push_back(std::make_unique<TermCursor>(segment, *terms_[i], contributions_[i]));
  }
  Acceptance acceptance(cursors.front()->deletions(), filter_, segment);
  Disjunction disjunction(std::move(cursors), any_order_, top_);
  const PostingKernels& kernels = best_posting_kernels();
  Window& window = window_of_this_thread();
  const Candidates& candidates = window.candidates;
  const std::int64_t before = matches_;
  bool may_skip = true;
  try {
    for (;;) {
      const std::int32_t start = disjunction.next_document();
      if (start >= documents) break;
      if (may_skip && matches_ >= count_) {
        if (skip(segment, acceptance, start, first_document)) break;
        may_skip = false;
      }
      const std::int32_t size = std::min(kWindow, documents - start);
      disjunction.score(start, size, window);
      if (!acceptance.everything()) {
        acceptance.start_window(start, size);
        for (std::int32_t place = 0; place < size; ++place) {
          std::uint8_t& mark = window.marks[static_cast<std::size_t>(place)];
          if (mark != 0 && !acceptance(place)) mark = 0;
        }
      }
      for (std::size_t i = 0; i < candidates.count; ++i) {
        const std::int32_t place = candidates.places[i];
        if (window.marks[static_cast<std::size_t>(place)] != 0) {
          top_.offer(static_cast<float>(candidates.sums[i]), first_document + start + place);
        }
      }
      matches_ += static_cast<std::int64_t>(kernels.count_marks(window.marks.data(), window.marks.size()));
    }
  } catch (...) {
    window.clear();
    throw;
  }
  return static_cast<std::int32_t>(matches_ - before);
}

}  // namespace relucent::bm25
