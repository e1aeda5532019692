#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary_trie.h"

namespace relucent {

/// WordPiece: greedy longest match; a word that cannot be matched whole, or is too long, is one unknown piece.
class WordPieceModel final : public TokenModel {
 public:
  /// The total size of `entries` is at most VocabularyTrie::kMaxBytes; `unknown` is an id.
  WordPieceModel(const VocabularyEntries& entries, std::int32_t unknown, std::string_view continuation_prefix,
                 std::size_t max_characters);

  void encode(std::string_view word, std::vector<std::int32_t>& ids) const override;
  std::int32_t find(std::string_view entry) const noexcept override { return trie_.find(entry); }
  /// The same without counting the characters. Replaces `ends`, if given, with where each piece ends in the word, or
  /// with nothing if the word is unknown.
  void split(std::string_view word, std::vector<std::int32_t>& ids, std::vector<std::size_t>* ends = nullptr) const;

  const VocabularyTrie& trie() const noexcept { return trie_; }
  std::int32_t unknown() const noexcept { return unknown_; }

 private:
  VocabularyTrie trie_;
  std::uint32_t continuation_;  // the node of the continuation prefix
  std::int32_t unknown_;
  std::size_t max_characters_;
};

}  // namespace relucent
