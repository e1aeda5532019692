#include "model/input/mix_input.h"

#include <numeric>

namespace relucent {
namespace {

std::vector<std::int32_t> joined(std::span<const std::int32_t> start, std::span<const std::int32_t> words,
                                 std::span<const std::int32_t> end) {
  std::vector<std::int32_t> ids(start.begin(), start.end());
  ids.insert(ids.end(), words.begin(), words.end());
  ids.insert(ids.end(), end.begin(), end.end());
  return ids;
}

}  // namespace

MixInput::MixInput(const FamilyConfiguration& configuration, const Tokenizer& tokenizer)
    : form_(*configuration.mix),
      context_tokens_(static_cast<std::size_t>(configuration.description.groups[kContext].derived->tokens)),
      query_start_(tokenizer.pair_template().before),
      candidate_start_(query_start_),
      end_(tokenizer.pair_template().after),
      positions_(static_cast<std::size_t>(configuration.description.max_positions)) {
  if (configuration.special_ids > 0) {
    candidate_start_.resize(static_cast<std::size_t>(configuration.special_ids));
    std::iota(candidate_start_.begin(), candidate_start_.end(),
              configuration.description.vocabulary_size - configuration.special_ids);
  }
  std::iota(positions_.begin(), positions_.end(), 0);
}

std::vector<std::int32_t> MixInput::query(std::span<const std::int32_t> words) const {
  return joined(query_start_, words, end_);
}

std::vector<std::int32_t> MixInput::candidate(std::span<const std::int32_t> words) const {
  return joined(candidate_start_, words, end_);
}

Segment MixInput::segment(std::int32_t group, std::span<const std::int32_t> ids) const {
  return {group, ids, std::span(positions_).first(ids.size())};
}

Segment MixInput::context(std::span<const float> states) const {
  return {kContext, {}, std::span(positions_).first(context_tokens_), 0, states};
}

}  // namespace relucent
