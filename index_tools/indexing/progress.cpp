#include "index_tools/indexing/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace relucent::index_tools {
namespace {

constexpr auto kTerminalEvery = std::chrono::milliseconds(200);
constexpr auto kLineEvery = std::chrono::minutes(1);

std::string clock_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Progress::Progress(std::string operation, Unit unit, std::int64_t total, bool quiet)
    : doing_(std::move(operation)),
      unit_(unit),
      total_(total),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      started_(Clock::now()),
      next_(started_ + (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kLineEvery))) {}

Progress::~Progress() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::int64_t documents, std::int64_t done) {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kLineEvery));
  show(documents, done, now);
}

void Progress::show(std::int64_t documents, std::int64_t done, Clock::time_point now) {
  const double seconds = std::max(std::chrono::duration<double>(now - started_).count(), 1e-3);
  const double share = total_ > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total_)) : 0;
  std::string line = doing_;
  if (terminal_ && total_ > 0) {
    constexpr std::size_t width = 24;
    const auto filled = static_cast<std::size_t>(share * width);
    line += fmt::format(" [{:.<{}}]", std::string(filled, '#'), width);
  }
  line += total_ > 0 ? fmt::format(" {:3.0f} %  ", 100 * share) : "  ";
  if (documents > 0) line += with_commas(documents) + " documents  ";
  const double rate = static_cast<double>(done) / seconds / (unit_ == Unit::bytes ? 1e6 : 1);
  if (unit_ != Unit::share && rate >= 0.1) {  // before that, there is no basis for a rate
    line += fmt::format("{:.{}f}{}  ", rate, unit_ == Unit::bytes || rate < 10 ? 1 : 0,
                        unit_ == Unit::bytes ? " MB/s" : "/s");
  }
  if (share > 0) line += clock_time(seconds * (1 - share) / share) + " left";
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

std::string with_commas(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace relucent::index_tools
