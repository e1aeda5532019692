// The tokenizer against WordPiece as it is defined: a character at a time, the longest entry by trying all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <unordered_map>

#include "base/utf8.h"
#include "model/tokenizer/vocabulary_file.h"
#include "model/tokenizer/wordpiece.h"

namespace relucent::testing {
namespace {

class PlainWordPiece {
 public:
  explicit PlainWordPiece(const WordPieceVocabulary& vocabulary) : unknown_(vocabulary.unknown) {
    for (std::size_t i = 0; i < vocabulary.entries.size(); ++i) {
      ids_.emplace(vocabulary.entries[i], static_cast<std::int32_t>(i));
    }
  }

  std::vector<std::int32_t> ids(std::string_view text) const {
    std::vector<std::int32_t> ids;
    std::vector<std::string> word;  // its characters
    const auto add = [&](char32_t c, CharacterKind kind) {
      std::array<char, 4> bytes;
      const std::string character(bytes.data(), append_utf8(c, bytes.data()));
      if (kind == CharacterKind::drop) return;
      if (kind != CharacterKind::letter) end_word(word, ids);
      if (kind != CharacterKind::space) word.push_back(character);
      if (kind != CharacterKind::letter) end_word(word, ids);
    };
    for (std::size_t at = 0; at < text.size();) {
      const char32_t c = next_code_point(text, at);
      const CharacterAction action = UnicodeTable::instance().look_up(c);
      if (action.kind != CharacterKind::sequence) {
        add(action.value, action.kind);
        continue;
      }
      std::array<char32_t, 3> storage;
      for (const char32_t part : UnicodeTable::instance().sequence(c, action, storage)) {
        const CharacterKind kind = UnicodeTable::instance().look_up(part).kind;
        const bool ends = kind == CharacterKind::space || kind == CharacterKind::alone;
        add(part, ends ? kind : CharacterKind::letter);
      }
    }
    end_word(word, ids);
    return ids;
  }

 private:
  void end_word(std::vector<std::string>& word, std::vector<std::int32_t>& ids) const {
    if (word.empty()) return;
    std::vector<std::int32_t> pieces;
    for (std::size_t begin = 0, end = 0; begin < word.size() && word.size() <= 100; begin = end) {
      std::int32_t best = -1;
      std::string piece = begin == 0 ? "" : "##";
      for (std::size_t i = begin; i < word.size(); ++i) {
        piece += word[i];
        const auto found = ids_.find(piece);
        if (found == ids_.end()) continue;
        best = found->second;
        end = i + 1;
      }
      if (best < 0) {
        pieces.clear();
        break;
      }
      pieces.push_back(best);
    }
    if (pieces.empty()) pieces.push_back(unknown_);
    ids.insert(ids.end(), pieces.begin(), pieces.end());
    word.clear();
  }

  std::unordered_map<std::string, std::int32_t> ids_;
  std::int32_t unknown_;
};

class Texts {
 public:
  Texts(const WordPieceVocabulary& vocabulary, unsigned seed) : vocabulary_(vocabulary), random_(seed) {}

  std::string next() {
    std::string text;
    for (std::size_t parts = below(60); parts > 0; --parts) text += part();
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  std::string part() {
    static const std::vector<std::string> marks = {" ",
                                                   " ",
                                                   " ",
                                                   " ",
                                                   " ",
                                                   ", ",
                                                   ". ",
                                                   "\n",
                                                   "\t",
                                                   "-",
                                                   "'",
                                                   "\"",
                                                   "#",
                                                   "##",
                                                   "[",
                                                   "_",
                                                   "\x7F",
                                                   "\x01",
                                                   std::string(1, '\0')};
    switch (below(12)) {
      case 0: return std::string(1, static_cast<char>(below(256)));
      case 1: return std::string(1, static_cast<char>(below(128)));
      case 2: return character(below(2) == 0 ? 0x3000 : 0x110000);
      case 3: return std::string(14 + below(5), static_cast<char>('a' + below(26)));  // around the longest short word
      case 4: return std::string(98 + below(5), static_cast<char>('A' + below(26)));  // around the longest word
      case 5:
      case 6:
      case 7: return word();
      default: return marks[below(marks.size())];
    }
  }

  std::string word() {
    std::string word = vocabulary_.entries[below(vocabulary_.entries.size())];
    if (word.starts_with("##")) word.erase(0, 2);
    if (below(4) == 0 && !word.empty() && word[0] >= 'a' && word[0] <= 'z')
      word[0] = static_cast<char>(word[0] - 'a' + 'A');
    return word;
  }

  std::string character(std::size_t end) {
    std::array<char, 4> bytes;
    const auto c = static_cast<char32_t>(below(end));
    if (c >= 0xD800 && c <= 0xDFFF) return "?";
    return {bytes.data(), append_utf8(c, bytes.data())};
  }

  const WordPieceVocabulary& vocabulary_;
  std::mt19937 random_;
};

void expect_same_ids(const WordPieceVocabulary& vocabulary, unsigned seed, int texts) {
  const WordPieceTokenizer tokenizer(vocabulary);
  const PlainWordPiece plain(vocabulary);
  Texts source(vocabulary, seed);
  std::mt19937 random(seed);
  for (int i = 0; i < texts; ++i) {
    const std::string text = source.next();
    std::vector<std::int32_t> expected = plain.ids(text);
    const std::size_t limit = random() % 3 == 0 ? random() % (expected.size() + 2) : text.size() * 3;
    const bool more = expected.size() > limit;
    if (more) expected.resize(limit);
    std::vector<std::int32_t> ids;
    ASSERT_EQ(tokenizer.encode(text, limit, ids), more) << "seed " << seed << " text " << i << " limit " << limit;
    ASSERT_EQ(ids, expected) << "seed " << seed << " text " << i << ": " << ::testing::PrintToString(text);
  }
}

TEST(WordPieceProperty, TheBundledVocabularyGivesWhatTheDefinitionGives) {
  WordPieceVocabulary vocabulary;
  vocabulary.entries = read_vocabulary_lines("model/relucent-minilm-l6-w4/vocab.txt");
  vocabulary.unknown = 100;
  vocabulary.cls = 101;
  vocabulary.sep = 102;
  ASSERT_EQ(vocabulary.entries.at(100), "[UNK]");
  expect_same_ids(vocabulary, 1, 30000);
}

// Few letters, so that words share beginnings; entries of up to 20 bytes, of any bytes, and with zeros.
TEST(WordPieceProperty, AnyVocabularyGivesWhatTheDefinitionGives) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    WordPieceVocabulary vocabulary{{"[UNK]", "[CLS]", "[SEP]"}, 1, 2, 0, "test"};
    const std::size_t size = 3 + random() % 300;
    while (vocabulary.entries.size() < size) {
      std::string entry = random() % 2 == 0 ? "##" : "";
      for (std::size_t length = 1 + random() % 20; length > 0; --length) {
        entry += random() % 40 == 0   ? std::string(1, '\0')
                 : random() % 30 == 0 ? std::string("\xC3\xA6")
                                      : std::string(1, "ab1."[random() % 4]);
      }
      const auto known = std::find(vocabulary.entries.begin(), vocabulary.entries.end(), entry);
      if (known == vocabulary.entries.end()) vocabulary.entries.push_back(entry);
    }
    expect_same_ids(vocabulary, seed, 100);
  }
}

// Words of every length against both ends of a text, where the tokenizer changes its way of reading.
TEST(WordPieceProperty, WordsOfEveryLengthAtEveryDistanceFromTheEnd) {
  WordPieceVocabulary vocabulary{{"[UNK]", "[CLS]", "[SEP]", "##a", "b", "ba", "."}, 1, 2, 0, "test"};
  for (std::size_t length = 1; length <= 20; ++length) vocabulary.entries.emplace_back(length, 'a');
  const WordPieceTokenizer tokenizer(vocabulary);
  const PlainWordPiece plain(vocabulary);
  for (std::size_t length = 0; length <= 40; ++length) {
    for (std::size_t behind = 0; behind <= 40; ++behind) {
      for (const std::string_view mark : {" ", ".", "\x01", "\xC3\xA9", ""}) {
        for (const char letter : {'a', 'A', '1'}) {
          const std::string text = std::string(length, letter) + std::string(mark) + std::string(behind, 'b');
          std::vector<std::int32_t> ids;
          tokenizer.encode(text, 1000, ids);
          ASSERT_EQ(ids, plain.ids(text)) << text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace relucent::testing
