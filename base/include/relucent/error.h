#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "relucent/export.h"

namespace relucent {

/// What went wrong, as far as a caller can act on it. Determines the program's exit code.
enum class ErrorKind {
  usage,         ///< the caller asked for something impossible: an unknown flag, measure or device (exit 2)
  invalid_data,  ///< a file is missing parts, malformed or corrupt (exit 3)
  io,            ///< the system refused: missing file, permission, full disk, lock (exit 1)
  unsupported,   ///< well-formed, but not something this build or device can do (exit 1)
  device,        ///< an accelerator is absent or failed (exit 1)
  deadline,      ///< the deadline passed (exit 1)
  interrupted,   ///< a person or another thread asked to stop (exit 130)
  internal,      ///< a bug in the library; please report it (exit 1)
};

/// The only exception type that librelucent throws on purpose. what() reads
/// "place: problem; remedy" without the empty parts.
class RELUCENT_API Error : public std::runtime_error {
 public:
  /// @param place   the file, with the line, column, record, tensor or byte if known; may be empty
  /// @param problem what is wrong, in one clause
  /// @param remedy  what to do next; may be empty
  Error(ErrorKind kind, std::string_view place, std::string_view problem, std::string_view remedy = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& place() const noexcept { return place_; }
  const std::string& problem() const noexcept { return problem_; }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  ErrorKind kind_;
  std::string place_, problem_, remedy_;
};

}  // namespace relucent
