#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/export.h"
#include "relucent/stop.h"

namespace relucent {

/// The special tokens of a model's input: `before` query `between` document `after`.
struct PairTemplate {
  std::vector<std::int32_t> before, between, after;
  std::optional<std::int32_t> sentence = {};     ///< [SOS], which stands before each sentence (QDS); if there is one
  std::optional<std::int32_t> interaction = {};  ///< [INT], or else [DOC], of a Set-Encoder; if there is one

  std::size_t size() const noexcept { return before.size() + between.size() + after.size(); }
};

/// Maps text to the ids of a vocabulary. Special tokens in a text ("[SEP]", "</s>") are plain text. Immutable,
/// thread-safe.
class RELUCENT_API Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends at most `limit` ids of `text` (UTF-8; invalid bytes count as U+FFFD), without special tokens, and does not
  /// read much further, unless nothing separates the text's words. Returns whether the text has more. Checks `stop`
  /// every few kilobytes: throws Error `deadline` or `interrupted` when it is due; the contents of `ids` are then
  /// unspecified.
  virtual bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
                      const StopSignal& stop) const = 0;
  bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids) const {
    return encode(text, limit, ids, StopSignal());
  }

  virtual const PairTemplate& pair_template() const noexcept = 0;
  /// The id of a special token that the tokenizer's files add to the vocabulary, such as "<|im_start|>".
  virtual std::optional<std::int32_t> special_token(std::string_view) const { return std::nullopt; }
  /// The id of an entry of the vocabulary, or of a token that the tokenizer's files add, by its name; nullopt also if
  /// the tokenizer does not tell.
  virtual std::optional<std::int32_t> token_id(std::string_view) const { return std::nullopt; }
  /// All ids are less.
  virtual std::int32_t vocabulary_size() const noexcept = 0;

  /// A hash of everything the ids depend on: tokenizers with equal fingerprints produce equal ids. Never 0.
  virtual std::uint64_t fingerprint() const noexcept = 0;

  /// Human-readable: "WordPiece, 30522 entries, lower-cased (vocab.txt)".
  virtual std::string summary() const = 0;
};

/// A checkpoint's tokenizer without its model, for tokenizing at index time.
struct CheckpointTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int32_t max_positions = 0;  ///< the longest possible input
};

/// Reads config.json and the tokenizer files of a checkpoint folder, not its weights. Throws the same Errors as
/// CrossEncoder::load.
RELUCENT_API CheckpointTokenizer load_checkpoint_tokenizer(const std::filesystem::path& folder);

}  // namespace relucent
