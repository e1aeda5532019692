#pragma once

#include <fmt/core.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace relucent::index_tools {

/// What a line of progress shows. Texts may be empty; all are ASCII.
struct ProgressLine {
  std::string operation;
  std::optional<double> share;  ///< 0 to 1; nothing if the amount of work is unknown
  std::string documents, rate, left;
};

/// The line for a terminal of that many columns, at most columns - 1 of them: where it is narrow, the bar shrinks, then
/// the bar, the rate, the documents, the time left and the end of the operation are dropped, in this order. 0 columns:
/// a line for a log, without a bar.
std::string format_progress(const ProgressLine& line, std::size_t columns);

/// Shows the progress of long work on standard error: a line that is updated in place on a terminal, else one line per
/// minute. One thread at a time.
class Progress {
 public:
  enum class Unit { bytes, documents, share };  // of a share, no rate is shown

  /// @param operation  one word: "indexing"
  /// @param total  amount of work, in `unit`
  Progress(std::string operation, Unit unit, std::int64_t total, bool quiet = false);
  /// Removes the terminal's line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Cheap enough to call for every document. `done` is in `unit`.
  void update(std::int64_t documents, std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  void show(std::int64_t documents, std::int64_t done, Clock::time_point now);

  std::string doing_;
  Unit unit_;
  std::int64_t total_;
  bool quiet_, terminal_;
  bool shown_ = false;
  Clock::time_point started_, next_;
};

/// "1234567" as "1,234,567".
std::string with_commas(std::string digits);
std::string with_commas(std::integral auto number) { return with_commas(std::to_string(number)); }

}  // namespace relucent::index_tools
