#include "model/input/tokenized_batch.h"

#include <algorithm>

namespace relucent {

InputTemplate::InputTemplate(const InputForm& input_form, const Tokenizer& tokenizer)
    : form(input_form),
      cls(tokenizer.cls_id()),
      after_query(static_cast<std::size_t>(form.separators), tokenizer.sep_id()),
      after_document{tokenizer.sep_id()} {}

TokenizedBatch::TokenizedBatch(const InputTemplate& input, std::span<const std::int32_t> query)
    : input_(input), query_pieces_(query.size()), query_(query.begin(), query.end()) {
  query_.insert(query_.end(), input_.after_query.begin(), input_.after_query.end());
  make_positions(tokens_before());
}

void TokenizedBatch::make_positions(std::size_t tokens) {
  while (positions_.size() < tokens) {
    positions_.push_back(input_.form.first_position + static_cast<std::int32_t>(positions_.size()));
  }
}

void TokenizedBatch::add(std::span<const std::int32_t> pieces, std::size_t document) {
  const std::size_t begin = ids_.size();
  ids_.insert(ids_.end(), pieces.begin(), pieces.end());
  ids_.insert(ids_.end(), input_.after_document.begin(), input_.after_document.end());
  candidates_.push_back({begin, ids_.size() - begin, document});
  make_positions(tokens_before() + candidates_.back().size);
}

Segment TokenizedBatch::segment(std::int32_t group, std::span<const std::int32_t> ids, std::size_t first) const {
  return {group, ids, std::span(positions_).subspan(first, ids.size())};
}

std::vector<Segment> TokenizedBatch::shared_segments() const {
  return {segment(kCls, {&input_.cls, 1}, 0), segment(kQuery, query_, 1)};
}

std::vector<Segment> TokenizedBatch::document_segments() const {
  std::vector<Segment> segments;
  segments.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    const auto ids = std::span(ids_).subspan(candidate.begin, candidate.size);
    segments.push_back(segment(kDocument, ids, tokens_before()));
    segments.back().type = input_.form.document_type;
  }
  return segments;
}

void TokenizedBatch::combine(std::span<const float> logits, LongDocuments mode, std::span<PairScore> documents) const {
  for (std::size_t i = 0; i < candidates_.size();) {
    const std::size_t document = candidates_[i].document;
    double sum = logits[i];
    float greatest = logits[i];
    for (++i; i < candidates_.size() && candidates_[i].document == document; ++i) {
      sum += logits[i];
      greatest = std::max(greatest, logits[i]);
    }
    documents[document].logit = mode == LongDocuments::sump ? static_cast<float>(sum) : greatest;
  }
}

}  // namespace relucent
