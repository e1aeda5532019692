// Embedding models as sentence-transformers 6.2 computes them (goldens/embeddings).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/model/late_interaction.h"
#include "tests/support/every_backend.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kModels[] = {"bert-mean", "bert-cls-dot", "roberta-dense", "modernbert-cls"};

using Place = std::tuple<std::string, BackendOptions>;

/// Allowed for a number of a vector of length 1, and for a cosine.
double tolerance_of(Precision precision) {
  switch (precision) {
    case Precision::bf16: return 0.01;
    case Precision::int16: return 0.003;
    case Precision::int8: return 0.04;
    case Precision::fp16: return 0.005;
    default: return 1e-5;
  }
}

class EmbeddingGolden : public ::testing::TestWithParam<Place> {};

TEST_P(EmbeddingGolden, EveryVectorAndScore) {
  const auto& [name, backend] = GetParam();
  const fs::path folder = golden_path("embeddings") / name;
  std::shared_ptr<const LateInteraction> model;
  try {
    model = LateInteraction::load(folder, backend);
  } catch (const Error& error) {
    if (!may_skip(error)) throw;
    GTEST_SKIP() << "SKIPPED: " << error.what();
  }
  const bool dot = name == "bert-cls-dot";
  const double tolerance = tolerance_of(backend.precision);
  double worst_number = 0, worst_score = 0;
  std::size_t compared = 0, truncated = 0;
  for_each_line(golden_path("embeddings") / (name + ".jsonl.gz"), [&](const std::string& line) {
    const json expected = json::parse(line);
    const auto text = expected.at("text").get<std::string>();
    const std::string_view texts[] = {text};
    const std::vector<float> vector = model->encode(texts).at(0);
    auto wanted = expected.at("document_vector").get<std::vector<double>>();
    ASSERT_EQ(vector.size(), wanted.size());
    double length = 0;
    for (const double number : wanted) length += number * number;
    length = std::sqrt(length);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      // Where the similarity is the cosine, vectors have length 1 here, with or without a module Normalize.
      worst_number = std::max(worst_number, std::abs(vector[i] * (dot ? 1 / length : 1) - wanted[i] / length));
    }
    const LateCandidate candidate{text};
    const LateScore score = model->score(expected.at("query").get<std::string>(), {&candidate, 1}).candidates.at(0);
    worst_score = std::max(worst_score, std::abs(score.score - expected.at("score").get<double>()));
    truncated += score.truncated ? 1 : 0;
    ++compared;
  });
  EXPECT_LE(worst_number, tolerance);
  const bool in_16_bits = backend.precision == Precision::bf16 || backend.precision == Precision::fp16;
  EXPECT_LE(worst_score, !dot ? tolerance : in_16_bits ? 0.05 : 10 * tolerance);
  EXPECT_EQ(compared, 24U);
  EXPECT_GT(truncated, 0U);
  std::cout << name << ": greatest differences " << worst_number << " and " << worst_score << "\n";
}

std::vector<Place> places() {
  std::vector<Place> places;
  for (const char* name : kModels) {
    for (const BackendOptions& options : every_backend()) places.emplace_back(name, options);
  }
  return places;
}

std::string name_of(const ::testing::TestParamInfo<Place>& info) {
  const auto& [model, options] = info.param;
  std::string name =
      model + "_" + to_string(options.device) + "_" + options.instruction_set + "_" + to_string(options.precision);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, EmbeddingGolden, ::testing::ValuesIn(places()), name_of);

class EmbeddingModel : public ::testing::Test {
 protected:
  explicit EmbeddingModel(const std::string& name = "bert-mean") {
    fs::copy(golden_path("embeddings") / name, folder(), fs::copy_options::recursive);
  }
  fs::path folder() const { return temporary_ / "model"; }
  void write(const std::string& file, const std::string& text) const { std::ofstream(folder() / file) << text; }
  void change(const std::string& file, const std::function<void(json&)>& edit) const {
    json content;
    std::ifstream(folder() / file) >> content;
    edit(content);
    write(file, content.dump());
  }
  std::vector<float> vector(const std::string& text = "ba den so") const {
    const std::string_view texts[] = {text};
    return LateInteraction::load(folder(), {Device::cpu(), Precision::fp32, 1, ""})->encode(texts).at(0);
  }
  void expect_refused(const std::vector<std::string>& parts, ErrorKind kind = ErrorKind::unsupported) const {
    expect_error(kind, parts, [&] { LateInteraction::load(folder()); });
  }

 private:
  TemporaryFolder temporary_;
};

TEST_F(EmbeddingModel, HasTheSameVectorsInTheLayoutOfVersion2) {
  const std::vector<float> own = vector();
  write("config_sentence_transformers.json", R"({"__version__": {"sentence_transformers": "2.0.0"}})");
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 32, "pooling_mode_cls_token": false,
    "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false})");
  write("sentence_bert_config.json", R"({"max_seq_length": 60, "do_lower_case": false})");
  write("modules.json", R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  fs::remove_all(folder() / "2_Normalize");
  EXPECT_EQ(vector(), own);
  fs::remove(folder() / "config_sentence_transformers.json");
  EXPECT_EQ(vector(), own);
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 32, "pooling_mode_cls_token": true,
    "pooling_mode_mean_tokens": false})");
  EXPECT_NE(vector(), own);
}

TEST_F(EmbeddingModel, IsToldFromModelsOfOtherKinds) {
  EXPECT_TRUE(LateInteraction::is(folder()));
  EXPECT_EQ(inspect_checkpoint(folder()).vector_size, 32);
  EXPECT_TRUE(check_checkpoint(folder()).problems.empty());
  EXPECT_EQ(inspect_checkpoint(golden_path("embeddings") / "roberta-dense").vector_size, 24);
  expect_error(ErrorKind::unsupported, {"embedding"}, [&] { CrossEncoder::load(folder()); });
  expect_error(ErrorKind::unsupported, {"modules.json"},
               [&] { convert_checkpoint(folder(), folder().parent_path() / "copy", DataType::bf16); });
  change("config_sentence_transformers.json", [](json& file) { file["model_type"] = "CrossEncoder"; });
  EXPECT_FALSE(LateInteraction::is(folder()));
  change("config_sentence_transformers.json", [](json& file) { file["model_type"] = "SentenceTransformer"; });
  change("config.json", [](json& file) { file["architectures"] = {"BertForSequenceClassification"}; });
  EXPECT_FALSE(LateInteraction::is(folder()));
}

TEST_F(EmbeddingModel, PutsThePromptsInFront) {
  const std::string text = "den so";
  const auto score = [&] {
    const LateCandidate candidate{text};
    const auto model = LateInteraction::load(folder(), {Device::cpu(), Precision::fp32, 1, ""});
    return model->score("ba", {&candidate, 1}).candidates.at(0).score;
  };
  const std::vector<float> with_words = vector("ba " + text);
  const float plain = score();
  change("config_sentence_transformers.json", [](json& file) { file["prompts"] = {{"passage", "ba "}}; });
  EXPECT_EQ(vector(text), with_words);
  EXPECT_NE(score(), plain);
  change("config_sentence_transformers.json", [](json& file) {
    file["prompts"] = {{"any", "ba "}, {"document", ""}};
    file["default_prompt_name"] = "any";
  });
  EXPECT_NE(vector(text), with_words);  // documents have an empty prompt of their own
  change("config_sentence_transformers.json", [](json& file) { file["prompts"].erase("document"); });
  EXPECT_EQ(vector(text), with_words);
}

TEST_F(EmbeddingModel, SettingsThatChangeVectorsAreRefusedByName) {
  const auto changed = [&](const std::string& file, const std::string& key, const json& value,
                           const std::vector<std::string>& parts, ErrorKind kind = ErrorKind::unsupported) {
    SCOPED_TRACE(key + " = " + value.dump());
    std::stringstream before;
    before << std::ifstream(folder() / file).rdbuf();
    change(file, [&](json& content) { content[key] = value; });
    expect_refused(parts, kind);
    write(file, before.str());
  };
  const std::string pooling = "1_Pooling/config.json", settings = "config_sentence_transformers.json";
  changed(pooling, "pooling_mode", "max", {"1_Pooling", "pooling_mode", "max"});
  changed(pooling, "include_prompt", false, {"1_Pooling", "include_prompt"});
  changed(pooling, "embedding_dimension", 31, {"1_Pooling", "is 31", "32"}, ErrorKind::invalid_data);
  changed(settings, "similarity_fn_name", "euclidean", {"similarity_fn_name", "euclidean"});
  changed(settings, "default_prompt_name", "absent", {"default_prompt_name"}, ErrorKind::invalid_data);
  changed("sentence_bert_config.json", "do_lower_case", true, {"do_lower_case"});
  changed("sentence_bert_config.json", "max_seq_length", 2, {"at most 2 tokens"}, ErrorKind::invalid_data);
  write("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"path": "2_CNN", "type": "sentence_transformers.models.CNN"}])");
  expect_refused({"modules.json", "CNN"});
  write("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "../1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  expect_refused({"modules.json"}, ErrorKind::invalid_data);
}

}  // namespace
}  // namespace relucent::testing
