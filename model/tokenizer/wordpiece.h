#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/unicode_table.h"
#include "model/tokenizer/word_table.h"
#include "model/tokenizer/wordpiece_model.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// A WordPiece vocabulary and its source.
struct WordPieceVocabulary {
  std::vector<std::string> entries;  ///< by id; an empty one never matches a text
  std::int32_t cls = -1, sep = -1;   ///< -1: it has no template for pairs
  std::int32_t unknown = -1;
  std::string source;                                           ///< the file's name
  std::optional<std::int32_t> sentence = {}, interaction = {};  ///< see PairTemplate
  std::map<std::string, std::int32_t, std::less<>> added = {};  ///< further tokens, which never match a text
};

/// Code points [begin, end) of a text, counted from 0; a malformed sequence counts as one.
struct CodePoints {
  std::size_t begin = 0, end = 0;

  friend constexpr bool operator==(const CodePoints&, const CodePoints&) = default;
};

/// BERT's uncased WordPiece: the same ids as Hugging Face's tokenizer for every string.
class WordPieceTokenizer final : public Tokenizer {
 public:
  /// The caller has checked `vocabulary`: the ids are entries, the total size is at most
  /// VocabularyTrie::kMaxBytes.
  explicit WordPieceTokenizer(WordPieceVocabulary vocabulary);

  using Tokenizer::encode;
  bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
              const StopSignal& stop) const override;
  /// The same, and appends each piece's place: from the first to one past the last code point that left a character in
  /// the piece; of an unknown piece its whole word.
  bool encode_with_places(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
                          std::vector<CodePoints>& places, const StopSignal& stop = {}) const;
  const PairTemplate& pair_template() const noexcept override { return pair_; }
  std::optional<std::int32_t> token_id(std::string_view name) const override;
  std::int32_t vocabulary_size() const noexcept override { return size_; }
  std::uint64_t fingerprint() const noexcept override { return fingerprint_; }
  std::string summary() const override;

 private:
  class Word;
  class PlacedWord;

  std::size_t add_plain_words(std::string_view text, std::size_t at, std::size_t most,
                              std::vector<std::int32_t>& ids) const;
  template <typename AnyWord>
  void flush(AnyWord& word, std::vector<std::int32_t>& ids) const;
  template <typename AnyWord>
  void add_other(char32_t c, CharacterAction action, AnyWord& word, std::vector<std::int32_t>& ids) const;

  const UnicodeTable& unicode_;
  WordPieceModel model_;
  WordTable words_;
  PairTemplate pair_;
  std::map<std::string, std::int32_t, std::less<>> added_;
  std::int32_t size_;
  std::uint64_t fingerprint_;
  std::string source_;

  static constexpr std::int32_t kAddsNothing = -1, kNoWordEnd = -2;
  /// By byte: the id of an ASCII punctuation mark; kAddsNothing for white space; kNoWordEnd for others.
  std::array<std::int32_t, 256> word_ends_;
};

}  // namespace relucent
