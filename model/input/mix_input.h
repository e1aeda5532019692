#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/families/family.h"
#include "relucent/kernels/backend.h"
#include "relucent/model/tokenizer.h"
#include "relucent/stop.h"

namespace relucent {

/// Texts as a MixEncoder's input: [CLS] words [SEP], with special tokens in the place of a candidate's [CLS] if the
/// model has any. Immutable; must outlive its segments.
class MixInput {
 public:
  MixInput(const FamilyConfiguration& configuration, const Tokenizer& tokenizer);

  /// The most words of a query and of a candidate.
  std::size_t query_words() const noexcept { return words(form_.query_max_length); }
  std::size_t candidate_words() const noexcept { return words(form_.candidate_max_length); }
  std::int32_t candidate_max_length() const noexcept { return form_.candidate_max_length; }

  /// The ids of an input with these words.
  std::vector<std::int32_t> query(std::span<const std::int32_t> words) const;
  std::vector<std::int32_t> candidate(std::span<const std::int32_t> words) const;

  /// An input's ids as a segment of kQuery or kDocument.
  Segment segment(std::int32_t group, std::span<const std::int32_t> ids) const;
  /// A context's states as a segment.
  Segment context(std::span<const float> states) const;

  std::size_t context_tokens() const noexcept { return context_tokens_; }

 private:
  static std::size_t words(std::int32_t length) { return static_cast<std::size_t>(length) - 2; }

  MixForm form_;
  std::size_t context_tokens_;
  std::vector<std::int32_t> query_start_, candidate_start_, end_, positions_;
};

}  // namespace relucent
