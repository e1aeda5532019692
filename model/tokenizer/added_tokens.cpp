#include "model/tokenizer/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "model/tokenizer/character_table.h"

namespace relucent {
namespace {

/// The first code point of a text; a space if it is empty.
char32_t first(std::string_view text) { return text.empty() ? U' ' : decode_utf8(text, 0).value; }

/// The place of the last code point.
std::size_t last_place(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (is_utf8_continuation(text[at])) --at;
  return at;
}

bool is_word(char32_t c) { return CharacterTable::instance().has(c, CharacterTable::word); }

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& contents)
    : tokens_(std::move(tokens)), trie_({contents.begin(), contents.end()}) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = contents[i];
    if (content.empty()) continue;
    begins_[static_cast<std::uint8_t>(content[0])] = true;
    if (tokens_[i].special) continue;
    any_ = true;
    constexpr std::string_view mark = "\xE2\x96\x81";  // U+2581, by which some normalizers replace a space
    const bool spaces = content.size() > 1 && content.find_first_not_of(' ') == std::string::npos;
    const bool blank = content.find(' ') != std::string::npos || content.find(mark) != std::string::npos;
    if ((blank && !spaces) || tokens_[i].rstrip) allows_cuts_ = false;
  }
}

std::vector<AddedTokens::Part> AddedTokens::find_all(std::string_view text) const {
  if (!any_) return text.empty() ? std::vector<Part>() : std::vector<Part>{{{0, text.size()}, -1}};
  std::vector<Part> parts;
  std::size_t done = 0;
  // White space that a token took with it, in which further tokens may begin.
  std::size_t blank_begin = 0, blank_end = 0;
  for (std::size_t at = 0; at < text.size();) {
    // The longest content here.
    std::int32_t found = -1;
    std::size_t found_end = at;
    std::uint32_t node = begins_[static_cast<std::uint8_t>(text[at])] ? VocabularyTrie::kRoot : VocabularyTrie::kNone;
    for (std::size_t end = at; node != VocabularyTrie::kNone && end < text.size();) {
      node = trie_.child(node, text[end++]);
      if (node == VocabularyTrie::kNone || trie_.id(node) < 0) continue;
      found = trie_.id(node);
      found_end = end;
    }
    if (found < 0) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = found_end;
    at = found_end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
    if (token.special) continue;
    if (token.single_word) {
      if (begin > 0 && is_word(decode_utf8(text, last_place(text.substr(0, begin))).value)) continue;
      if (is_word(first(text.substr(end)))) continue;
    }
    if (token.lstrip) {
      while (begin > done) {
        const std::size_t place = last_place(text.substr(0, begin));
        if (place < done || !is_white_space(decode_utf8(text, place).value)) break;
        begin = place;
      }
      begin = std::max(begin, done);
    }
    if (token.rstrip && blank_begin <= end && end < blank_end) {
      end = blank_end;
    } else if (token.rstrip) {
      blank_begin = end;
      for (std::size_t next = end; end < text.size() && is_white_space(next_code_point(text, next));) end = next;
      blank_end = end;
    }
    if (done < begin) parts.push_back({{done, begin}, -1});
    parts.push_back({{begin, end}, token.id});
    done = end;
  }
  if (done < text.size()) parts.push_back({{done, text.size()}, -1});
  return parts;
}

}  // namespace relucent
