#include "model/tokenizer/sentences.h"

#include <unicode/brkiter.h>
#include <unicode/utext.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <limits>
#include <new>

#include "base/require_memory.h"
#include "base/utf8.h"
#include "model/tokenizer/piece_places.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::size_t kView = 32 << 10;
constexpr std::size_t kForRules = std::size_t{64} << 10;  // several times what ICU takes, which crashes without it
constexpr std::size_t kAllPieces = std::numeric_limits<std::size_t>::max() / 2;

void require_success(UErrorCode status) {
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::internal, "finding sentences", u_errorName(status),
                "check that ICU and its data are installed");
  }
}

const icu::BreakIterator& prototype() {
  static const std::unique_ptr<const icu::BreakIterator> rules = [] {
    require_memory(kForRules);
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<const icu::BreakIterator> made(
        icu::BreakIterator::createSentenceInstance(icu::Locale::getRoot(), status));
    require_success(status);
    return made;
  }();
  return *rules;
}

std::unique_ptr<icu::BreakIterator> copy_of_rules() {
  const icu::BreakIterator& rules = prototype();
  require_memory(kForRules);
  std::unique_ptr<icu::BreakIterator> copy(rules.clone());
  if (!copy) throw std::bad_alloc();
  return copy;
}

}  // namespace

/// ICU's rules with the text that they are applied to.
struct SentenceRules {
  std::unique_ptr<icu::BreakIterator> iterator = copy_of_rules();
  UText text = UTEXT_INITIALIZER;

  SentenceRules() = default;
  SentenceRules(const SentenceRules&) = delete;
  SentenceRules& operator=(const SentenceRules&) = delete;
  ~SentenceRules() { utext_close(&text); }
};

struct SentenceReader::Rules : SentenceRules {};

SentenceReader::SentenceReader(std::string_view text, const StopSignal& stop)
    : text_(text), stop_(stop), rules_(std::make_unique<Rules>()) {}

SentenceReader::~SentenceReader() = default;

/// Finds the ends of the sentences that begin at at_.
void SentenceReader::read_more() {
  stop_.throw_if_due("finding the documents' sentences");
  std::size_t end = std::min(at_ + kView, text_.size());
  while (end < text_.size() && is_utf8_continuation(text_[end])) ++end;
  const std::string_view view = text_.substr(at_, end - at_);
  UErrorCode status = U_ZERO_ERROR;
  utext_openUTF8(&rules_->text, view.data(), static_cast<std::int64_t>(view.size()), &status);
  require_success(status);
  rules_->iterator->setText(&rules_->text, status);
  require_success(status);
  for (std::int32_t next = rules_->iterator->next(); next != icu::BreakIterator::DONE;
       next = rules_->iterator->next()) {
    std::size_t place = static_cast<std::size_t>(next);
    while (place < view.size() && is_utf8_continuation(view[place])) ++place;
    if (place < view.size()) {
      while (place > 0 && (view[place - 1] == ' ' || (view[place - 1] >= '\t' && view[place - 1] <= '\r'))) --place;
    }
    if (place > 0 && (ends_.empty() || at_ + place > ends_.back())) ends_.push_back(at_ + place);
  }
  // What follows the view decides where its last sentence ends.
  if (end < text_.size() && ends_.size() > 1) ends_.pop_back();
  std::reverse(ends_.begin(), ends_.end());
}

TextRange SentenceReader::next() {
  if (at_ == text_.size()) return {at_, at_};
  if (ends_.empty()) read_more();
  const TextRange sentence{at_, ends_.back()};
  at_ = ends_.back();
  ends_.pop_back();
  return sentence;
}

namespace {

bool is_line_break(char16_t c) { return c == u'\n' || c == u'\r' || c == u'\u0085' || c == u'\u2028'; }

/// Replaces the runs of white space with a single line break.
void join_wrapped_lines(std::u16string& units) {
  for (std::size_t begin = 0; begin < units.size();) {
    std::size_t end = begin, breaks = 0;
    for (; end < units.size() && (units[end] == u'\t' || units[end] == u' ' || is_line_break(units[end])); ++end) {
      const bool second_half = units[end] == u'\n' && end > begin && units[end - 1] == u'\r';
      if (is_line_break(units[end]) && !second_half) ++breaks;
    }
    if (breaks == 1) std::fill(units.begin() + begin, units.begin() + end, u' ');
    begin = std::max(end, begin + 1);
  }
}

}  // namespace

std::vector<std::size_t> sentence_boundaries(std::string_view text, std::size_t end) {
  std::u16string units;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (U_IS_BMP(c)) {
      units.push_back(static_cast<char16_t>(c));
    } else {
      units.push_back(U16_LEAD(c));
      units.push_back(U16_TRAIL(c));
    }
  }
  join_wrapped_lines(units);
  SentenceRules rules;
  UErrorCode status = U_ZERO_ERROR;
  // ICU's places are 32-bit numbers.
  const auto size = std::min<std::size_t>(units.size(), std::numeric_limits<std::int32_t>::max());
  utext_openUChars(&rules.text, units.data(), static_cast<std::int64_t>(size), &status);
  require_success(status);
  rules.iterator->setText(&rules.text, status);
  require_success(status);
  std::vector<std::size_t> boundaries;
  std::size_t unit = 0, code_points = 0;
  while (code_points < end) {
    const std::int32_t next = rules.iterator->next();
    if (next == icu::BreakIterator::DONE || static_cast<std::size_t>(next) >= size) break;
    for (; unit < static_cast<std::size_t>(next); ++unit) code_points += U16_IS_TRAIL(units[unit]) ? 0 : 1;
    boundaries.push_back(code_points);
  }
  return boundaries;
}

std::vector<std::size_t> encode_sentences(const Tokenizer& tokenizer, std::string_view text, std::size_t limit,
                                          std::optional<std::int32_t> start, std::vector<std::int32_t>& ids,
                                          const StopSignal& stop) {
  std::vector<std::size_t> ends;
  SentenceReader reader(text, stop);
  for (TextRange sentence = reader.next(); sentence.begin < sentence.end && ids.size() <= limit;
       sentence = reader.next()) {
    const std::size_t before = ids.size();
    if (start) ids.push_back(*start);
    tokenizer.encode(text.substr(sentence.begin, sentence.end - sentence.begin), kAllPieces, ids, stop);
    if (start && ids.size() == before + 1) ids.pop_back();  // white space
    ends.push_back(ids.size());
  }
  return ends;
}

TextRange place_of_sentence_pieces(const Tokenizer& tokenizer, std::string_view text, const PieceRange& pieces,
                                   bool starts, const StopSignal& stop) {
  if (pieces.all) return place_of_pieces(tokenizer, text, pieces, stop);
  TextRange place;
  std::size_t before = 0;
  std::vector<std::int32_t> ids;
  SentenceReader reader(text, stop);
  for (TextRange sentence = reader.next(); sentence.begin < sentence.end; sentence = reader.next()) {
    const std::string_view words = text.substr(sentence.begin, sentence.end - sentence.begin);
    ids.clear();
    tokenizer.encode(words, kAllPieces, ids, stop);
    if (starts && !ids.empty()) ++before;
    const std::size_t first = std::max(pieces.begin, before) - before;
    const std::size_t last = std::min(std::max(pieces.end, before), before + ids.size()) - before;
    if (first < last) {
      const TextRange part = place_of_pieces(tokenizer, words, {first, last, last - first == ids.size()}, stop);
      if (place.end == 0) place.begin = sentence.begin + part.begin;
      place.end = sentence.begin + part.end;
    }
    before += ids.size();
    if (before >= pieces.end) break;
  }
  return place;
}

}  // namespace relucent
