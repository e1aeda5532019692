#include "plugin/lucene/bm25/skipping_disjunction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "base/require_memory.h"
#include "plugin/index_format/posting_kernels.h"
#include "plugin/lucene/bm25/formula.h"
#include "plugin/lucene/bm25/skipping_postings.h"

namespace relucent::bm25 {
namespace {

constexpr std::int32_t kRange = PostingRanges::kRange, kPart = PostingRanges::kPart;
constexpr std::size_t kChunk = 4096;      ///< ranges whose bounds are computed together
constexpr std::size_t kTrialShare = 128;  ///< at least one range in so many is visited first
constexpr std::size_t kBatch = 64;        ///< ranges visited together
constexpr std::uint32_t kAboveAllBounds = 65536;

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

/// The bounds of a range's four parts in units, 16 bits each.
using PartBounds = std::uint64_t;

/// @param codes  the parts' codes, a byte each
PartBounds in_units(std::uint32_t codes, std::uint16_t units) {
  PartBounds spread = (codes | PartBounds{codes} << 16) & 0x0000FFFF0000FFFF;
  spread = (spread | spread << 8) & 0x00FF00FF00FF00FF;
  return spread * units;  // products and sums of a search's lists stay below 2^16
}

std::uint16_t bound_of_part(PartBounds bounds, int part) { return static_cast<std::uint16_t>(bounds >> 16 * part); }

std::uint16_t largest(PartBounds bounds) {
  return std::max(
      {bound_of_part(bounds, 0), bound_of_part(bounds, 1), bound_of_part(bounds, 2), bound_of_part(bounds, 3)});
}

/// A bit for each document of the range's parts whose bounds are above the limit.
std::uint32_t documents_above(PartBounds bounds, std::uint16_t limit) {
  std::uint32_t documents = 0;
  for (int part = 0; part < kRange / kPart; ++part) {
    documents |= bound_of_part(bounds, part) > limit ? ((1U << kPart) - 1) << kPart * part : 0;
  }
  return documents;
}

/// A range whose bound exceeds a threshold.
struct LiveRange {
  std::uint32_t range;
  std::uint32_t bound;  ///< in units
};

/// Fresh memory is slow, so each thread keeps its ranges for the next search.
std::vector<LiveRange>& ranges_of_this_thread() {
  thread_local std::vector<LiveRange> ranges = [] {
    require_memory_for_thread_local();
    return std::vector<LiveRange>();
  }();
  return ranges;
}

/// One term's postings in one segment, visited range by range.
class RangedPostings {
 public:
  RangedPostings(const TermWeight& term, std::shared_ptr<const SkippingPostings> postings)
      : weight_(term.weight()),
        factors_(term.model().factors().data()),
        postings_(std::move(postings)),
        ranges_(std::get_if<PostingRanges>(postings_.get())),
        short_(std::get_if<ShortPostings>(postings_.get())) {}

  float weight() const { return weight_; }
  /// A code of this term adds `units` times its value to a bound.
  void count_in(std::uint16_t units) { units_ = units; }

  /// At least `hits` documents contribute so much; 0 if that is not known.
  float reached_by(std::size_t hits) const {
    return contribution(weight_, bm25::reached_by(ranges_ != nullptr ? ranges_->ranked : short_->ranked, hits), 1);
  }

  std::uint16_t units() const { return units_; }
  /// The codes of all ranges; null if the list is short.
  const std::uint8_t* codes() const { return ranges_ == nullptr ? nullptr : ranges_->bounds.data(); }

  /// Adds to the bounds of the ranges from `first` on what a short list contributes at most to one of their documents.
  void add_bounds(std::size_t first, std::span<std::uint16_t> bounds) const {
    const std::vector<std::int32_t>& documents = short_->documents;
    for (std::size_t i = short_->find(first); i < documents.size();) {
      const std::size_t range = ShortPostings::range_of(documents[i]);
      if (range - first >= bounds.size()) break;
      std::uint8_t largest = 0;
      for (; i < documents.size() && ShortPostings::range_of(documents[i]) == range; ++i) {
        largest = std::max(largest, short_->codes[i]);
      }
      bounds[range - first] = static_cast<std::uint16_t>(bounds[range - first] + largest * units_);
    }
  }

  /// Load what part_bounds() and add() will read of the range.
  void prefetch_bucket(std::size_t range) const {
    if (ranges_ != nullptr) ranges_->prefetch_bucket(range);
  }
  void prefetch_postings(std::size_t range) const {
    if (ranges_ != nullptr) ranges_->prefetch_postings(range);
  }

  /// The term's part of the bounds of the range's parts.
  PartBounds part_bounds(std::size_t range) const {
    if (ranges_ != nullptr) return in_units(ranges_->parts(range), units_);
    std::uint32_t codes = 0;
    short_->each_of(range, [&](std::size_t i) {
      const int shift = 8 * (short_->documents[i] % kRange / kPart);
      const std::uint32_t known = codes >> shift & 0xFF;
      codes ^= (known ^ std::max<std::uint32_t>(known, short_->codes[i])) << shift;
    });
    return in_units(codes, units_);
  }

  /// Adds the contributions to those documents of the range that have a bit in `documents`.
  void add(std::size_t range, std::uint32_t documents, RangeSums& sums) const {
    if (ranges_ == nullptr) {
      short_->each_of(range, [&](std::size_t i) {
        const auto place = static_cast<std::uint32_t>(short_->documents[i] % kRange);
        if ((documents >> place & 1) != 0) sums.add(place, contribution(weight_, short_->products[i], 1));
      });
    } else if (ranges_->parts(range) != 0) {
      ranges_->each_of(range, documents, [&](std::uint32_t place, std::int32_t frequency, std::uint8_t length) {
        sums.add(place, contribution(weight_, static_cast<float>(frequency), factors_[length]));
      });
    }
  }

 private:
  float weight_;
  const float* factors_;
  std::uint16_t units_ = 1;
  std::shared_ptr<const SkippingPostings> postings_;
  const PostingRanges* ranges_;  ///< null: the list is short
  const ShortPostings* short_;   ///< null: it is not
};

/// Visits the ranges of one segment.
class RangeSearch {
 public:
  /// @param documents  of the segment
  RangeSearch(std::vector<RangedPostings> lists, std::int32_t documents, Acceptance& acceptance, std::int32_t from,
              std::int32_t first_document)
      : acceptance_(acceptance),
        from_(from),
        first_document_(first_document),
        first_(static_cast<std::size_t>(from / kRange)),
        ranges_(static_cast<std::size_t>((documents - 1) / kRange) + 1),
        lists_(std::move(lists)) {
    std::ranges::sort(lists_, std::greater(), &RangedPostings::weight);
    // A document's bound counts at most 255 · the sum of units, which is at most 65,535.
    double weights = 0;
    for (const RangedPostings& list : lists_) weights += list.weight();
    const double most = 257.0 - static_cast<double>(lists_.size());
    for (RangedPostings& list : lists_) {
      list.count_in(static_cast<std::uint16_t>(std::ceil(list.weight() / weights * most)));
    }
    unit_ = weights / most / 255 * (1 + 1e-6);
  }

  /// A score that the best `hits` documents reach; 0 if none is known.
  float reached_by(std::size_t hits) const {
    float reached = 0;
    for (const RangedPostings& list : lists_) reached = std::max(reached, list.reached_by(hits));
    return reached;
  }

  /// Offers the documents of all ranges whose bounds exceed the threshold. Returns false if these are more than
  /// PostingKernels::most_live of all ranges after those with the largest bounds, which raise the threshold.
  bool visit(TopHits& top) {
    find_live(limit_in_units(limit_of(top)));
    const std::uint32_t cut = bound_of_best(std::max(ranges_ / kTrialShare, 2 * top.size()));
    visit_between(cut, kAboveAllBounds, top);
    const std::uint16_t limit = limit_in_units(limit_of(top));
    const auto live =
        std::ranges::count_if(found_, [&](const LiveRange& range) { return range.bound < cut && range.bound > limit; });
    if (static_cast<double>(live) > best_posting_kernels().most_live * static_cast<double>(ranges_)) return false;
    visit_between(0, cut, top);
    return true;
  }

 private:
  /// Finds the ranges whose bounds exceed the limit.
  void find_live(std::uint16_t limit) {
    std::array<std::uint16_t, kChunk> bounds;
    std::array<std::uint16_t, kChunk + PostingKernels::kWriteAhead> places;
    std::vector<const std::uint8_t*> codes;
    std::vector<std::uint16_t> units;
    for (const RangedPostings& list : lists_) {
      if (list.codes() == nullptr) continue;
      codes.push_back(list.codes() + first_);
      units.push_back(list.units());
    }
    found_.clear();
    for (std::size_t first = first_; first < ranges_; first += kChunk) {
      const std::size_t size = std::min(kChunk, ranges_ - first);
      best_posting_kernels().sum_products(bounds.data(), size, codes.data(), units.data(), codes.size());
      for (const std::uint8_t*& list : codes) list += size;
      for (const RangedPostings& list : lists_) {
        if (list.codes() == nullptr) list.add_bounds(first, {bounds.data(), size});
      }
      const std::size_t count = best_posting_kernels().find_above(bounds.data(), size, limit, places.data());
      for (std::size_t i = 0; i < count; ++i) {
        found_.push_back({static_cast<std::uint32_t>(first + places[i]), bounds[places[i]]});
      }
    }
  }

  /// A bound that at least `ranges` of those found reach, as few as possible; 0 if there are not so many.
  std::uint32_t bound_of_best(std::size_t ranges) const {
    constexpr std::uint32_t bounds_per_class = 64;
    std::array<std::uint32_t, kAboveAllBounds / bounds_per_class> classes{};
    for (const LiveRange& range : found_) ++classes[range.bound / bounds_per_class];
    std::size_t reached = 0;
    for (std::uint32_t i = classes.size(); i-- > 0;) {
      reached += classes[i];
      if (reached >= ranges) return i * bounds_per_class;
    }
    return 0;
  }

  /// Visits the ranges found whose bounds exceed the threshold, are at least `least`, and below `most`.
  void visit_between(std::uint32_t least, std::uint32_t most, TopHits& top) {
    std::array<LiveRange, kBatch> batch;
    for (auto next = found_.begin(); next != found_.end();) {
      const std::uint16_t limit = limit_in_units(limit_of(top));
      least = std::max<std::uint32_t>(least, limit + 1);
      std::size_t count = 0;
      for (; next != found_.end() && count < kBatch; ++next) {
        batch[count] = *next;
        count += next->bound >= least && next->bound < most ? 1 : 0;
      }
      visit_batch({batch.data(), count}, limit, top);
    }
  }

  /// A sum that exceeds this may become a hit: also one that is rounded up to the threshold, of a smaller document.
  static double limit_of(const TopHits& top) {
    return std::nextafter(std::max(0.0F, static_cast<float>(top.threshold())), 0.0F);
  }
  /// A document whose bound is not above this has a sum that is not above `limit`.
  std::uint16_t limit_in_units(double limit) const {
    return static_cast<std::uint16_t>(std::min(65535.0, limit / unit_));
  }

  struct Refined {
    std::size_t range;
    PartBounds parts;    ///< of the lists so far
    std::uint32_t rest;  ///< of the other lists
  };

  /// Visits those of the ranges that have a part whose bound is above the limit. Memory is read at random places, so
  /// what the next step reads is loaded for all ranges first.
  void visit_batch(std::span<const LiveRange> ranges, std::uint16_t limit, TopHits& top) {
    std::array<Refined, kBatch> batch;
    std::size_t count = 0;
    for (const LiveRange& range : ranges) {
      lists_.front().prefetch_bucket(range.range);
      batch[count++] = {range.range, 0, range.bound};
    }
    for (std::size_t list = 0; list < lists_.size(); ++list) {
      const RangedPostings* const next = list + 1 < lists_.size() ? &lists_[list + 1] : nullptr;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < count; ++i) {
        Refined refined = batch[i];
        const PartBounds parts = lists_[list].part_bounds(refined.range);
        refined.parts += parts;
        refined.rest -= largest(parts);
        batch[kept] = refined;
        if (largest(refined.parts) + refined.rest <= limit) continue;
        ++kept;
        if (next != nullptr) next->prefetch_bucket(refined.range);
      }
      count = kept;
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (const RangedPostings& list : lists_) list.prefetch_postings(batch[i].range);
    }
    for (std::size_t i = 0; i < count; ++i) visit_range(batch[i].range, batch[i].parts, top);
  }

  void visit_range(std::size_t range, PartBounds bounds, TopHits& top) {
    const double limit = limit_of(top);
    const std::uint32_t documents = documents_above(bounds, limit_in_units(limit));
    if (documents == 0) return;
    RangeSums sums;
    for (const RangedPostings& list : lists_) list.add(range, documents, sums);
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
  std::size_t first_, ranges_;                               ///< the first range, and how many the segment has
  std::vector<RangedPostings> lists_;                        ///< the largest weight first
  double unit_ = 0;                                          ///< what a unit of a bound is worth
  std::vector<LiveRange>& found_ = ranges_of_this_thread();  ///< ascending
};

}  // namespace

bool search_skipping(const Lucene::SegmentReaderPtr& segment, const std::vector<TermWeightPtr>& terms,
                     Acceptance& acceptance, std::int32_t from, std::int32_t first_document, TopHits& top) {
  const auto is_short = [&](const TermWeightPtr& term) {
    return ShortPostings::holds(term->document_frequency(), segment->maxDoc());
  };
  const auto postings_of = [&](const TermWeightPtr& term) {
    return term->model().postings(segment, term->term(), term->document_frequency());
  };
  bool ready = true;
  std::vector<RangedPostings> lists;
  for (const TermWeightPtr& term : terms) {
    if (is_short(term)) continue;
    if (auto postings = postings_of(term)) {
      lists.emplace_back(*term, std::move(postings));
    } else {
      ready = false;  // the others are asked for, so that they count as searched for
    }
  }
  if (!ready) return false;
  for (const TermWeightPtr& term : terms) {
    if (is_short(term)) lists.emplace_back(*term, postings_of(term));
  }
  RangeSearch search(std::move(lists), segment->maxDoc(), acceptance, from, first_document);
  // Every posting counts there, so deleted documents and those that the filter excludes could make it too high.
  if (acceptance.everything()) top.expect(search.reached_by(top.size()));
  TopHits trial = top;
  if (!search.visit(trial)) {
    top.expect(static_cast<float>(trial.threshold()));
    return false;
  }
  top = std::move(trial);
  return true;
}

}  // namespace relucent::bm25
