#include "plugin/lucene/bm25/skipping_postings.h"

#include <utility>

namespace relucent::bm25 {
namespace {

std::size_t memory_of(const SkippingPostings& postings) {
  return std::visit([](const auto& form) { return form.memory(); }, postings);
}

}  // namespace

std::shared_ptr<const SkippingPostings> SkippingPostingsCache::find(const Lucene::String& term) {
  const std::lock_guard lock(mutex_);
  ++lookups_;
  const auto found = known_.find(term);
  if (found == known_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  found->second->used = lookups_;
  return found->second->postings;
}

bool SkippingPostingsCache::admits(const Lucene::String& term, std::size_t bytes, std::size_t limit) {
  constexpr std::uint64_t long_unused = 10'000;  // lookups
  constexpr std::size_t most_terms = 100'000;
  const std::lock_guard lock(mutex_);
  const bool room = memory_ + bytes <= limit || entries_.empty();
  if (!room && lookups_ - entries_.back().used < long_unused) return false;
  if (asked_for_.size() >= most_terms) asked_for_.clear();
  return !asked_for_.insert(term).second;
}

void SkippingPostingsCache::keep(const Lucene::String& term, std::shared_ptr<const SkippingPostings> postings,
                                 std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (known_.contains(term)) return;
  memory_ += memory_of(*postings);
  entries_.push_front({term, std::move(postings), lookups_});
  known_.emplace(term, entries_.begin());
  while (memory_ > limit && entries_.size() > 1) {
    memory_ -= memory_of(*entries_.back().postings);
    known_.erase(entries_.back().term);
    entries_.pop_back();
  }
}

}  // namespace relucent::bm25
