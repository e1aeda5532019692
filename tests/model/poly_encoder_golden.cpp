// Poly-Encoders (goldens/poly): vectors of candidates, and scores from them and from texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/late_interaction.h"
#include "tests/support/every_backend.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

class PolyEncoderGolden : public ::testing::TestWithParam<BackendOptions> {};

/// How far vectors, whose numbers are near 1, and scores may be off.
std::pair<double, double> poly_bounds(Precision precision) {
  switch (precision) {
    case Precision::fp32: return {2e-5, 1e-4};
    case Precision::int16: return {0.01, 0.02};
    case Precision::int8: return {0.12, 0.35};
    case Precision::automatic:
    case Precision::tf32:
    case Precision::fp16:
    case Precision::bf16: return {0.03, 0.05};
  }
  return {};
}

TEST_P(PolyEncoderGolden, VectorsAndScores) {
  for (const std::string name : {"codes-4", "codes-64"}) {
    std::shared_ptr<const LateInteraction> model;
    RELUCENT_NEEDS_DEVICE(model = LateInteraction::load(golden_path("poly") / name, GetParam()));
    EXPECT_EQ(model->size(), 32);
    double of_vectors = 0, of_scores = 0;
    for_each_line(golden_path("poly") / (name + ".jsonl.gz"), [&](const std::string& line) {
      const json golden = json::parse(line);
      const std::vector<std::string> texts = golden.at("texts");
      const std::vector<std::vector<float>> vectors =
          model->encode(std::vector<std::string_view>(texts.begin(), texts.end()));
      std::vector<LateCandidate> now, stored;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::vector<double> expected = golden.at("vectors").at(i);
        ASSERT_EQ(vectors[i].size(), expected.size());  // one vector
        for (std::size_t f = 0; f < expected.size(); ++f)
          of_vectors = std::max(of_vectors, std::abs(vectors[i][f] - expected[f]));
        now.push_back({texts[i]});
        stored.push_back({"",
                          {EmbeddingNumbers::fp32,
                           {reinterpret_cast<const char*>(vectors[i].data()), vectors[i].size() * sizeof(float)}}});
      }
      const std::string query = golden.at("query");
      const LateScores scores = model->score(query, now), again = model->score(query, stored);
      for (std::size_t i = 0; i < texts.size(); ++i) {
        of_scores = std::max(of_scores, std::abs(scores.candidates[i].score - golden.at("scores").at(i).get<double>()));
        EXPECT_EQ(scores.candidates[i].score, again.candidates[i].score);
      }
    });
    const auto [vector_bound, score_bound] = poly_bounds(GetParam().precision);
    std::cout << name << ": vectors off by " << of_vectors << " (at most " << vector_bound << "), scores by "
              << of_scores << " (" << score_bound << ")\n";
    EXPECT_LE(of_vectors, vector_bound);
    EXPECT_LE(of_scores, score_bound);
  }
}

std::string poly_name(const ::testing::TestParamInfo<BackendOptions>& info) {
  std::string name =
      to_string(info.param.device) + "_" + info.param.instruction_set + "_" + to_string(info.param.precision);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Backends, PolyEncoderGolden, ::testing::ValuesIn(every_backend()), poly_name);

TEST(PolyEncoder, IsMadeFromABert) {
  const TemporaryFolder temporary;
  PolyEncoderInit settings{.codes = 8, .query_max_length = 16, .candidate_max_length = 20};
  init_poly_encoder(golden_path("labels") / "bert", temporary / "poly", settings);
  EXPECT_TRUE(LateInteraction::is(temporary / "poly"));
  const CheckpointCheck check = check_checkpoint(temporary / "poly");
  EXPECT_TRUE(check.problems.empty());
  for (const TensorSummary& tensor : check.info.tensors) EXPECT_TRUE(tensor.used) << tensor.name;
  EXPECT_EQ(check.info.candidate_max_length, 20);
  settings.codes = 0;
  expect_error(ErrorKind::usage, {"poly_codes"},
               [&] { init_poly_encoder(golden_path("labels") / "bert", temporary / "none", settings); });
  settings = {.query_max_length = 65};
  expect_error(ErrorKind::usage, {"query_max_length", "at most 64 tokens"},
               [&] { init_poly_encoder(golden_path("labels") / "bert", temporary / "long", settings); });
}

}  // namespace
}  // namespace relucent::testing
