#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/text_pattern.h"
#include "model/tokenizer/vocabulary_trie.h"

namespace relucent {

/// A token of tokenizer.json's list "added_tokens".
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

/// Finds added tokens in a text as Hugging Face's tokenizers library does, but special ones remain text (its setting
/// encode_special_tokens). Immutable, thread-safe.
class AddedTokens {
 public:
  /// `contents[i]` is the text of `tokens[i]` to look for; empty: never found.
  AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& contents);

  struct Part {
    TextRange range;
    std::int32_t id;  ///< -1: text between tokens
  };
  /// The parts of `text`, in order, none of them empty. (Where tokens that take white space meet, parts may overlap.)
  std::vector<Part> find_all(std::string_view text) const;

  /// Whether no token reaches over a cut (text_cuts.h).
  bool allows_cuts() const noexcept { return allows_cuts_; }

 private:
  std::vector<AddedToken> tokens_;
  VocabularyTrie trie_;
  std::array<bool, 256> begins_{};  // by byte: whether a content begins with it
  bool any_ = false, allows_cuts_ = true;
};

}  // namespace relucent
