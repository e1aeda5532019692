#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// What a program may use before it is killed.
struct ProcessLimits {
  std::chrono::seconds processor{60};  ///< time that it computes
  std::chrono::seconds wall{120};      ///< time from its start to its end
  std::size_t memory = std::size_t{1} << 30;
  std::size_t output = std::size_t{64} << 20;
};

/// How a program ended.
struct ProcessResult {
  enum class End {
    exited,     ///< with `code`
    too_slow,   ///< killed for its time
    too_much,   ///< killed for its output
    by_signal,  ///< killed otherwise, for example because it had no memory left
  };
  End end = End::exited;
  int code = 0;
  std::string output;  ///< its standard output
};

/// The file of a program in one of the absolute folders of $PATH; nothing if there is none.
std::optional<std::filesystem::path> find_program(std::string_view name);

/// Runs a program, not through a shell, and waits for its end. It reads `input` as its standard input, inherits no file
/// and no variable but PATH, writes no file, and dies with this process. Ctrl-C does not reach it. Throws Error `io` if
/// it cannot be started.
/// @param arguments  without the program's own name
/// @param input      a file, read from its beginning
ProcessResult run_limited(const std::filesystem::path& program, const std::vector<std::string>& arguments, int input,
                          const ProcessLimits& limits);

}  // namespace relucent::index_tools
