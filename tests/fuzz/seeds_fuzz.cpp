// Replays the kept inputs of every fuzz target: corpus/TARGET has the smallest ones that reach all that was ever
// reached, and those that once crashed, hung or took too much memory. A finding ends the process.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tests/support/temporary_folder.h"

namespace relucent::fuzz {
namespace {

namespace fs = std::filesystem;

/// The longest that an input may take, in seconds of the processor, so that a busy machine does not count.
constexpr double kLongest = 5;

std::vector<std::string> names_of_targets() {
  std::vector<std::string> names;
  for (const auto& [name, target] : targets()) names.push_back(name);
  return names;
}

class FuzzSeeds : public ::testing::TestWithParam<std::string> {};

TEST_P(FuzzSeeds, AreReadWithoutAFinding) {
  const fs::path folder = fs::path("tests/fuzz/corpus") / GetParam();
  std::vector<fs::path> seeds;
  for (const auto& file : fs::directory_iterator(folder)) seeds.push_back(file.path());
  std::ranges::sort(seeds);
  ASSERT_FALSE(seeds.empty()) << folder;
  targets().at(GetParam())("");
  for (const fs::path& seed : seeds) {
    SCOPED_TRACE(seed.string());
    RecordProperty("last", seed.string());
    const std::clock_t start = std::clock();
    targets().at(GetParam())(testing::bytes_of(seed));
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, kLongest);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, FuzzSeeds, ::testing::ValuesIn(names_of_targets()),
                         [](const auto& test) { return test.param; });

// A target without seeds would pass unnoticed, and so would seeds whose target has another name by now.
TEST(FuzzTargets, HaveAFolderOfSeedsEach) {
  std::vector<std::string> folders;
  for (const auto& folder : fs::directory_iterator("tests/fuzz/corpus")) folders.push_back(folder.path().filename());
  std::ranges::sort(folders);
  EXPECT_EQ(folders, names_of_targets());
}

}  // namespace
}  // namespace relucent::fuzz
