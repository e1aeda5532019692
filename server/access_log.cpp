#include "server/access_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/utf8.h"
#include "relucent/error.h"
#include "relucent/times.h"
#include "server/answer.h"

namespace relucent::server {
namespace {

// Limit on what a client may choose freely.
constexpr std::size_t kMaxText = 200;
constexpr std::size_t kMaxWaiting = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kLastLines{300};
constexpr std::chrono::milliseconds kLookAgain{20};

std::string now() {
  const auto time = std::chrono::system_clock::now();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()) % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
                     milliseconds.count());
}

std::string shortened(std::string_view text) { return std::string(utf8_prefix(text, kMaxText)); }

}  // namespace

AccessLog::AccessLog(const std::string& file) : file_(file) {
  if (file_.empty()) return;
  out_ = open();
  ended_ = false;
  writer_ = std::jthread([this] { write_lines(); });
}

AccessLog::~AccessLog() { (void)close(kLastLines); }

bool AccessLog::close(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (!closing_) end_ = Clock::now() + limit;
  closing_ = true;
  changed_.notify_all();
  return changed_.wait_until(lock, Clock::now() + limit + 5 * kLookAgain, [this] { return ended_; });
}

UniqueFd AccessLog::open() const {
  if (file_ == "-") return {};
  UniqueFd out(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!out) {
    throw Error(ErrorKind::io, file_, fmt::format("cannot be written: {}", std::strerror(errno)),
                "choose another [server] access_log");
  }
  return out;
}

void AccessLog::reopen() {
  if (file_.empty() || file_ == "-") return;
  UniqueFd out = open();
  const std::lock_guard lock(mutex_);
  reopened_ = std::move(out);
}

void AccessLog::add(const HttpRequest& request, const HttpResponse& response, const std::string& client, bool cut) {
  if (file_.empty()) return;
  JsonObject line;
  line.text("time", now())
      .text("client", shortened(client))
      .text("method", shortened(request.method))
      .text("path", shortened(request.path))
      .number("status", response.status)
      .number("milliseconds", in_milliseconds(time_since(request.arrived)));
  for (const auto& [name, value] : response.measures) {
    line.number(name, std::visit([](auto number) { return static_cast<double>(number); }, value));
  }
  if (!response.note.empty()) line.text("note", response.note);
  if (cut) line.flag("cut", true);
  if (const auto& trace = request.trace ? request.trace : response.trace) {
    line.text("trace_id", trace->trace_id).text("span_id", trace->span_id);
    if (!trace->parent_id.empty()) line.text("parent_span_id", trace->parent_id);
  }
  if (const auto agent = request.header("user-agent"); !agent.empty()) line.text("user_agent", shortened(agent));
  append(line.str() + "\n");
}

void AccessLog::append(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (closing_ || waiting_.size() + line.size() > kMaxWaiting) {
    ++dropped_;
    return;
  }
  waiting_ += line;
  changed_.notify_all();
}

void AccessLog::write_lines() {
  for (;;) {
    std::string lines;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
      if (waiting_.empty()) {
        ended_ = true;
        changed_.notify_all();
        return;
      }
      lines.swap(waiting_);
      if (reopened_) out_ = std::move(reopened_);
    }
    write(lines);
    tell_dropped();
  }
}

void AccessLog::tell_dropped() {
  const std::uint64_t dropped = dropped_;
  if (dropped == told_) return;
  try {
    write(JsonObject().text("time", now()).number("dropped", static_cast<double>(dropped - told_)).str() + "\n");
    told_ = dropped;
  } catch (const std::exception&) {  // no memory; the next time
  }
}

void AccessLog::write(std::string_view lines) {
  const int descriptor = out_ ? out_.get() : STDOUT_FILENO;
  while (!lines.empty()) {
    // So much is written to a pipe without waiting once poll() reports that there is room.
    const ssize_t count = wait_until_writable(descriptor)
                              ? ::write(descriptor, lines.data(), std::min<std::size_t>(lines.size(), PIPE_BUF))
                              : -1;
    if (count > 0) {
      lines.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {
      dropped_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
      return;
    }
  }
}

/// False if writing must end, or fails.
bool AccessLog::wait_until_writable(int descriptor) {
  for (;;) {
    Clock::time_point end;
    {
      const std::lock_guard lock(mutex_);
      end = end_;
    }
    const bool over = Clock::now() >= end;
    pollfd wanted{descriptor, POLLOUT, 0};
    const int ready = ::poll(&wanted, 1, over ? 0 : static_cast<int>(kLookAgain.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (!over) continue;
    errno = ETIMEDOUT;
    return false;
  }
}

}  // namespace relucent::server
