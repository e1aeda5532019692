#include "index_tools/indexing/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace relucent::index_tools {
namespace {

constexpr auto kTerminalEvery = std::chrono::milliseconds(200);
constexpr auto kLineEvery = std::chrono::minutes(1);

constexpr std::size_t kWidestBar = 24, kNarrowestBar = 4;
constexpr std::size_t kUsualColumns = 80;

// The width of the terminal on standard error, which may change.
std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

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
  ProgressLine line{doing_, std::nullopt, "", "", ""};
  if (total_ > 0) line.share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  if (documents > 0) line.documents = with_commas(documents) + " documents";
  const double rate = static_cast<double>(done) / seconds / (unit_ == Unit::bytes ? 1e6 : 1);
  if (unit_ != Unit::share && rate >= 0.1) {  // before that, there is no basis for a rate
    line.rate = fmt::format("{:.{}f}{}", rate, unit_ == Unit::bytes || rate < 10 ? 1 : 0,
                            unit_ == Unit::bytes ? " MB/s" : "/s");
  }
  const double share = line.share.value_or(0);
  if (share > 0) line.left = clock_time(seconds * (1 - share) / share) + " left";
  const std::string text = format_progress(line, terminal_ ? terminal_columns() : 0);
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

std::string format_progress(const ProgressLine& line, std::size_t columns) {
  const auto text_of = [&line](std::size_t bar, int texts) {
    std::string text = line.operation;
    if (bar > 0) {
      const auto filled = static_cast<std::size_t>(*line.share * static_cast<double>(bar));
      text += fmt::format(" [{:.<{}}]", std::string(filled, '#'), bar);
    }
    if (line.share) text += fmt::format(" {:3.0f} %", 100 * *line.share);
    const std::array parts = {std::pair(&line.documents, 2), std::pair(&line.rate, 3), std::pair(&line.left, 1)};
    for (const auto& [part, from] : parts) {
      if (!part->empty() && texts >= from) text += "  " + *part;
    }
    return text;
  };
  if (columns == 0) return text_of(0, 3);
  const std::size_t room = columns - 1;  // a character in the last column may wrap the cursor
  for (std::size_t bar = line.share ? kWidestBar : 0; bar >= kNarrowestBar; --bar) {
    if (std::string text = text_of(bar, 3); text.size() <= room) return text;
  }
  for (int texts = 3; texts >= 0; --texts) {
    if (std::string text = text_of(0, texts); text.size() <= room) return text;
  }
  const std::string share = text_of(0, 0).substr(line.operation.size());
  return line.operation.substr(0, room > share.size() ? room - share.size() : 0) + share.substr(0, room);
}

std::string with_commas(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace relucent::index_tools
