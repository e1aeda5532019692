// Long runs of combining marks, which are put into order first, have the normalization forms that ICU alone gives them.
#include <gtest/gtest.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <random>
#include <string>

#include "base/utf8.h"
#include "model/tokenizer/unicode_form.h"

namespace relucent::testing {
namespace {

TEST(UnicodeForms, OfLongRunsOfMarksAreThoseOfIcu) {
  // Marks of many classes, three Tibetan signs without one that consist of marks, a Japanese sign that becomes a mark
  // in the last two forms, letters and an ideograph.
  const char32_t points[] = {0x301, 0x327,  0x323,  0x344, 0x5B4, 0x64B,  0xF71,  0xF72,   0xF73,  0xF75,
                             0xF81, 0x3099, 0xFF9E, U'e',  0xE9,  0x1EAD, 0x5317, 0x1E94A, 0x0958, 0x0F77};
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 400; ++i) {
      const std::size_t most = random() % 100 == 0 ? std::size(points) : 13;
      append_utf8(points[random() % most], text);
    }
    UErrorCode code = U_ZERO_ERROR;
    for (const auto& [name, alone] : {std::pair{"NFC", icu::Normalizer2::getNFCInstance(code)},
                                      std::pair{"NFD", icu::Normalizer2::getNFDInstance(code)},
                                      std::pair{"NFKC", icu::Normalizer2::getNFKCInstance(code)},
                                      std::pair{"NFKD", icu::Normalizer2::getNFKDInstance(code)}}) {
      std::string wanted, found = text;
      alone->normalize(icu::UnicodeString::fromUTF8(text), code).toUTF8String(wanted);
      UnicodeForm(*UnicodeForm::named(name)).apply(found);
      ASSERT_EQ(found, wanted) << name << ", round " << round;
    }
    ASSERT_TRUE(U_SUCCESS(code));
  }
}

}  // namespace
}  // namespace relucent::testing
