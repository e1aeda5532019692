#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace relucent::bm25 {

struct Hit {
  float score;
  std::int32_t document;
};

/// Collects the best `size` hits; on equal scores the smaller document wins. Offer documents in any order.
class TopHits {
 public:
  explicit TopHits(std::int32_t size) : size_(static_cast<std::size_t>(std::max(size, 0))) {}

  /// Only a score above this, or an equal one of a smaller document, still becomes a hit.
  double threshold() const { return threshold_; }

  std::size_t size() const { return size_; }

  /// Promises that as many documents as there may be hits will have been offered with at least this score.
  void expect(float score) {
    if (score > 0) threshold_ = std::max<double>(threshold_, std::nextafter(score, 0.0F));
  }

  void offer(float score, std::int32_t document) {
    if (hits_.size() < size_) {
      hits_.push_back({score, document});
      std::ranges::push_heap(hits_, better);
    } else if (size_ > 0 && better({score, document}, hits_.front())) {
      std::ranges::pop_heap(hits_, better);
      hits_.back() = {score, document};
      std::ranges::push_heap(hits_, better);
    }
    if (hits_.size() == size_ && size_ > 0) threshold_ = std::max<double>(threshold_, hits_.front().score);
  }

  /// The hits, best first.
  std::vector<Hit> take() {
    std::ranges::sort(hits_, better);
    return std::move(hits_);
  }

 private:
  static bool better(const Hit& a, const Hit& b) {
    return a.score > b.score || (a.score == b.score && a.document < b.document);
  }

  std::size_t size_;
  double threshold_ = -std::numeric_limits<double>::infinity();
  std::vector<Hit> hits_;  ///< a heap with the worst in front
};

}  // namespace relucent::bm25
