#include "index_tools/program/interrupt_stop.h"

#include <unistd.h>

#include <chrono>
#include <csignal>

#include "index_tools/program/commands.h"
#include "relucent/stop.h"

namespace relucent::program {

// A signal handler must not run a stop source's callbacks, so a thread polls the flag that it sets.
InterruptStop::InterruptStop()
    : watcher_([source = source_](const std::stop_token& finished) mutable {
        while (!finished.stop_requested()) {
          if (index_tools::InterruptGuard::interrupted()) {
            source.request_stop();
            return;
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      }) {}

InterruptStop::~InterruptStop() = default;

void InterruptStop::throw_if_interrupted(const char* operation) const {
  StopSignal signal;
  signal.stop = token();
  signal.throw_if_due(operation);
}

void exit_when_interrupted() {
  struct sigaction action {};
  action.sa_handler = [](int) { ::_exit(interrupted); };
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace relucent::program
