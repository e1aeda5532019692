// Studies of costs: processes that die, and the cache of what was measured.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <new>
#include <stop_token>
#include <string>

#include "index_tools/benchmarks/child_process.h"
#include "index_tools/benchmarks/cost_point.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::benchmarks {
namespace {

using testing::bytes_of;
using testing::expect_error;
using testing::TemporaryFolder;

TEST(OwnProcess, ReturnsWhatTheWorkReturns) {
  const std::string much(300000, 'x');  // more than a pipe holds
  EXPECT_EQ(call_in_own_process([&] { return much; }, {}), much);
  EXPECT_EQ(call_in_own_process([] { return std::string(); }, {}), "");
  const pid_t ours = ::getpid();
  EXPECT_NE(call_in_own_process([] { return std::to_string(::getpid()); }, {}), std::to_string(ours));
}

TEST(OwnProcess, ErrorsKeepTheirKindAndText) {
  const auto fail = []() -> std::string { throw Error(ErrorKind::unsupported, "place", "problem", "remedy"); };
  expect_error(ErrorKind::unsupported, {"place: problem; remedy"}, [&] { call_in_own_process(fail, {}); });
  const auto want_memory = []() -> std::string { throw std::bad_alloc(); };
  expect_error(ErrorKind::device, {"memory ran out"}, [&] { call_in_own_process(want_memory, {}); });
}

TEST(OwnProcess, ADeathStatesHow) {
  const auto die = []() -> std::string {
    ::raise(SIGKILL);
    return "alive";
  };
  expect_error(ErrorKind::device, {"was ended by signal 9 (Killed)", "fewer candidates"},
               [&] { call_in_own_process(die, {}); });
  const auto leave = []() -> std::string { ::_exit(3); };
  expect_error(ErrorKind::device, {"exit code 3"}, [&] { call_in_own_process(leave, {}); });
}

TEST(OwnProcess, AStopEndsTheProcess) {
  const auto hang = []() -> std::string {
    for (;;) ::pause();
  };
  std::stop_source source;
  StopSignal stop;
  stop.stop = source.get_token();
  int waits = 0;
  expect_error(ErrorKind::interrupted, [&] {
    call_in_own_process(hang, stop, [&] {
      if (++waits == 2) source.request_stop();
    });
  });
  EXPECT_EQ(waits, 2);
}

CostPoint point(int seed) {
  return {0.1 * seed, seed / 3.0, 1e9 * seed, 0, 1e12 / seed, 0, "2026-11-2" + std::to_string(seed) + "T10:00:00Z"};
}

TEST(CostCache, KeepsWhatWasMeasured) {
  const TemporaryFolder folder;
  for (int i = 1; i < 5; ++i) {
    CostCache cache(folder / "new/cache", "a model\nits settings\n");
    for (int earlier = 1; earlier < i; ++earlier) {
      const auto known = cache.find(std::to_string(earlier) + " tokens");
      ASSERT_TRUE(known) << i << " " << earlier;
      EXPECT_EQ(*known, point(earlier));
    }
    const std::string size = std::to_string(i) + " tokens";
    EXPECT_FALSE(cache.find(size));
    cache.add(size, point(i));
    EXPECT_EQ(*cache.find(size), point(i));
  }
  CostCache(folder / "new/cache", "a model\nits settings\n").add("1 tokens", point(7));
  EXPECT_EQ(*CostCache(folder / "new/cache", "a model\nits settings\n").find("1 tokens"), point(7));
  EXPECT_EQ(CostCache(folder / "new/cache", "another model\nits settings\n").find("1 tokens"), std::nullopt);
  folder.write("file", "");
  expect_error(ErrorKind::io, {"file", "--cache"}, [&] { CostCache(folder / "file", "a model"); });
}

// Wherever a kill or a power cut leaves the file's end, whole lines count, and the next point follows them.
TEST(CostCache, AFileCutAnywhereIsAsGoodAsItsWholeLines) {
  const TemporaryFolder folder;
  std::filesystem::path file;
  {
    CostCache cache(folder.path(), "settings");
    for (int i = 1; i < 4; ++i) cache.add(std::to_string(i), point(i));
    file = cache.file();
  }
  const std::string whole = bytes_of(file);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    folder.write(file.filename().string(), whole.substr(0, size));
    {
      CostCache cache(folder.path(), "settings");
      for (int i = 1; i < 4; ++i) {
        const auto known = cache.find(std::to_string(i));
        EXPECT_TRUE(!known || *known == point(i)) << size;
      }
      // The last line may lack its end alone.
      EXPECT_EQ(cache.find("3").has_value(), size + 1 >= whole.size()) << size;
      cache.add("7", point(7));
    }
    const CostCache again(folder.path(), "settings");
    ASSERT_TRUE(again.find("7")) << size;
    EXPECT_EQ(*again.find("7"), point(7)) << size;
  }
}

}  // namespace
}  // namespace relucent::benchmarks
