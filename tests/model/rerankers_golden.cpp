// Logits of further rerankers, as their own libraries compute them (Lightning IR 0.0.6).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kLightning[] = {"monoelectra", "mono-bert-two", "mono-bert-pool"};

/// By query and document.
std::map<std::pair<std::string, std::string>, double> expected_logits(const fs::path& file) {
  std::map<std::pair<std::string, std::string>, double> logits;
  std::ifstream lines(file);
  std::string query, document;
  double logit = 0;
  while (lines >> query >> document >> logit) logits[{query, document}] = logit;
  return logits;
}

using Place = std::tuple<std::string, BackendOptions>;

class RerankersGolden : public ::testing::TestWithParam<Place> {};

TEST_P(RerankersGolden, EveryLogit) {
  const auto& [name, backend] = GetParam();
  const fs::path folder = golden_path("rerankers") / name;
  RELUCENT_NEEDS(folder);
  CrossEncoderOptions options;
  options.backend = backend;
  std::shared_ptr<const CrossEncoder> model;
  try {
    model = CrossEncoder::load(folder, options);
  } catch (const Error& error) {
    if (may_skip(error)) GTEST_SKIP() << "SKIPPED: " << error.what();
    throw;
  }
  const auto expected = expected_logits(golden_path("rerankers") / (name + ".expected.tsv"));
  double worst = 0;
  std::size_t computed = 0, truncated = 0;
  for_each_line(golden_path("rerankers") / "pairs.rerank.jsonl.gz", [&](const std::string& line) {
    const json pair = json::parse(line);
    const auto text = pair.at("text").get<std::string>();
    const std::string_view texts[] = {text};
    const PairScores scores = model->score(pair.at("query").get<std::string>(), texts);
    const double logit = expected.at({pair.at("qid"), pair.at("docno")});
    const double off = std::abs(scores.documents.at(0).logit - logit);
    EXPECT_LE(off, 1e-4) << line;
    worst = std::max(worst, off);
    truncated += scores.documents.at(0).truncated ? 1 : 0;
    ++computed;
  });
  EXPECT_EQ(computed, expected.size());
  EXPECT_GT(truncated, 3U);
  std::cout << name << ": greatest difference " << worst << "\n";
}

std::vector<Place> places() {
  std::vector<BackendOptions> all = {{Device::ref(), Precision::fp32, 1, ""}};
  for (const char* level : {"plain", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx", "amx_emulated"}) {
    all.push_back({Device::cpu(), Precision::fp32, 2, level});
  }
  all.push_back({Device::cuda(0), Precision::fp32, 1, ""});
  std::vector<Place> places;
  for (const char* name : kLightning) {
    for (const BackendOptions& options : all) places.emplace_back(name, options);
  }
  return places;
}

std::string name_of(const ::testing::TestParamInfo<Place>& info) {
  const auto& [checkpoint, options] = info.param;
  std::string name = checkpoint + "_" + to_string(options.device) + "_" + options.instruction_set;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, RerankersGolden, ::testing::ValuesIn(places()), name_of);

/// A copy of a golden checkpoint with another config.json.
class LightningFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    RELUCENT_NEEDS(golden_path("rerankers") / "monoelectra");
    fs::copy(golden_path("rerankers") / "monoelectra", folder());
    config_ = json::parse(std::ifstream(folder() / "config.json"));
  }

  fs::path folder() const { return temporary_.path() / "mono"; }
  void expect_refused(ErrorKind kind, const std::string& key, const json& value, const std::string& problem) const {
    json changed = config_;
    changed[key] = value;
    std::ofstream(folder() / "config.json") << changed;
    const Error error = expect_error(kind, {}, [&] { CrossEncoder::load(folder()); });
    EXPECT_TRUE(error.place().ends_with("config.json, key " + key)) << error.what();
    EXPECT_NE(error.problem().find(problem), std::string::npos) << error.what();
  }

  TemporaryFolder temporary_;
  json config_;
};

TEST_F(LightningFaults, KeysThatChangeScoresAreRefusedByName) {
  const auto unsupported = [&](const std::string& key, const json& value, const std::string& problem) {
    expect_refused(ErrorKind::unsupported, key, value, problem);
  };
  unsupported("backbone_model_type", "t5", "unknown backbone t5");
  unsupported("backbone_model_type", nullptr, "is missing");
  unsupported("pooling_strategy", "max", "unknown pooling max");
  unsupported("scoring_strategy", "other", "unknown scoring other");
  unsupported("tokenizer_pattern", "\\w+", "is not supported");
  unsupported("use_adapter", true, "adapters are not supported");
  unsupported("position_embedding_type", "relative_key", "unknown position scheme");
  expect_refused(ErrorKind::invalid_data, "query_length", 0, "");
  expect_refused(ErrorKind::invalid_data, "doc_length", "long", "");
}

TEST_F(LightningFaults, AnOutputTooManyIsAWrongShape) {
  json changed = config_;
  changed["scoring_strategy"] = "mono";
  std::ofstream(folder() / "config.json") << changed;
  const Error error = expect_error(ErrorKind::invalid_data, {}, [&] { CrossEncoder::load(folder()); });
  EXPECT_NE(error.place().find("tensor linear.weight"), std::string::npos) << error.what();
}

// As Lightning IR reads it: a bias that the key does not announce is dropped.
TEST_F(LightningFaults, ABiasWithoutItsKeyIsNotUsed) {
  const auto score = [&] {
    const std::string_view texts[] = {"a text"};
    return CrossEncoder::load(folder())->score("a query", texts).documents.at(0).logit;
  };
  const float with_bias = score();
  json changed = config_;
  changed.erase("linear_bias");
  std::ofstream(folder() / "config.json") << changed;
  EXPECT_NE(score(), with_bias);
  const std::vector<TensorSummary> tensors = inspect_checkpoint(folder()).tensors;
  EXPECT_EQ(std::ranges::count_if(
                tensors, [](const TensorSummary& tensor) { return tensor.name == "linear.bias" && !tensor.used; }),
            1);
}

TEST_F(LightningFaults, LimitsCutQueriesAndDocuments) {
  config_["query_length"] = 2;
  config_["doc_length"] = 3;
  std::ofstream(folder() / "config.json") << config_;
  CrossEncoderOptions options;
  const std::string_view texts[] = {"one two three four five six seven eight"};
  const auto cut = CrossEncoder::load(folder(), options)->score("a long query of words", texts);
  EXPECT_TRUE(cut.query_truncated);
  EXPECT_TRUE(cut.documents.at(0).truncated);
  EXPECT_EQ(cut.documents.at(0).tokens, 2 + 3 + 3);
  // Chunks have the document's limit.
  options.long_documents = LongDocuments::maxp;
  options.chunk = options.stride = 3;
  const auto chunks = CrossEncoder::load(folder(), options)->score("a long query of words", texts);
  EXPECT_FALSE(chunks.documents.at(0).truncated);
  EXPECT_GT(chunks.documents.at(0).tokens, 2 * (2 + 3 + 3));
}

}  // namespace
}  // namespace relucent::testing
