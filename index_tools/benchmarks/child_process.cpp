#include "index_tools/benchmarks/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "base/file/file_io.h"
#include "base/file/unique_fd.h"
#include "relucent/error.h"

namespace relucent::benchmarks {
namespace {

constexpr const char* kNeedLess = "if memory ran out, measure fewer candidates or shorter lengths";
constexpr char kReturned = 'r';  // an answer's first byte; otherwise an ErrorKind, from '0'

char byte_of(ErrorKind kind) { return static_cast<char>('0' + static_cast<int>(kind)); }

[[noreturn]] void answer_and_exit(int descriptor, const std::function<std::string()>& work) {
  // Ctrl-C reaches both processes, and the parent ends this one.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string answer;
  try {
    answer = kReturned + work();
  } catch (const Error& error) {
    answer = byte_of(error.kind()) + std::string(error.what());
  } catch (const std::bad_alloc&) {
    answer = byte_of(ErrorKind::device) + std::string("memory ran out; measure fewer candidates or shorter lengths");
  } catch (const std::exception& error) {
    answer = byte_of(ErrorKind::internal) + std::string(error.what());
  }
  try {
    write_all(descriptor, answer, "pipe");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

[[noreturn]] void throw_died(int status) {
  throw Error(ErrorKind::device, "the measuring process",
              WIFSIGNALED(status)
                  ? fmt::format("was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))
                  : fmt::format("ended with exit code {} and no result", WEXITSTATUS(status)),
              kNeedLess);
}

}  // namespace

std::string call_in_own_process(const std::function<std::string()>& work, const StopSignal& stop,
                                const std::function<void()>& wait) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_io_error("pipe", "creating", errno);
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw_io_error("process", "creating", errno);
  if (child == 0) answer_and_exit(theirs.get(), work);
  theirs.reset();
  std::string answer;
  bool killed = false;
  char buffer[4096];
  for (;;) {
    pollfd ready{ours.get(), POLLIN, 0};
    if (::poll(&ready, 1, 100) > 0) {
      const std::size_t count = read_some(ours.get(), buffer, sizeof buffer, "pipe");
      if (count == 0) break;
      answer.append(buffer, count);
    } else if (stop.due() && !killed) {
      killed = true;
      ::kill(child, SIGKILL);
    } else {
      wait();
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  stop.throw_if_due("the measurement");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || answer.empty()) throw_died(status);
  if (answer.front() != kReturned) throw Error(static_cast<ErrorKind>(answer.front() - '0'), {}, answer.substr(1));
  return answer.substr(1);
}

}  // namespace relucent::benchmarks
