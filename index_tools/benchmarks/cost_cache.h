#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/file/unique_fd.h"

namespace relucent::benchmarks {

/// What was measured of a model at one length, per candidate.
struct CostPoint {
  double milliseconds = 0;
  double megabytes = 0;              ///< 0: unknown
  double operations = 0, bytes = 0;  ///< the least that it takes; no bytes on a GPU
  double peak = 0, bandwidth = 0;    ///< the device's operations and bytes per second, seen with it; 0: unknown
  std::string measured;              ///< when, in UTC: "2026-11-23T22:41:05Z"

  friend bool operator==(const CostPoint&, const CostPoint&) = default;
};

/// A point as text without a line break, and back. Throws Error `invalid_data` for any other text.
std::string format_cost_point(const CostPoint& point);
CostPoint parse_cost_point(std::string_view text);

/// Points of one model with one set of settings, in a file that grows by one line per point. A killed process loses at
/// most the line that it was writing: each line ends with its checksum, and damaged ones are not read.
class CostCache {
 public:
  /// Opens or creates the file for `description`, everything besides `size` that a point follows from, in `folder`,
  /// which is created if missing. Throws Error `io`.
  CostCache(const std::filesystem::path& folder, std::string_view description);

  /// nullptr if there is none. `size`: lengths and numbers, without a line break.
  const CostPoint* find(const std::string& size) const;
  /// Takes the place of an earlier one. The point is in the file when this returns. Throws Error `io`.
  void add(const std::string& size, const CostPoint& point);

  const std::filesystem::path& file() const noexcept { return file_; }

 private:
  void take(std::string_view line);

  std::string description_;
  std::filesystem::path file_;
  UniqueFd descriptor_;
  std::map<std::string, CostPoint, std::less<>> points_;
};

}  // namespace relucent::benchmarks
