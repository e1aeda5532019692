#include "tokenizer/wordpiece.h"

#include <array>
#include <cstddef>

#include "tokenizer/utf8.h"

namespace relucent {
namespace {

constexpr std::size_t longest_word = 100;  // characters; a longer word is unknown
constexpr std::string_view continuation_prefix = "##";

}  // namespace

/// The word being read: normalized, as UTF-8. Characters beyond the longest word are only counted.
class WordPieceTokenizer::Word {
 public:
  void add(char32_t c) noexcept {
    if (characters_++ < longest_word) end_ = append_utf8(c, end_);
  }
  bool empty() const noexcept { return characters_ == 0; }
  bool too_long() const noexcept { return characters_ > longest_word; }
  std::string_view text() const noexcept {
    return {bytes_.data(), static_cast<std::size_t>(end_ - bytes_.data())};
  }
  void clear() noexcept {
    end_ = bytes_.data();
    characters_ = 0;
  }

 private:
  std::array<char, 4 * longest_word> bytes_;
  char* end_ = bytes_.data();
  std::size_t characters_ = 0;
};

WordPieceTokenizer::WordPieceTokenizer(WordPieceVocabulary vocabulary)
    : unicode_(UnicodeTable::instance()),
      trie_({vocabulary.entries.begin(), vocabulary.entries.end()}),
      continuation_(trie_.descend(VocabularyTrie::root, continuation_prefix)),
      cls_(vocabulary.cls),
      sep_(vocabulary.sep),
      unknown_(vocabulary.unknown),
      size_(static_cast<std::int32_t>(vocabulary.entries.size())),
      source_(std::move(vocabulary.source)) {}

/// Greedy longest match; a word that cannot be matched whole is one unknown piece.
void WordPieceTokenizer::flush(Word& word, std::vector<std::int32_t>& ids) const {
  if (word.empty()) return;
  const std::string_view text = word.text();
  const std::size_t before = ids.size();
  bool known = !word.too_long();
  for (std::size_t begin = 0; known && begin < text.size();) {
    std::uint32_t node = begin == 0 ? VocabularyTrie::root : continuation_;
    std::int32_t best = -1;
    std::size_t best_end = begin;
    for (std::size_t i = begin; i < text.size() && node != VocabularyTrie::none;) {
      node = trie_.child(node, text[i++]);
      if (node == VocabularyTrie::none) break;
      if (trie_.id(node) >= 0) {
        best = trie_.id(node);
        best_end = i;
      }
    }
    known = best >= 0;
    if (known) ids.push_back(best);
    begin = best_end;
  }
  if (!known) {
    ids.resize(before);
    ids.push_back(unknown_);
  }
  word.clear();
}

/// Everything but a letter.
void WordPieceTokenizer::add_other(char32_t c, CharacterAction action, Word& word,
                                   std::vector<std::int32_t>& ids) const {
  switch (action.kind) {
    case CharacterKind::letter:
      word.add(action.value);
      return;
    case CharacterKind::drop:
      return;
    case CharacterKind::space:
      flush(word, ids);
      return;
    case CharacterKind::alone:
      flush(word, ids);
      word.add(action.value);
      flush(word, ids);
      return;
    case CharacterKind::sequence: {
      std::array<char32_t, 3> storage;
      for (const char32_t part : unicode_.sequence(c, action, storage)) {
        // Parts are kept as they are; only where words end is still to be seen.
        const CharacterKind kind = unicode_.look_up(part).kind;
        if (kind == CharacterKind::space || kind == CharacterKind::alone) {
          add_other(part, {kind, part}, word, ids);
        } else {
          word.add(part);
        }
      }
      return;
    }
  }
}

bool WordPieceTokenizer::encode(std::string_view text, std::size_t limit,
                                std::vector<std::int32_t>& ids) const {
  const std::size_t most = ids.size() + limit;
  Word word;
  for (std::size_t at = 0; at < text.size() && ids.size() <= most;) {
    const char32_t c = next_code_point(text, at);
    const CharacterAction action = unicode_.look_up(c);
    if (action.kind == CharacterKind::letter) {
      word.add(action.value);
    } else {
      add_other(c, action, word, ids);
    }
  }
  flush(word, ids);
  if (ids.size() <= most) return false;
  ids.resize(most);
  return true;
}

std::string WordPieceTokenizer::summary() const {
  return "WordPiece, " + std::to_string(size_) + " entries, lower-cased (" + source_ + ")";
}

}  // namespace relucent
