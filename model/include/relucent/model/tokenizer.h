#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/export.h"
#include "relucent/stop.h"

namespace relucent {

/// Text to the ids of a vocabulary. Immutable, thread-safe.
class RELUCENT_API Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the ids of `text` (UTF-8; invalid bytes count as U+FFFD), without special tokens, but at most
  /// `limit` of them: what lies behind is not looked at. Returns whether there was more. Looks at the clock every few
  /// kilobytes: throws Error `deadline` or `interrupted` when `stop` is due, and what is in `ids` then means nothing.
  virtual bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
                      const StopSignal& stop) const = 0;
  bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids) const {
    return encode(text, limit, ids, StopSignal());
  }

  virtual std::int32_t cls_id() const noexcept = 0;
  virtual std::int32_t sep_id() const noexcept = 0;
  virtual std::int32_t vocabulary_size() const noexcept = 0;

  /// A hash of all that the ids of a text depend on: two tokenizers with the same one give the same ids. Never 0.
  virtual std::uint64_t fingerprint() const noexcept = 0;

  /// For people: "WordPiece, 30522 entries, lower-cased (vocab.txt)".
  virtual std::string summary() const = 0;
};

/// A checkpoint's tokenizer by itself, for making ids before there is a query.
struct CheckpointTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int32_t max_positions = 0;  ///< of the position table: no input of the model is longer
};

/// Reads config.json and the tokenizer's files of a checkpoint folder, not its weights. Throws Error as
/// CrossEncoder::load does.
RELUCENT_API CheckpointTokenizer load_checkpoint_tokenizer(const std::filesystem::path& folder);

}  // namespace relucent
