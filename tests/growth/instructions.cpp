// Instructions, counted by the processor if the system lets a program ask for that (virtual machines often do not), or
// else by valgrind's callgrind.
#include "tests/growth/instructions.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // the tests compile without valgrind, and then count nothing
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS
#endif

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::testing {
namespace {

constexpr const char* kCounts = "RELUCENT_GROWTH_COUNTS";  // the folder of callgrind's files

int processor_counter() {
  static const int counter = [] {
    perf_event_attr what = {};
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = 1;
    what.exclude_hv = 1;
    what.inherit = 1;
    return static_cast<int>(::syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  }();
  return counter;
}

std::uint64_t count_of(int counter) {
  std::uint64_t count = 0;
  return ::read(counter, &count, sizeof count) == sizeof count ? count : 0;
}

/// The sum in the newest of callgrind's files, which is removed.
std::optional<std::uint64_t> sum_of_dump(const std::filesystem::path& folder) {
  std::optional<std::uint64_t> sum;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view title = "totals: ";
      if (line.starts_with(title)) sum = std::stoull(line.substr(title.size()));
    }
    lines.close();
    std::filesystem::remove(file.path());
  }
  return sum;
}

}  // namespace

void count_instructions(char** arguments) {
  if (processor_counter() >= 0 || RUNNING_ON_VALGRIND != 0 || std::getenv(kCounts) != nullptr) return;
  std::string folder = (std::filesystem::temp_directory_path() / "relucent-counts-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return;
  ::setenv(kCounts, folder.c_str(), 1);
  std::string out = "--callgrind-out-file=" + folder + "/counts";
  std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string words[] = {"valgrind", "--tool=callgrind", "--quiet", "--max-stackframe=16000000", out, program};
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  for (char** argument = arguments + 1; *argument != nullptr; ++argument) command.push_back(*argument);
  command.push_back(nullptr);
  ::execvp("valgrind", command.data());
  std::filesystem::remove(folder);  // valgrind is not installed
  ::unsetenv(kCounts);
}

std::optional<std::uint64_t> instructions_of(const std::function<void()>& work) {
  if (const int counter = processor_counter(); counter >= 0) {
    const std::uint64_t before = count_of(counter);
    work();
    return count_of(counter) - before;
  }
  const char* const folder = std::getenv(kCounts);
  if (RUNNING_ON_VALGRIND == 0 || folder == nullptr) {
    work();
    return std::nullopt;
  }
  CALLGRIND_ZERO_STATS;
  work();
  CALLGRIND_DUMP_STATS;
  return sum_of_dump(folder);
}

}  // namespace relucent::testing
