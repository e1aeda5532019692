#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "relucent/config.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

TEST(ConfigProfiles, EveryShippedProfileLoadsAndStatesWhatItIsFor) {
  int profiles = 0;
  for (const auto& entry : fs::directory_iterator("config")) {
    if (entry.path().extension() != ".toml") continue;
    ++profiles;
    EXPECT_NO_THROW(load_config(entry.path())) << entry.path();
    EXPECT_EQ(contents(entry.path()).substr(0, 2), "# ") << entry.path() << " does not begin with a comment";
  }
  EXPECT_GE(profiles, 6);
}

// To bring the file up to date after a change of the schema: RELUCENT_UPDATE_DOCS=1 build/dev/tests/config_tests
TEST(ConfigProfiles, DefaultProfileIsTheBuiltInDefaultsWithEveryKey) {
  if (std::getenv("RELUCENT_UPDATE_DOCS") != nullptr) {
    std::ofstream("config/default.toml")
        << "# Every key with its default; copy what you change into a profile of your own.\n"
           "# What the values mean in full: docs/configuration.md\n\n"
        << to_toml(Config());
    GTEST_SKIP() << "SKIPPED: wrote config/default.toml instead of checking it";
  }
  const std::string text = contents("config/default.toml");
  EXPECT_EQ(parse_config(text, "default.toml"), Config());
  EXPECT_NE(text.find(to_toml(Config())), std::string::npos) << "config/default.toml must hold exactly this:\n"
                                                             << to_toml(Config());
}

TEST(ConfigProfiles, EachProfileChangesWhatItsNameStates) {
  EXPECT_EQ(load_config("config/cpu.toml").rescorer.device, Device::cpu());
  EXPECT_EQ(load_config("config/cuda.toml").rescorer.device, Device::cuda(0));
  EXPECT_EQ(load_config("config/cuda.toml").rescorer.fallback_device, FallbackDevice::cpu);
  EXPECT_FALSE(load_config("config/bm25.toml").rescorer.enabled);
  EXPECT_EQ(load_config("config/long-documents.toml").rescorer.long_documents, LongDocuments::maxp);
  const SecondStageConfig fusion = load_config("config/fusion.toml").rescorer;
  EXPECT_EQ(fusion.score_mode, ScoreMode::total);
  EXPECT_EQ(fusion.normalize, Normalize::minmax);
  EXPECT_EQ(fusion.rescore_weight, 1.0);
  EXPECT_EQ(fusion.query_weight, 0.2);
}

// A deadline that suits one machine leaves another with BM25's order.
TEST(ConfigProfiles, NoneHasADeadline) {
  EXPECT_EQ(Config().rescorer.timeout.count(), 0);
  for (const auto& file : std::filesystem::directory_iterator("config")) {
    if (file.path().extension() != ".toml") continue;
    EXPECT_EQ(load_config(file.path()).rescorer.timeout.count(), 0) << file.path();
  }
}

}  // namespace
}  // namespace relucent
