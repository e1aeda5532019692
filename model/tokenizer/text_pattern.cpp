#include "model/tokenizer/text_pattern.h"

#include <fmt/core.h>
#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <new>

#include "base/utf8.h"
#include "model/tokenizer/byte_level.h"
#include "model/tokenizer/character_table.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr const char* kMatching = "tokenizing the documents";

/// The code points with `property` as a set in an expression.
std::string set_of(CharacterTable::Property property) {
  const CharacterTable& table = CharacterTable::instance();
  std::string set = "[";
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (!table.has(c, property)) continue;
    const char32_t first = c;
    while (c + 1 < 0x110000 && table.has(c + 1, property)) ++c;
    set += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(c));
  }
  return set + "]";
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// Letters and numbers as Hugging Face's engine knows them, not ICU.
std::string with_own_classes(std::string expression) {
  static const std::string letters = set_of(CharacterTable::letter), numbers = set_of(CharacterTable::number);
  replace_all(expression, "\\p{L}", letters);
  replace_all(expression, "\\p{N}", numbers);
  return expression;
}

}  // namespace

class TextPattern::Expression {
 public:
  explicit Expression(const Component& source) : place_(source.place()), file_(source.file().string()) {
    constexpr std::size_t kMaxBytes = 4096, kMaxExpanded = 256 << 10;  // each \p{L} in it takes 10 KB
    if (source.text().size() > kMaxBytes) source.refuse("the expression is longer than 4096 bytes");
    const std::string expanded = with_own_classes(source.text());
    if (expanded.size() > kMaxExpanded) source.refuse("the expression has too many \\p{L} and \\p{N}");
    UErrorCode code = U_ZERO_ERROR;
    UParseError place;
    // As in Oniguruma's Ruby syntax, ^ and $ also match at line ends, and only U+000A ends a line.
    pattern_.reset(icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(expanded),
                                              UREGEX_MULTILINE | UREGEX_UNIX_LINES, place, code));
    if (U_FAILURE(code)) source.refuse(fmt::format("the expression is not supported: {}", u_errorName(code)));
  }

  std::vector<TextRange> find_all(std::string_view text, PatternBudget& budget) const {
    budget.stop.throw_if_due(kMatching);
    UErrorCode code = U_ZERO_ERROR;
    const icu::UnicodeString units =
        icu::UnicodeString::fromUTF8({text.data(), static_cast<std::int32_t>(text.size())});
    if (units.isBogus()) throw std::bad_alloc();  // as ICU tells a lack of memory; it would match nothing
    const std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(units, code));
    check(code);
    const auto may_go_on = [](const void* context, std::int32_t) -> UBool {
      auto& left = *static_cast<PatternBudget*>(const_cast<void*>(context));
      return --left.steps > 0 && !left.stop.due();
    };
    matcher->setMatchCallback(may_go_on, &budget, code);
    std::vector<TextRange> matches;
    std::size_t byte = 0;
    std::int32_t unit = 0;
    const auto byte_of = [&](std::int32_t wanted) {
      while (unit < wanted) unit += next_code_point(text, byte) >= 0x10000 ? 2 : 1;
      return byte;
    };
    while (matcher->find(code) && U_SUCCESS(code)) {
      const std::size_t begin = byte_of(matcher->start(code)), end = byte_of(matcher->end(code));
      if (begin == end && !matches.empty() && matches.back().end == begin) continue;
      matches.push_back({begin, end});
    }
    if (code == U_REGEX_STOPPED_BY_CALLER) budget.stop.throw_if_due(kMatching);
    check(code);
    return matches;
  }

 private:
  void check(UErrorCode code) const {
    if (U_FAILURE(code)) {
      throw Error(ErrorKind::unsupported, fmt::format("{}, key {}", file_, place_),
                  code == U_REGEX_STOPPED_BY_CALLER
                      ? "the expression takes too long on a text"
                      : fmt::format("the expression fails on a text: {}", u_errorName(code)),
                  "use a checkpoint with another tokenizer");
    }
  }

  std::unique_ptr<const icu::RegexPattern> pattern_;
  std::string place_, file_;
};

TextPattern TextPattern::read(const Component& pattern) {
  if (const auto text = pattern.find("String")) return {text->place(), text->text()};
  const Component expression = pattern.at("Regex");
  TextPattern result(expression.place(), expression.text());
  result.expression_ = std::make_shared<Expression>(expression);
  return result;
}

std::vector<TextRange> TextPattern::find_all(std::string_view text, PatternBudget& budget) const {
  if (expression_) return expression_->find_all(text, budget);
  std::vector<TextRange> matches;
  if (text_.empty()) return matches;
  for (std::size_t at = 0; (at = text.find(text_, at)) != std::string_view::npos; at += text_.size()) {
    matches.push_back({at, at + text_.size()});
  }
  return matches;
}

bool TextPattern::spares_single_spaces() const {
  return expression_ ? text_ == " {2,}" : text_.find(' ') == std::string::npos;
}

bool TextPattern::is_byte_level() const { return expression_ && text_ == kByteLevelExpression; }

}  // namespace relucent
