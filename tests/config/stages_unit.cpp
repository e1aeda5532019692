// [[rescorer.stages]]: several models one after another.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "relucent/config.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent {
namespace {

constexpr const char* kTwoStages =
    "[rescorer]\n"
    "precision = \"fp32\"\n"
    "timeout_ms = 300\n"
    "min_score = 0.5\n"
    "[[rescorer.stages]]\n"
    "model = \"fast\"\n"
    "window = 1000\n"
    "[[rescorer.stages]]\n"
    "model = \"exact\"\n"
    "window = 50\n"
    "precision = \"bf16\"\n"
    "[log]\n"
    "level = \"info\"\n";

TEST(ConfigStages, HaveTheValuesOfTheRescorerExceptForTheirOwn) {
  const Config config = parse_config(kTwoStages, "test");
  ASSERT_EQ(config.rescorer.stages.size(), 2U);
  const StageConfig &first = config.rescorer.stages[0], &second = config.rescorer.stages[1];
  EXPECT_EQ(first.model, "fast");
  EXPECT_EQ(first.window, 1000);
  EXPECT_EQ(first.precision, Precision::fp32);
  EXPECT_EQ(second.model, "exact");
  EXPECT_EQ(second.window, 50);
  EXPECT_EQ(second.precision, Precision::bf16);
  EXPECT_EQ(config.rescorer.window, 100);
  EXPECT_EQ(config.rescorer.first_window(), 1000);
  EXPECT_EQ(config.log.level, LogLevel::info);
}

TEST(ConfigStages, AreTheRescorersOwnSettingsUnlessItNamesSome) {
  const Config config = parse_config(kTwoStages, "test");
  EXPECT_EQ(config.rescorer.effective_stages(), config.rescorer.stages);
  EXPECT_EQ(config.rescorer.min_score, 0.5);
  EXPECT_EQ(config.rescorer.timeout.count(), 300);
  const Config single = parse_config("[rescorer]\nwindow = 7\nmin_score = 2\n", "test");
  EXPECT_EQ(single.rescorer.effective_stages(), std::vector<StageConfig>{single.rescorer});
  EXPECT_EQ(single.rescorer.first_window(), 7);
}

TEST(ConfigStages, AreWrittenAndReadBack) {
  for (const char* text : {kTwoStages, "rescorer.stages = [{attention_window = 3}, {window = 20, module = \"x\"}]"}) {
    const Config config = parse_config(text, "test");
    EXPECT_EQ(config.rescorer.stages.size(), 2U);
    EXPECT_EQ(parse_config(to_toml(config), "test"), config) << to_toml(config);
  }
}

TEST(ConfigStages, WrittenBeforeTheRescorerTheyHaveItsValuesToo) {
  const Config config = parse_config("[[rescorer.stages]]\nwindow = 9\n[rescorer]\nmodel = \"base\"\n", "test");
  ASSERT_EQ(config.rescorer.stages.size(), 1U);
  EXPECT_EQ(config.rescorer.stages[0].model, "base");
  EXPECT_EQ(config.rescorer.stages[0].window, 9);
}

TEST(ConfigStages, RelativePathsAreTakenFromTheProfilesFolder) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "profile.toml";
  std::ofstream(file) << "[rescorer]\nmodel = \"base\"\n[[rescorer.stages]]\nmodule = \"mine.so\"\n"
                         "[[rescorer.stages]]\nmodel = \"/models/two\"\n";
  const auto stages = load_config(file).rescorer.stages;
  EXPECT_EQ(stages.at(0).module, (folder.path() / "mine.so").string());
  EXPECT_EQ(stages.at(0).model, (folder.path() / "base").string());
  EXPECT_EQ(stages.at(1).model, "/models/two");
}

TEST(ConfigStages, FilledInByAProgramTheyAreCheckedByTheSameRules) {
  Config config;
  config.rescorer.stages.resize(2);
  EXPECT_NO_THROW(check_config(config));
  config.rescorer.stages[1].window = 0;
  EXPECT_EQ(testing::expect_error(ErrorKind::usage, [&] { check_config(config); }).place(),
            "[rescorer.stages 2] window");
  config.rescorer.stages[1].window = 101;
  EXPECT_EQ(testing::expect_error(ErrorKind::usage, [&] { check_config(config); }).place(),
            "[rescorer.stages 2] window");
  config.rescorer.stages[1].window = 100;
  config.rescorer.stages[0].stride = 1000;
  EXPECT_EQ(testing::expect_error(ErrorKind::usage, [&] { check_config(config); }).place(),
            "[rescorer.stages 1] stride");
  config.rescorer.stages.assign(9, StageConfig());
  EXPECT_THROW(check_config(config), Error);
}

}  // namespace
}  // namespace relucent
