#include "index_tools/corpora/limited_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/file/file_io.h"
#include "base/file/unique_fd.h"

namespace relucent::index_tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr rlim_t kOpenFiles = 32;
constexpr int kNotStarted = 127;
constexpr std::chrono::milliseconds kLook{10};

void set_limit(decltype(RLIMIT_CPU) what, rlim_t soft, rlim_t hard) noexcept {
  const rlimit limits{soft, hard};
  ::setrlimit(what, &limits);
}

/// The child's part. Only calls that are safe between fork() and exec() in a process with threads.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* variables, int input, int output,
                         const ProcessLimits& limits) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (::dup2(input, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(nowhere, STDERR_FILENO) < 0) {
    ::_exit(kNotStarted);
  }
  ::close_range(STDERR_FILENO + 1, UINT_MAX, 0);
  const auto seconds = static_cast<rlim_t>(limits.processor.count());
  set_limit(RLIMIT_CPU, seconds, seconds + 1);  // SIGXCPU tells of the first
  set_limit(RLIMIT_AS, limits.memory, limits.memory);
  set_limit(RLIMIT_FSIZE, 0, 0);
  set_limit(RLIMIT_CORE, 0, 0);
  set_limit(RLIMIT_NOFILE, kOpenFiles, kOpenFiles);
  ::execve(program, arguments, variables);
  ::_exit(kNotStarted);
}

/// A child process, with whatever it starts itself. Killed and waited for at the end.
class Child {
 public:
  explicit Child(pid_t process) noexcept : process_(process) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!ended_) end();
  }

  void kill() const noexcept {
    ::kill(-process_, SIGKILL);
    ::kill(process_, SIGKILL);  // it may not yet lead its group
  }

  /// Waits until the time for its end; false if it still runs.
  bool wait_until(Clock::time_point time) {
    while (!has_ended()) {
      if (Clock::now() >= time) return false;
      std::this_thread::sleep_for(kLook);
    }
    return true;
  }

  void end() noexcept {
    kill();
    while (!ended_ && ::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
    ended_ = true;
  }

  int status() const noexcept { return status_; }

 private:
  bool has_ended() noexcept {
    ended_ = ended_ || ::waitpid(process_, &status_, WNOHANG) == process_;
    return ended_;
  }

  pid_t process_;
  int status_ = 0;
  bool ended_ = false;
};

/// Reads the output to its end. Returns how the program must be ended; nothing if it may end by itself.
std::optional<ProcessResult::End> read_output(int descriptor, Clock::time_point deadline, std::size_t limit,
                                              std::string& output) {
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return ProcessResult::End::too_slow;
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX))) <= 0) continue;
    const std::size_t count = read_some(descriptor, buffer.data(), buffer.size(), "pipe");
    if (count == 0) return std::nullopt;
    if (count > limit - output.size()) return ProcessResult::End::too_much;
    output.append(buffer.data(), count);
  }
}

}  // namespace

std::optional<std::filesystem::path> find_program(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path folder(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!folder.is_absolute()) continue;
    std::filesystem::path program = folder / name;
    std::error_code failure;
    if (std::filesystem::is_regular_file(program, failure) && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

ProcessResult run_limited(const std::filesystem::path& program, const std::vector<std::string>& arguments, int input,
                          const ProcessLimits& limits) {
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const char* const path = std::getenv("PATH");
  std::string variables[] = {"LC_ALL=C.UTF-8", std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin")};
  char* environment[] = {variables[0].data(), variables[1].data(), nullptr};

  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_io_error("pipe", "creating", errno);
  UniqueFd ours(ends[0]), theirs(ends[1]);
  if (::lseek(input, 0, SEEK_SET) != 0) throw_io_error(program, "rewinding the input of", errno);
  const auto deadline = Clock::now() + limits.wall;
  const pid_t process = ::fork();
  if (process < 0) throw_io_error(program, "starting", errno);
  if (process == 0) become(words[0].c_str(), argv.data(), environment, input, theirs.get(), limits);
  Child child(process);
  theirs.reset();
  ProcessResult result;
  std::optional<ProcessResult::End> problem = read_output(ours.get(), deadline, limits.output, result.output);
  if (!problem && !child.wait_until(deadline)) problem = ProcessResult::End::too_slow;
  child.end();
  if (problem) {
    result.end = *problem;
  } else if (WIFSIGNALED(child.status())) {
    const bool slow = WTERMSIG(child.status()) == SIGXCPU;
    result.end = slow ? ProcessResult::End::too_slow : ProcessResult::End::by_signal;
  } else {
    result.code = WEXITSTATUS(child.status());
    if (result.code == kNotStarted && result.output.empty()) throw_io_error(program, "starting", ENOEXEC);
  }
  return result;
}

}  // namespace relucent::index_tools
