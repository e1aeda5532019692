// Logits of further rerankers, as their own libraries compute them (sentence-transformers 6.2, Lightning IR 0.0.6,
// transformers 5.23).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <tuple>

#include "base/file/file_io.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/every_backend.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kCheckpoints[] = {
    "ettin",          "modular-mean",           "modular-bert",   "monoelectra", "mono-bert-two",
    "mono-bert-pool", "gte-multilingual",       "gte-plain-rope", "deberta-v3",  "deberta-v2-conv",
    "qwen3-reranker", "qwen3-reranker-seq-cls", "mxbai-rerank-v2"};

/// By query and document.
std::map<std::pair<std::string, std::string>, double> expected_logits(const fs::path& file) {
  std::map<std::pair<std::string, std::string>, double> logits;
  std::ifstream lines(file);
  std::string query, document;
  double logit = 0;
  while (lines >> query >> document >> logit) logits[{query, document}] = logit;
  return logits;
}

double tolerance_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
    case Precision::fp16: return 0.05;
    case Precision::int16: return 0.02;
    case Precision::int8: return 0.35;
    default: return 1e-4;
  }
}

/// What two decoders, whose scores are differences of logits up to 20, may be off beyond the others: in bf16 as far
/// as a naive computation, in int16 and int8 twice as far (tests/goldens/naive_precision.py).
double allowance_of_decoder(const std::string& name, Precision precision) {
  const bool qwen = name == "qwen3-reranker", mxbai = name == "mxbai-rerank-v2";
  if (precision == Precision::int8) return qwen ? 2 * 0.311 : mxbai ? 2 * 0.740 : 0;
  if (precision == Precision::int16) return qwen ? 2 * 0.0208 : mxbai ? 2 * 0.0725 : 0;
  if (precision == Precision::bf16) return qwen ? 0.185 : mxbai ? 1.074 : 0;
  return 0;
}

/// Rounds to bf16 what narrow encoders round: the matrices of the feed-forward networks, here all in F32.
void round_feed_forward(const fs::path& file) {
  std::string bytes = read_file(file, kAnySize);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::size_t rounded = 0;
  const json tensors = json::parse(bytes.substr(8, header));
  for (const auto& [name, tensor] : tensors.items()) {
    const auto has = [&text = name](const char* part) { return text.find(part) != std::string::npos; };
    const bool part = has("mlp.") || has("intermediate.") || (has(".output.dense.") && !has("attention"));
    if (!part || !name.ends_with("weight")) continue;
    ASSERT_EQ(tensor.at("dtype"), "F32");
    const std::size_t first = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
    for (std::size_t at = 8 + header + first; at < 8 + header + end; at += sizeof(std::uint32_t)) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data() + at, sizeof bits);
      bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
      std::memcpy(bytes.data() + at, &bits, sizeof bits);
    }
    ++rounded;
  }
  ASSERT_GT(rounded, 0U);
  std::ofstream(file, std::ios::binary) << bytes;
}

/// A checkpoint with its weights rounded, computed exactly. It is made when it is first asked.
class RoundedModel {
 public:
  explicit RoundedModel(fs::path checkpoint) : checkpoint_(std::move(checkpoint)) {}

  double logit(const json& pair) {
    if (!model_) {
      fs::copy(checkpoint_, folder_ / "rounded", fs::copy_options::recursive);
      round_feed_forward(folder_ / "rounded" / "model.safetensors");
      CrossEncoderOptions options;
      options.backend = {Device::ref(), Precision::fp32, 1, ""};
      model_ = CrossEncoder::load(folder_ / "rounded", options);
    }
    const auto text = pair.at("text").get<std::string>();
    const std::string_view texts[] = {text};
    return model_->score(pair.at("query").get<std::string>(), texts).documents.at(0).logit;
  }

 private:
  fs::path checkpoint_;
  TemporaryFolder folder_;
  std::shared_ptr<const CrossEncoder> model_;
};

using Place = std::tuple<std::string, BackendOptions>;

/// Null where the place is absent, with the reason.
std::shared_ptr<const CrossEncoder> load_on(const BackendOptions& backend, const fs::path& folder,
                                            std::string& why_not) {
  CrossEncoderOptions options;
  options.backend = backend;
  try {
    return CrossEncoder::load(folder, options);
  } catch (const Error& error) {
    if (!may_skip(error)) throw;
    why_not = error.what();
    return nullptr;
  }
}

class RerankersGolden : public ::testing::TestWithParam<Place> {};

TEST_P(RerankersGolden, EveryLogit) {
  const auto& [name, backend] = GetParam();
  const fs::path folder = golden_path("rerankers") / name;
  RELUCENT_NEEDS(folder);
  std::string why_not;
  const auto model = load_on(backend, folder, why_not);
  if (!model) GTEST_SKIP() << "SKIPPED: " << why_not;
  const auto expected = expected_logits(golden_path("rerankers") / (name + ".expected.tsv"));
  const double tolerance = std::max(tolerance_of(backend.precision), allowance_of_decoder(name, backend.precision));
  // Rounding these narrow encoders' random weights alone costs up to 0.06, which no arithmetic can undo.
  RoundedModel rounded(folder);
  double worst = 0;
  std::size_t computed = 0, truncated = 0, line_number = 0;
  std::size_t every = 1;  // a part of the pairs where they take long
  if (std::getenv("RELUCENT_CUDA_EMULATOR") != nullptr) every = 6;
  if (backend.instruction_set == "amx_emulated" && std::getenv("RELUCENT_TEST_ALL") == nullptr) every = 5;
  for_each_line(golden_path("rerankers") / "pairs.rerank.jsonl.gz", [&](const std::string& line) {
    if (line_number++ % every != 0) return;
    const json pair = json::parse(line);
    const auto text = pair.at("text").get<std::string>();
    const std::string_view texts[] = {text};
    const PairScores scores = model->score(pair.at("query").get<std::string>(), texts);
    const double logit = expected.at({pair.at("qid"), pair.at("docno")});
    const double off = std::abs(scores.documents.at(0).logit - logit);
    const bool beyond = backend.precision == Precision::bf16 && off > tolerance;
    const double allowed = tolerance + (beyond ? std::abs(rounded.logit(pair) - logit) : 0);
    EXPECT_LE(off, allowed) << line;
    worst = std::max(worst, off);
    truncated += scores.documents.at(0).truncated ? 1 : 0;
    ++computed;
  });
  EXPECT_EQ(computed, (expected.size() + every - 1) / every);
  EXPECT_GT(truncated, 0U);
  std::cout << name << ": greatest difference " << worst << "\n";
}

std::vector<Place> places() {
  std::vector<Place> places;
  for (const char* name : kCheckpoints) {
    const bool decoder = std::string_view(name).find("rerank") != std::string_view::npos;  // refused by the GPU
    for (const BackendOptions& options : every_backend()) {
      if (!decoder || options.device.kind != Device::Kind::cuda) places.emplace_back(name, options);
    }
  }
  return places;
}

std::string name_of(const ::testing::TestParamInfo<Place>& info) {
  const auto& [checkpoint, options] = info.param;
  std::string name = checkpoint + "_" + to_string(options.device) + "_" + options.instruction_set;
  name += std::string("_") + to_string(options.precision);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, RerankersGolden, ::testing::ValuesIn(places()), name_of);

TEST(ModularHeads, StayWhenTheProfileNamesThePattern) {
  for (const char* name : {"modular-bert", "ettin"}) {
    const fs::path folder = golden_path("rerankers") / name;
    RELUCENT_NEEDS(folder);
    CrossEncoderOptions options;
    options.backend = {Device::cpu(), Precision::fp32, 1, ""};
    const std::string_view texts[] = {"a stone in the river"};
    const float own = CrossEncoder::load(folder, options)->score("river", texts).documents.at(0).logit;
    options.pattern = PatternChoice::full;
    EXPECT_EQ(CrossEncoder::load(folder, options)->score("river", texts).documents.at(0).logit, own) << name;
  }
}

TEST(GteGolden, HasTheSameLogitsWithTheNamesOfTransformersOwnClass) {
  const fs::path golden = golden_path("rerankers") / "gte-multilingual";
  RELUCENT_NEEDS(golden);
  const TemporaryFolder folder;
  fs::copy(golden_path("gte") / "native", folder.path(), fs::copy_options::recursive);
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) fs::copy_file(golden / file, folder / file);
  const auto expected = expected_logits(golden_path("rerankers") / "gte-multilingual.expected.tsv");
  for (const Device& device : {Device::ref(), Device::cpu()}) {
    CrossEncoderOptions options;
    options.backend = {device, Precision::fp32, 1, ""};
    const auto model = CrossEncoder::load(folder.path(), options);
    for_each_line(golden_path("rerankers") / "pairs.rerank.jsonl.gz", [&](const std::string& line) {
      const json pair = json::parse(line);
      const auto text = pair.at("text").get<std::string>();
      const std::string_view texts[] = {text};
      const float logit = model->score(pair.at("query").get<std::string>(), texts).documents.at(0).logit;
      EXPECT_NEAR(logit, expected.at({pair.at("qid"), pair.at("docno")}), 1e-4) << line;
    });
  }
}

/// The candidates of each query in sets.rerank.jsonl.gz.
std::map<std::string, std::vector<json>> sets_of_candidates() {
  std::map<std::string, std::vector<json>> sets;
  for_each_line(golden_path("rerankers") / "sets.rerank.jsonl.gz", [&](const std::string& line) {
    const json pair = json::parse(line);
    sets[pair.at("qid")].push_back(pair);
  });
  return sets;
}

std::vector<float> logits_of(const CrossEncoder& model, const std::vector<json>& candidates) {
  std::vector<std::string> texts;
  for (const json& candidate : candidates) texts.push_back(candidate.at("text"));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<float> logits;
  for (const PairScore& score : model.score(candidates.front().at("query").get<std::string>(), views).documents) {
    logits.push_back(score.logit);
  }
  return logits;
}

class SetsGolden : public ::testing::TestWithParam<Place> {};

TEST_P(SetsGolden, EveryLogit) {
  const auto& [name, backend] = GetParam();
  const fs::path folder = golden_path("rerankers") / name;
  RELUCENT_NEEDS(folder);
  std::string why_not;
  const auto model = load_on(backend, folder, why_not);
  if (!model) GTEST_SKIP() << "SKIPPED: " << why_not;
  const auto expected = expected_logits(golden_path("rerankers") / (name + ".expected.tsv"));
  double worst = 0;
  std::size_t compared = 0;
  for (const auto& [query, candidates] : sets_of_candidates()) {
    // Where Lightning IR samples what is missing, only whole sets have answers.
    if (!expected.contains({query, candidates.front().at("docno")})) continue;
    const std::vector<float> logits = logits_of(*model, candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double off = std::abs(logits[i] - expected.at({query, candidates[i].at("docno")}));
      EXPECT_LE(off, tolerance_of(backend.precision)) << candidates[i];
      worst = std::max(worst, off);
      ++compared;
    }
  }
  EXPECT_EQ(compared, expected.size());
  std::cout << name << ": greatest difference " << worst << "\n";
}

std::vector<Place> places_of_sets() {
  std::vector<Place> all;
  for (const char* name : {"set-encoder", "set-encoder-cls", "set-encoder-full"}) {
    for (const BackendOptions& options : every_backend()) all.emplace_back(name, options);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Devices, SetsGolden, ::testing::ValuesIn(places_of_sets()), name_of);

TEST(SetsOfCandidates, TheOrderOfTheCandidatesChangesNoBit) {
  const fs::path folder = golden_path("rerankers/set-encoder");
  RELUCENT_NEEDS(folder);
  const auto model = CrossEncoder::load(folder);
  std::vector<json> candidates;
  for (const auto& [query, some] : sets_of_candidates()) {
    if (some.size() > candidates.size()) candidates = some;
  }
  ASSERT_EQ(candidates.size(), 8U);
  candidates.push_back(candidates.front());  // twins
  const std::vector<float> logits = logits_of(*model, candidates);
  EXPECT_EQ(logits.front(), logits.back());
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<json> shuffled;
    for (const std::size_t i : order) shuffled.push_back(candidates[i]);
    const std::vector<float> found = logits_of(*model, shuffled);
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(found[i], logits[order[i]]);
  }
  candidates.resize(4);
  EXPECT_NE(logits_of(*model, candidates).front(), logits.front());  // of another set
}

}  // namespace
}  // namespace relucent::testing
