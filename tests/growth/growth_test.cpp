// Twice as large an input costs at most 2.3 times as much: instructions, and memory at its peak.
// RELUCENT_GROWTH=N multiplies the sizes, and runs every case instead of a sample.
#include "tests/growth/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <optional>

#include "relucent/error.h"
#include "tests/growth/allocations.h"
#include "tests/growth/instructions.h"

namespace relucent::testing {
namespace {

constexpr double kMostGrowth = 2.3;
// The instructions that the last doubling adds, over those that the doubling before adds. Above kMostGrowth, the whole
// may not grow by more than that either: sorting adds up to 2.7 times as many at these sizes, a square 4 times.
constexpr double kMostWork = 3;
/// Tables that double when they are full, buffers and the like: growth below these amounts shows nothing.
constexpr std::size_t kFewBytes = 16 << 10;
constexpr std::uint64_t kFewInstructions = 20'000;

struct Costs {
  std::optional<std::uint64_t> instructions;
  std::size_t bytes = 0;  ///< more than before, at the peak
  double seconds = 0;     ///< for the reader alone
};

Costs costs_of(const Case& input, std::size_t size) {
  const Work work = input.prepare(size);
  Costs costs;
  bool refused = false;
  const std::size_t before = allocated_bytes();
  restart_peak();
  const std::clock_t start = std::clock();
  costs.instructions = instructions_of([&] {
    try {
      work();
    } catch (const Error& error) {
      refused = true;
      if (!input.refused) ADD_FAILURE() << error.what();
    }
  });
  costs.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  costs.bytes = allocated_peak() - before;
  EXPECT_EQ(refused, input.refused);
  return costs;
}

class Growth : public ::testing::TestWithParam<Case> {};

TEST_P(Growth, IsAtMostInProportion) {
  const Case& input = GetParam();
  const char* const factor = std::getenv("RELUCENT_GROWTH");
  const std::size_t size =
      input.size *
      std::min<std::size_t>(factor == nullptr ? 1 : std::strtoull(factor, nullptr, 10), input.largest_factor);
  costs_of(input, input.size);  // what is made once
  std::array<Costs, 3> costs;
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = costs_of(input, size << i);

  const auto growth = [](double first, double second, double third) { return (third - second) / (second - first); };
  const double memory = static_cast<double>(costs[2].bytes) / static_cast<double>(std::max(costs[1].bytes, kFewBytes));
  std::printf("%-44s %9zu", input.name.c_str(), size << 2);
  if (costs[0].instructions) {
    const auto [first, second, third] =
        std::array{*costs[0].instructions, *costs[1].instructions, *costs[2].instructions};
    // What does not depend on the size would hide what does.
    const double work =
        third < second + kFewInstructions
            ? 1
            : growth(static_cast<double>(first), static_cast<double>(second), static_cast<double>(third));
    std::printf(" %13llu instructions x %.2f", static_cast<unsigned long long>(third), work);
    EXPECT_LE(std::min(work, static_cast<double>(third) / static_cast<double>(second)), kMostGrowth)
        << "instructions: " << first << ", " << second << ", " << third;
    EXPECT_LE(work, kMostWork) << "instructions: " << first << ", " << second << ", " << third;
  } else {
    std::printf(" %9.3f s x %.2f", costs[2].seconds, growth(costs[0].seconds, costs[1].seconds, costs[2].seconds));
  }
  std::printf(" %12zu bytes x %.2f\n", costs[2].bytes, memory);
  std::fflush(stdout);
  EXPECT_LE(memory, kMostGrowth) << "bytes: " << costs[0].bytes << ", " << costs[1].bytes << ", " << costs[2].bytes;
  if (!costs[0].instructions) GTEST_SKIP() << "instructions: neither the processor's counter nor valgrind is there";
}

std::string name_of(const ::testing::TestParamInfo<Case>& test) { return test.param.name; }

/// Cases that were out of proportion once.
bool has_failed_before(const std::string& name) {
  for (const char* part :
       {"topics_trec", "bert_uncased_added_spaces", "bert_uncased_added_mixed_accents", "run_jsonl_many_keys",
        "metadata_of_an_answer", "html_attributes", "config_json_keys", "safetensors_index", "load_special_tokens"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

/// Those of the suite: every twelfth, and the ones that have failed before.
std::vector<Case> chosen(const std::vector<Case>& cases) {
  if (std::getenv("RELUCENT_GROWTH") != nullptr) return cases;
  std::vector<Case> some;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i % 12 == 0 || has_failed_before(cases[i].name)) some.push_back(cases[i]);
  }
  return some;
}

INSTANTIATE_TEST_SUITE_P(formats_growth, Growth, ::testing::ValuesIn(chosen(formats_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(tokenizer_growth, Growth, ::testing::ValuesIn(chosen(tokenizer_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(evaluation_growth, Growth, ::testing::ValuesIn(chosen(evaluation_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(corpora_growth, Growth, ::testing::ValuesIn(chosen(corpora_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(index_growth, Growth, ::testing::ValuesIn(chosen(index_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(server_growth, Growth, ::testing::ValuesIn(chosen(server_cases())), name_of);

}  // namespace
}  // namespace relucent::testing

int main(int count, char** arguments) {
  relucent::testing::count_instructions(arguments);
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
