#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tokenizer/component.h"

namespace relucent {

/// Maps a piece of a text to ids. Immutable, thread-safe.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the ids of `piece`: not empty, well-formed UTF-8.
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& ids) const = 0;
  /// The id of an entry, or -1.
  virtual std::int32_t find(std::string_view entry) const noexcept = 0;
};

/// The entries of a vocabulary by id; an id without an entry has an empty one.
using VocabularyEntries = std::vector<std::string>;

/// The largest id of a tokenizer.json.
inline constexpr std::int64_t kMaxTokenId = (1 << 24) - 1;

/// Whether the largest id of `entries` entries may be `id`: ids have gaps, but a few entries take little memory.
inline bool is_plausible_id(std::size_t id, std::size_t entries) { return id < 2 * entries + 65536; }

/// Reads the object "vocab" of a model. Throws Error `invalid_data` naming the file and the place for an invalid id, an
/// id used twice, or an empty entry; `unsupported` if the entries have more than 16 MiB.
VocabularyEntries read_vocabulary(const Component& model);

/// Throws Error `unsupported` if the entries have more than VocabularyTrie::kMaxBytes.
void check_vocabulary_size(const VocabularyEntries& entries, const Component& vocabulary);

/// Readers of the object "model" of a tokenizer.json by its type. They throw Error naming the file and the place.
std::unique_ptr<const TokenModel> read_wordpiece_model(const Component& model, const VocabularyEntries& entries);
std::unique_ptr<const TokenModel> read_bpe_model(const Component& model, const VocabularyEntries& entries);

struct UnigramVocabulary {
  VocabularyEntries entries;
  std::vector<double> scores;
};
UnigramVocabulary read_unigram_vocabulary(const Component& model);
/// Entries whose text is in `special` never match a text.
std::unique_ptr<const TokenModel> read_unigram_model(const Component& model, const UnigramVocabulary& vocabulary,
                                                     const std::vector<std::string>& special);

}  // namespace relucent
