#include "model/tokenizer/unicode_form.h"

#include <fmt/core.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>

#include "base/utf8.h"
#include "relucent/error.h"

namespace relucent {
namespace {

void check(UErrorCode code) {
  if (U_FAILURE(code)) {
    throw Error(ErrorKind::internal, "Unicode normalization", fmt::format("ICU failed: {}", u_errorName(code)),
                "check that ICU's data is installed");
  }
}

/// Puts long runs of combining marks into their canonical order, which changes no normalization form. ICU inserts each
/// mark into those before it, which takes the square of their number.
class MarkOrder {
 public:
  /// @param compatible  the order is for NFKC or NFKD
  MarkOrder(std::string_view text, const icu::UnicodeSet& set, bool compatible)
      : text_(text), set_(set), compatible_(compatible) {}

  /// Whether there is such a run, which hardly any text has.
  bool needed() const {
    std::size_t run = 0;
    for (std::size_t at = 0; at < text_.size();) {
      run = may_move(next_code_point(text_, at)) ? run + 1 : 0;
      if (run > kLongRun) return true;
    }
    return false;
  }

  std::string ordered() {
    result_.reserve(text_.size());
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t begin = at;
      const char32_t c = next_code_point(text_, at);
      if (may_move(c)) {
        add(c);
      } else {
        end_run();
        result_.append(text_, begin, at - begin);
      }
    }
    end_run();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kLongRun = 64;

  /// Whether its decomposition begins with a mark. There are none in the ranges that are left out.
  bool may_move(char32_t c) const {
    if (c < 0x300 || (c >= 0x3100 && c < 0xA600) || (c >= 0xAC00 && c < 0xD7A4)) return false;
    if (c == 0xFF9E || c == 0xFF9F) return compatible_;  // the only ones that the other forms do not decompose
    const auto point = static_cast<UChar32>(c);
    return set_.contains(point) && u_getIntPropertyValue(point, UCHAR_LEAD_CANONICAL_COMBINING_CLASS) != 0;
  }

  void add(char32_t c) {
    // A few Tibetan vowel signs have no class of their own, but those that they consist of do.
    UErrorCode code = U_ZERO_ERROR;
    icu::UnicodeString parts;
    const icu::Normalizer2* const form =
        compatible_ ? icu::Normalizer2::getNFKDInstance(code) : icu::Normalizer2::getNFDInstance(code);
    check(code);
    if (form->getDecomposition(static_cast<UChar32>(c), parts) == 0) {
      marks_.push_back(c);
      return;
    }
    for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
      marks_.push_back(static_cast<char32_t>(parts.char32At(i)));
    }
  }

  void end_run() {
    const auto order = [](char32_t c) { return u_getCombiningClass(static_cast<UChar32>(c)); };
    std::stable_sort(marks_.begin(), marks_.end(), [&](char32_t a, char32_t b) { return order(a) < order(b); });
    for (const char32_t mark : marks_) append_utf8(mark, result_);
    marks_.clear();
  }

  std::string_view text_;
  const icu::UnicodeSet& set_;
  bool compatible_;
  std::u32string marks_;
  std::string result_;
};

}  // namespace

class UnicodeForm::Data {
 public:
  explicit Data(Name name) : compatible_(name == Name::nfkc || name == Name::nfkd) {
    UErrorCode code = U_ZERO_ERROR;
    set_.applyPattern(u"[:Age=9.0:]", code).freeze();
    check(code);
    const icu::Normalizer2* whole = nullptr;
    switch (name) {
      case Name::nfc: whole = icu::Normalizer2::getNFCInstance(code); break;
      case Name::nfd: whole = icu::Normalizer2::getNFDInstance(code); break;
      case Name::nfkc: whole = icu::Normalizer2::getNFKCInstance(code); break;
      case Name::nfkd: whole = icu::Normalizer2::getNFKDInstance(code); break;
    }
    check(code);
    filtered_ = std::make_unique<icu::FilteredNormalizer2>(*whole, set_);
  }

  void apply(std::string& text) const {
    if (MarkOrder order(text, set_, compatible_); order.needed()) text = order.ordered();
    UErrorCode code = U_ZERO_ERROR;
    std::string result;
    result.reserve(text.size());
    icu::StringByteSink<std::string> sink(&result);
    filtered_->normalizeUTF8(0, text, sink, nullptr, code);
    check(code);
    text = std::move(result);
  }

 private:
  bool compatible_;
  icu::UnicodeSet set_;
  std::unique_ptr<const icu::FilteredNormalizer2> filtered_;
};

std::optional<UnicodeForm::Name> UnicodeForm::named(std::string_view name) {
  if (name == "NFC") return Name::nfc;
  if (name == "NFD") return Name::nfd;
  if (name == "NFKC") return Name::nfkc;
  if (name == "NFKD") return Name::nfkd;
  return std::nullopt;
}

UnicodeForm::UnicodeForm(Name name) : data_(std::make_shared<Data>(name)) {}

void UnicodeForm::apply(std::string& text) const {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  if (!ascii) data_->apply(text);
}

}  // namespace relucent
