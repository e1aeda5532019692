#include "index_tools/indexing/interrupt.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>

namespace relucent::index_tools {
namespace {

std::atomic<bool> noted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> before{};

// A person at a terminal sees that the key was noticed: ending in order may take a while.
std::atomic<bool> person_waits = false;
constexpr std::string_view kStopping = "\r\033[Kstopping ... (Ctrl-C again ends immediately)\n";

extern "C" void note_interrupt(int signal) {
  noted = true;
  if (signal != SIGINT || !person_waits) return;
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kStopping.data(), kStopping.size());
  errno = error;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  noted = false;
  person_waits = ::isatty(STDERR_FILENO) == 1;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

bool InterruptGuard::interrupted() noexcept { return noted; }

}  // namespace relucent::index_tools
