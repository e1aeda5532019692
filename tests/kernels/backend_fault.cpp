// What create_backend and Backend::score refuse, and that their errors name it and the reason.
#include <gtest/gtest.h>

#include <limits>

#include "relucent/error.h"
#include "tests/support/cuda_support.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

BackendOptions device(const std::string& name) { return {parse_device(name), Precision::automatic, 1, ""}; }

TEST(CreateBackend, ChoosesTheDevice) {
  const auto none = no_cuda_module();
  const RandomModel model({});
  EXPECT_EQ(model.on(device("ref"))->info().device, "ref");
  EXPECT_EQ(model.on(device("cpu"))->info().device, "cpu");
  EXPECT_EQ(model.on(device("auto"))->info().device, "cpu");
  EXPECT_GE(model.on({Device::cpu(), Precision::automatic, 0, ""})->info().threads, 1);
  for (const char* name : {"cuda:0", "cuda:7", "cuda"}) {
    expect_error(ErrorKind::device, {"RELUCENT_CUDA_MODULE", "does not name a file"}, [&] { model.on(device(name)); });
  }
  for (const char* name : {"", "gpu", "CPU", "cudaX", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "refx"}) {
    expect_error(ErrorKind::usage, {name, "auto, ref, cpu"}, [&] { model.on(device(name)); });
  }
}

TEST(CreateBackend, RefusesPrecisionsThreadsAndInstructionSetsItHasNot) {
  const RandomModel model({});
  for (const Precision precision : {Precision::int16, Precision::int8, Precision::bf16}) {
    expect_error(ErrorKind::unsupported, {to_string(precision), "fp32"}, [&] {
      model.on({Device::ref(), precision, 1, ""});
    });
  }
  for (const Precision precision : {Precision::fp16, Precision::tf32}) {
    for (const char* device : {"ref", "cpu"}) {
      expect_error(ErrorKind::unsupported, {to_string(precision), "auto"}, [&] {
        model.on({parse_device(device), precision, 1, ""});
      });
    }
  }
  expect_error(ErrorKind::usage, {"threads", "-1"}, [&] { model.on({Device::cpu(), Precision::fp32, -1, ""}); });
  expect_error(ErrorKind::usage, {"threads", "1000000"}, [&] {
    model.on({Device::cpu(), Precision::fp32, 1'000'000, ""});
  });
  expect_error(ErrorKind::usage, {"sse9", "plain"}, [&] { model.on({Device::cpu(), Precision::fp32, 1, "sse9"}); });
  for (const std::string& level : kInstructionSets) {
    try {
      EXPECT_EQ(model.on({Device::cpu(), Precision::automatic, 1, level})->info().instruction_set, level);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      EXPECT_NE(std::string(error.what()).find("plain"), std::string::npos) << "lists what there is";
    }
  }
}

TEST(Precisions, AreReadAsTheyAreWritten) {
  for (const Precision precision : {Precision::automatic, Precision::fp32, Precision::tf32, Precision::bf16,
                                    Precision::fp16, Precision::int16, Precision::int8}) {
    EXPECT_EQ(parse_precision(to_string(precision)), precision);
  }
  for (const char* name : {"", "FP32", "half", "automatic"}) {
    expect_error(ErrorKind::usage, {name, "auto, fp32, tf32"}, [&] { parse_precision(name); });
  }
}

TEST(Weights, OfAWrongShapeAreNamedWithBothShapes) {
  const Sizes sizes{.hidden = 64, .heads = 4, .intermediate = 128, .layers = 2, .vocabulary = 50, .positions = 128};
  const auto refuse = [&](const std::vector<std::string>& words, const auto& spoil) {
    RandomModel model(sizes);
    spoil(model);
    for (const char* name : {"ref", "cpu"}) {
      expect_error(ErrorKind::invalid_data, words, [&] { model.on(device(name)); });
    }
  };
  refuse({"word embeddings", "[49, 64]", "[50, 64]"}, [](RandomModel& m) { m.weights.word_embeddings.shape[0] = 49; });
  refuse({"position embeddings", "[128]"}, [](RandomModel& m) { m.weights.position_embeddings.shape.pop_back(); });
  refuse({"token type embeddings"}, [](RandomModel& m) { m.weights.token_type_embeddings.shape[0] = 1; });
  refuse({"embedding norm.gamma"}, [](RandomModel& m) { m.weights.embedding_norm.gamma.shape = {63}; });
  refuse({"layer 1 key.weight"}, [](RandomModel& m) {
    m.layer_weights()[1].attentions[0].key.weight.shape = {64, 65};
  });
  refuse({"layer 0 value.bias"}, [](RandomModel& m) { m.layer_weights()[0].attentions[0].value.bias.shape = {}; });
  refuse({"layer 0 intermediate.weight", "[64, 128]", "[128, 64]"}, [](RandomModel& m) {
    m.layer_weights()[0].feed_forward.in.weight.shape = {64, 128};
  });
  refuse({"layer 1 output norm.beta"},
         [](RandomModel& m) { m.layer_weights()[1].feed_forward.norm.beta.data = nullptr; });
  refuse({"pooler.weight"}, [](RandomModel& m) { m.weights.head_steps[0].dense.weight.shape = {64}; });
  refuse({"classifier.weight", "[2, 64]", "[1, 64]"},
         [](RandomModel& m) { m.weights.head_output.weight.shape[0] = 2; });
  refuse({"layer"}, [](RandomModel& m) { m.layer_weights().pop_back(); });
  refuse({"layer"}, [](RandomModel& m) { m.layers().pop_back(); });
  refuse({"layer 0 query.weight"}, [](RandomModel& m) { m.layers()[0].attentions[0].heads = 5; });
  refuse({"heads"}, [](RandomModel& m) { m.layers()[0].attentions[0].heads = 0; });
  refuse({"window"}, [](RandomModel& m) {
    m.layers()[1].attentions[0].views[kDocument][kDocument] = {View::Kind::window, -1};
  });
  refuse({"sizes"}, [](RandomModel& m) { m.description.hidden_size = 0; });
  const auto refuse_scheme = [&](const std::string& words, const auto& spoil) {
    refuse({words}, [&](RandomModel& m) {
      m.disentangle();
      for (Layer& layer : m.layers()) spoil(layer.attentions[0].positions);
    });
  };
  refuse_scheme("greater maximum distance", [](PositionScheme& scheme) { scheme.max_distance = 9; });
  refuse_scheme("with queries, with keys",
                [](PositionScheme& scheme) { scheme.content_to_position = scheme.position_to_content = false; });
  refuse({"number of buckets"}, [](RandomModel& m) {
    m.disentangle();
    for (Layer& layer : m.layers()) layer.attentions[0].positions.buckets = 31;
    m.weights.relative_embeddings.shape[0] = 31;
  });
  refuse({"same buckets"}, [](RandomModel& m) {
    m.disentangle();
    m.layers()[1].attentions[0].positions.buckets = 16;
  });
  refuse({"relative embeddings", "[31, 64]", "[32, 64]"}, [](RandomModel& m) {
    m.disentangle();
    m.weights.relative_embeddings.shape[0] = 31;
  });
  refuse({"needs relative embeddings"}, [](RandomModel& m) {
    m.disentangle();
    m.weights.relative_embeddings = {};
  });
  refuse({"convolution.weight", "[64, 64, 7]"}, [](RandomModel& m) {
    m.convolve();
    m.description.stacks[0].convolution->size = 7;
  });
  refuse({"odd size"}, [](RandomModel& m) {
    m.convolve();
    m.description.stacks[0].convolution->size = 2;
  });
  refuse({"norm epsilon"}, [](RandomModel& m) { m.description.norm_epsilon = -1; });
  refuse({"norm epsilon"}, [](RandomModel& m) { m.description.norm_epsilon = 0; });
  refuse({"norm epsilon"},
         [](RandomModel& m) { m.description.norm_epsilon = std::numeric_limits<float>::quiet_NaN(); });
}

class Batches : public ::testing::TestWithParam<const char*> {
 protected:
  RandomModel model_{{.vocabulary = 50, .positions = 32}};
  std::unique_ptr<Backend> backend_ = model_.on(device(GetParam()));
};
INSTANTIATE_TEST_SUITE_P(Devices, Batches, ::testing::Values("ref", "cpu"),
                         [](const auto& name) { return name.param; });

TEST_P(Batches, WithIdsOutsideTheVocabularyAreRefused) {
  for (const std::int32_t id :
       {-1, 50, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    expect_error(ErrorKind::usage, {"query", "token 2", std::to_string(id)}, [&] {
      Pairs{{1, 2, id}, {{3}}}.logits(*backend_);
    });
    expect_error(ErrorKind::usage, {"document 1", "token 0", std::to_string(id)}, [&] {
      Pairs{{1, 2}, {{3}, {id, 4}}}.logits(*backend_);
    });
    const std::vector<std::vector<std::int32_t>> one = {{1}};
    expect_error(ErrorKind::usage, {"[CLS]", std::to_string(id)},
                 [&] { backend_->hidden_states(PairSegments(id, one[0], one).batch()); });
  }
}

// Otherwise candidates would see each other through [CLS].
TEST(BatchesOfSets, WithoutTheTokenOfInteractionAreRefused) {
  RandomModel model({.hidden = 16, .heads = 2, .intermediate = 24, .layers = 2});
  model.make_set();
  model.add_interaction();
  const auto backend = model.on({Device::cpu(), Precision::fp32, 1, ""});
  expect_error(ErrorKind::unsupported, {"interaction", "is not one token"}, [&] {
    Pairs{{1, 2}, {{3}}}.logits(*backend);
  });
}

TEST_P(Batches, WithEmptySequencesAreRefused) {
  expect_error(ErrorKind::usage, {"query", "empty"}, [&] { Pairs{{}, {{3}}}.logits(*backend_); });
  expect_error(ErrorKind::usage, {"document 1", "empty"}, [&] { Pairs{{1}, {{3}, {}}}.logits(*backend_); });
}

TEST_P(Batches, LongerThanThePositionTableAreRefused) {
  Pairs pairs = random_pairs(model_, 10, {21, 22});
  expect_error(ErrorKind::usage, {"document 1", "33", "32"}, [&] { pairs.logits(*backend_); });
  pairs.documents.pop_back();
  EXPECT_TRUE(std::isfinite(pairs.logits(*backend_)[0]));
}

TEST_P(Batches, NeedOneLogitADocument) {
  const std::vector<std::vector<std::int32_t>> one = {{1}};
  std::vector<float> two(2);
  expect_error(ErrorKind::usage, {"1 candidates", "room for 2"},
               [&] { backend_->score(PairSegments(1, one[0], one).batch(), two); });
}

TEST_P(Batches, WithoutDocumentsAreNothingToDo) { EXPECT_TRUE((Pairs{{1}, {}}.logits(*backend_).empty())); }

TEST_P(Batches, WritesNothingButTheLogits) {
  const Pairs pairs = random_pairs(model_, 3, {5, 6, 7});
  std::vector<float> memory(5, 12345);
  backend_->score(PairSegments(1, pairs.query, pairs.documents).batch(), std::span(memory).subspan(1, 3));
  EXPECT_EQ(memory.front(), 12345);
  EXPECT_EQ(memory.back(), 12345);
  EXPECT_EQ(std::vector(memory.begin() + 1, memory.end() - 1), pairs.logits(*backend_));
}

TEST_P(Batches, WeightsMayGoAwayOnceTheBackendIsMade) {
  auto model = std::make_unique<RandomModel>(Sizes{});
  const Pairs pairs = random_pairs(*model, 3, {5, 6});
  const auto first = model->on(device(GetParam()));
  const std::vector<float> logits = pairs.logits(*first);
  const auto second = model->on(device(GetParam()));
  model.reset();
  EXPECT_EQ(pairs.logits(*second), logits);
}

}  // namespace
}  // namespace relucent::testing
