#include "index_tools/benchmarks/cost_cache.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>
#include <vector>

#include "base/checksum.h"
#include "base/file/file_io.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::benchmarks {
namespace {

constexpr std::string_view kFirstLine = "relucent costs 1\n";

// For readers alone: every line's checksum covers it.
std::string header_of(std::string_view description) {
  std::string header(kFirstLine);
  bool begins = true;
  for (const char c : description) {
    if (begins) header += "# ";
    header += c;
    begins = c == '\n';
  }
  return begins ? header : header + "\n";
}

std::uint64_t checksum_of(std::string_view description, std::string_view line) {
  Checksum sum;
  sum.add(kFirstLine);
  sum.add(description);
  sum.add(line);
  return sum.value();
}

}  // namespace

std::string format_cost_point(const CostPoint& point) {
  // {fmt} writes the fewest digits that read back to the same double.
  return fmt::format("{} {} {} {} {} {} {}", point.measured, point.milliseconds, point.megabytes, point.operations,
                     point.bytes, point.peak, point.bandwidth);
}

CostPoint parse_cost_point(std::string_view text) {
  const std::vector<std::string_view> fields = index_tools::split_fields(text);
  CostPoint point;
  double* const numbers[] = {&point.milliseconds, &point.megabytes, &point.operations,
                             &point.bytes,        &point.peak,      &point.bandwidth};
  bool good = fields.size() == 1 + std::size(numbers);
  for (std::size_t i = 0; good && i < std::size(numbers); ++i)
    good = index_tools::parse_number(fields[i + 1], *numbers[i]);
  if (!good) throw Error(ErrorKind::invalid_data, "measurement", "is incomplete: " + index_tools::excerpt(text));
  point.measured = fields[0];
  return point;
}

CostCache::CostCache(const std::filesystem::path& folder, std::string_view description) : description_(description) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    throw Error(ErrorKind::io, folder.string(), "cannot be created: " + problem.message(), "choose another --cache");
  }
  file_ = folder / (to_hex(checksum(description)) + ".costs");
  descriptor_ = UniqueFd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!descriptor_) throw_io_error(file_, "opening", errno);
  const std::string text = read_file(file_, kAnySize);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    take(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  // A line that a killed process did not finish is not a part of the next one.
  if (text.empty()) {
    write_all(descriptor_.get(), header_of(description), file_);
  } else if (!text.ends_with('\n')) {
    write_all(descriptor_.get(), "\n", file_);
  }
}

/// A line is `size | point checksum`.
void CostCache::take(std::string_view line) {
  const std::size_t bar = line.find(" | "), last = line.rfind(' ');
  if (bar == std::string_view::npos || last <= bar + 3) return;
  const std::string_view checked = line.substr(0, last);
  if (to_hex(checksum_of(description_, checked)) != line.substr(last + 1)) return;
  points_[std::string(line.substr(0, bar))] = parse_cost_point(checked.substr(bar + 3));
}

const CostPoint* CostCache::find(const std::string& size) const {
  const auto found = points_.find(size);
  return found == points_.end() ? nullptr : &found->second;
}

void CostCache::add(const std::string& size, const CostPoint& point) {
  const std::string line = size + " | " + format_cost_point(point);
  write_all(descriptor_.get(), fmt::format("{} {}\n", line, to_hex(checksum_of(description_, line))), file_);
  points_[size] = point;
}

}  // namespace relucent::benchmarks
