#include "index_tools/indexing/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>

namespace relucent::index_tools {
namespace {

std::atomic<bool> noted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> before{};

extern "C" void note_interrupt(int) { noted = true; }

}  // namespace

InterruptGuard::InterruptGuard() {
  noted = false;
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
