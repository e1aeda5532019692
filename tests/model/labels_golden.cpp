// Cross-encoders whose heads the tensors tell (goldens/labels): two labels, or one linear map.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Expects the scores of transformers for the golden `name`.
void expect_scores(const std::string& name, const fs::path& folder) {
  for (const BackendOptions& backend :
       {BackendOptions{Device::ref(), Precision::fp32, 1, ""}, BackendOptions{Device::cpu(), Precision::fp32, 1, ""},
        BackendOptions{Device::cpu(), Precision::int8, 1, ""}}) {
    for (const PatternChoice pattern : {PatternChoice::checkpoint, PatternChoice::full}) {
      CrossEncoderOptions options;
      options.backend = backend;
      options.pattern = pattern;
      const auto model = CrossEncoder::load(folder, options);
      for_each_line(golden_path("labels") / (name + ".jsonl.gz"), [&](const std::string& line) {
        const json pair = json::parse(line);
        const auto text = pair.at("text").get<std::string>();
        const std::string_view texts[] = {text};
        const float score = model->score(pair.at("query").get<std::string>(), texts).documents.at(0).logit;
        EXPECT_NEAR(score, pair.at("score").get<double>(), backend.precision == Precision::int8 ? 0.1 : 1e-4) << line;
      });
    }
  }
}

class TwoLabels : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_scores(const fs::path& folder) const { testing::expect_scores(GetParam(), folder); }
};

TEST_P(TwoLabels, AreStatedOrCountedInTheTensor) {
  const fs::path golden = golden_path("labels") / GetParam();
  expect_scores(golden);
  EXPECT_EQ(inspect_checkpoint(golden).description.head.outputs, 2);
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "model";
  fs::copy(golden, folder);
  json config;
  std::ifstream(golden / "config.json") >> config;
  const auto write = [&](const json& labels) {
    json changed = config;
    changed.update(labels);
    std::ofstream(folder / "config.json") << changed;
  };
  write({{"id2label", {{"0", "no"}, {"1", "yes"}}}});
  expect_scores(folder);
  write({{"num_labels", 2}});
  expect_scores(folder);
  write({{"num_labels", 1}});  // which the tensor contradicts
  expect_error(ErrorKind::invalid_data, {"classifier", "2"}, [&] { CrossEncoder::load(folder); });
  write({{"num_labels", 3}});
  expect_error(ErrorKind::invalid_data, {"classifier", "3"}, [&] { CrossEncoder::load(folder); });
}

TEST(OneLinearHead, IsTheScoreOfMonoElectra) {
  for (const char* name : {"monoelectra", "monoelectra-unbiased"}) {
    expect_scores(name, golden_path("labels") / name);
    EXPECT_TRUE(inspect_checkpoint(golden_path("labels") / name).description.head.steps.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TwoLabels, ::testing::Values("bert", "electra"));

}  // namespace
}  // namespace relucent::testing
