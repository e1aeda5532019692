#include "plugin/lucene/bm25/skipping_disjunction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <span>

#include "base/require_memory.h"
#include "plugin/index_format/posting_kernels.h"
#include "plugin/lucene/bm25/formula.h"
#include "plugin/lucene/bm25/posting_ranges.h"
#include "plugin/lucene/index/postings.h"

namespace relucent::bm25 {
namespace {

constexpr std::int32_t kRange = PostingRanges::kRange;
/// A list with fewer postings than the segment has documents, divided by this, is read whole.
constexpr std::int32_t kDocumentsPerPosting = 1024;

/// The sums of one range's documents.
struct RangeSums {
  std::array<double, static_cast<std::size_t>(kRange)> sums;
  std::uint32_t known = 0;  ///< a bit for each document that has a sum
  double best = 0;          ///< the largest sum

  void add(std::uint32_t place, float value) {
    double& sum = sums[place];
    sum = (known >> place & 1) != 0 ? sum + value : value;
    known |= 1U << place;
    best = std::max(best, sum);
  }
};

/// Fresh memory is slow, so each thread keeps its bounds for the next search.
std::vector<std::uint16_t>& bounds_of_this_thread() {
  thread_local std::vector<std::uint16_t> bounds = [] {
    require_memory_for_thread_local();
    return std::vector<std::uint16_t>();
  }();
  return bounds;
}

std::size_t range_of(std::int32_t document) { return static_cast<std::size_t>(document / kRange); }

bool is_frequent(const Lucene::SegmentReaderPtr& segment, const TermWeight& term) {
  return term.document_frequency() > segment->maxDoc() / kDocumentsPerPosting;
}

/// One term's postings in one segment, visited range by range.
class RangedPostings {
 public:
  RangedPostings(const Lucene::SegmentReaderPtr& segment, const TermWeight& term)
      : weight_(term.weight()), factors_(term.model().factors().data()), lengths_(term.model().lengths(segment.get())) {
    Postings postings(segment);
    postings.seek(term.term());
    if (is_frequent(segment, term)) ranges_ = term.model().ranges(segment, term.term(), term.document_frequency());
    if (ranges_ == nullptr) read_whole(postings);
  }

  float weight() const { return weight_; }
  /// A code of this term adds `units` times its value to a bound.
  void count_in(std::uint16_t units) { units_ = units; }

  /// At least `hits` documents contribute so much; 0 if that is not known.
  float reached_by(std::size_t hits) const {
    if (ranges_ != nullptr) {
      for (std::size_t i = 0; i < PostingRanges::kRanks.size(); ++i) {
        if (hits <= PostingRanges::kRanks[i]) return contribution(weight_, ranges_->ranked[i], 1);
      }
      return 0;
    }
    if (hits == 0 || hits > values_.size()) return 0;
    std::vector<float> values = values_;
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(hits - 1), std::greater());
    return values[hits - 1];
  }

  std::uint16_t units() const { return units_; }
  /// The codes of all ranges; null if the list has been read whole.
  const std::uint8_t* codes() const { return ranges_ == nullptr ? nullptr : ranges_->bounds.data(); }

  /// Adds to each range's bound, from range `first` on, what a list that has been read whole contributes at most to one
  /// of its documents.
  void add_bounds(std::size_t first, std::span<std::uint16_t> bounds) const {
    for (std::size_t i = 0; i < documents_.size();) {
      const std::size_t range = range_of(documents_[i]);
      std::uint8_t largest = 0;
      for (; i < documents_.size() && range_of(documents_[i]) == range; ++i) largest = std::max(largest, codes_[i]);
      if (range >= first) bounds[range] = static_cast<std::uint16_t>(bounds[range] + largest * units_);
    }
  }

  /// Begins a pass over ascending ranges.
  void start() { next_ = 0; }

  /// Loads what bound() will read of the range, and what prefetch_postings() will.
  void prefetch(std::size_t range) const {
    if (ranges_ == nullptr) return;
    __builtin_prefetch(ranges_->bounds.data() + range);
    ranges_->prefetch_begin(range);
  }
  /// Loads what add() will read of a range that has been prefetched.
  void prefetch_postings(std::size_t range) const {
    if (ranges_ != nullptr) ranges_->prefetch_postings(range);
  }

  /// The term's part of the range's bound.
  std::int32_t bound(std::size_t range) {
    if (ranges_ != nullptr) return units_ * ranges_->bounds[range];
    while (next_ < documents_.size() && range_of(documents_[next_]) < range) ++next_;
    std::uint8_t largest = 0;
    for (std::size_t i = next_; i < documents_.size() && range_of(documents_[i]) == range; ++i) {
      largest = std::max(largest, codes_[i]);
    }
    return units_ * largest;
  }

  /// Adds the contributions to the range's documents. Call bound() first.
  void add(std::size_t range, RangeSums& sums) {
    if (ranges_ != nullptr) {
      ranges_->each_of(range, [&](std::uint32_t place, std::int32_t frequency, std::uint8_t length) {
        sums.add(place, contribution(weight_, static_cast<float>(frequency), factors_[length]));
      });
      return;
    }
    const std::int32_t start = static_cast<std::int32_t>(range) * kRange;
    for (; next_ < documents_.size() && range_of(documents_[next_]) == range; ++next_) {
      sums.add(static_cast<std::uint32_t>(documents_[next_] - start), values_[next_]);
    }
  }

 private:
  void read_whole(Postings& postings) {
    const auto count = static_cast<std::size_t>(postings.document_frequency());
    documents_.reserve(count);
    values_.reserve(count);
    codes_.reserve(count);
    while (postings.next_block()) {
      const auto documents = postings.documents();
      if (lengths_ != nullptr) {
        for (const std::int32_t document : documents) __builtin_prefetch(lengths_ + document);
      }
      for (std::size_t i = 0; i < documents.size(); ++i) {
        documents_.push_back(documents[i]);
        values_.push_back(value(documents[i], postings.frequencies()[i]));
        codes_.push_back(PostingRanges::code_of(values_.back() / weight_));
      }
    }
  }

  float value(std::int32_t document, std::int32_t frequency) const {
    const std::uint8_t length = lengths_ == nullptr ? std::uint8_t{1} : lengths_[document];
    return contribution(weight_, static_cast<float>(frequency), factors_[length]);
  }

  float weight_;
  const float* factors_;
  const std::uint8_t* lengths_;
  std::uint16_t units_ = 1;
  std::shared_ptr<const PostingRanges> ranges_;  ///< null: the list has been read whole
  std::vector<std::int32_t> documents_;          ///< of a list read whole
  std::vector<float> values_;                    ///< contributions to them
  std::vector<std::uint8_t> codes_;              ///< bounds of these
  std::size_t next_ = 0;                         ///< of these
};

/// Visits the ranges of one segment.
class RangeSearch {
 public:
  RangeSearch(const Lucene::SegmentReaderPtr& segment, const std::vector<TermWeightPtr>& terms, Acceptance& acceptance,
              std::int32_t from, std::int32_t first_document)
      : acceptance_(acceptance), from_(from), first_document_(first_document), first_(range_of(from)) {
    for (const auto& term : terms) lists_.push_back(std::make_unique<RangedPostings>(segment, *term));
    std::ranges::sort(lists_, std::greater(), [](const auto& list) { return list->weight(); });
    // A document's bound counts at most 255 · the sum of units, which is at most 65,535.
    double weights = 0;
    for (const auto& list : lists_) weights += list->weight();
    const double most = 257.0 - static_cast<double>(lists_.size());
    for (const auto& list : lists_) {
      list->count_in(static_cast<std::uint16_t>(std::ceil(list->weight() / weights * most)));
    }
    unit_ = weights / most / 255 * (1 + 1e-6);
    bounds_.resize(range_of(segment->maxDoc() - 1) + 1);
    add_up_bounds();
  }

  /// A score that the best `hits` documents reach; 0 if none is known.
  float reached_by(std::size_t hits) const {
    float reached = 0;
    for (const auto& list : lists_) reached = std::max(reached, list->reached_by(hits));
    return reached;
  }

  /// A bound that about `ranges` ranges exceed, by a sample.
  std::uint16_t bound_of_best(std::size_t ranges) const {
    constexpr std::size_t most_samples = 1024;
    const std::size_t step = (bounds_.size() - first_) / most_samples + 1;
    std::vector<std::uint16_t> sample;
    for (std::size_t range = first_; range < bounds_.size(); range += step) sample.push_back(bounds_[range]);
    if (sample.empty()) return 0;
    const std::size_t rank = std::min(sample.size() - 1, ranges / step);
    std::ranges::nth_element(sample, sample.begin() + static_cast<std::ptrdiff_t>(rank), std::greater());
    return sample[rank];
  }

  /// The share of the segment's ranges that have to be visited.
  double live_share(const TopHits& top) const {
    const std::uint16_t limit = in_units(limit_of(top));
    const std::size_t live =
        best_posting_kernels().count_above(bounds_.data() + first_, bounds_.size() - first_, limit);
    return static_cast<double>(live) / static_cast<double>(bounds_.size());
  }

  /// Offers the documents of the ranges whose bounds exceed `cut` and the threshold, once each.
  void visit(std::uint16_t cut, TopHits& top) {
    for (const auto& list : lists_) list->start();
    std::array<std::size_t, 16> ahead;  // ranges that have been loaded, a ring
    constexpr std::size_t half = ahead.size() / 2;
    const auto prefetch_postings = [&](std::size_t range) {
      for (const auto& list : lists_) list->prefetch_postings(range);
    };
    std::size_t next = first_, found = 0, visited = 0;
    for (;;) {
      while (next < bounds_.size() && found - visited < ahead.size()) {
        const std::uint16_t limit = std::max(cut, in_units(limit_of(top)));
        next = best_posting_kernels().next_above(bounds_.data(), next, bounds_.size(), limit);
        if (next == bounds_.size()) break;
        for (const auto& list : lists_) list->prefetch(next);
        ahead[found++ % ahead.size()] = next++;
      }
      if (found == visited) return;
      if (found - visited > half) prefetch_postings(ahead[(visited + half) % ahead.size()]);
      const std::size_t range = ahead[visited++ % ahead.size()];
      visit_range(range, top);
      bounds_[range] = 0;
    }
  }

 private:
  /// Sets the bounds from range first_ on. Those before it are never read.
  void add_up_bounds() {
    std::vector<const std::uint8_t*> codes;
    std::vector<std::uint16_t> units;
    for (const auto& list : lists_) {
      if (list->codes() == nullptr) continue;
      codes.push_back(list->codes() + first_);
      units.push_back(list->units());
    }
    best_posting_kernels().sum_products(bounds_.data() + first_, bounds_.size() - first_, codes.data(), units.data(),
                                        codes.size());
    for (const auto& list : lists_) {
      if (list->codes() == nullptr) list->add_bounds(first_, bounds_);
    }
  }
  /// A sum that exceeds this may become a hit: also one that is rounded up to the threshold, of a smaller document.
  static double limit_of(const TopHits& top) {
    return std::nextafter(std::max(0.0F, static_cast<float>(top.threshold())), 0.0F);
  }
  /// A document whose bound is not above this has a sum that is not above `limit`.
  std::uint16_t in_units(double limit) const { return static_cast<std::uint16_t>(std::min(65535.0, limit / unit_)); }

  void visit_range(std::size_t range, TopHits& top) {
    const double limit = limit_of(top);
    RangeSums sums;
    std::int32_t rest = bounds_[range];
    for (const auto& list : lists_) {
      const std::int32_t part = list->bound(range);
      if (part == 0) continue;
      if (sums.best + rest * unit_ <= limit) return;
      list->add(range, sums);
      rest -= part;
    }
    if (sums.best <= limit) return;
    const std::int32_t start = static_cast<std::int32_t>(range) * kRange;
    acceptance_.start_window(start, kRange);
    for (std::uint32_t left = sums.known; left != 0; left &= left - 1) {
      const std::int32_t place = std::countr_zero(left);
      const double sum = sums.sums[static_cast<std::size_t>(place)];
      if (start + place >= from_ && sum > limit && acceptance_(place)) {
        top.offer(static_cast<float>(sum), first_document_ + start + place);
      }
    }
  }

  Acceptance& acceptance_;
  std::int32_t from_, first_document_;
  std::size_t first_;                                             ///< range
  std::vector<std::unique_ptr<RangedPostings>> lists_;            ///< the largest weight first
  double unit_ = 0;                                               ///< what a unit of a bound is worth
  std::vector<std::uint16_t>& bounds_ = bounds_of_this_thread();  ///< per range, in units; 0: no postings, or visited
};

}  // namespace

bool search_skipping(const Lucene::SegmentReaderPtr& segment, const std::vector<TermWeightPtr>& terms,
                     Acceptance& acceptance, std::int32_t from, std::int32_t first_document, double most_live,
                     TopHits& top) {
  bool ready = true;
  for (const auto& term : terms) {
    ready = (!is_frequent(segment, *term) ||
             term->model().ranges(segment, term->term(), term->document_frequency()) != nullptr) &&
            ready;
  }
  if (!ready) return false;
  RangeSearch search(segment, terms, acceptance, from, first_document);
  // Every posting counts there, so deleted documents and those that the filter excludes could make it too high.
  if (acceptance.everything()) top.expect(search.reached_by(top.size()));
  TopHits trial = top;
  search.visit(search.bound_of_best(2 * top.size()), trial);
  if (search.live_share(trial) > most_live) {
    top.expect(static_cast<float>(trial.threshold()));
    return false;
  }
  search.visit(0, trial);
  top = std::move(trial);
  return true;
}

}  // namespace relucent::bm25
