#include "model/input/tokenized_batch.h"

#include <algorithm>

namespace relucent {

void TokenizedBatch::add(std::span<const std::int32_t> pieces, std::span<const std::int32_t> end,
                         std::size_t document) {
  sequences_.push_back({ids_.size(), pieces.size() + end.size(), document});
  ids_.insert(ids_.end(), pieces.begin(), pieces.end());
  ids_.insert(ids_.end(), end.begin(), end.end());
}

std::vector<std::span<const std::int32_t>> TokenizedBatch::sequences() const {
  std::vector<std::span<const std::int32_t>> spans;
  spans.reserve(sequences_.size());
  for (const Sequence& sequence : sequences_) spans.push_back(std::span(ids_).subspan(sequence.begin, sequence.size));
  return spans;
}

void TokenizedBatch::combine(std::span<const float> logits, LongDocuments mode, std::span<PairScore> documents) const {
  for (std::size_t i = 0; i < sequences_.size();) {
    const std::size_t document = sequences_[i].document;
    double sum = logits[i];
    float greatest = logits[i];
    for (++i; i < sequences_.size() && sequences_[i].document == document; ++i) {
      sum += logits[i];
      greatest = std::max(greatest, logits[i]);
    }
    documents[document].logit = mode == LongDocuments::sump ? static_cast<float>(sum) : greatest;
  }
}

}  // namespace relucent
