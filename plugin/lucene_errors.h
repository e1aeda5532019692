#pragma once

#include <string_view>
#include <utility>

#include "relucent/error.h"

namespace relucent {

/// Turns the exception being handled into an Error. To be called inside a catch block.
/// @param place what was worked on, a folder or a field
/// @param operation what was being done, as in "opening the index"
[[noreturn]] void rethrow_as_error(std::string_view place, std::string_view operation);

/// Runs `work`; what Lucene++ or the standard library throws comes out as Error.
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
