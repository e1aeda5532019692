#include "model/tokenizer/unicode_form.h"

#include <fmt/core.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uniset.h>

#include <algorithm>

#include "relucent/error.h"

namespace relucent {
namespace {

void check(UErrorCode code) {
  if (U_FAILURE(code)) {
    throw Error(ErrorKind::internal, "Unicode normalization", fmt::format("ICU failed: {}", u_errorName(code)),
                "check that ICU's data is installed");
  }
}

}  // namespace

class UnicodeForm::Data {
 public:
  explicit Data(Name name) {
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
    UErrorCode code = U_ZERO_ERROR;
    std::string result;
    result.reserve(text.size());
    icu::StringByteSink<std::string> sink(&result);
    filtered_->normalizeUTF8(0, text, sink, nullptr, code);
    check(code);
    text = std::move(result);
  }

 private:
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
