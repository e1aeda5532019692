// Changed checkpoints of further rerankers: what is refused, by file and key, and what a setting changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A copy of a golden checkpoint, of which files are changed.
class ChangedCheckpoint : public ::testing::Test {
 protected:
  explicit ChangedCheckpoint(const char* name) : golden_(golden_path("rerankers") / name) {}

  void SetUp() override {
    RELUCENT_NEEDS(golden_);
    fs::copy(golden_, folder(), fs::copy_options::recursive);
  }

  fs::path folder() const { return temporary_.path() / "model"; }
  json read(const fs::path& file) const { return json::parse(std::ifstream(folder() / file)); }
  void write(const fs::path& file, const json& value) const { std::ofstream(folder() / file) << value; }

  /// With `key` = `value` in `file`, as it was otherwise.
  void expect_refused(const fs::path& file, ErrorKind kind, const std::string& key, const json& value,
                      const std::string& problem) const {
    json changed = json::parse(std::ifstream(golden_ / file));
    changed[key] = value;
    write(file, changed);
    const Error error = expect_error(kind, {problem}, [&] { CrossEncoder::load(folder()); });
    EXPECT_TRUE(error.place().ends_with(file.string() + ", key " + key)) << error.what();
    fs::copy_file(golden_ / file, folder() / file, fs::copy_options::overwrite_existing);
  }

  fs::path golden_;
  TemporaryFolder temporary_;
};

struct LightningFaults : ChangedCheckpoint {
  LightningFaults() : ChangedCheckpoint("monoelectra") {}

  void expect_refused(ErrorKind kind, const std::string& key, const json& value, const std::string& problem) const {
    ChangedCheckpoint::expect_refused("config.json", kind, key, value, problem);
  }
  void change(const json& changes) const {
    json config = read("config.json");
    config.update(changes);
    write("config.json", config);
  }
};

TEST_F(LightningFaults, KeysThatChangeScoresAreRefusedByName) {
  const auto unsupported = [&](const std::string& key, const json& value, const std::string& problem) {
    expect_refused(ErrorKind::unsupported, key, value, problem);
  };
  unsupported("backbone_model_type", "t5", "unknown backbone t5");
  unsupported("backbone_model_type", nullptr, "is missing");
  unsupported("pooling_strategy", "max", "unknown pooling max");
  unsupported("scoring_strategy", "other", "unknown scoring other");
  unsupported("tokenizer_pattern", "\\w+", "is not supported");
  unsupported("use_adapter", true, "adapters are not supported");
  unsupported("position_embedding_type", "relative_key", "unknown position scheme");
  expect_refused(ErrorKind::invalid_data, "query_length", 0, "");
  expect_refused(ErrorKind::invalid_data, "doc_length", "long", "");
}

TEST_F(LightningFaults, AnOutputTooManyIsAWrongShape) {
  change({{"scoring_strategy", "mono"}});
  const Error error = expect_error(ErrorKind::invalid_data, {}, [&] { CrossEncoder::load(folder()); });
  EXPECT_NE(error.place().find("tensor linear.weight"), std::string::npos) << error.what();
}

// As Lightning IR reads it: a bias that the key does not announce is dropped.
TEST_F(LightningFaults, ABiasWithoutItsKeyIsNotUsed) {
  const auto score = [&] {
    const std::string_view texts[] = {"a text"};
    return CrossEncoder::load(folder())->score("a query", texts).documents.at(0).logit;
  };
  const float with_bias = score();
  change({{"linear_bias", nullptr}});
  EXPECT_NE(score(), with_bias);
  const std::vector<TensorSummary> tensors = inspect_checkpoint(folder()).tensors;
  EXPECT_EQ(std::ranges::count_if(
                tensors, [](const TensorSummary& tensor) { return tensor.name == "linear.bias" && !tensor.used; }),
            1);
}

TEST_F(LightningFaults, LimitsCutQueriesAndDocuments) {
  change({{"query_length", 2}, {"doc_length", 3}});
  CrossEncoderOptions options;
  const std::string_view texts[] = {"one two three four five six seven eight"};
  const auto cut = CrossEncoder::load(folder(), options)->score("a long query of words", texts);
  EXPECT_TRUE(cut.query_truncated);
  EXPECT_TRUE(cut.documents.at(0).truncated);
  EXPECT_EQ(cut.documents.at(0).tokens, 2 + 3 + 3);
  // Chunks have the document's limit.
  options.long_documents = LongDocuments::maxp;
  options.chunk = options.stride = 3;
  const auto chunks = CrossEncoder::load(folder(), options)->score("a long query of words", texts);
  EXPECT_FALSE(chunks.documents.at(0).truncated);
  EXPECT_GT(chunks.documents.at(0).tokens, 2 * (2 + 3 + 3));
}

struct GteFaults : ChangedCheckpoint {
  GteFaults() : ChangedCheckpoint("gte-multilingual") {}
};

TEST_F(GteFaults, KeysThatChangeScoresAreRefusedByName) {
  const auto unsupported = [&](const std::string& key, const json& value, const std::string& problem) {
    expect_refused("config.json", ErrorKind::unsupported, key, value, problem);
  };
  unsupported("position_embedding_type", "absolute", "absolute");
  unsupported("layer_norm_type", "rms_norm", "rms_norm");
  unsupported("logn_attention_scale", true, "is not supported");
  unsupported("rope_scaling", {{"type", "linear"}, {"factor", 2}}, "linear");
  unsupported("rope_scaling", {{"type", "ntk"}, {"factor", 2}, {"mixed_b", 0.5}}, "mixed_b");
  unsupported("architectures", json::array({"NewForMaskedLM"}), "NewForMaskedLM");
  const auto invalid = [&](const std::string& key, const json& value) {
    expect_refused("config.json", ErrorKind::invalid_data, key, value, "");
  };
  invalid("rope_scaling", {{"type", "ntk"}});
  invalid("rope_scaling", {{"type", "ntk"}, {"factor", 0.5}});
  invalid("rope_scaling", {{"type", "ntk"}, {"factor", 1e300}});
  invalid("rope_scaling", "ntk");
  invalid("rope_theta", -1);
  invalid("num_attention_heads", 32);
}

struct DebertaFaults : ChangedCheckpoint {
  DebertaFaults() : ChangedCheckpoint("deberta-v3") {}
};

TEST_F(DebertaFaults, KeysThatChangeScoresAreRefusedByName) {
  const auto unsupported = [&](const std::string& key, const json& value, const std::string& problem) {
    expect_refused("config.json", ErrorKind::unsupported, key, value, problem);
  };
  unsupported("relative_attention", false, "is not true");
  unsupported("pos_att_type", "p2p|c2p", "p2p");
  unsupported("pos_att_type", json::array(), "names no products");
  unsupported("pos_att_type", nullptr, "names no products");
  unsupported("norm_rel_ebd", "rms", "rms");
  unsupported("embedding_size", 16, "is not hidden_size");
  unsupported("attention_head_size", 16, "is not");
  unsupported("pooler_hidden_size", 16, "is not hidden_size");
  unsupported("z_steps", 2, "is more than 1");
  const auto invalid = [&](const std::string& key, const json& value) {
    expect_refused("config.json", ErrorKind::invalid_data, key, value, "");
  };
  invalid("pos_att_type", 1);
  invalid("pos_att_type", json::array({1}));
  invalid("position_buckets", 1);
  invalid("position_buckets", 400);
  invalid("max_relative_positions", 1 << 30);
  invalid("conv_kernel_size", 2);
}

TEST_F(DebertaFaults, TheTableOfPositionsHasAsManyRowsAsTheKeysSay) {
  json config = read("config.json");
  config["position_buckets"] = 20;
  write("config.json", config);
  const Error error = expect_error(ErrorKind::invalid_data, {"[40, 32]"}, [&] { CrossEncoder::load(folder()); });
  EXPECT_NE(error.place().find("tensor deberta.encoder.rel_embeddings.weight"), std::string::npos) << error.what();
}

// Older checkpoints have only the SentencePiece model.
TEST_F(DebertaFaults, TheSentencePieceModelGivesTheSameScores) {
  fs::remove(folder() / "tokenizer.json");
  const auto of_model = CrossEncoder::load(folder()), of_json = CrossEncoder::load(golden_);
  for_each_line(golden_path("rerankers") / "pairs.rerank.jsonl.gz", [&](const std::string& line) {
    const json pair = json::parse(line);
    const auto query = pair.at("query").get<std::string>(), text = pair.at("text").get<std::string>();
    const std::string_view texts[] = {text};
    EXPECT_EQ(of_model->score(query, texts).documents.at(0).logit, of_json->score(query, texts).documents.at(0).logit)
        << line;
  });
}

struct Sets : ChangedCheckpoint {
  Sets() : ChangedCheckpoint("set-encoder") {}
};

TEST_F(Sets, WhatDoesNotApplyIsRefused) {
  CrossEncoderOptions window, chunks;
  window.attention_window = 4;
  chunks.long_documents = LongDocuments::maxp;
  expect_error(ErrorKind::usage, {"do not apply to a Set-Encoder"}, [&] { CrossEncoder::load(folder(), window); });
  expect_error(ErrorKind::usage, {"does not apply to a Set-Encoder"}, [&] { CrossEncoder::load(folder(), chunks); });
  expect_refused("config.json", ErrorKind::unsupported, "other_sequence_embedding", true, "is not supported");
  expect_refused("config.json", ErrorKind::unsupported, "attention_window_size", 4, "no sparse pattern");
  expect_refused("config.json", ErrorKind::invalid_data, "depth", 0, "");
  json config = read("config.json");
  config["depth"] = 2;
  write("config.json", config);
  const auto model = CrossEncoder::load(folder());
  EXPECT_EQ(model->most_candidates(), 2);
  const std::string_view texts[] = {"one", "two", "three"};
  expect_error(ErrorKind::usage, {"at most 2 candidates", "there are 3", "window = 2"},
               [&] { model->score("query", texts); });
  EXPECT_TRUE(inspect_checkpoint(folder()).warnings.empty());
  json tokenizer = read("tokenizer.json");
  tokenizer["added_tokens"][5]["content"] = "[DOC]";
  write("tokenizer.json", tokenizer);
  const std::vector<std::string> warnings = inspect_checkpoint(folder()).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("[DOC] takes its place"), std::string::npos);
  tokenizer["added_tokens"][5]["content"] = "[OTHER]";
  write("tokenizer.json", tokenizer);
  expect_error(ErrorKind::invalid_data, {"has no token [INT]"}, [&] { CrossEncoder::load(folder()); });
}

struct Decoders : ChangedCheckpoint {
  Decoders() : ChangedCheckpoint("qwen3-reranker") {}

  float score(const CrossEncoderOptions& options = {}, const std::string& query = "a query") const {
    const std::string_view texts[] = {"a text"};
    return CrossEncoder::load(folder(), options)->score(query, texts).documents.at(0).logit;
  }
};

TEST_F(Decoders, KeysThatChangeScoresAreRefusedByName) {
  const auto unsupported = [&](const std::string& key, const json& value, const std::string& problem) {
    expect_refused("config.json", ErrorKind::unsupported, key, value, problem);
  };
  unsupported("use_sliding_window", true, "is not supported");
  unsupported("layer_types", {"full_attention", "sliding_attention"}, "sliding_attention");
  unsupported("rope_scaling", {{"rope_type", "yarn"}}, "yarn");
  unsupported("rope_parameters", {{"rope_theta", 1e6}, {"rope_type", "linear"}}, "linear");
  unsupported("hidden_act", "gelu", "is not silu");
  unsupported("attention_window_size", 4, "no sparse pattern");
  unsupported("architectures", json::array({"Qwen3Model"}), "Qwen3Model");
  unsupported("quantization_config", {{"bits", 4}}, "is not supported");
  const auto invalid = [&](const std::string& key, const json& value) {
    expect_refused("config.json", ErrorKind::invalid_data, key, value, "");
  };
  invalid("num_key_value_heads", 3);
  invalid("num_key_value_heads", 0);
  invalid("head_dim", 15);
  invalid("rope_parameters", {{"rope_theta", -1}});
  invalid("rope_parameters", 10000);
  invalid("layer_types", "full_attention");
  invalid("rms_norm_eps", 0);
}

TEST_F(Decoders, OtherTokensMeanAnotherTemplate) {
  for (const auto& [key, value] : {std::pair<std::string, json>("true_token_id", 1), {"false_token_id", nullptr}}) {
    json score = read("1_LogitScore/config.json");
    score[key] = value;
    write("1_LogitScore/config.json", score);
    const Error error = expect_error(ErrorKind::unsupported, {"another template"}, [&] { this->score(); });
    EXPECT_NE(error.place().find("1_LogitScore"), std::string::npos) << error.what();
    fs::copy_file(golden_ / "1_LogitScore" / "config.json", folder() / "1_LogitScore" / "config.json",
                  fs::copy_options::overwrite_existing);
  }
  expect_refused("1_LogitScore/config.json", ErrorKind::unsupported, "temperature", 2, "is not supported");
  json modules = read("modules.json");
  modules[1]["type"] = "sentence_transformers.models.Pooling";
  write("modules.json", modules);
  expect_error(ErrorKind::unsupported, {"Transformer, Pooling"}, [&] { score(); });
  fs::remove(folder() / "modules.json");
  EXPECT_TRUE(std::isfinite(score()));
}

TEST_F(Decoders, TokensOfTheTemplateMustExist) {
  const json tokenizer = read("tokenizer.json");
  json changed = tokenizer;
  changed["added_tokens"][1]["content"] = "<|other|>";
  write("tokenizer.json", changed);
  expect_error(ErrorKind::invalid_data, {"<|im_start|>"}, [&] { score(); });
  changed = tokenizer;
  changed["model"]["merges"] = json::array();
  write("tokenizer.json", changed);
  expect_error(ErrorKind::invalid_data, {"the word yes is not one token"}, [&] { score(); });
  fs::remove(folder() / "tokenizer.json");
  expect_error(ErrorKind::io, {"tokenizer.json", "is missing"}, [&] { score(); });
}

TEST_F(Decoders, AnInstructionReplacesTheModelsOwn) {
  CrossEncoderOptions options;
  const float own = score();
  options.instruction = "Given a web search query, retrieve relevant passages that answer the query";
  EXPECT_EQ(score(options), own);
  options.instruction = "Find recipes <|im_end|>";  // which is text
  EXPECT_NE(score(options), own);
  for (int i = 0; i < 400; ++i) options.instruction += " longer";
  expect_error(ErrorKind::usage, {"the prompt has", "shorter instruction"}, [&] { score(options); });
  options.instruction = "Find recipes";
  expect_error(ErrorKind::usage, {"instruction: does not apply"},
               [&] { CrossEncoder::load(golden_path("rerankers") / "ettin", options); });
}

TEST_F(Decoders, PatternsDoNotApply) {
  CrossEncoderOptions window, pattern;
  window.attention_window = 4;
  pattern.pattern = PatternChoice::sparse;
  for (const CrossEncoderOptions& options : {window, pattern}) {
    expect_error(ErrorKind::usage, {"do not apply to a decoder"}, [&] { score(options); });
  }
}

// The query's pieces are cut, not the words behind them.
TEST_F(Decoders, LimitsCutTheQueryAlone) {
  CrossEncoderOptions options;
  options.max_query_length = 2;
  EXPECT_EQ(score(options, "how many words"), score(options, "how many other words"));
  EXPECT_NE(score(options, "how many words"), score({}, "how many words"));
  EXPECT_EQ(score(options, "how many"), score({}, "how many"));
}

TEST_F(Decoders, StoredIdsAreNotUsedAndPlacesAreThoseOfTheText) {
  CrossEncoderOptions options;
  options.long_documents = LongDocuments::maxp;
  options.chunk = options.stride = 4;
  const auto model = CrossEncoder::load(folder(), options);
  const std::string text = "bread is made of flour and water";
  const std::int32_t wrong[] = {1, 2, 3};
  const PairDocument plain[] = {{text}}, with_ids[] = {{text, wrong, PairDocument::Ids::all}};
  const PairScores scores = model->score_documents("bread", plain);
  EXPECT_EQ(model->score_documents("bread", with_ids).documents[0].logit, scores.documents[0].logit);
  const TextRange first = model->place_of(text, {0, 1}), best = model->place_of(text, scores.documents[0].best);
  EXPECT_EQ(first.begin, 0U);
  EXPECT_LT(best.begin, best.end);
  EXPECT_LE(best.end, text.size());
}

TEST_F(Decoders, TheBackendsThatLackThemSaySo) {
  CrossEncoderOptions options;
  options.backend.device = Device::cuda(0);
  try {
    CrossEncoder::load(folder(), options);
    FAIL() << "no error";
  } catch (const Error& error) {
    const bool named = std::string_view(error.what()).find("a causal decoder") != std::string_view::npos;
    EXPECT_TRUE(named || error.kind() == ErrorKind::device) << error.what();
  }
}

struct ModularFaults : ChangedCheckpoint {
  ModularFaults() : ChangedCheckpoint("ettin") {}

  void unsupported(const std::string& file, const std::string& key, const json& value,
                   const std::string& problem) const {
    expect_refused(file, ErrorKind::unsupported, key, value, problem);
  }
};

TEST_F(ModularFaults, SettingsThatChangeScoresAreRefusedByName) {
  unsupported("1_Pooling/config.json", "pooling_mode", "max", "unknown pooling max");
  unsupported("1_Pooling/config.json", "pooling_mode_lasttoken", true, "is not supported");
  unsupported("1_Pooling/config.json", "include_prompt", false, "is false");
  unsupported("2_Dense/config.json", "activation_function", "torch.nn.modules.activation.ELU", "ELU");
  unsupported("4_Dense/config.json", "use_residual", true, "is true");
  unsupported("4_Dense/config.json", "out_features", 2, "is not 1");
  unsupported("2_Dense/config.json", "module_input_name", "token_embeddings", "is not sentence_embedding");
  unsupported("4_Dense/config.json", "module_output_name", "sentence_embedding", "is not scores");
  unsupported("4_Dense/config.json", "activation_function", "torch.nn.modules.activation.Sigmoid", "Sigmoid");
  unsupported("sentence_bert_config.json", "transformer_task", "sequence-classification", "feature-extraction");
  expect_refused("2_Dense/config.json", ErrorKind::invalid_data, "in_features", 64, "is 64");
  expect_refused("3_LayerNorm/config.json", ErrorKind::invalid_data, "dimension", 16, "is 16");
}

TEST_F(ModularFaults, OtherModulesOrdersAndFoldersAreRefused) {
  const json all = read("modules.json");
  const auto refused = [&](const json& modules, ErrorKind kind, const std::string& problem) {
    write("modules.json", modules);
    const Error error = expect_error(kind, {problem}, [&] { CrossEncoder::load(folder()); });
    EXPECT_NE(error.place().find("modules.json"), std::string::npos) << error.what();
  };
  const auto with = [&](std::size_t module, const char* key, const json& value) {
    json changed = all;
    changed[module][key] = value;
    return changed;
  };
  refused({all[0], all[1], all[2], all[3]}, ErrorKind::unsupported, "Pooling, Dense, LayerNorm");
  refused({all[0], all[1]}, ErrorKind::unsupported, "Transformer, Pooling");
  json many = {all[0], all[1]};
  while (many.size() < 16) many.push_back(all[3]);
  many.push_back(all[4]);
  refused(many, ErrorKind::unsupported, "16 at most");
  refused({all[0], all[4]}, ErrorKind::unsupported, "Transformer, Dense");
  refused(with(3, "type", "sentence_transformers.models.Normalize"), ErrorKind::unsupported, "Normalize");
  refused(with(3, "type", "other.LayerNorm"), ErrorKind::unsupported, "other.LayerNorm");
  refused(with(3, "path", "../3_LayerNorm"), ErrorKind::invalid_data, "../3_LayerNorm");
  refused(with(3, "path", "/tmp"), ErrorKind::invalid_data, "/tmp");
  refused(with(3, "path", ""), ErrorKind::invalid_data, "LayerNorm");
  refused(with(0, "path", "0_Transformer"), ErrorKind::invalid_data, "0_Transformer");
  refused(json::array({all[1]}), ErrorKind::invalid_data, "1_Pooling");
  refused(with(0, "type", "sentence_transformers.models.Router"), ErrorKind::unsupported, "Router");
  refused(json::array(), ErrorKind::invalid_data, "is not a list");
}

TEST_F(ModularFaults, ASizeThatDoesNotFitTheNextModuleIsRefused) {
  json dense = read("2_Dense/config.json");
  dense["out_features"] = 16;
  write("2_Dense/config.json", dense);
  const Error error =
      expect_error(ErrorKind::invalid_data, {"is 32", "give 16"}, [&] { CrossEncoder::load(folder()); });
  EXPECT_TRUE(error.place().ends_with("3_LayerNorm/config.json, key dimension")) << error.what();
}

// A residual of the same size needs no weights.
TEST_F(ModularFaults, AResidualChangesScores) {
  const auto score = [&] {
    const std::string_view texts[] = {"a text"};
    return CrossEncoder::load(folder())->score("a query", texts).documents.at(0).logit;
  };
  const float without = score();
  json dense = read("2_Dense/config.json");
  dense["use_residual"] = true;
  write("2_Dense/config.json", dense);
  EXPECT_NE(score(), without);
}

TEST_F(ModularFaults, MissingFilesOfModulesAreNamed) {
  fs::remove(folder() / "3_LayerNorm" / "model.safetensors");
  const Error weights = expect_error(ErrorKind::io, {}, [&] { CrossEncoder::load(folder()); });
  EXPECT_NE(weights.place().find("3_LayerNorm"), std::string::npos) << weights.what();
  fs::remove(folder() / "1_Pooling" / "config.json");
  const Error config = expect_error(ErrorKind::io, {}, [&] { CrossEncoder::load(folder()); });
  EXPECT_NE(config.place().find("1_Pooling"), std::string::npos) << config.what();
  EXPECT_FALSE(check_checkpoint(folder()).problems.empty());
}

TEST_F(ModularFaults, ACopyThatWouldLoseTheHeadIsRefused) {
  expect_error(ErrorKind::unsupported, {"modules.json"},
               [&] { convert_checkpoint(folder(), temporary_.path() / "copy", DataType::f16); });
  EXPECT_FALSE(fs::exists(temporary_.path() / "copy"));
}

}  // namespace
}  // namespace relucent::testing
