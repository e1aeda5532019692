#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {

/// The message of the Error of this kind that `work` throws.
inline std::string error_of(ErrorKind kind, const std::function<void()>& work) {
  return expect_error(kind, work).what();
}

}  // namespace relucent::testing
