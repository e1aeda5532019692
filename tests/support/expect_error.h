#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "relucent/error.h"

namespace relucent::testing {

/// Texts that an error's what() must hold: one, several, or none.
struct ErrorTexts {
  ErrorTexts() = default;
  ErrorTexts(const char* text) : all{text} {}
  ErrorTexts(const std::string& text) : all{text} {}
  ErrorTexts(std::initializer_list<std::string> texts) : all(texts) {}
  ErrorTexts(const std::vector<std::string>& texts) : all(texts) {}

  std::vector<std::string> all;
};

/// Expects `work` to throw an Error of this kind that names a problem and holds the texts. Gives it back for further
/// expectations; an empty one where nothing was thrown.
template <typename Work>
Error expect_error(ErrorKind kind, const ErrorTexts& texts, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_FALSE(error.problem().empty()) << error.what();
    for (const std::string& text : texts.all) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what() << " lacks " << text;
    }
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return {kind, "", ""};
}

template <typename Work>
Error expect_error(ErrorKind kind, const Work& work) {
  return expect_error(kind, {}, work);
}

}  // namespace relucent::testing
