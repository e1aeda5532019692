#include "model/tokenizer/piece_places.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "model/tokenizer/character_table.h"
#include "model/tokenizer/text_cuts.h"

namespace relucent {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;
constexpr std::size_t kBlock = 64;          // bytes that are searched for a place one by one
constexpr std::size_t kFirstView = 256;     // bytes in which a block's end is looked for,
constexpr std::size_t kLargestView = 1024;  // at first and at last
constexpr std::size_t kLongestBlock = 4096;
constexpr std::size_t kLongestWord = 64;  // bytes

bool is_boundary(std::string_view text, std::size_t at) { return at >= text.size() || !is_utf8_continuation(text[at]); }

std::size_t next_boundary(std::string_view text, std::size_t at) {
  for (++at; !is_boundary(text, at);) ++at;
  return std::min(at, text.size());
}

std::size_t previous_boundary(std::string_view text, std::size_t at) {
  for (--at; at > 0 && !is_boundary(text, at);) --at;
  return at;
}

TextRange without_white_space(std::string_view text, TextRange range) {
  while (range.begin < range.end) {
    const DecodedCodePoint first = decode_utf8(text, range.begin);
    if (!is_white_space(first.value)) break;
    range.begin += first.bytes;
  }
  while (range.end > range.begin) {
    const std::size_t last = previous_boundary(text, range.end);
    if (!is_white_space(decode_utf8(text, last).value)) break;
    range.end = last;
  }
  return range;
}

/// A text with the calls that all searches need.
class TokenizedText {
 public:
  TokenizedText(const Tokenizer& tokenizer, std::string_view text, const StopSignal& stop)
      : tokenizer_(tokenizer), text_(text), stop_(stop) {}

  std::string_view text() const { return text_; }
  void look_at_clock() const { stop_.throw_if_due("finding the best passages"); }
  void encode(std::size_t begin, std::size_t end, Ids& ids, std::size_t limit = kNoLimit) const {
    ids.clear();
    tokenizer_.encode(text_.substr(begin, end - begin), limit, ids, stop_);
  }

 private:
  const Tokenizer& tokenizer_;
  std::string_view text_;
  const StopSignal& stop_;
};

/// Reads a text in blocks that may be tokenized one by one, up to the block with a wanted piece.
class BlockReader {
 public:
  /// @param pieces  how many of the text's pieces matter
  BlockReader(const TokenizedText& text, std::size_t pieces) : text_(text) {
    text_.encode(0, text_.text().size(), expected_, pieces);
  }

  /// The last place before piece number `piece` at which the text may be cut; nullopt if the text has no blocks.
  std::optional<std::size_t> begin_of(std::size_t piece) {
    while (before_ + ids_.size() <= piece && end_ < text_.text().size()) {
      if (!advance()) return std::nullopt;
    }
    const std::size_t wanted = piece - before_, after = first_with(wanted);
    if (left_.size() == wanted) return with_marks(after);
    for (std::size_t at = after; at > begin_;) {
      at = previous_boundary(text_.text(), at);
      if (at > begin_ && may_cut(at) && cuts(begin_, at, end_, ids_) && left_.size() <= wanted) return at;
    }
    return begin_;
  }

  /// The first place after `pieces` pieces at which the text may be cut; nullopt if the text has no blocks.
  std::optional<std::size_t> end_of(std::size_t pieces) {
    while (before_ + ids_.size() < pieces && end_ < text_.text().size()) {
      if (!advance()) return std::nullopt;
    }
    return with_marks(first_with(pieces - before_));
  }

 private:
  /// The block's first place with at least so many of its pieces before it. left_ are those pieces.
  std::size_t first_with(std::size_t pieces) {
    left_.clear();
    if (pieces == 0) return begin_;
    constexpr std::size_t kFew = 8;
    std::size_t low = begin_, high = end_;
    while (high - low > kFew) {
      std::size_t middle = low + (high - low) / 2;
      while (!is_boundary(text_.text(), middle)) ++middle;
      if (middle >= high) break;
      text_.encode(begin_, middle, left_);
      (left_.size() < pieces ? low : high) = middle;
    }
    for (std::size_t at = low; at < end_;) {
      at = next_boundary(text_.text(), at);
      if (may_cut(at) && cuts(begin_, at, end_, ids_) && left_.size() >= pieces) return at;
    }
    left_ = ids_;
    return end_;
  }

  /// The place after the characters from `at` on that give no pieces but belong to the word, such as accents.
  std::size_t with_marks(std::size_t at) {
    const std::size_t pieces = left_.size();
    while (at < end_ && !is_white_space(decode_utf8(text_.text(), at).value)) {
      const std::size_t next = next_boundary(text_.text(), at);
      if (!cuts(begin_, next, end_, ids_) || left_.size() != pieces) break;
      at = next;
    }
    return at;
  }

  /// Whether to try this place in the block; in a large one, with a very long word, only those next to spaces.
  bool may_cut(std::size_t at) const {
    const std::string_view text = text_.text();
    return end_ - begin_ <= kLargestView || text[at - 1] == ' ' || (at < text.size() && text[at] == ' ');
  }

  /// Whether the parts of [begin, end) before and after `at` have these ids together. left_ are those of the first.
  bool cuts(std::size_t begin, std::size_t at, std::size_t end, const Ids& ids) {
    text_.encode(begin, at, left_);
    if (left_.size() > ids.size() || !std::equal(left_.begin(), left_.end(), ids.begin())) return false;
    text_.encode(at, end, right_);
    return std::equal(right_.begin(), right_.end(), ids.begin() + static_cast<std::ptrdiff_t>(left_.size()), ids.end());
  }

  /// Reads the next block; false if there is none whose pieces are the text's.
  bool advance() {
    text_.look_at_clock();
    begin_ = end_;
    before_ += ids_.size();
    if (!find_end()) return false;
    text_.encode(begin_, end_, ids_);
    const std::size_t known = std::min(ids_.size(), expected_.size() - std::min(before_, expected_.size()));
    return std::equal(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(known),
                      expected_.begin() + static_cast<std::ptrdiff_t>(std::min(before_, expected_.size())));
  }

  bool find_end() {
    const std::string_view text = text_.text();
    for (std::size_t size = kFirstView; size <= kLargestView; size *= 2) {
      std::size_t view = std::min(begin_ + size, text.size());
      while (!is_boundary(text, view)) ++view;
      end_ = next_cut(text.substr(0, view), begin_, kBlock);
      if (end_ < view || view - begin_ <= 2 * kBlock) return true;
      Ids ids;
      text_.encode(begin_, view, ids);
      for (std::size_t at = begin_ + kBlock; at < begin_ + 2 * kBlock; at = next_boundary(text, at)) {
        if (!is_boundary(text, at) || !cuts(begin_, at, view, ids)) continue;
        end_ = at;
        return true;
      }
      if (view == text.size()) return true;
    }
    end_ = next_cut(text, begin_, kBlock);
    return end_ - begin_ <= kLongestBlock;
  }

  const TokenizedText& text_;
  Ids expected_, ids_, left_, right_;  // ids_: of the block
  std::size_t begin_ = 0, end_ = 0;    // of the block
  std::size_t before_ = 0;             // pieces before it
};

/// The place for a tokenizer that gives other pieces to the parts of a text: by the number of pieces of its beginnings.
class BeginningsReader {
 public:
  explicit BeginningsReader(const TokenizedText& text) : text_(text) {}

  TextRange range(const PieceRange& pieces) {
    const std::string_view text = text_.text();
    std::size_t begin = end_of(pieces.begin + 1), end = end_of(pieces.end);
    if (begin > 0) begin = previous_boundary(text, begin);
    if (const std::size_t blank = text.find_last_of(" \t\r\n", begin); blank == std::string_view::npos) {
      if (begin <= kLongestWord) begin = 0;
    } else if (begin - blank <= kLongestWord) {
      begin = blank;
    }
    do {
      const std::size_t blank = std::min(text.find_first_of(" \t\r\n", end), text.size());
      end = blank - end <= kLongestWord ? blank : end;
      if (count(end, pieces.end) >= pieces.end) break;
      end = next_boundary(text, end);
    } while (end < text.size());
    return {std::min(begin, end), end};
  }

 private:
  std::size_t count(std::size_t end, std::size_t limit) {
    text_.encode(0, end, ids_, limit);
    return ids_.size();
  }

  /// The end of the shortest beginning with so many pieces, supposing that longer ones have more.
  std::size_t end_of(std::size_t pieces) {
    const std::string_view text = text_.text();
    std::size_t low = 0, high = std::min(kBlock, text.size());
    while (high < text.size() && count(high, pieces) < pieces) {
      low = high;
      high = std::min(2 * high, text.size());
    }
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (count(middle, pieces) < pieces ? low : high) = middle;
    }
    while (!is_boundary(text, high)) ++high;
    return high;
  }

  const TokenizedText& text_;
  Ids ids_;
};

}  // namespace

TextRange place_of_pieces(const Tokenizer& tokenizer, std::string_view text, const PieceRange& pieces,
                          const StopSignal& stop) {
  if (pieces.all) return without_white_space(text, {0, text.size()});
  if (pieces.begin >= pieces.end) return {};
  const TokenizedText tokenized(tokenizer, text, stop);
  BlockReader blocks(tokenized, pieces.end);
  if (const auto begin = blocks.begin_of(pieces.begin)) {
    if (const auto end = blocks.end_of(pieces.end)) return without_white_space(text, {*begin, std::max(*begin, *end)});
  }
  return without_white_space(text, BeginningsReader(tokenized).range(pieces));
}

}  // namespace relucent
