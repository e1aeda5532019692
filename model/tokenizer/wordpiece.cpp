#include "model/tokenizer/wordpiece.h"

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"
#include "model/tokenizer/fingerprint.h"
#include "model/tokenizer/text_cuts.h"

namespace relucent {
namespace {

constexpr std::size_t kMaxWordLength = 100;           // characters; a longer word is unknown
constexpr std::size_t kBytesBetweenLooks = 64 << 10;  // well below a millisecond
constexpr std::string_view kContinuationPrefix = "##";

/// Change this whenever the same vocabulary no longer gives the same ids.
constexpr std::string_view kAlgorithm = "WordPiece uncased 1";

/// Fingerprint of everything that determines the ids: the algorithm, the unknown entry, and the entries in order.
std::uint64_t fingerprint_of(const WordPieceVocabulary& vocabulary) {
  Fingerprint fingerprint;
  fingerprint.add(kAlgorithm).add(std::to_string(vocabulary.unknown));
  for (const std::string& entry : vocabulary.entries) fingerprint.add(entry);
  return fingerprint.value();
}

/// The entries as in the trie: if two ids have the same text, both tables find the same one.
WordTable make_word_table(const std::vector<std::string>& entries, const VocabularyTrie& trie) {
  std::vector<WordTable::Entry> words;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (trie.id(trie.descend(VocabularyTrie::kRoot, entries[i])) == id) words.push_back({entries[i], id});
  }
  return WordTable(words);
}

}  // namespace

/// The current word: normalized, as UTF-8. Characters beyond the maximum word length are only counted.
class WordPieceTokenizer::Word {
 public:
  void add(char32_t c) noexcept {
    if (characters_++ < kMaxWordLength) end_ = append_utf8(c, end_);
  }
  bool empty() const noexcept { return characters_ == 0; }
  bool too_long() const noexcept { return characters_ > kMaxWordLength; }
  std::string_view text() const noexcept { return {bytes_.data(), static_cast<std::size_t>(end_ - bytes_.data())}; }
  /// Nobody asks where the pieces end.
  static constexpr std::vector<std::size_t>* ends() noexcept { return nullptr; }
  void finish() noexcept {
    end_ = bytes_.data();
    characters_ = 0;
  }

 private:
  std::array<char, 4 * kMaxWordLength> bytes_;
  char* end_ = bytes_.data();
  std::size_t characters_ = 0;
};

/// A word whose characters remember which code point of the text they come from.
class WordPieceTokenizer::PlacedWord {
 public:
  explicit PlacedWord(std::vector<CodePoints>& places) : places_(places) {}

  /// The code points that follow come from this one of the text.
  void set_place(std::size_t place) noexcept { place_ = place; }
  void add(char32_t c) {
    if (characters_ == 0) first_ = place_;
    last_ = place_;
    if (characters_++ < kMaxWordLength) {
      append_utf8(c, text_);
      origins_.resize(text_.size(), place_);
    }
  }
  bool empty() const noexcept { return characters_ == 0; }
  bool too_long() const noexcept { return characters_ > kMaxWordLength; }
  std::string_view text() const noexcept { return text_; }
  /// Where the pieces end; none of an unknown word.
  std::vector<std::size_t>* ends() noexcept { return &ends_; }

  /// Writes the places of the word's pieces and starts the next word.
  void finish() {
    if (ends_.empty()) places_.push_back({first_, last_ + 1});
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      places_.push_back({origins_[begin], origins_[end - 1] + 1});
      begin = end;
    }
    text_.clear();
    origins_.clear();
    ends_.clear();
    characters_ = 0;
  }

 private:
  std::vector<CodePoints>& places_;
  std::string text_;
  std::vector<std::size_t> origins_, ends_;  // origins: of each byte
  std::size_t place_ = 0, first_ = 0, last_ = 0, characters_ = 0;
};

WordPieceTokenizer::WordPieceTokenizer(WordPieceVocabulary vocabulary)
    : unicode_(UnicodeTable::instance()),
      model_(vocabulary.entries, vocabulary.unknown, kContinuationPrefix, kMaxWordLength),
      words_(make_word_table(vocabulary.entries, model_.trie())),
      pair_(vocabulary.cls < 0 ? PairTemplate()
                               : PairTemplate{{vocabulary.cls},
                                              {vocabulary.sep},
                                              {vocabulary.sep},
                                              vocabulary.sentence,
                                              vocabulary.interaction}),
      added_(std::move(vocabulary.added)),
      size_(static_cast<std::int32_t>(vocabulary.entries.size())),
      fingerprint_(fingerprint_of(vocabulary)),
      source_(std::move(vocabulary.source)) {
  word_ends_.fill(kNoWordEnd);
  for (char32_t c = 0; c < 0x80; ++c) {
    const CharacterAction action = unicode_.look_up(c);
    if (action.kind == CharacterKind::space) word_ends_[c] = kAddsNothing;
    if (action.kind != CharacterKind::alone) continue;
    Word word;
    std::vector<std::int32_t> ids;
    add_other(c, action, word, ids);
    word_ends_[c] = ids.front();
  }
}

std::optional<std::int32_t> WordPieceTokenizer::token_id(std::string_view name) const {
  if (const auto added = added_.find(name); added != added_.end()) return added->second;
  const std::int32_t id = model_.find(name);
  return id >= 0 ? std::optional(id) : std::nullopt;
}

template <typename AnyWord>
void WordPieceTokenizer::flush(AnyWord& word, std::vector<std::int32_t>& ids) const {
  if (word.empty()) return;
  if (word.too_long()) {
    ids.push_back(model_.unknown());
  } else {
    model_.split(word.text(), ids, word.ends());
  }
  word.finish();
}

/// Handles everything but letters.
template <typename AnyWord>
void WordPieceTokenizer::add_other(char32_t c, CharacterAction action, AnyWord& word,
                                   std::vector<std::int32_t>& ids) const {
  switch (action.kind) {
    case CharacterKind::letter: word.add(action.value); return;
    case CharacterKind::drop: return;
    case CharacterKind::space: flush(word, ids); return;
    case CharacterKind::alone:
      flush(word, ids);
      word.add(action.value);
      flush(word, ids);
      return;
    case CharacterKind::sequence: {
      std::array<char32_t, 3> storage;
      for (const char32_t part : unicode_.sequence(c, action, storage)) {
        // Parts are kept as they are; only word boundaries remain to be found.
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

/// Fast path for short words of ASCII letters and digits that end at white space or punctuation, nearly all words of an
/// English text. Starts at `text[at]` and returns where it stopped: before a word of another kind or near the end.
std::size_t WordPieceTokenizer::add_plain_words(std::string_view text, std::size_t at, std::size_t most,
                                                std::vector<std::int32_t>& ids) const {
  while (at + ShortWord::kMaxBytes < text.size() && ids.size() <= most) {
    std::size_t size = 0;
    const ShortWord word = ShortWord::lower_cased(text.data() + at, size);
    const std::int32_t end = word_ends_[static_cast<std::uint8_t>(text[at + size])];
    if (end == kNoWordEnd) return at;
    if (size > 0) {
      const std::int32_t id = words_.find(word);
      if (id >= 0) {
        ids.push_back(id);
      } else {
        const auto bytes = word.bytes();
        model_.split({bytes.data(), size}, ids);
      }
    }
    if (end != kAddsNothing) ids.push_back(end);
    at += size + 1;
  }
  return at;
}

bool WordPieceTokenizer::encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
                                const StopSignal& stop) const {
  const std::size_t most = most_ids(ids.size(), limit);
  Word word;
  std::size_t look_at_clock = kBytesBetweenLooks;
  for (std::size_t at = 0; ids.size() <= most;) {
    if (at >= look_at_clock) {
      stop.throw_if_due("tokenizing the documents");
      look_at_clock = at + kBytesBetweenLooks;
    }
    if (word.empty()) at = add_plain_words(text.substr(0, look_at_clock + ShortWord::kMaxBytes), at, most, ids);
    if (at == text.size()) break;
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

bool WordPieceTokenizer::encode_with_places(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
                                            std::vector<CodePoints>& places, const StopSignal& stop) const {
  const std::size_t most = most_ids(ids.size(), limit);
  PlacedWord word(places);
  std::size_t place = 0;
  for (std::size_t at = 0; at < text.size() && ids.size() <= most; ++place) {
    if (place % kBytesBetweenLooks == 0) stop.throw_if_due("tokenizing the documents");
    const char32_t c = next_code_point(text, at);
    const CharacterAction action = unicode_.look_up(c);
    word.set_place(place);
    if (action.kind == CharacterKind::letter) {
      word.add(action.value);
    } else {
      add_other(c, action, word, ids);
    }
  }
  flush(word, ids);
  if (ids.size() <= most) return false;
  places.resize(places.size() - (ids.size() - most));
  ids.resize(most);
  return true;
}

std::string WordPieceTokenizer::summary() const {
  return fmt::format("WordPiece, {} entries, lower-cased ({})", size_, source_);
}

}  // namespace relucent
