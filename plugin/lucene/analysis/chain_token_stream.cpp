#include "plugin/lucene/analysis/chain_token_stream.h"

#include <OffsetAttribute.h>
#include <PositionIncrementAttribute.h>
#include <TermAttribute.h>
#include <unicode/utf16.h>

#include <algorithm>

#include "plugin/index_format/analysis/languages/language_chain.h"
#include "plugin/index_format/analysis/utf16.h"

namespace relucent {

ChainTokenStream::ChainTokenStream(AnalyzerKind language) : chain_(analysis::make_chain(language)) {
  term_ = addAttribute<Lucene::TermAttribute>();
  position_ = addAttribute<Lucene::PositionIncrementAttribute>();
  offset_ = addAttribute<Lucene::OffsetAttribute>();
}

void ChainTokenStream::set_text(std::string_view utf8) {
  units_.clear();
  analysis::append_utf16(utf8, units_);
  start();
}

void ChainTokenStream::set_text(const wchar_t* text, std::size_t size) {
  units_.clear();
  units_.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto c = static_cast<UChar32>(static_cast<std::uint32_t>(text[i]));
    if (c < 0 || c > 0x10FFFF || U_IS_SURROGATE(c)) c = 0xFFFD;
    if (c <= 0xFFFF) {
      units_.push_back(static_cast<char16_t>(c));
    } else {
      units_.push_back(U16_LEAD(c));
      units_.push_back(U16_TRAIL(c));
    }
  }
  start();
}

void ChainTokenStream::start() {
  pairs_ = std::any_of(units_.begin(), units_.end(), [](char16_t unit) { return U16_IS_LEAD(unit); });
  chain_->reset(units_);
  counted_units_ = counted_points_ = 0;
}

void ChainTokenStream::reset() {
  counted_units_ = counted_points_ = 0;
  chain_->rewind();
}

std::int32_t ChainTokenStream::point_of(std::size_t unit) {
  if (!pairs_) return static_cast<std::int32_t>(unit);
  if (unit < counted_units_) counted_units_ = counted_points_ = 0;
  for (; counted_units_ < unit; ++counted_units_) counted_points_ += U16_IS_TRAIL(units_[counted_units_]) ? 0 : 1;
  return static_cast<std::int32_t>(counted_points_);
}

bool ChainTokenStream::incrementToken() {
  clearAttributes();
  analysis::ChainToken token;
  if (!chain_->next(token)) return false;
  buffer_.clear();
  for (std::size_t i = 0; i < token.term.size();) {
    UChar32 c;
    U16_NEXT(token.term.data(), i, token.term.size(), c);
    buffer_.push_back(static_cast<wchar_t>(c));
  }
  term_->setTermBuffer(buffer_.data(), 0, static_cast<std::int32_t>(buffer_.size()));
  position_->setPositionIncrement(token.position_increment);
  const std::int32_t first = point_of(token.start);
  offset_->setOffset(first, point_of(token.end));
  return true;
}

void ChainTokenStream::end() {
  const std::int32_t last = point_of(units_.size());
  offset_->setOffset(last, last);
}

}  // namespace relucent
