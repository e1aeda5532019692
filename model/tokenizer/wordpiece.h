#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode_table.h"
#include "tokenizer/vocabulary_trie.h"

namespace relucent {

/// A WordPiece vocabulary and where it came from.
struct WordPieceVocabulary {
  std::vector<std::string> entries;  ///< by id
  std::int32_t cls = -1, sep = -1, unknown = -1;
  std::string source;  ///< the file's name
};

/// BERT's WordPiece, uncased: the ids of Hugging Face's tokenizer on every string. Special-token strings in a
/// text
/// ("[SEP]") are text.
class WordPieceTokenizer final : public Tokenizer {
 public:
  /// `vocabulary` is checked: the three ids are entries, the bytes at most VocabularyTrie::most_bytes.
  explicit WordPieceTokenizer(WordPieceVocabulary vocabulary);

  bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids) const override;
  std::int32_t cls_id() const noexcept override { return cls_; }
  std::int32_t sep_id() const noexcept override { return sep_; }
  std::int32_t vocabulary_size() const noexcept override { return size_; }
  std::string summary() const override;

 private:
  class Word;

  void flush(Word& word, std::vector<std::int32_t>& ids) const;
  void add_other(char32_t c, CharacterAction action, Word& word, std::vector<std::int32_t>& ids) const;

  const UnicodeTable& unicode_;
  VocabularyTrie trie_;
  std::uint32_t continuation_;  // the node of "##"
  std::int32_t cls_, sep_, unknown_, size_;
  std::string source_;
};

}  // namespace relucent
