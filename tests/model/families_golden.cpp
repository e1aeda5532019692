// Logits of every family's golden checkpoints, on every backend that computes the family.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "model/families/family.h"
#include "model/families/pattern.h"
#include "relucent/error.h"
#include "relucent/kernels/backend.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/required_device.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Ids = std::vector<std::int32_t>;

/// Where the checkpoints are scored, and how far a logit may be off.
struct Place {
  std::string name;
  BackendOptions options;
  double tolerance;
};

/// Replaces all weights by rounded ones in `owned`.
void round_to_bf16(EncoderWeights& weights, std::vector<std::vector<float>>& owned) {
  const auto round = [&](TensorView& tensor) {
    if (tensor.data == nullptr) return;
    std::vector<float>& values = owned.emplace_back(tensor.to_f32());
    for (float& value : values) {
      auto bits = std::bit_cast<std::uint32_t>(value);
      bits += 0x7fff + (bits >> 16 & 1);
      value = std::bit_cast<float>(bits & 0xffff0000);
    }
    tensor.type = DataType::f32;
    tensor.data = reinterpret_cast<const std::byte*>(values.data());
  };
  const auto round_linear = [&](LinearWeights& linear) {
    round(linear.weight);
    round(linear.bias);
  };
  const auto round_norm = [&](NormWeights& norm) {
    round(norm.gamma);
    round(norm.beta);
  };
  for (TensorView* table : {&weights.word_embeddings, &weights.position_embeddings, &weights.token_type_embeddings}) {
    round(*table);
  }
  for (StackWeights& stack : weights.stacks) {
    for (LayerWeights& layer : stack.layers) {
      for (AttentionWeights& attention : layer.attentions) {
        round_norm(attention.norm);
        for (LinearWeights* linear : {&attention.query, &attention.key, &attention.value, &attention.output}) {
          round_linear(*linear);
        }
        round(attention.relative_bias);
      }
      round_norm(layer.feed_forward.norm);
      for (LinearWeights* linear : {&layer.feed_forward.in, &layer.feed_forward.gate, &layer.feed_forward.out}) {
        round_linear(*linear);
      }
    }
    round_norm(stack.final_norm);
  }
  round_norm(weights.embedding_norm);
  for (HeadStepWeights& step : weights.head_steps) {
    round_norm(step.norm);
    for (LinearWeights* linear : {&step.dense, &step.residual}) round_linear(*linear);
  }
  for (LinearWeights* linear : {&weights.embedding_projection, &weights.head_output}) round_linear(*linear);
}

/// One golden checkpoint.
class GoldenModel {
 public:
  /// @param rounded  whether the weights are rounded to bf16
  GoldenModel(const fs::path& folder, const BackendOptions& options, bool rounded = false)
      : options_(options),
        rounded_(rounded),
        config_(JsonFile::read(folder / "config.json")),
        family_(find_family(config_)),
        file_(SafetensorsFile::open(folder / "model.safetensors")) {
    // The cases of a BERT with one token type have only that.
    if (config_.object().value("type_vocab_size", 2) == 1) config_.object()["token_type_embedding"] = false;
  }

  double logit(const json& golden) {
    const Ids outputs = golden.contains("true_id") ? Ids{golden["true_id"], golden["false_id"]} : Ids{};
    const std::string sentence = golden.contains("sentence_id") ? golden["sentence_id"].dump() : "";
    Made& made = made_[golden["pattern"].dump() + sentence + json(outputs).dump()];
    if (!made.backend) make(made, golden, outputs);
    return score(made, golden);
  }

 private:
  struct Made {
    FamilyConfiguration configuration;
    std::unique_ptr<Backend> backend;
  };

  void make(Made& made, const json& golden, const Ids& outputs) {
    JsonFile config = config_;
    if (!golden["pattern"].is_null()) {
      for (const auto& [key, value] : golden["pattern"].items()) {
        if (key != "family_window" && key != "sentence_id") config.object()[key] = value;
      }
    }
    made.configuration = family_.read_configuration(config);
    EncoderDescription& description = made.configuration.description;
    // The pattern instead of the family's own windows.
    if (!golden["pattern"].is_null() && golden["pattern"].value("family_window", true) == false) {
      JsonFile wide = config;
      wide.object()["local_attention"] = 1 << 20;
      const EncoderDescription other = family_.read_configuration(wide).description;
      for (std::size_t i = 0; i < description.stacks[0].layers.size(); ++i) {
        description.stacks[0].layers[i].attentions[0].views = other.stacks[0].layers[i].attentions[0].views;
      }
    }
    if (sentence_id(golden)) add_sentences(description);
    TensorReader reader(file_);
    FamilyWeights weights = family_.read_weights(reader, made.configuration, outputs);
    std::vector<std::vector<float>> owned;
    if (rounded_) round_to_bf16(weights.weights, owned);
    made.backend = create_backend(description, weights.weights, options_);
  }

  static std::optional<std::int32_t> sentence_id(const json& golden) {
    if (golden.contains("sentence_id")) return golden["sentence_id"].get<std::int32_t>();
    if (!golden["pattern"].is_null() && golden["pattern"].contains("sentence_id"))
      return golden["pattern"]["sentence_id"];
    return std::nullopt;
  }

  static double score(const Made& made, const json& golden) {
    const InputForm& form = made.configuration.input;
    Ids first = golden["cls_ids"], query = golden["query_ids"], document = golden["doc_ids"];
    Ids positions(first.size() + query.size() + document.size());
    std::iota(positions.begin(), positions.end(), form.first_position);
    const std::span<const std::int32_t> places(positions);
    const auto before = first.size();
    if (form.decoder_start) first = {*form.decoder_start};
    const std::vector<Segment> shared = {{kCls, first, places.first(1)},
                                         {kQuery, query, places.subspan(before, query.size())}};
    // Tokens of sentences go into a segment of their own, with their places.
    Ids ids[2], places_of[2];
    for (std::size_t i = 0; i < document.size(); ++i) {
      const std::size_t which = sentence_id(golden) == document[i] ? 1 : 0;
      ids[which].push_back(document[i]);
      places_of[which].push_back(positions[before + query.size() + i]);
    }
    std::vector<Segment> rest = {{kDocument, ids[0], places_of[0], form.document_type}};
    if (!ids[1].empty()) rest.push_back({kSentences, ids[1], places_of[1], form.document_type});
    const std::span<const Segment> candidates[] = {rest};
    float logit = NAN;
    made.backend->score({shared, candidates}, {&logit, 1});
    return logit;
  }

  BackendOptions options_;
  bool rounded_;
  JsonFile config_;
  const Family& family_;
  SafetensorsFile file_;
  std::map<std::string, Made> made_;
};

/// Emulated devices are slow, GPUs thousands of times: they compute some of the cases, and GPUs short ones.
bool left_out(const Place& place, const json& golden, std::size_t number) {
  if (place.options.instruction_set == "amx_emulated" && std::getenv("RELUCENT_TEST_ALL") == nullptr) {
    return number % 5 != 0;
  }
  if (place.options.device.kind != Device::Kind::cuda || std::getenv("RELUCENT_CUDA_EMULATOR") == nullptr) return false;
  return golden["query_ids"].size() + golden["doc_ids"].size() > 150 || number % 4 != 0;
}

class FamiliesGolden : public ::testing::TestWithParam<Place> {};

TEST_P(FamiliesGolden, EveryLogit) {
  RELUCENT_NEEDS(golden_path("families"));
  const Place& place = GetParam();
  std::size_t cases = 0;
  for (const fs::path& folder : golden_listing("families")) {
    if (!fs::exists(folder / "cases.jsonl.gz")) continue;
    const std::string type = JsonFile::read(folder / "config.json").string("model_type").value_or("");
    if (type == "longformer") continue;  // not a family yet
    GoldenModel model(folder, place.options);
    // The same checkpoint with its weights rounded to bf16, computed exactly.
    std::optional<GoldenModel> rounded;
    const auto cost_of_rounding = [&](const json& golden) {
      if (!rounded) {
        rounded.emplace(folder, BackendOptions{Device::ref(), Precision::fp32, 1, ""}, true);
      }
      return std::abs(rounded->logit(golden) - golden["logit"].get<double>());
    };
    double worst = 0;
    std::size_t failures = 0, computed = 0, number = 0;
    std::string absent;
    for_each_line(folder / "cases.jsonl.gz", [&](const std::string& line) {
      if (!absent.empty()) return;
      const json golden = json::parse(line);
      if (left_out(place, golden, number++)) return;
      double off = NAN;
      try {
        off = std::abs(model.logit(golden) - golden["logit"].get<double>());
      } catch (const Error& error) {
        if (may_skip(error) && computed == 0) {
          absent = error.what();
          return;
        }
        throw;
      }
      worst = std::isnan(off) ? INFINITY : std::max(worst, off);
      // Rounding these narrow encoders' random weights alone costs up to 0.06, which no arithmetic can undo.
      const bool beyond = place.options.precision == Precision::bf16 && off > place.tolerance;
      if (!(off <= place.tolerance + (beyond ? cost_of_rounding(golden) : 0)) && ++failures <= 3) {
        ADD_FAILURE() << folder.filename() << " " << golden["id"] << " " << golden["pattern"] << ": off by " << off;
      }
      ++computed;
    });
    if (!absent.empty()) GTEST_SKIP() << "SKIPPED: " << absent;
    EXPECT_EQ(failures, 0U) << folder.filename();
    std::cout << folder.filename().string() << ": " << computed << " computed, greatest difference " << worst << "\n";
    cases += computed;
  }
  EXPECT_GT(cases, 0U);
}

std::vector<Place> places() {
  std::vector<Place> all = {{"ref", {Device::ref(), Precision::fp32, 1, ""}, 1e-4}};
  for (const std::string& level : kInstructionSets) {
    for (const auto& [precision, tolerance] : {std::pair(Precision::fp32, 1e-4), std::pair(Precision::bf16, 5e-2),
                                               std::pair(Precision::int16, 2e-2), std::pair(Precision::int8, 0.35)}) {
      all.push_back({"cpu_" + level + "_" + to_string(precision), {Device::cpu(), precision, 2, level}, tolerance});
    }
  }
  for (const auto& [precision, tolerance] : {std::pair(Precision::fp32, 1e-4), std::pair(Precision::tf32, 5e-2),
                                             std::pair(Precision::fp16, 5e-2), std::pair(Precision::bf16, 5e-2)}) {
    all.push_back({std::string("cuda_") + to_string(precision), {Device::cuda(0), precision, 1, ""}, tolerance});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Backends, FamiliesGolden, ::testing::ValuesIn(places()),
                         [](const auto& test) { return test.param.name; });

/// Bytes that the process has allocated and not freed.
std::size_t allocated() {
  const auto heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

TEST(Families, MemoryIsFlatOverTenThousandQueries) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "SKIPPED: sanitizers use memory of their own";
#endif
  RELUCENT_NEEDS(golden_path("families"));
  for (const char* family : {"bert", "electra", "roberta", "xlm-roberta", "modernbert", "t5"}) {
    const fs::path folder = golden_path("families") / family;
    GoldenModel model(folder, {Device::cpu(), Precision::fp32, 1, ""});
    std::vector<json> cases;
    for_each_line(folder / "cases.jsonl.gz", [&](const std::string& line) {
      json golden = json::parse(line);
      if (golden["query_ids"].size() + golden["doc_ids"].size() <= 60) cases.push_back(std::move(golden));
    });
    ASSERT_GT(cases.size(), 5U);
    const auto answer = [&](std::size_t queries) {
      for (std::size_t i = 0; i < queries; ++i) model.logit(cases[i % cases.size()]);
    };
    answer(1000);
    const std::size_t before = allocated();
    answer(9000);
    EXPECT_LT(allocated(), before + 64 * 1024) << family;
  }
}

TEST(Families, ModernBertsOwnKeysAreRead) {
  RELUCENT_NEEDS(golden_path("families/modernbert/config.json"));
  JsonFile config = JsonFile::read(golden_path("families/modernbert/config.json"));
  const EncoderDescription plain = find_family(config).read_configuration(config).description;
  config.object().update(json::parse(R"({"deterministic_flash_attn": false, "sparse_prediction": false,
      "sparse_pred_ignore_index": -100, "position_embedding_type": "absolute", "repad_logits_with_grad": false})"));
  EXPECT_EQ(find_family(config).read_configuration(config).description.stacks, plain.stacks);
  config.object()["position_embedding_type"] = "relative_key";
  expect_error(ErrorKind::unsupported, "position_embedding_type",
               [&] { find_family(config).read_configuration(config); });
}

TEST(Families, AFamilyThatIsNotReadIsRefusedByName) {
  RELUCENT_NEEDS(golden_path("families/longformer/config.json"));
  const JsonFile config = JsonFile::read(golden_path("families/longformer/config.json"));
  try {
    find_family(config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("longformer"), std::string::npos);
  }
}

}  // namespace
}  // namespace relucent::testing
