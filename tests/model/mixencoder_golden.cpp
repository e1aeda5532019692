// MixEncoder: contexts, scores and traces of the golden checkpoints, on every backend that computes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/input/mix_input.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/mix_encoder.h"
#include "tests/support/gz_lines.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/required_device.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Ids = std::vector<std::int32_t>;

/// Where checkpoints are computed, and how far contexts, any score and the mean over the cases of the worst score may
/// be off.
struct Place {
  std::string name;
  BackendOptions options;
  double context, worst, mean;
};

/// The words that a tokenizer turns into `ids` without [CLS] and [SEP].
std::string text_of(const Ids& ids, const std::vector<std::string>& vocabulary) {
  std::string text;
  for (std::size_t i = 1; i + 1 < ids.size(); ++i) text += vocabulary.at(static_cast<std::size_t>(ids[i])) + " ";
  return text;
}

std::vector<std::string> vocabulary_of(const fs::path& folder) {
  std::ifstream in(folder / "vocab.txt");
  std::vector<std::string> entries;
  for (std::string line; std::getline(in, line);) entries.push_back(line);
  return entries;
}

/// Places of candidates, the best first; of equal ones the first.
template <typename Scores>
std::vector<std::size_t> ranking(const Scores& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

double furthest(const std::vector<float>& a, const json& b) {
  const auto flat = [](const json& values, const auto& self, std::vector<double>& to) -> void {
    for (const json& value : values) value.is_array() ? self(value, self, to) : to.push_back(value.get<double>());
  };
  std::vector<double> wanted;
  flat(b, flat, wanted);
  EXPECT_EQ(a.size(), wanted.size());
  double distance = a.size() == wanted.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), wanted.size()); ++i) {
    const double here = std::abs(a[i] - wanted[i]);
    distance = std::isnan(here) ? INFINITY : std::max(distance, here);
  }
  return distance;
}

class MixEncoderGolden : public ::testing::TestWithParam<Place> {};

/// How far a model's contexts, any score and the mean over the cases of the worst score are off.
struct Errors {
  double context = 0, worst = 0, mean = 0;
  std::size_t cases = 0, other_rankings = 0;
};

/// The errors over every `step`-th case of the golden checkpoint `name`. Also checks that contexts encoded before give
/// the same bits.
Errors errors_of(const MixEncoder& model, const std::string& name, std::size_t step) {
  const std::vector<std::string> vocabulary = vocabulary_of(model.checkpoint());
  Errors errors;
  std::size_t number = 0;
  for_each_line(golden_path("mixencoder/cases") / (name + ".jsonl.gz"), [&](const std::string& line) {
    if (number++ % step != 0) return;
    const json golden = json::parse(line);
    const std::string query = text_of(golden["query_ids"], vocabulary);
    std::vector<std::string> texts;
    for (const json& ids : golden["candidates"]) texts.push_back(text_of(ids, vocabulary));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const auto size = static_cast<std::size_t>(model.rows()) * static_cast<std::size_t>(model.hidden());
    std::vector<float> states(texts.size() * size);
    model.encode(views, states);
    errors.context = std::max(errors.context, furthest(states, golden["cand_emb"]));

    std::vector<MixCandidate> now, stored;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      now.push_back({views[i]});
      stored.push_back({"", std::span(states).subspan(i * size, size)});
    }
    const MixScores scores = model.score(query, now), again = model.score(query, stored);
    std::vector<float> got;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      got.push_back(scores.candidates[i].score);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(again.candidates[i].score))
          << golden["id"] << ": encoded before and now";
      EXPECT_EQ(again.candidates[i].tokens, 0);
    }
    const double off = furthest(got, golden["scores_ref64"]);
    errors.worst = std::max(errors.worst, off);
    errors.mean += off;
    ++errors.cases;
    if (ranking(got) != ranking(golden["scores_ref64"].get<std::vector<double>>())) ++errors.other_rankings;
  });
  errors.mean /= static_cast<double>(errors.cases);
  return errors;
}

/// What rounding all weights to bf16 costs, whatever computes: the rounded checkpoint in fp32.
const Errors& errors_of_rounding(const fs::path& folder, std::size_t step) {
  static std::map<std::pair<fs::path, std::size_t>, Errors> known;
  const auto [place, is_new] = known.try_emplace({folder, step});
  if (is_new) {
    const TemporaryFolder temporary;
    const fs::path rounded = temporary.path() / folder.filename();
    convert_checkpoint(folder, rounded, DataType::bf16);
    const auto model = MixEncoder::load(rounded, {Device::ref(), Precision::fp32, 1, ""});
    place->second = errors_of(*model, folder.filename().string(), step);
  }
  return place->second;
}

/// What a place may be off: scores in bf16 by what rounding the weights alone costs. Seen on the levels plain to
/// avx512_bf16 and amx_emulated: 0.09 to 0.78 times its mean, and 0.17 to 1.002 times its worst case, which is that of
/// 40 cases and so varies more.
Errors bound_of(const Place& place, const fs::path& folder, std::size_t step) {
  if (place.options.precision != Precision::bf16) return {place.context, place.worst, place.mean};
  const Errors& naive = errors_of_rounding(folder, step);
  return {place.context, 1.5 * naive.worst, naive.mean};
}

TEST_P(MixEncoderGolden, EveryContextAndScore) {
  RELUCENT_NEEDS(golden_path("mixencoder/ckpt"));
  const Place& place = GetParam();
  std::size_t checkpoints = 0;
  for (const fs::path& folder : golden_listing("mixencoder/ckpt")) {
    const std::string name = folder.filename().string();
    std::shared_ptr<const MixEncoder> model;
    RELUCENT_NEEDS_DEVICE(model = MixEncoder::load(folder, place.options));
    // Emulations are slow.
    const bool emulated_gpu =
        place.options.device.kind == Device::Kind::cuda && std::getenv("RELUCENT_CUDA_EMULATOR") != nullptr;
    const bool emulated = place.options.instruction_set == "amx_emulated" || emulated_gpu;
    const std::size_t step = emulated && std::getenv("RELUCENT_TEST_ALL") == nullptr ? 5 : 1;
    const Errors errors = errors_of(*model, name, step), bound = bound_of(place, folder, step);
    std::cout << name << ": contexts off by " << errors.context << " (at most " << bound.context << "), scores by "
              << errors.worst << " (" << bound.worst << "), mean " << errors.mean << " (" << bound.mean
              << "), other rankings " << errors.other_rankings << " of " << errors.cases << "\n";
    EXPECT_LE(errors.context, bound.context) << name;
    EXPECT_LE(errors.worst, bound.worst) << name;
    EXPECT_LE(errors.mean, bound.mean) << name;
    if (place.options.precision == Precision::fp32) {
      EXPECT_EQ(errors.other_rankings, 0U) << name;
    }
    ++checkpoints;
  }
  EXPECT_GE(checkpoints, 1U);
}

std::vector<Place> places() {
  std::vector<Place> all = {{"ref", {Device::ref(), Precision::fp32, 1, ""}, 1e-5, 2e-4, 2e-5}};
  for (const std::string& level : kInstructionSets) {
    const auto add = [&](Precision precision, double context, double worst, double mean) {
      all.push_back(
          {"cpu_" + level + "_" + to_string(precision), {Device::cpu(), precision, 2, level}, context, worst, mean});
    };
    add(Precision::fp32, 1e-5, 2e-4, 2e-5);
    // Scores run up to 38.
    add(Precision::bf16, 0.05, 0, 0);  // scores: bound_of()
    add(Precision::int16, 0.01, 0.1, 0.03);
    add(Precision::int8, 0.15, 1, 0.3);
  }
  const auto add = [&](Precision precision, double context, double worst, double mean) {
    all.push_back(
        {std::string("cuda_") + to_string(precision), {Device::cuda(0), precision, 1, ""}, context, worst, mean});
  };
  add(Precision::fp32, 1e-5, 2e-4, 2e-5);
  add(Precision::tf32, 0.05, 0.25, 0.08);
  add(Precision::fp16, 0.05, 0.25, 0.08);
  add(Precision::bf16, 0.05, 0, 0);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Backends, MixEncoderGolden, ::testing::ValuesIn(places()),
                         [](const auto& test) { return test.param.name; });

// On the reference: what the interaction's layers read and write.
TEST(MixEncoderTrace, EveryLayerOfTheInteraction) {
  RELUCENT_NEEDS(golden_path("mixencoder/trace"));
  std::size_t layers = 0;
  for (const fs::path& folder : golden_listing("mixencoder/ckpt")) {
    const std::string name = folder.filename().string();
    const Checkpoint checkpoint = read_checkpoint(folder);
    const EncoderDescription& description = checkpoint.configuration.description;
    const auto backend =
        create_backend(description, checkpoint.weights.weights, {Device::ref(), Precision::fp32, 1, ""});
    const MixInput input(checkpoint.configuration, *checkpoint.tokenizer);
    std::map<std::string, json> cases;
    for_each_line(golden_path("mixencoder/cases") / (name + ".jsonl.gz"), [&](const std::string& line) {
      const json golden = json::parse(line);
      cases.emplace(golden["id"].get<std::string>(), golden);
    });
    const std::size_t encoder_layers = description.stacks.front().layers.size();
    double worst = 0;
    for_each_line(golden_path("mixencoder/trace") / (name + ".jsonl.gz"), [&](const std::string& line) {
      const json trace = json::parse(line);
      const json& golden = cases.at(trace["id"].get<std::string>());
      const Ids query = golden["query_ids"];
      for (std::size_t i = 0; i < trace["first_candidates"].get<std::size_t>(); ++i) {
        Ids words = golden["candidates"][i];
        words.pop_back();
        words.erase(words.begin());
        const Ids candidate = input.candidate(words);
        const Segment shared[] = {input.segment(kQuery, query)};
        const Segment text = input.segment(kDocument, candidate);
        const std::span<const Segment> candidates[] = {{&text, 1}};
        const HiddenStates states = backend->hidden_states({shared, candidates});
        // Segments: query, text, context, gated token.
        ASSERT_EQ(states.layers.size(), encoder_layers + trace["layers"].size());
        for (std::size_t l = 0; l < trace["layers"].size(); ++l) {
          const json& layer = trace["layers"][l];
          const auto number = layer["layer"].get<std::size_t>();
          ASSERT_EQ(number,
                    static_cast<std::size_t>(*description.stacks[1].layers[l].attentions.front().keys_of_layer));
          const auto& before = states.layers[encoder_layers + l - 1];
          const auto& after = states.layers[encoder_layers + l];
          if (number > 0) worst = std::max(worst, furthest(states.layers[number - 1][0], layer["query_hidden_in"]));
          // Before the first layer of the interaction the context is shown where it is derived.
          if (l > 0) {
            worst = std::max(worst, furthest(before[2], layer["E_in"][i]));
            worst = std::max(worst, furthest(before[3], layer["H_in"][i]));
          }
          worst = std::max(worst, furthest(after[2], layer["E_out"][i]));
          worst = std::max(worst, furthest(after[3], layer["H_out"][i]));
          ++layers;
        }
      }
    });
    EXPECT_LE(worst, 2e-5) << name;
    std::cout << name << ": traces off by " << worst << "\n";
  }
  EXPECT_GE(layers, 1U);
}

}  // namespace
}  // namespace relucent::testing
