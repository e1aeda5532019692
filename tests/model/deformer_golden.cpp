// Deformers (goldens/deformer): logits on every backend, what depends on what, and what their folders may state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/embedding_numbers.h"
#include "relucent/error.h"
#include "relucent/kernels/plan.h"
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

namespace fs = std::filesystem;
using nlohmann::json;

double deformer_bound(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 1e-4;
    case Precision::int16: return 0.02;
    case Precision::int8: return 0.3;
    case Precision::automatic:
    case Precision::tf32:
    case Precision::fp16:
    case Precision::bf16: return 0.05;
  }
  return 0;
}

class DeformerGolden : public ::testing::TestWithParam<BackendOptions> {};

TEST_P(DeformerGolden, LogitsAreThoseOfTheReference) {
  for (const std::string name : {"one", "most", "labels"}) {
    SCOPED_TRACE(name);
    CrossEncoderOptions options;
    options.backend = GetParam();
    std::shared_ptr<const CrossEncoder> model;
    RELUCENT_NEEDS_DEVICE(model = CrossEncoder::load(golden_path("deformer") / name, options));
    double greatest = 0;
    std::size_t lines = 0;
    for_each_line(golden_path("deformer") / (name + ".jsonl.gz"), [&](const std::string& line) {
      const json golden = json::parse(line);
      const std::string query = golden.at("query");
      const std::vector<std::string> texts = golden.at("texts");
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      std::vector<double> expected;
      for (const json& of_text : golden.at("scores")) expected.insert(expected.end(), of_text.begin(), of_text.end());
      const auto compute = [&](std::span<const std::string_view> some) {
        if (!model->labels().empty()) return model->classify(query, some);
        std::vector<float> logits;
        for (const PairScore& score : model->score(query, some).documents) logits.push_back(score.logit);
        return logits;
      };
      const std::vector<float> logits = compute(views);
      ASSERT_EQ(logits.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        greatest = std::max(greatest, std::abs(logits[i] - expected[i]));
      }
      // Alone: the same bits.
      const std::vector<float> alone = compute(std::span(views).last(1));
      EXPECT_TRUE(std::equal(alone.rbegin(), alone.rend(), logits.rbegin()));
      ++lines;
    });
    EXPECT_EQ(lines, 10U);
    const double bound = deformer_bound(GetParam().precision);
    std::cout << name << ": logits off by " << greatest << " (at most " << bound << ")\n";
    EXPECT_LE(greatest, bound);
  }
}

/// As an index would store them in fp32.
std::vector<std::string> stored_states(const CrossEncoder& model, std::span<const std::string_view> texts) {
  std::vector<std::string> stored;
  const auto size = static_cast<std::size_t>(model.state_size());
  for (const std::vector<float>& states : model.encode(texts)) {
    std::string& bytes = stored.emplace_back();
    for (std::size_t at = 0; at < states.size(); at += size) {
      store_vector(EmbeddingNumbers::fp32, std::span(states).subspan(at, size), bytes);
    }
  }
  return stored;
}

TEST_P(DeformerGolden, StatesOfDocumentsGiveTheBitsOfTheirTexts) {
  for (const std::string name : {"one", "most"}) {
    SCOPED_TRACE(name);
    CrossEncoderOptions options;
    options.backend = GetParam();
    std::shared_ptr<const CrossEncoder> model;
    RELUCENT_NEEDS_DEVICE(model = CrossEncoder::load(golden_path("deformer") / name, options));
    if (model->backend().device.starts_with("cuda")) {
      EXPECT_EQ(model->state_size(), 0);
      expect_error(ErrorKind::unsupported, {"ahead of queries", "on a CPU"}, [&] { model->encode({}); });
      continue;
    }
    ASSERT_EQ(model->state_size(), model->description().hidden_size);
    for_each_line(golden_path("deformer") / (name + ".jsonl.gz"), [&](const std::string& line) {
      const json golden = json::parse(line);
      const std::string query = golden.at("query");
      std::vector<std::string> texts = golden.at("texts");
      texts.push_back("");
      for (int i = 0; i < 9; ++i) texts.push_back(texts.front() + " " + texts[1]);
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      const std::vector<std::string> stored = stored_states(*model, views);
      const PairScores expected = model->score(query, views);
      // All of them by their states, or every second one.
      for (const std::size_t step : {1, 2}) {
        std::vector<PairDocument> documents;
        for (std::size_t i = 0; i < texts.size(); ++i) {
          const bool by_states = i % step == 0;
          documents.push_back(
              {.text = by_states ? std::string_view() : views[i],
               .states = by_states ? StoredVectors{EmbeddingNumbers::fp32, stored[i]} : StoredVectors()});
        }
        const PairScores found = model->score_documents(query, documents);
        for (std::size_t i = 0; i < texts.size(); ++i) {
          EXPECT_EQ(found.documents[i].logit, expected.documents[i].logit) << i;
          EXPECT_EQ(found.documents[i].tokens, expected.documents[i].tokens) << i;
          EXPECT_EQ(found.documents[i].query_truncated, expected.documents[i].query_truncated) << i;
        }
        EXPECT_EQ(found.query_tokens, expected.query_tokens);
      }
    });
  }
}

std::string deformer_name(const ::testing::TestParamInfo<BackendOptions>& info) {
  std::string name =
      to_string(info.param.device) + "_" + info.param.instruction_set + "_" + to_string(info.param.precision);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Backends, DeformerGolden, ::testing::ValuesIn(every_backend()), deformer_name);

std::shared_ptr<const CrossEncoder> load_deformer(const std::string& name, CrossEncoderOptions options = {}) {
  options.backend.device = Device::cpu();
  return CrossEncoder::load(golden_path("deformer") / name, options);
}

TEST(Deformer, ItsPlanHasLowerLayersThatNeedNoOtherText) {
  const EncoderDescription description = inspect_checkpoint(golden_path("deformer") / "most").description;
  const std::vector<std::vector<GroupPlan>> layers = make_plan(description).stacks.front();
  ASSERT_EQ(layers.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(layers[i][kDocument].after, Dependence::candidate) << i;
    EXPECT_EQ(layers[i][kQuery].after, Dependence::query) << i;
    EXPECT_EQ(layers[i][kCls].after, Dependence::query) << i;
  }
  EXPECT_EQ(layers[3][kCls].after, Dependence::pair);
}

TEST(Deformer, ReadsAsMuchOfADocumentWithAnyQuery) {
  const auto model = load_deformer("one");  // 48 positions, of which 8 are for the query
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 2 == 0 ? "ba " : "du ";
  const std::string_view texts[] = {text, "ba du"};
  for (const std::string query : {"", "ba", "ba be bi bo bu da de di do du fa fe"}) {
    SCOPED_TRACE(query);
    const PairScores scores = model->score(query, texts);
    EXPECT_EQ(scores.documents[0].best, (PieceRange{0, 48 - 3 - 8, false}));
    EXPECT_TRUE(scores.documents[0].truncated);
    EXPECT_FALSE(scores.documents[1].truncated);
    EXPECT_EQ(scores.query_truncated, query.size() > 8 * 3);
  }
  CrossEncoderOptions options;
  options.max_length = 20;
  options.max_query_length = 4;
  const PairScores shorter = load_deformer("one", options)->score("ba", texts);
  EXPECT_EQ(shorter.documents[0].best, (PieceRange{0, 20 - 3 - 4, false}));
  options.max_query_length = 17;
  expect_error(ErrorKind::usage, {"queries of 17 word pieces", "20 tokens", "max_length"},
               [&] { load_deformer("one", options); });
}

TEST(Deformer, KnowsItsOwnStates) {
  const auto model = load_deformer("one");
  const std::string_view texts[] = {"ba du"};
  const std::string stored = stored_states(*model, texts).front();
  EXPECT_EQ(stored.size(), 3 * sizeof(float) * static_cast<std::size_t>(model->state_size()));
  const auto score = [&](const CrossEncoder& of, std::string_view bytes) {
    const PairDocument documents[] = {{.text = {}, .states = {EmbeddingNumbers::fp32, bytes}}};
    return of.score_documents("ba", documents).documents.front().logit;
  };
  EXPECT_EQ(score(*model, stored), model->score("ba", texts).documents.front().logit);
  expect_error(ErrorKind::usage, {"document 0", "bytes", "numbers", "same checkpoint"},
               [&] { score(*model, std::string_view(stored).substr(4)); });
  std::string many;
  for (int i = 0; i < 14; ++i) many += stored;
  expect_error(ErrorKind::usage, {"document 0", "at most 38 tokens"}, [&] { score(*model, many); });
  std::string damaged = stored;
  damaged.replace(0, 4, std::string(3, '\xff') + "\x7f");
  expect_error(ErrorKind::invalid_data, "not a finite number", [&] { score(*model, damaged); });

  CrossEncoderOptions options;
  options.max_query_length = 4;  // leaves documents more room
  EXPECT_NE(load_deformer("one", options)->states_fingerprint(), model->states_fingerprint());
  EXPECT_NE(load_deformer("most")->states_fingerprint(), model->states_fingerprint());
  options.max_query_length = 0;
  options.backend.threads = 1;
  options.backend.precision = Precision::bf16;
  EXPECT_EQ(load_deformer("one", options)->states_fingerprint(), model->states_fingerprint());
  options.long_documents = LongDocuments::maxp;
  const auto chunks = load_deformer("one", options);
  EXPECT_EQ(chunks->state_size(), 0);
  expect_error(ErrorKind::unsupported, "long_documents", [&] { chunks->encode(texts); });
  expect_error(ErrorKind::unsupported, "long_documents", [&] { score(*chunks, stored); });
}

TEST(Deformer, ReadsChunksOfALongDocument) {
  CrossEncoderOptions options;
  options.long_documents = LongDocuments::maxp;
  options.chunk = 20;
  options.stride = 20;
  std::string first, second, third;
  for (int i = 0; i < 60; ++i) (i < 20 ? first : i < 40 ? second : third) += i % 3 == 0 ? "ba " : "fis ";
  const std::string all = first + second + third;
  const std::string_view whole[] = {all}, chunks[] = {first, second, third};
  const auto model = load_deformer("one", options);
  // A chunk, whose positions start again, is the same input as its words alone.
  float greatest = -std::numeric_limits<float>::infinity();
  for (const PairScore& chunk : model->score("du", chunks).documents) greatest = std::max(greatest, chunk.logit);
  EXPECT_EQ(model->score("du", whole).documents[0].logit, greatest);
}

TEST(Deformer, RefusesPatterns) {
  CrossEncoderOptions options;
  options.attention_window = 4;
  expect_error(ErrorKind::usage, {"attention_window", "Deformer"}, [&] { load_deformer("one", options); });
  options.attention_window.reset();
  options.pattern = PatternChoice::sparse;
  expect_error(ErrorKind::usage, {"pattern", "Deformer"}, [&] { load_deformer("one", options); });
}

void expect_refused(const fs::path& golden, ErrorKind kind, const json& change,
                    std::initializer_list<std::string> words) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "model";
  fs::copy(golden, folder);
  json config;
  std::ifstream(folder / "config.json") >> config;
  config.update(change);
  std::ofstream(folder / "config.json") << config;
  expect_error(kind, words, [&] { inspect_checkpoint(folder); });
}

TEST(Deformer, RefusesOtherFolders) {
  const fs::path golden = golden_path("deformer") / "one";
  const auto bad = [&](const json& change, std::initializer_list<std::string> words) {
    expect_refused(golden, ErrorKind::invalid_data, change, words);
  };
  bad({{"deformer_layers", 0}}, {"config.json", "deformer_layers"});
  bad({{"deformer_layers", 3}}, {"config.json", "deformer_layers", "3 layers", "from 1 to 2"});
  bad({{"deformer_layers", "one"}}, {"config.json", "deformer_layers"});
  bad({{"deformer_layers", nullptr}}, {"config.json", "deformer_layers", "missing"});
  bad({{"num_hidden_layers", 1}}, {"config.json", "deformer_layers", "BERT with more layers"});
  bad({{"query_length", nullptr}}, {"config.json", "query_length", "state the most word pieces"});
  bad({{"query_length", 45}}, {"config.json", "query_length", "48 positions"});
  expect_refused(golden, ErrorKind::unsupported, {{"attention_window_size", 4}},
                 {"config.json", "sparse attention pattern", "remove"});
  expect_refused(golden, ErrorKind::unsupported, {{"query_doc_attention", false}},
                 {"config.json", "sparse attention pattern", "remove"});
  expect_refused(golden, ErrorKind::unsupported, {{"architectures", {"BertForSequenceClassification"}}},
                 {"config.json", "architectures", "DeformerForSequenceClassification"});
  // In another family the key would have no effect.
  expect_refused(golden, ErrorKind::unsupported,
                 {{"model_type", "bert"}, {"architectures", {"BertForSequenceClassification"}}},
                 {"config.json", "deformer_layers", "model_type", "remove the key"});
}

TEST(Deformer, IsMadeFromABert) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "model";
  // A BERT with a head of three labels, which is not kept.
  fs::copy(golden_path("deformer") / "labels", temporary / "bert");
  json config;
  std::ifstream(temporary / "bert" / "config.json") >> config;
  config["model_type"] = "bert";
  config["architectures"] = {"BertForSequenceClassification"};
  config.erase("deformer_layers");
  config.erase("query_length");
  std::ofstream(temporary / "bert" / "config.json") << config;
  init_deformer(temporary / "bert", folder, {.query_length = 9});
  const CheckpointCheck check = check_checkpoint(folder);
  EXPECT_TRUE(check.problems.empty());
  EXPECT_EQ(check.logits.size(), 3U);
  EXPECT_EQ(check.info.model_type, "deformer");
  EXPECT_EQ(check.info.max_query_tokens, 9);
  EXPECT_TRUE(check.info.labels.empty());
  for (const TensorSummary& tensor : check.info.tensors) EXPECT_TRUE(tensor.used) << tensor.name;
  expect_error(ErrorKind::usage, {"deformer_layers", "2 layers"},
               [&] { init_deformer(temporary / "bert", temporary / "many", {.lower_layers = 2}); });
  expect_error(ErrorKind::usage, {"query_length", "40 positions"},
               [&] { init_deformer(temporary / "bert", temporary / "long", {.query_length = 38}); });
}

}  // namespace
}  // namespace relucent::testing
