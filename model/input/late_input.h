#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/family.h"
#include "relucent/kernels/backend.h"
#include "relucent/model/tokenizer.h"
#include "relucent/stop.h"

namespace relucent {

/// Texts as the input of late interaction: [CLS] marker words [SEP], and after a query [MASK] up to its length.
/// Immutable; must outlive its segments, and the tokenizer this.
class LateInput {
 public:
  /// Throws Error naming the folder: `invalid_data` if the tokenizer lacks a token, `unsupported` if special tokens are
  /// not to score.
  LateInput(const FamilyConfiguration& configuration, const Tokenizer& tokenizer, const std::filesystem::path& folder);

  struct Text {
    std::vector<std::int32_t> ids;
    std::size_t expansion = 0;  ///< Segment::expansion
    std::vector<bool> scores;   ///< by token
    bool truncated = false;
  };
  /// Throw Error `deadline` or `interrupted` when `stop` is due.
  Text query(std::string_view text, const StopSignal& stop) const;
  Text document(std::string_view text, const StopSignal& stop) const;

  Segment segment(const Text& text) const;

 private:
  struct Side {
    std::vector<std::int32_t> before;
    std::set<std::int32_t> skipped;
    std::size_t words = 0;
    std::string prompt = {};
  };
  Side side_of(const LateForm::Side& form) const;
  Text read(const Side& side, std::string_view text, const StopSignal& stop) const;
  std::int32_t id_of(const std::string& token) const;

  const Tokenizer& tokenizer_;
  std::filesystem::path folder_;
  LateForm form_;
  std::int32_t cls_ = 0, sep_ = 0, mask_ = 0;
  Side query_, document_;
  std::vector<std::int32_t> positions_;
};

}  // namespace relucent
