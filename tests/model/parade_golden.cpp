// PARADE (goldens/parade): scores of texts on every backend, and what its folders and settings may state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/pair_form.h"
#include "model/input/joined_passages.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/every_backend.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

constexpr const char* kParades[] = {"max", "transformer", "few", "one"};

class ParadeGolden : public ::testing::TestWithParam<BackendOptions> {};

double parade_bound(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 1e-4;
    case Precision::int16: return 0.02;
    case Precision::int8: return 0.35;
    case Precision::automatic:
    case Precision::tf32:
    case Precision::fp16:
    case Precision::bf16: return 0.05;
  }
  return 0;
}

TEST_P(ParadeGolden, ScoresAreThoseOfTheReference) {
  for (const std::string name : kParades) {
    SCOPED_TRACE(name);
    CrossEncoderOptions options;
    options.backend = GetParam();
    std::shared_ptr<const CrossEncoder> model;
    if (options.backend.device.kind == Device::Kind::cuda) {
      try {
        RELUCENT_NEEDS_DEVICE(model = CrossEncoder::load(golden_path("parade") / name, options));
        ADD_FAILURE() << "the CUDA backend does not compute a PARADE";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_NE(std::string(error.what()).find("pooled"), std::string::npos) << error.what();
      }
      continue;
    }
    RELUCENT_NEEDS_DEVICE(model = CrossEncoder::load(golden_path("parade") / name, options));
    double greatest = 0;
    std::size_t lines = 0;
    for_each_line(golden_path("parade") / (name + ".jsonl.gz"), [&](const std::string& line) {
      const json golden = json::parse(line);
      const std::string query = golden.at("query");
      const std::vector<std::string> texts = golden.at("texts");
      const std::vector<double> expected = golden.at("scores");
      const PairScores scores = model->score(query, std::vector<std::string_view>(texts.begin(), texts.end()));
      for (std::size_t i = 0; i < texts.size(); ++i) {
        greatest = std::max(greatest, std::abs(scores.documents[i].logit - expected[i]));
        // Alone: the same bits.
        const std::string_view text = texts[i];
        EXPECT_EQ(model->score(query, {&text, 1}).documents.front().logit, scores.documents[i].logit);
      }
      ++lines;
    });
    EXPECT_EQ(lines, 10U);
    std::cout << name << ": scores off by " << greatest << " (at most " << parade_bound(GetParam().precision) << ")\n";
    EXPECT_LE(greatest, parade_bound(GetParam().precision));
  }
}

std::string parade_name(const ::testing::TestParamInfo<BackendOptions>& info) {
  std::string name =
      to_string(info.param.device) + "_" + info.param.instruction_set + "_" + to_string(info.param.precision);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Backends, ParadeGolden, ::testing::ValuesIn(every_backend()), parade_name);

std::shared_ptr<const CrossEncoder> load_parade(const std::string& name, CrossEncoderOptions options = {}) {
  options.backend.device = Device::cpu();
  return CrossEncoder::load(golden_path("parade") / name, options);
}

TEST(Parade, ReportsWhatItRead) {
  const auto model = load_parade("few");  // passages of 7 word pieces, at most three
  const std::string long_text = "ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu la le li lo lu ma me";
  const std::string_view texts[] = {"ba be bi", "ba be bi bo bu da de di do du", long_text};
  const PairScores scores = model->score("ba bu", texts);
  const auto read = [&](std::size_t i) { return scores.documents[i]; };
  EXPECT_EQ(read(0).best, (PieceRange{0, 3, true}));
  EXPECT_EQ(read(0).tokens, 3 + 2 + 3);
  EXPECT_EQ(read(1).best, (PieceRange{0, 10, true}));
  EXPECT_EQ(read(1).tokens, 2 * (3 + 2) + 10);
  EXPECT_TRUE(read(2).truncated);  // three of four passages: the first, the second and the last one
  EXPECT_EQ(read(2).best, (PieceRange{0, 27, false}));
  EXPECT_FALSE(read(0).truncated);
  EXPECT_FALSE(read(1).truncated);
}

TEST(Parade, IsRefusedByNameOnAGpu) {
  const EncoderDescription description = inspect_checkpoint(golden_path("parade") / "max").description;
  expect_error(ErrorKind::unsupported, {"CUDA backend", "meet only when they are pooled"},
               [&] { require_features(description, FastPath::cuda); });
}

TEST(Parade, KeepsTheFirstPassageAndTheLastOne) {
  const PassageSplit split{.window = 7, .stride = 5, .most = 3};
  const auto begins = [&](std::size_t pieces) {
    std::vector<std::size_t> all;
    for (const Chunk& passage : spread_passages(split_document(pieces, split), split)) all.push_back(passage.begin);
    return all;
  };
  using Begins = std::vector<std::size_t>;
  EXPECT_EQ(begins(0), Begins{0});
  EXPECT_EQ(begins(7), Begins{0});
  EXPECT_EQ(begins(8), (Begins{0, 5}));
  EXPECT_EQ(begins(17), (Begins{0, 5, 10}));
  EXPECT_EQ(begins(18), (Begins{0, 5, 15}));
  EXPECT_EQ(begins(100), (Begins{0, 45, 95}));
}

TEST(Parade, RefusesSettingsOfCrossEncoders) {
  const auto refuse = [](const char* key, auto change) {
    CrossEncoderOptions options;
    change(options);
    expect_error(ErrorKind::usage, {key, "PARADE"}, [&] { load_parade("max", options); });
  };
  refuse("max_length", [](auto& options) { options.max_length = 20; });
  refuse("max_query_length", [](auto& options) { options.max_query_length = 5; });
  refuse("attention_window", [](auto& options) { options.attention_window = 4; });
  refuse("pattern", [](auto& options) { options.pattern = PatternChoice::sparse; });
  refuse("long_documents", [](auto& options) { options.long_documents = LongDocuments::maxp; });
}

TEST(Parade, RefusesOtherFolders) {
  const auto refuse = [](ErrorKind kind, const json& change, std::initializer_list<std::string> words) {
    const TemporaryFolder temporary;
    const std::filesystem::path folder = temporary / "model";
    std::filesystem::copy(golden_path("parade") / "transformer", folder);
    json config;
    std::ifstream(folder / "config.json") >> config;
    config.update(change);
    std::ofstream(folder / "config.json") << config;
    expect_error(kind, words, [&] { inspect_checkpoint(folder); });
  };
  refuse(ErrorKind::unsupported, {{"parade_aggregation", "cnn"}}, {"parade_aggregation", "cnn", "max or transformer"});
  refuse(ErrorKind::invalid_data, {{"passage_stride", 13}}, {"passage_stride", "leave no gaps"});
  refuse(ErrorKind::invalid_data, {{"passage_window", 38}}, {"passage_window", "49 positions"});
  refuse(ErrorKind::invalid_data, {{"max_passages", 15}}, {"position_embeddings"});
  refuse(ErrorKind::invalid_data, {{"aggregation_layers", 1}}, {"aggregation.layer.1", "1 layers"});
  refuse(ErrorKind::invalid_data, {{"aggregation_layers", 3}}, {"aggregation.layer.2", "missing"});
  refuse(ErrorKind::invalid_data, {{"type_vocab_size", 1}}, {"type_vocab_size"});
  refuse(ErrorKind::unsupported, {{"attention_window_size", 4}}, {"sparse attention pattern"});
}

TEST(Parade, IsMadeFromABert) {
  const TemporaryFolder temporary;
  ParadeInit settings{.window = 20, .stride = 10, .max_passages = 5};
  for (const std::string aggregation : {"max", "transformer"}) {
    settings.aggregation = aggregation;
    const std::filesystem::path folder = temporary / aggregation;
    init_parade(golden_path("labels") / "bert", folder, settings);
    const CheckpointCheck check = check_checkpoint(folder);
    EXPECT_TRUE(check.problems.empty());
    EXPECT_EQ(check.logits.size(), 3U);  // of documents
    for (const TensorSummary& tensor : check.info.tensors) EXPECT_TRUE(tensor.used) << tensor.name;
    EXPECT_EQ(check.info.max_passages, 5);
    EXPECT_EQ(check.info.description.head.pivots->kind,
              aggregation == "max" ? PivotPooling::Kind::maximum : PivotPooling::Kind::layers);
  }
  settings.window = 40;
  expect_error(ErrorKind::usage, {"passage_window", "73 positions"},
               [&] { init_parade(golden_path("labels") / "bert", temporary / "long", settings); });
}

}  // namespace
}  // namespace relucent::testing
