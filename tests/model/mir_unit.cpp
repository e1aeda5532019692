// MIR's checkpoints: what is read, what is refused, and what its scores depend on.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/families/families.h"
#include "model/graphs/build_graph.h"
#include "model/mir/passage_batch.h"
#include "model/mir/passage_model.h"
#include "relucent/kernels/plan.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_mir.h"

namespace relucent::testing {
namespace {

class Mir : public ::testing::Test {
 protected:
  std::filesystem::path folder(const TinyMir& tiny, const char* name = "mir") {
    const std::filesystem::path path = folder_ / name;
    tiny.write(path);
    return path;
  }
  void refuse(ErrorKind kind, const ErrorTexts& texts, const std::function<void(TinyMir&)>& spoil) {
    TinyMir tiny;
    spoil(tiny);
    const std::filesystem::path path = folder(tiny);
    expect_error(kind, texts, [&] { read_checkpoint(path); });
    const CheckpointCheck check = check_checkpoint(path, on("ref"));
    EXPECT_FALSE(check.problems.empty());
  }
  static BackendOptions on(const std::string& device, int threads = 1) {
    BackendOptions options;
    options.device = parse_device(device);
    options.precision = Precision::fp32;
    options.threads = threads;
    return options;
  }
  static BuiltGraph graph_of(const PassageModel& model, const std::string& text) {
    std::vector<TermPlace> terms;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] >= 'a' && text[i] <= 'z') terms.push_back({{text[i]}, {i, i + 1}});
    }
    return build_graph(model.graph_settings(), {text, terms}, {100, [](std::string_view) { return 3U; }},
                       model.tokenizer());
  }

  TemporaryFolder folder_;
};

TEST_F(Mir, ModelCheckRunsItOnEveryBackend) {
  const auto path = folder(TinyMir());
  for (const char* device : {"ref", "cpu"}) {
    const CheckpointCheck check = check_checkpoint(path, on(device));
    EXPECT_TRUE(check.problems.empty()) << check.problems.front().what();
    EXPECT_EQ(check.logits.size(), 2U);
    EXPECT_EQ(check.info.model_type, "mir");
    for (const TensorSummary& tensor : check.info.tensors) EXPECT_TRUE(tensor.used) << tensor.name;
  }
}

TEST_F(Mir, NeedsNoPairTemplateAndIgnoresTheLastCombination) {
  TinyMir tiny;
  std::mt19937 random(1);
  tiny.add_f32(random, "bert.encoder.layer.1.combine.weight", {8, 16});
  tiny.vocabulary[2] = "[PSG]";
  tiny.vocabulary[3] = "[SNT]";
  const CheckpointInfo info = inspect_checkpoint(folder(tiny));
  for (const TensorSummary& tensor : info.tensors) {
    EXPECT_EQ(tensor.used, tensor.name != "bert.encoder.layer.1.combine.weight") << tensor.name;
  }
}

TEST_F(Mir, RefusesSettingsThatDoNotFit) {
  for (const char* key : {"psg_token_id", "snt_token_id"}) {
    refuse(ErrorKind::invalid_data, {"config.json", key}, [&](TinyMir& tiny) { tiny.config.erase(key); });
    refuse(ErrorKind::invalid_data, {"config.json", key}, [&](TinyMir& tiny) { tiny.config[key] = 1000; });
  }
  refuse(ErrorKind::invalid_data, {"passage_stride", "more than passage_window 8"},
         [](TinyMir& tiny) { tiny.config["passage_stride"] = 9; });
  refuse(ErrorKind::invalid_data, {"passage_stride"}, [](TinyMir& tiny) { tiny.config["passage_stride"] = 0; });
  refuse(ErrorKind::invalid_data, {"max_position_embeddings", "65"},
         [](TinyMir& tiny) { tiny.config["passage_window"] = 27; });
  refuse(ErrorKind::invalid_data, {"max_document_tokens"},
         [](TinyMir& tiny) { tiny.config["max_document_tokens"] = 1 << 16; });
  refuse(ErrorKind::invalid_data, {"max_token_nodes"}, [](TinyMir& tiny) { tiny.config["max_token_nodes"] = -1; });
  refuse(ErrorKind::invalid_data, {"type_vocab_size"}, [](TinyMir& tiny) { tiny.config["type_vocab_size"] = 1; });
  refuse(ErrorKind::unsupported, {"num_labels"}, [](TinyMir& tiny) { tiny.config["num_labels"] = 2; });
  refuse(ErrorKind::unsupported, {"sparse attention"}, [](TinyMir& tiny) { tiny.config["attention_window_size"] = 4; });
  refuse(ErrorKind::unsupported, {"passage_windows"}, [](TinyMir& tiny) { tiny.config["passage_windows"] = 4; });
  for (const nlohmann::json& views : {nlohmann::json("passage"), nlohmann::json::array(),
                                      nlohmann::json{"passage", "passage"}, nlohmann::json{"passages"}}) {
    refuse(ErrorKind::invalid_data, {"mir_views"}, [&](TinyMir& tiny) { tiny.config["mir_views"] = views; });
  }
  refuse(ErrorKind::invalid_data, {"mir_links", "tokens is not a view of the model"}, [](TinyMir& tiny) {
    tiny.config["mir_links"] = {{"tokens", "all"}};
  });
  refuse(ErrorKind::unsupported, {"mir_links", "unknown links \"some\" of token"}, [](TinyMir& tiny) {
    tiny.config["mir_links"] = {{"token", "some"}};
  });
  refuse(ErrorKind::unsupported, {"mir_exchanges", "unknown value first"},
         [](TinyMir& tiny) { tiny.config["mir_exchanges"] = "first"; });
  refuse(ErrorKind::unsupported, {"WordPiece"}, [](TinyMir& tiny) { tiny.tokenizer_config["do_lower_case"] = false; });
}

TEST_F(Mir, RefusesTensorsThatDoNotFit) {
  for (const char* name :
       {"bert.encoder.layer.1.inter.attention.self.key.bias", "bert.encoder.layer.0.combine.weight",
        "aggregation.token.pooling_vector", "aggregation.sentence.output.weight", "aggregation.combine.weight",
        "bert.encoder.layer.0.output.dense.weight", "classifier.weight"}) {
    refuse(ErrorKind::invalid_data, {name, "is missing"}, [&](TinyMir& tiny) { tiny.tensors.erase(name); });
    refuse(ErrorKind::invalid_data, {name, "shape"}, [&](TinyMir& tiny) {
      std::mt19937 random(1);
      tiny.add_f32(random, name, {3, 5});
    });
  }
  refuse(ErrorKind::invalid_data, {"layer.2", "2 layers"}, [](TinyMir& tiny) {
    std::mt19937 random(1);
    tiny.add_f32(random, "bert.encoder.layer.2.combine.weight", {8, 16});
  });
}

/// Passages of 8 pieces in place of the tiny BERT's 64 positions; [PAD] and [MASK] are unused.
MirInit tiny_settings(std::uint64_t seed = 1) {
  MirInit settings;
  settings.window = 8;
  settings.stride = 6;
  settings.passage_token = 0;
  settings.sentence_token = 4;
  settings.seed = seed;
  return settings;
}

TEST_F(Mir, StartsFromABert) {
  const TinyCheckpoint bert;
  bert.write(folder_ / "bert");
  init_mir(folder_ / "bert", folder_ / "made", tiny_settings());
  const CheckpointCheck check = check_checkpoint(folder_ / "made", on("cpu"));
  EXPECT_TRUE(check.problems.empty()) << check.problems.front().what();
  const SafetensorsFile file = SafetensorsFile::open(folder_ / "made" / "model.safetensors");
  const auto values = [&](const std::string& name) { return file.view(*file.find(name)).to_f32(); };
  const auto floats = [&](const std::string& name) {
    const std::string& bytes = bert.tensors.at(name).bytes;
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  };
  for (const auto& [name, tensor] : bert.tensors) {
    if (!name.starts_with("bert.encoder.")) continue;
    EXPECT_EQ(values(name), floats(name)) << name;
  }
  // Tokens of passages and sentences are [CLS] and [SEP] at first; the other rows stay.
  std::vector<float> words = floats("bert.embeddings.word_embeddings.weight");
  std::copy_n(words.data() + 2 * 8, 8, words.data());
  std::copy_n(words.data() + 3 * 8, 8, words.data() + 4 * 8);
  EXPECT_EQ(values("bert.embeddings.word_embeddings.weight"), words);
  const std::string inter = "bert.encoder.layer.1.inter.";
  EXPECT_EQ(values(inter + "output.LayerNorm.weight"), std::vector<float>(8, 1));
  EXPECT_EQ(values(inter + "attention.output.LayerNorm.bias"), std::vector<float>(8, 0));
  EXPECT_EQ(values(inter + "intermediate.dense.bias"), std::vector<float>(12, 0));
  double squares = 0;
  for (const float value : values(inter + "intermediate.dense.weight")) squares += value * value;
  EXPECT_NEAR(std::sqrt(squares / 96), 0.02, 0.006);
  const std::vector<float> combine = values("bert.encoder.layer.0.combine.weight");
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      EXPECT_EQ(combine[row * 16 + column], row == column ? 1.0F : 0.0F);
      EXPECT_NE(combine[row * 16 + 8 + column], 0);
    }
  }
  EXPECT_EQ(file.find("bert.encoder.layer.1.combine.weight"), nullptr);
  const auto bytes = [&](const char* name) { return read_file(folder_ / name / "model.safetensors"); };
  init_mir(folder_ / "bert", folder_ / "again", tiny_settings());
  init_mir(folder_ / "bert", folder_ / "other", tiny_settings(2));
  EXPECT_EQ(bytes("made"), bytes("again"));
  EXPECT_NE(bytes("made"), bytes("other"));
}

TEST_F(Mir, StartsFromNothingElse) {
  TinyCheckpoint().write(folder_ / "bert");
  const auto refuse = [&](ErrorKind kind, const ErrorTexts& texts, const std::string& from, const auto& spoil) {
    MirInit settings = tiny_settings();
    spoil(settings);
    expect_error(kind, texts, [&] { init_mir(folder_ / from, folder_ / "new", settings); });
    EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  };
  refuse(ErrorKind::usage, {"max_position_embeddings", "passage_window"}, "bert", [](auto& s) { s.window = 30; });
  refuse(ErrorKind::usage, {"passage_stride"}, "bert", [](auto& s) { s.stride = 9; });
  refuse(ErrorKind::usage, {"snt_token_id"}, "bert", [](auto& s) { s.sentence_token = 1000; });
  refuse(ErrorKind::invalid_data, {"[unused1]", "vocab.txt"}, "bert", [](auto& s) { s.sentence_token.reset(); });
  folder(TinyMir());
  refuse(ErrorKind::unsupported, {"is mir"}, "mir", [](auto&) {});
  expect_error(ErrorKind::usage, {"bert"}, [&] { init_mir(folder_ / "bert", folder_ / "bert", tiny_settings()); });
}

TEST_F(Mir, IsNoCrossEncoderAndNoneIsMir) {
  const auto path = folder(TinyMir());
  expect_error(ErrorKind::unsupported, {"not a cross-encoder"}, [&] { CrossEncoder::load(path, {}); });
  TinyCheckpoint().write(folder_ / "bert");
  expect_error(ErrorKind::unsupported, {"mir"}, [&] { PassageModel::load(folder_ / "bert", on("ref")); });
}

std::vector<std::optional<float>> logits_of(const PassageScores& scores) {
  std::vector<std::optional<float>> logits;
  for (const PassageScore& one : scores.documents) logits.push_back(one.logit);
  return logits;
}

TEST_F(Mir, ScoresDependOnTheQueryAndTheDocumentAlone) {
  const auto path = folder(TinyMir());
  const auto reference = PassageModel::load(path, on("ref"));
  std::vector<std::string> texts{"a b. C d", "", "q"};
  for (int i = 0; i < 12; ++i) {
    std::string& text = texts.emplace_back();
    for (int word = 0; word < 8 * i; ++word)
      text += std::string(1, static_cast<char>('a' + word * i % 26)) + (word % 5 == 0 ? ". " : " ");
  }
  std::vector<BuiltGraph> graphs;
  std::vector<GraphedDocument> documents;
  for (const std::string& text : texts) graphs.push_back(graph_of(*reference, text));
  for (std::size_t i = 0; i < texts.size(); ++i) documents.push_back({texts[i], &graphs[i].graph});
  for (const std::string query : {"a b c", ""}) {
    const auto expected = logits_of(reference->score(query, documents));
    EXPECT_FALSE(expected[1].has_value());
    EXPECT_TRUE(expected[0].has_value());
    std::vector<std::vector<std::optional<float>>> found;
    for (const int threads : {1, 2, 5})
      found.push_back(logits_of(PassageModel::load(path, on("cpu", threads))->score(query, documents)));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(found[0][i], found[1][i]) << i;
      EXPECT_EQ(found[0][i], found[2][i]) << i;
      EXPECT_EQ(expected[i].has_value(), found[0][i].has_value());
      EXPECT_NEAR(expected[i].value_or(0), found[0][i].value_or(0), 1e-4) << i;
    }
  }
  // Sensitive to the query and to another passage's words.
  EXPECT_NE(logits_of(reference->score("a b c", documents)).back(), logits_of(reference->score("x", documents)).back());
}

TEST_F(Mir, StatesWhatItReadOfATextAndTakesItsStoredIds) {
  const auto model = PassageModel::load(folder(TinyMir()), on("ref"));
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::string(1, static_cast<char>('a' + i % 26)) + " ";
  const BuiltGraph graph = graph_of(*model, text);
  const std::int32_t most = model->graph_settings().max_document_tokens;
  ASSERT_LT(most, 100);
  std::vector<std::int32_t> ids;
  model->tokenizer().encode(text, 100, ids);
  const GraphedDocument document{text, &graph.graph};
  const PassageScores read = model->score("a b", {&document, 1});
  EXPECT_TRUE(read.documents[0].truncated);
  EXPECT_FALSE(read.query_truncated);
  EXPECT_TRUE(model->score(text, {&document, 1}).query_truncated);
  // [PSG] and two words of the query in each passage, and at least one [SNT].
  const auto passages = static_cast<std::int32_t>(pivot_graphs(model->graph_settings(), graph.graph).passages.size());
  EXPECT_GE(read.documents[0].tokens, most + 4 * passages);

  const auto with_ids = [&](std::size_t count, bool all, std::string_view other_text) {
    GraphedDocument given = document;
    given.ids = std::span(ids).first(count);
    given.all_ids = all;
    given.text = other_text;
    return model->score("a b", {&given, 1}).documents[0];
  };
  const auto used = static_cast<std::size_t>(most);
  EXPECT_EQ(with_ids(100, true, "unread").logit, read.documents[0].logit);
  EXPECT_TRUE(with_ids(100, true, "unread").truncated);
  EXPECT_EQ(with_ids(used + 1, false, "unread").logit, read.documents[0].logit);
  EXPECT_FALSE(with_ids(used, true, "unread").truncated);
  // Too few to know: the text is read.
  EXPECT_EQ(with_ids(used, false, text).logit, read.documents[0].logit);
  EXPECT_TRUE(with_ids(used, false, text).truncated);
}

TEST_F(Mir, RefusesTheGraphOfAnotherText) {
  const auto model = PassageModel::load(folder(TinyMir()), on("ref"));
  const BuiltGraph graph = graph_of(*model, "a b c d");
  const GraphedDocument other{"a b c", &graph.graph};
  expect_error(ErrorKind::invalid_data, {"document 0", "4 pieces", "text 3"}, [&] { model->score("a", {&other, 1}); });
}

TEST_F(Mir, WhatPivotsExchangeDependsOnAllPassages) {
  const Plan plan = make_plan(read_checkpoint(folder(TinyMir())).configuration.description);
  const auto& layers = plan.stacks.front();
  EXPECT_EQ(layers[0][kQuery].after, Dependence::pair);
  EXPECT_EQ(layers[0][kPassagePivots].before, Dependence::pair);
  EXPECT_EQ(layers[0][kPassagePivots].after, Dependence::set);
  EXPECT_EQ(layers[0][kDocument].after, Dependence::set);
  EXPECT_EQ(layers[0][kTokenPivots].need, Need::states);
  EXPECT_EQ(layers[1][kQuery].after, Dependence::set);
  EXPECT_EQ(layers[1][kQuery].need, Need::keys);  // of the last layer only pivots of other groups are read
  EXPECT_EQ(layers[1][kDocument].need, Need::states);
  EXPECT_FALSE(plan.computed_once(kQuery));
}

TEST_F(Mir, ExchangesOfOtherFormsRunOnTheReferenceAlone) {
  const Checkpoint checkpoint = read_checkpoint(folder(TinyMir()));
  const auto refuse = [&](const auto& spoil) {
    EncoderDescription description = checkpoint.configuration.description;
    spoil(description);
    expect_error(ErrorKind::unsupported, {"CPU backend"},
                 [&] { create_backend(description, checkpoint.weights.weights, on("cpu")); });
    EXPECT_NE(create_backend(description, checkpoint.weights.weights, on("ref")), nullptr);
  };
  const auto views = [](EncoderDescription& d) -> Views& { return d.stacks[0].exchanges[0].layer.attentions[0].views; };
  refuse([&](auto& d) { views(d)[kTokenPivots][kSentencePivots] = {View::Kind::all}; });
  refuse([&](auto& d) { views(d)[kTokenPivots][kSentencePivots] = {View::Kind::linked}; });
  refuse([&](auto& d) { views(d)[kTokenPivots][kTokenPivots] = {View::Kind::all}; });
  refuse([&](auto& d) { d.stacks[0].exchanges[1].groups.pop_back(); });
  refuse([&](auto& d) { d.stacks[0].exchanges[0].layer.attentions[0].norm = NormPlacement::before; });
  refuse([&](auto& d) { d.stacks[0].exchanges[0].layer.attentions[0].scale = 1; });
  refuse([&](auto& d) { d.head.steps[0].activation = Activation::tanh; });
}

TEST_F(Mir, RefusesPivotsThatTheDocumentDoesNotHave) {
  const Checkpoint checkpoint = read_checkpoint(folder(TinyMir()));
  const auto backend = create_backend(checkpoint.configuration.description, checkpoint.weights.weights, on("cpu"));
  const std::vector<std::int32_t> query{5}, pieces{6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  PassageBatch batch(*checkpoint.configuration.passages, query);
  DocumentGraph graph;
  graph.pieces = 10;
  graph.sentence_starts.assign(10, false);
  graph.sentence_starts[0] = graph.sentence_starts[4] = true;
  graph.mentions = {{1, 2, 0}, {7, 1, 0}};
  graph.passage_links = {{0, 1}};
  batch.add(pieces, graph);
  const ScoringBatch good = batch.batch();
  float logit = 0;
  backend->score(good, {&logit, 1});
  const auto refuse = [&](const ErrorTexts& texts, const auto& spoil) {
    std::vector<Pivots> pivots(good.documents.front().pivots.begin(), good.documents.front().pivots.end());
    std::vector<Pivots::Pivot> tokens(pivots[2].pivots.begin(), pivots[2].pivots.end());
    std::vector<std::int32_t> places(pivots[2].tokens.begin(), pivots[2].tokens.end());
    pivots[2].pivots = tokens;
    pivots[2].tokens = places;
    DocumentPassages document{2, pivots};
    spoil(tokens, places, pivots, document);
    document.pivots = pivots;
    ScoringBatch bad = good;
    bad.documents = {&document, 1};
    expect_error(ErrorKind::usage, texts, [&] { backend->score(bad, {&logit, 1}); });
  };
  refuse("pivot 0", [](auto& tokens, auto&, auto&, auto&) { tokens[0].candidate = 2; });
  refuse("pivot 0", [](auto& tokens, auto&, auto&, auto&) { tokens[0].tokens = 100; });
  refuse("pivot 0", [](auto& tokens, auto&, auto&, auto&) { tokens[0].tokens = 0; });
  refuse("pivot 1", [](auto& tokens, auto&, auto&, auto&) { tokens[1].seen = 1; });
  refuse("pivot 1", [](auto& tokens, auto&, auto&, auto&) { tokens[1].first_seen = 1000; });
  refuse("token 50", [](auto&, auto& places, auto&, auto&) { places[0] = 50; });
  refuse("token -1", [](auto&, auto& places, auto&, auto&) { places[0] = -1; });
  refuse("two pivots", [](auto&, auto& places, auto&, auto&) { places[0] = 0; });  // the token of a sentence
  refuse("each group of pivots once", [](auto&, auto&, auto& pivots, auto&) { pivots.pop_back(); });
  refuse("unknown group", [](auto&, auto&, auto& pivots, auto&) { pivots[2].group = 2; });
  refuse("runs of its candidates", [](auto&, auto&, auto&, auto& document) { document.candidates = 3; });
  refuse("runs of its candidates", [](auto&, auto&, auto&, auto& document) { document.candidates = 0; });
  const DocumentPassages twice[] = {good.documents.front(), {}};
  ScoringBatch bad = good;
  bad.documents = twice;
  float logits[2];
  expect_error(ErrorKind::usage, {"runs of its candidates"}, [&] { backend->score(bad, logits); });
  std::vector<Segment> segments(bad.candidates[0].begin(), bad.candidates[0].end());
  segments.front().group = kTokenPivots;
  const std::span<const Segment> candidates[] = {segments, good.candidates[1]};
  bad = good;
  bad.candidates = candidates;
  expect_error(ErrorKind::usage, {"no segments"}, [&] { backend->score(bad, {&logit, 1}); });
}

}  // namespace
}  // namespace relucent::testing
