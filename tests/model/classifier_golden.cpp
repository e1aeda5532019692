// Classifiers of pairs, and MixEncoders with the ablations of the paper's Table 3 (goldens/classifiers).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/classifier.h"
#include "relucent/model/mix_encoder.h"
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
using Logits = std::vector<float>;

struct Golden {
  std::vector<std::string> queries, texts;
  std::vector<std::vector<double>> outputs;
};

Golden read_golden(const std::string& name) {
  Golden golden;
  for_each_line(golden_path("classifiers") / (name + ".jsonl.gz"), [&](const std::string& line) {
    const json pair = json::parse(line);
    golden.queries.push_back(pair.at("query"));
    golden.texts.push_back(pair.at("text"));
    golden.outputs.push_back(pair.at("logits"));
  });
  return golden;
}

/// The outputs of a checkpoint for one query and some texts.
using Compute = std::function<Logits(std::string_view query, std::span<const std::string_view> texts)>;

/// The greatest distance of `compute` from the outputs that are expected. Also checks that all texts of the file
/// together have the bits of each alone.
double distance_of(const Golden& golden, const Compute& compute) {
  double worst = 0;
  const std::vector<std::string_view> texts(golden.texts.begin(), golden.texts.end());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<double>& expected = golden.outputs[i];
    const Logits found = compute(golden.queries[i], std::span(texts).subspan(i, 1));
    EXPECT_EQ(found.size(), expected.size());
    if (found.size() != expected.size()) return INFINITY;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double here = std::abs(found[k] - expected[k]);
      worst = std::isnan(here) ? INFINITY : std::max(worst, here);
    }
    if (i % 5 != 0) continue;
    const Logits together = compute(golden.queries[i], texts);
    EXPECT_EQ(together.size(), texts.size() * expected.size());
    EXPECT_EQ(Logits(together.begin() + static_cast<std::ptrdiff_t>(i * expected.size()),
                     together.begin() + static_cast<std::ptrdiff_t>((i + 1) * expected.size())),
              found);
  }
  return worst;
}

using Load = std::function<Compute(const fs::path& folder, const BackendOptions& backend)>;

Compute load_classifier(const fs::path& folder, const BackendOptions& backend) {
  CrossEncoderOptions options;
  options.backend = backend;
  const std::shared_ptr<const Classifier> model = Classifier::load(folder, options);
  EXPECT_EQ(model->labels(), (std::vector<std::string>{"entailment", "neutral", "contradiction"}));
  return [model](std::string_view query, std::span<const std::string_view> texts) {
    return model->classify(query, texts);
  };
}

Compute load_mix_encoder(const fs::path& folder, const BackendOptions& backend) {
  const std::shared_ptr<const MixEncoder> model = MixEncoder::load(folder, backend);
  return [model](std::string_view query, std::span<const std::string_view> texts) {
    std::vector<MixCandidate> candidates;
    for (const std::string_view text : texts) candidates.push_back({text});
    Logits scores;
    for (const MixScore& score : model->score(query, candidates).candidates) scores.push_back(score.score);
    return scores;
  };
}

/// What outputs, which run up to 15, may be off. In bf16 that is more than 0.05 where rounding the weights alone, all
/// else in fp32, costs more than two thirds of it.
double bound_of(Precision precision, const fs::path& folder, const Golden& golden, const Load& load) {
  switch (precision) {
    case Precision::fp32: return 1e-4;
    case Precision::int16: return 0.04;
    case Precision::int8: return 0.35;
    case Precision::bf16: {
      const TemporaryFolder temporary;
      convert_checkpoint(folder, temporary / "rounded", DataType::bf16);
      const Compute rounded = load(temporary / "rounded", {Device::cpu(), Precision::fp32, 1, ""});
      return std::max(0.05, 1.5 * distance_of(golden, rounded));
    }
    case Precision::automatic:
    case Precision::tf32:
    case Precision::fp16: return 0.05;
  }
  return 0;
}

class ClassifierGolden : public ::testing::TestWithParam<BackendOptions> {
 protected:
  void expect_near(const std::string& name, const Load& load) {
    const fs::path folder = golden_path("classifiers") / name;
    Compute compute;
    RELUCENT_NEEDS_DEVICE(compute = load(folder, GetParam()));
    const Golden golden = read_golden(name);
    const double off = distance_of(golden, compute), bound = bound_of(GetParam().precision, folder, golden, load);
    std::cout << name << ": off by " << off << " (at most " << bound << ")\n";
    EXPECT_LE(off, bound) << name;
  }
};

TEST_P(ClassifierGolden, EveryLabel) {
  for (const char* name : {"bert", "electra", "mix-labels", "mix-labels-split"}) expect_near(name, load_classifier);
}

TEST_P(ClassifierGolden, EveryAblation) {
  for (const char* name : {"mix-without-h", "mix-without-e", "mix-without-both"}) expect_near(name, load_mix_encoder);
}

std::string backend_name(const ::testing::TestParamInfo<BackendOptions>& info) {
  const BackendOptions& backend = info.param;
  std::string name = to_string(backend.device) + "_" + backend.instruction_set + "_" + to_string(backend.precision);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Backends, ClassifierGolden, ::testing::ValuesIn(every_backend()), backend_name);

TEST(Classifier, RefusesModelsThatScore) {
  expect_error(ErrorKind::unsupported, {"mix-without-h", "gives a score and has no labels"},
               [] { Classifier::load(golden_path("classifiers") / "mix-without-h"); });
  expect_error(ErrorKind::unsupported, {"labels/bert", "gives a score and has no labels"},
               [] { Classifier::load(golden_path("labels") / "bert"); });
}

TEST(Classifier, HasNoScore) {
  const std::vector<std::string> problem = {"is a classifier with 3 labels (entailment, neutral, contradiction)",
                                            "has no score to rank by"};
  const std::string_view texts[] = {"bad"};
  const MixCandidate candidates[] = {{"bad"}};
  expect_error(ErrorKind::unsupported, problem,
               [&] { CrossEncoder::load(golden_path("classifiers") / "bert")->score("bad", texts); });
  expect_error(ErrorKind::unsupported, problem,
               [&] { MixEncoder::load(golden_path("classifiers") / "mix-labels")->score("bad", candidates); });
  CrossEncoderOptions options;
  options.long_documents = LongDocuments::maxp;
  expect_error(ErrorKind::usage, {"long_documents does not apply to a classifier"},
               [&] { CrossEncoder::load(golden_path("classifiers") / "bert", options); });
}

/// What reading a copy of a golden checkpoint with changes of its config.json gives.
void expect_config_error(const std::string& name, const json& changes, ErrorKind kind,
                         const std::vector<std::string>& parts) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "model";
  fs::copy(golden_path("classifiers") / name, folder);
  json config;
  std::ifstream(folder / "config.json") >> config;
  config.update(changes);
  std::ofstream(folder / "config.json") << config;
  expect_error(kind, parts, [&] { inspect_checkpoint(folder); });
}

TEST(Classifier, LabelsThatDoNotFit) {
  const auto named = [](std::initializer_list<std::pair<const char*, json>> names) {
    json labels = json::object();
    for (const auto& [number, name] : names) labels[number] = name;
    return json{{"id2label", labels}};
  };
  expect_config_error("bert", named({{"0", "a"}, {"1", "b"}, {"2", "c"}, {"3", "d"}}), ErrorKind::invalid_data,
                      {"classifier.weight", "[3, 32]", "[4, 32]"});
  expect_config_error("bert", named({{"0", "a"}, {"1", "b"}, {"x", "c"}}), ErrorKind::invalid_data,
                      {"key id2label", "has 3 labels, but none with the number 2"});
  expect_config_error("bert", named({{"0", "a"}, {"1", "b"}, {"2", 7}}), ErrorKind::invalid_data,
                      {"key id2label", "the name of label 2 is not a text"});
  expect_config_error("bert", {{"num_labels", 1001}, {"id2label", nullptr}}, ErrorKind::unsupported,
                      {"key num_labels", "1001 labels, but at most 1000 are read"});
  expect_config_error("mix-labels", named({{"0", "a"}, {"1", "b"}}), ErrorKind::invalid_data,
                      {"mixencoder.classifier.out_proj", "[3, 96]", "[2, 96]"});
  expect_config_error("mix-labels", named({{"0", "a"}}), ErrorKind::invalid_data,
                      {"key id2label", "has 1 labels; give 2 to 1000"});
  expect_config_error("mix-labels", {{"mix_query_state", "x"}}, ErrorKind::unsupported,
                      {"key mix_query_state", "unknown state x; use gated or cls"});
  expect_config_error("mix-labels", {{"mix_candidate_state", "x"}}, ErrorKind::unsupported,
                      {"key mix_candidate_state", "unknown state x; use interacted or stored"});
  expect_config_error("mix-labels", {{"mix_score", "cosine"}}, ErrorKind::unsupported,
                      {"key mix_score", "unknown score cosine; use dot or classification"});
}

TEST(Classifier, NewMixEncodersHaveTheHeadsThatAreAskedFor) {
  const TemporaryFolder temporary;
  MixEncoderInit settings;
  settings.query_max_length = settings.candidate_max_length = 32;
  settings.labels = {"no", "yes"};
  settings.query_state = "cls";
  init_mix_encoder(golden_path("labels") / "bert", temporary / "labels", settings);
  const CheckpointInfo info = inspect_checkpoint(temporary / "labels");
  EXPECT_EQ(info.labels, settings.labels);
  EXPECT_EQ(info.description.head.dot_layer, 1);
  EXPECT_FALSE(info.description.head.pools_inputs);
  const auto model = Classifier::load(temporary / "labels");
  const std::string_view texts[] = {"bad", "dan"};
  EXPECT_EQ(model->classify("bas", texts).size(), 4U);
  EXPECT_TRUE(check_checkpoint(temporary / "labels").problems.empty());
  settings.labels = {"one"};
  expect_error(ErrorKind::usage, {"id2label", "has 1 labels"},
               [&] { init_mix_encoder(golden_path("labels") / "bert", temporary / "one", settings); });
  settings.labels.clear();
  settings.query_state = "gated";
  settings.candidate_state = "stored";
  init_mix_encoder(golden_path("labels") / "bert", temporary / "stored", settings);
  EXPECT_TRUE(inspect_checkpoint(temporary / "stored").description.head.pools_inputs);
  EXPECT_TRUE(check_checkpoint(temporary / "stored").problems.empty());
}

TEST(Classifier, PairsAreGroupedByTheirFirstText) {
  const std::string_view texts[] = {"a", "b", "a", "a", "b", "c", "a"};
  const std::vector<EqualTexts> groups = by_first_text(texts, 3);
  std::vector<std::pair<std::string_view, std::vector<std::size_t>>> found;
  for (const EqualTexts& group : groups) found.emplace_back(group.text, group.places);
  EXPECT_EQ(found, (std::vector<std::pair<std::string_view, std::vector<std::size_t>>>{
                       {"a", {0, 2, 3}}, {"b", {1, 4}}, {"c", {5}}, {"a", {6}}}));
}

}  // namespace
}  // namespace relucent::testing
