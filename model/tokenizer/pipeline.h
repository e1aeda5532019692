#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/token_model.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// The parts of a tokenizer as Hugging Face's tokenizers library combines them.
struct PipelineParts {
  std::vector<AddedToken> added;
  std::unique_ptr<const Normalizer> normalizer;       ///< null: none
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  ///< null: none
  std::unique_ptr<const TokenModel> model;
  PairTemplate pair;
  std::int32_t vocabulary_size = 0;
  std::uint64_t fingerprint = 0;
  std::string summary;
};

/// Added tokens are found in the text, the text between them is normalized, more of them are found in it, and the rest
/// is split into pieces that the model maps to ids.
class PipelineTokenizer final : public Tokenizer {
 public:
  explicit PipelineTokenizer(PipelineParts parts);

  using Tokenizer::encode;
  bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
              const StopSignal& stop) const override;
  const PairTemplate& pair_template() const noexcept override { return parts_.pair; }
  std::optional<std::int32_t> special_token(std::string_view name) const override;
  std::optional<std::int32_t> token_id(std::string_view name) const override;
  std::int32_t vocabulary_size() const noexcept override { return parts_.vocabulary_size; }
  std::uint64_t fingerprint() const noexcept override { return parts_.fingerprint; }
  std::string summary() const override { return parts_.summary; }

 private:
  /// Ids end after `most`, or somewhat later.
  struct Output {
    std::vector<std::int32_t>& ids;
    std::size_t most;
    const StopSignal& stop;
    PatternBudget& budget;
    bool full() const noexcept { return ids.size() > most; }
  };
  void encode_block(std::string_view text, bool from_start, Output& out) const;
  void encode_between(std::string_view text, bool from_start, Output& out) const;
  void encode_pieces(Pieces pieces, Output& out) const;
  AddedTokens added_tokens(bool normalized) const;

  PipelineParts parts_;
  AddedTokens raw_, normalized_;  // looked for before and after the normalizer
  bool may_cut_;
};

}  // namespace relucent
