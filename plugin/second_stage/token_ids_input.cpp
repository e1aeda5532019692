#include "plugin/second_stage/token_ids_input.h"

#include <fmt/core.h>

#include <utility>

#include "base/checksum.h"
#include "plugin/index_format/token_ids.h"

namespace relucent {
namespace {

class StoredTokenIds final : public InputSource {
 public:
  StoredTokenIds(std::shared_ptr<const InputIndex> index, const TokenIdsKind& kind)
      : index_(std::move(index)), kind_(kind), stored_(index_->tokenizer()) {}

  std::string stored_field() const override {
    const std::uint64_t wanted = kind_.tokenizer();
    if (wanted == 0) return {};
    const IndexConfig& fields = index_->fields();
    if (fields.fields_read() != std::vector{fields.text_field}) {
      index_->warn(
          "the index's token ids are of one field, but text_fields names others: tokenizing the texts instead");
      return {};
    }
    if (stored_ == wanted) return kTokenIdsField;
    index_->warn(
        fmt::format("the index's token ids are from the tokenizer {}, but the model's is {}: tokenizing the texts "
                    "instead",
                    to_hex(stored_), to_hex(wanted)));
    return {};
  }

  std::optional<std::string> read(const InputDocument& document, const StopSignal&) const override {
    return document.stored ? std::optional<std::string>(*document.stored) : std::nullopt;
  }

 private:
  std::shared_ptr<const InputIndex> index_;
  const TokenIdsKind& kind_;  // of the scorer, which lives longer
  std::uint64_t stored_;
};

}  // namespace

std::shared_ptr<const InputSource> open_token_ids(const TokenIdsKind& kind,
                                                  const std::shared_ptr<const InputIndex>& index) {
  if (!index->has_candidates() || index->tokenizer() == 0) return nullptr;
  return std::make_shared<StoredTokenIds>(index, kind);
}

std::vector<std::optional<TokenIds>> token_ids_of(std::span<const Candidate> candidates) {
  std::vector<std::optional<TokenIds>> all(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (const auto bytes = candidates[i].input(TokenIdsKind::kName)) all[i] = read_token_ids(*bytes);
  }
  return all;
}

}  // namespace relucent
