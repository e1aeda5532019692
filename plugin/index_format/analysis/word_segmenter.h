#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace relucent::analysis {

/// A word's place in a text, in UTF-16 units, end exclusive.
struct WordSpan {
  std::size_t start = 0, end = 0;
};

/// A word's script, as far as the rules of CJK need it.
enum class WordKind : std::uint8_t { other, hangul, katakana, han, hiragana };

/// Lucene's limit, in UTF-16 units; longer words are split.
inline constexpr std::size_t kMaxWord = 255;

/// Cuts text into words as Java Lucene 8's StandardTokenizer does, including the 255-unit limit. One object per thread.
class WordSegmenter {
 public:
  /// Throws Error `internal` if ICU rejects the rules.
  WordSegmenter();
  ~WordSegmenter();
  WordSegmenter(WordSegmenter&&) noexcept;

  /// Appends the words of `text` in order.
  void segment(std::u16string_view text, std::vector<WordSpan>& words);
  /// The same, and the kind of each word.
  void segment(std::u16string_view text, std::vector<WordSpan>& words, std::vector<WordKind>& kinds);
  /// The same with ICU alone, without the shortcut for ASCII; tests compare the two.
  void segment_by_rules(std::u16string_view text, std::vector<WordSpan>& words);

 private:
  struct Rules;
  std::unique_ptr<Rules> rules_;
  std::vector<WordKind>* kinds_ = nullptr;  ///< of the words, if they are wanted
};

}  // namespace relucent::analysis
