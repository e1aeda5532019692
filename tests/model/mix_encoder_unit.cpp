// MixEncoder checkpoints: made by init_mix_encoder, loaded, checked, and refused with the place and the remedy.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/model/mix_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFirst = "mixencoder.layer.0.";

class MixEncoderCheckpoint : public ::testing::Test {
 protected:
  MixEncoderCheckpoint() { bert.write(temporary / "bert"); }

  /// A MixEncoder of both layers, two vectors per candidate, at most 20 tokens.
  static MixEncoderInit settings(const std::string& strategy = "special_tokens") {
    return {.strategy = strategy,
            .context = 2,
            .interaction_layers = {0, 1},
            .pooling = "mean",
            .query_max_length = 12,
            .candidate_max_length = 20,
            .seed = 3};
  }
  fs::path made(const std::string& name, const MixEncoderInit& with = settings()) const {
    init_mix_encoder(temporary / "bert", temporary / name, with);
    return temporary / name;
  }
  /// A copy of a checkpoint with another config.json and other tensors.
  fs::path changed(const fs::path& from, const std::function<void(json&)>& config,
                   const std::function<void(std::map<std::string, TinyTensor>&)>& tensors = {}) {
    const fs::path to = temporary / ("changed-" + std::to_string(copies_++));
    fs::create_directories(to);
    for (const char* file : {"vocab.txt", "tokenizer_config.json"}) fs::copy_file(from / file, to / file);
    json edited = json::parse(read_file(from / "config.json"));
    config(edited);
    write_file(to / "config.json", edited.dump());
    std::map<std::string, TinyTensor> all;
    const SafetensorsFile file = SafetensorsFile::open(from / "model.safetensors");
    for (const SafetensorsEntry& entry : file.entries()) {
      const auto bytes = file.data(entry);
      all[entry.name] = {entry.type,
                         {entry.shape.begin(), entry.shape.end()},
                         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
    }
    if (tensors) tensors(all);
    write_file(to / "model.safetensors", safetensors_bytes(all));
    return to;
  }
  static void keep(json&) {}

  static BackendOptions ref() { return {.device = Device::ref(), .instruction_set = {}}; }

  TinyCheckpoint bert;
  TemporaryFolder temporary;

 private:
  int copies_ = 0;
};

TEST_F(MixEncoderCheckpoint, AMadeOneIsSoundAndStatesWhatItIs) {
  for (const char* strategy : {"special_tokens", "context_codes"}) {
    const fs::path folder = made(strategy, settings(strategy));
    const CheckpointCheck check = check_checkpoint(folder, ref());
    EXPECT_TRUE(check.problems.empty());
    EXPECT_EQ(check.logits.size(), 3U);
    EXPECT_EQ(check.info.model_type, "mixencoder");
    EXPECT_EQ(check.info.query_max_length, 12);
    EXPECT_EQ(check.info.candidate_max_length, 20);
    EXPECT_EQ(check.info.activation, "");
    EXPECT_EQ(check.info.description.groups[kContext].derived->tokens, 2);
    for (const TensorSummary& tensor : check.info.tensors) EXPECT_TRUE(tensor.used) << tensor.name;
  }
}

TEST_F(MixEncoderCheckpoint, LayersStartAsCopiesAndTheRestAtRandom) {
  const fs::path first = made("first"), again = made("again");
  for (const char* file : {"model.safetensors", "config.json", "vocab.txt"}) {
    EXPECT_EQ(read_file(first / file), read_file(again / file)) << file;
  }
  MixEncoderInit other = settings();
  other.seed = 4;
  EXPECT_NE(read_file(made("other", other) / "model.safetensors"), read_file(first / "model.safetensors"));

  const SafetensorsFile file = SafetensorsFile::open(first / "model.safetensors");
  const auto values = [&](const std::string& name) { return file.view(*file.find(name)).to_f32(); };
  for (const std::string layer : {"0", "1"}) {
    const std::string from = "bert.encoder.layer." + layer + ".", to = "mixencoder.layer." + layer + ".";
    for (const std::string part : {"attention.self.query.weight", "attention.self.value.bias",
                                   "attention.output.LayerNorm.weight", "output.dense.weight"}) {
      EXPECT_EQ(values(to + part), values(from + part));
    }
    EXPECT_EQ(values(to + "attention.self.compress_query.weight"), values(from + "attention.self.query.weight"));
  }
  EXPECT_EQ(file.find("bert.pooler.dense.weight"), nullptr);
  // The gate is uniform up to 1 / sqrt(24).
  double greatest = 0, sum = 0;
  const std::vector<float> gate = values("mixencoder.gate.weight");
  ASSERT_EQ(gate.size(), 8U * 24);
  for (const float value : gate) {
    greatest = std::max(greatest, std::abs(static_cast<double>(value)));
    sum += value;
  }
  EXPECT_LE(greatest, 1 / std::sqrt(24.0));
  EXPECT_GT(greatest, 0.9 / std::sqrt(24.0));
  EXPECT_LT(std::abs(sum / 192), 0.03);
}

TEST_F(MixEncoderCheckpoint, RandomRowsHaveTheirDeviation) {
  const auto deviation = [&](const std::string& name, const MixEncoderInit& with, const std::string& tensor) {
    const SafetensorsFile file = SafetensorsFile::open(made(name, with) / "model.safetensors");
    double sum = 0, squares = 0;
    const std::vector<float> values = file.view(*file.find(tensor)).to_f32();
    for (const double value : values) sum += value, squares += value * value;
    const auto count = static_cast<double>(values.size());
    return std::sqrt(squares / count - sum / count * sum / count);
  };
  MixEncoderInit with = settings();
  with.context = 16;
  EXPECT_NEAR(deviation("s", with, "mixencoder.special_tokens.weight"), std::sqrt(2.0 / 24), 0.05);
  with.strategy = "context_codes";
  EXPECT_NEAR(deviation("c", with, "mixencoder.context_codes.weight"), 1, 0.15);
}

// The oldest files of BERT call a norm's parameters gamma and beta, and those without a head have no prefix.
TEST_F(MixEncoderCheckpoint, AnyBertWillDo) {
  const fs::path whole = made("whole");
  TinyCheckpoint bare;
  bare.tensors.clear();
  for (const auto& [name, tensor] : bert.tensors) {
    if (!name.starts_with("bert.")) continue;
    std::string other = name.substr(5);
    for (const auto& [now, old] :
         {std::pair(".LayerNorm.weight", ".LayerNorm.gamma"), std::pair(".LayerNorm.bias", ".LayerNorm.beta")}) {
      if (other.ends_with(now)) other.replace(other.size() - std::string(now).size(), std::string::npos, old);
    }
    bare.tensors[other] = tensor;
  }
  bare.config["architectures"] = {"BertModel"};
  bare.write(temporary / "bare");
  init_mix_encoder(temporary / "bare", temporary / "of-bare", settings());
  EXPECT_EQ(read_file(temporary / "of-bare" / "model.safetensors"), read_file(whole / "model.safetensors"));
  TinyCheckpoint wide = bert;
  for (auto& [name, tensor] : wide.tensors) tensor = widened(tensor);
  wide.write(temporary / "wide");
  init_mix_encoder(temporary / "wide", temporary / "of-wide", settings());
  EXPECT_EQ(read_file(temporary / "of-wide" / "model.safetensors"), read_file(whole / "model.safetensors"));
}

TEST_F(MixEncoderCheckpoint, WhatCannotBeMadeLeavesNothingBehind) {
  const auto refuse = [&](ErrorKind kind, const std::string& words, const MixEncoderInit& with,
                          const std::string& from = "bert") {
    expect_error(kind, words, [&] { init_mix_encoder(temporary / from, temporary / "new", with); });
    std::size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(temporary.path())) entries += entry.path().filename() != "bert";
    EXPECT_EQ(entries, from == "bert" ? 0U : 1U) << words;
  };
  MixEncoderInit with = settings();
  with.interaction_layers = {2};
  refuse(ErrorKind::usage, "contains 2, but the model has the layers 0 to 1", with);
  with.interaction_layers = {1, 0};
  refuse(ErrorKind::usage, "ascending", with);
  with = settings();
  with.context = 17;
  refuse(ErrorKind::usage, "num_context_embeddings", with);
  with = settings();
  with.candidate_max_length = 64;
  refuse(ErrorKind::usage, "asks for 65 positions, 2 of them for special tokens", with);
  with = settings();
  with.pooling = "max";
  refuse(ErrorKind::usage, "unknown pooling max", with);
  TinyCheckpoint broken;
  broken.tensors.erase("bert.encoder.layer.1.output.dense.bias");
  broken.write(temporary / "broken");
  refuse(ErrorKind::invalid_data, "bert.encoder.layer.1.output.dense.bias", settings(), "broken");
  broken.config["model_type"] = "roberta";
  broken.write(temporary / "broken");
  refuse(ErrorKind::unsupported, "starts from a BERT", settings(), "broken");
}

TEST_F(MixEncoderCheckpoint, KeysAndTensorsThatDoNotFitAreRefused) {
  const fs::path special = made("special"), codes = made("codes", settings("context_codes"));
  const auto refuse = [&](ErrorKind kind, const std::string& words, const fs::path& from,
                          const std::function<void(json&)>& config,
                          const std::function<void(std::map<std::string, TinyTensor>&)>& tensors = {}) {
    const fs::path folder = changed(from, config, tensors);
    expect_error(kind, {folder.string(), words}, [&] { MixEncoder::load(folder, ref()); });
  };
  const auto key = [&](const char* name, const json& value, ErrorKind kind, const std::string& words) {
    refuse(kind, words, special, [&](json& config) { config[name] = value; });
  };
  key("mix_strategy", "both", ErrorKind::unsupported, "unknown strategy both");
  key("mix_strategy", nullptr, ErrorKind::invalid_data, "key mix_strategy: is missing");
  key("candidate_pooling", "max", ErrorKind::unsupported, "unknown pooling max");
  key("mix_score", "cosine", ErrorKind::unsupported, "unknown score cosine");
  key("num_context_embeddings", 17, ErrorKind::invalid_data, "num_context_embeddings");
  key("interaction_layers", 1, ErrorKind::invalid_data, "is not a list");
  key("interaction_layers", json::array(), ErrorKind::invalid_data, "is not a list");
  key("interaction_layers", {0, 0}, ErrorKind::invalid_data, "ascending");
  key("interaction_layers", {-1}, ErrorKind::invalid_data, "contains -1");
  key("interaction_layers", {0, 2}, ErrorKind::invalid_data, "contains 2");
  key("interaction_layers", {0.5}, ErrorKind::invalid_data, "contains 0.5");
  key("query_max_length", 2, ErrorKind::invalid_data, "leaves no room");
  key("query_max_length", 65, ErrorKind::invalid_data, "query_max_length");
  key("candidate_max_length", 64, ErrorKind::invalid_data, "asks for 65 positions");
  // Layers that the list or the file lacks.
  key("interaction_layers", {0}, ErrorKind::invalid_data, "interaction_layers does not list");
  using Tensors = std::map<std::string, TinyTensor>;
  refuse(ErrorKind::invalid_data, std::string(kFirst) + "attention.self.compress_query.bias: is missing", special, keep,
         [](Tensors& all) { all.erase(std::string(kFirst) + "attention.self.compress_query.bias"); });
  refuse(ErrorKind::invalid_data, "mixencoder.gate.weight: has the shape [24, 8]", special, keep, [](Tensors& all) {
    all["mixencoder.gate.weight"].shape = {24, 8};
  });
  refuse(ErrorKind::invalid_data, "mixencoder.special_tokens.weight: has the shape [2, 8]", special,
         [](json& config) { config["num_context_embeddings"] = 3; });
  refuse(ErrorKind::invalid_data, "mixencoder.context_codes.weight: is missing", codes, keep,
         [](Tensors& all) { all.erase("mixencoder.context_codes.weight"); });
  refuse(ErrorKind::invalid_data, "belongs to the other mix_strategy", codes, keep,
         [](Tensors& all) { all["mixencoder.special_tokens.weight"] = all["mixencoder.context_codes.weight"]; });
  // All problems at once.
  const fs::path folder = changed(
      codes, [](json& config) { config["mix_score"] = "cosine"; },
      [](Tensors& all) { all.erase("mixencoder.gate.bias"), all.erase("mixencoder.context_codes.weight"); });
  EXPECT_EQ(check_checkpoint(folder, ref()).problems.size(), 3U);
}

TEST_F(MixEncoderCheckpoint, EachKindIsLoadedByItsOwn) {
  const fs::path folder = made("mix");
  EXPECT_EQ(checkpoint_model_type(folder), "mixencoder");
  EXPECT_EQ(checkpoint_model_type(temporary / "bert"), "bert");
  expect_error(ErrorKind::unsupported, "is a MixEncoder, not a cross-encoder", [&] { CrossEncoder::load(folder); });
  expect_error(ErrorKind::unsupported, "is not a MixEncoder", [&] { MixEncoder::load(temporary / "bert"); });
  expect_error(ErrorKind::io, "config.json", [&] { checkpoint_model_type(temporary / "nowhere"); });
}

TEST_F(MixEncoderCheckpoint, FingerprintsTellWhatEncodingDependsOn) {
  const fs::path folder = made("mix");
  const auto fingerprint = [&](const std::function<void(json&)>& config, const std::string& tensor = {}) {
    return MixEncoder::load(changed(folder, config,
                                    [&](std::map<std::string, TinyTensor>& all) {
                                      if (!tensor.empty()) all.at(tensor).bytes[1] ^= 1;
                                    }),
                            ref())
        ->fingerprint();
  };
  const std::uint64_t plain = MixEncoder::load(folder, ref())->fingerprint();
  EXPECT_EQ(MixEncoder::load(folder, {.device = Device::cpu(), .threads = 1, .instruction_set = {}})->fingerprint(),
            plain);
  EXPECT_EQ(fingerprint([](json& config) { config["query_max_length"] = 9; }), plain);
  EXPECT_EQ(fingerprint(keep, "mixencoder.gate.bias"), plain);
  EXPECT_EQ(fingerprint(keep, std::string(kFirst) + "attention.self.query.weight"), plain);
  EXPECT_NE(fingerprint([](json& config) { config["candidate_max_length"] = 9; }), plain);
  EXPECT_NE(fingerprint([](json& config) { config["layer_norm_eps"] = 1e-10; }), plain);
  for (const char* tensor : {"mixencoder.special_tokens.weight", "bert.embeddings.word_embeddings.weight",
                             "bert.encoder.layer.1.output.LayerNorm.bias"}) {
    EXPECT_NE(fingerprint(keep, tensor), plain) << tensor;
  }
}

TEST_F(MixEncoderCheckpoint, TextsAreCutAndCounted) {
  const auto model = MixEncoder::load(made("mix"), {.device = Device::cpu(), .threads = 2, .instruction_set = {}});
  EXPECT_EQ(model->rows(), 2);
  EXPECT_EQ(model->hidden(), 8);
  EXPECT_EQ(model->max_length(), 20);
  const std::string words18 = "a b c d e f g h i j k l m n o p q r", words19 = words18 + " s";
  const MixCandidate candidates[] = {{"a b"}, {words18}, {words19}, {""}};
  const MixScores scores = model->score("a b c d e f g h i j k", candidates);
  EXPECT_TRUE(scores.query_truncated);
  EXPECT_EQ(scores.query_tokens, 10);
  // Two special tokens and [SEP] besides the words.
  EXPECT_EQ(scores.candidates[0].tokens, 5);
  EXPECT_EQ(scores.candidates[1].tokens, 21);
  EXPECT_FALSE(scores.candidates[1].truncated);
  EXPECT_TRUE(scores.candidates[2].truncated);
  EXPECT_EQ(scores.candidates[2].score, scores.candidates[1].score);
  EXPECT_EQ(scores.candidates[3].tokens, 3);
  EXPECT_TRUE(model->score("a", {}).candidates.empty());

  std::vector<float> states(2 * 16);
  const std::string_view texts[] = {"a b", words18};
  model->encode(texts, states);
  const MixCandidate stored[] = {{"", std::span<const float>(states).first(16)}};
  EXPECT_EQ(model->score("a b c d e f g h i j k", stored).candidates[0].score, scores.candidates[0].score);
  const MixCandidate foreign[] = {{"", std::span<const float>(states).first(15)}};
  expect_error(ErrorKind::usage, "has states of 15 numbers", [&] { model->score("a", foreign); });
  expect_error(ErrorKind::usage, "room for 31 states", [&] { model->encode(texts, std::span(states).first(31)); });
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  expect_error(ErrorKind::deadline, [&] { model->score("a", candidates, late); });
  expect_error(ErrorKind::deadline, [&] { model->encode(texts, states, late); });
}

}  // namespace
}  // namespace relucent::testing
