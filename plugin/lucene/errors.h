#pragma once

#include <string_view>
#include <utility>

#include "relucent/error.h"

namespace relucent {

/// Rethrows the current exception as an Error. Call it inside a catch block.
/// @param place the folder or field that was being processed
/// @param operation the failed operation, e.g. "opening the index"
[[noreturn]] void rethrow_as_error(std::string_view place, std::string_view operation);

/// Runs `work`; turns exceptions of Lucene++ and the standard library into Errors.
template <typename Work>
decltype(auto) with_errors(std::string_view place, std::string_view operation, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error&) {
    throw;
  } catch (...) {
    rethrow_as_error(place, operation);
  }
}

}  // namespace relucent
