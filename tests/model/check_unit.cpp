// `model check` finds all problems of a checkpoint at once, and explains its scores.
#include <gtest/gtest.h>

#include <cmath>

#include "relucent/model/checkpoint.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Check : public ::testing::Test {
 protected:
  TinyCheckpoint checkpoint;
  TemporaryFolder temporary;
  fs::path folder = temporary / "model";

  CheckpointCheck check() const { return check_checkpoint(folder, {.device = Device::ref(), .instruction_set = {}}); }

  /// The problems are these, in this order: each text is part of the message.
  void found(const std::vector<std::string>& texts) const {
    const std::vector<Error> problems = check().problems;
    for (std::size_t i = 0; i < std::max(texts.size(), problems.size()); ++i) {
      const std::string message = i < problems.size() ? problems[i].what() : "nothing";
      ASSERT_LT(i, texts.size()) << message;
      EXPECT_NE(message.find(texts[i]), std::string::npos) << message << " lacks " << texts[i];
    }
    EXPECT_TRUE(texts.empty() || check().logits.empty());
  }
};

TEST_F(Check, ASoundCheckpointHasNoProblems) {
  checkpoint.write(folder);
  found({});
  const CheckpointCheck sound = check();
  EXPECT_EQ(sound.backend.device, "ref");
  EXPECT_EQ(sound.logits.size(), 3U);
  EXPECT_EQ(sound.info.max_length, 64);
  EXPECT_EQ(sound.info.max_positions, 64);
  EXPECT_EQ(sound.info.vocabulary, 57);
  std::uint64_t parameters = 0;
  for (const auto& [name, tensor] : checkpoint.tensors) parameters += tensor.bytes.size() / 4;
  EXPECT_EQ(sound.info.parameters, parameters);
  EXPECT_EQ(sound.info.memory.gpu_fp16, 2 * parameters);
  // Two layers of 4 matrices of 8 x 8 and 2 of 8 x 12; the last layer's keys, queries and values twice.
  const std::uint64_t layer = 4 * 64 + 2 * 96, others = parameters - 2 * layer;
  EXPECT_EQ(sound.info.memory.fp32, 4 * (parameters + 192));
  EXPECT_EQ(sound.info.memory.bf16, 4 * others + 2 * (2 * layer + 192));
  EXPECT_EQ(sound.info.memory.int8, 4 * others + 2 * layer + 4 * layer);
}

TEST_F(Check, ProblemsOfAllFilesAreFoundAtOnce) {
  checkpoint.config["hidden_act"] = "laplace";
  checkpoint.config["doc_cls_atention"] = true;
  checkpoint.config["query_doc_attention"] = 1;
  checkpoint.config["is_decoder"] = true;
  checkpoint.vocabulary[3] = "other";
  checkpoint.tensors.erase("bert.encoder.layer.0.output.dense.bias");
  checkpoint.tensors["bert.encoder.layer.1.output.dense.bias"].shape = {2, 4};
  checkpoint.tensors["classifier.bias"].type = "I32";
  for (const char* name : {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}) {
    const float nan = NAN;
    std::memcpy(checkpoint.tensors[name].bytes.data() + 12, &nan, sizeof nan);
  }
  checkpoint.write(folder);
  found({"key is_decoder: decoders", "key hidden_act: unknown", "key query_doc_attention: is 1, not true or false",
         "key doc_cls_atention: unknown attention key", "vocab.txt: the vocabulary has no entry [SEP]",
         "tensor bert.encoder.layer.0.output.dense.bias: is missing",
         "tensor bert.encoder.layer.1.output.dense.bias: has the shape [2, 4]",
         "tensor classifier.bias: has the unsupported data type I32",
         "tensor bert.pooler.dense.weight: element 3 is not a finite", "tensor bert.pooler.dense.bias: element 3"});
}

TEST_F(Check, SizesThatAreMissingHideNoOtherKeysAndMakeNoTensorsWrong) {
  checkpoint.config.erase("vocab_size");
  checkpoint.config["hidden_size"] = "8";
  checkpoint.config["max_position_embeddings"] = -1;
  checkpoint.config["intermediate_size"] = 0;
  checkpoint.config["num_labels"] = 0;
  checkpoint.write(folder);
  found({"key num_labels: the model has 0 labels", "key vocab_size: is missing", "key hidden_size: is \"8\"",
         "key max_position_embeddings: is -1", "key intermediate_size: is 0"});
  checkpoint.config["num_attention_heads"] = nullptr;
  checkpoint.write(folder);
  EXPECT_EQ(check().problems.size(), 6U);
  EXPECT_TRUE(check().info.description.stacks.empty());
}

TEST_F(Check, FilesThatAreNotThere) {
  found({"the model directory does not exist"});
  fs::create_directory(folder);
  found({"config.json: opening", "model.safetensors: opening"});
  checkpoint.config["model_type"] = "gpt2";
  checkpoint.write(folder);
  fs::rename(folder / "model.safetensors", folder / "pytorch_model.bin");
  found({"unknown model type gpt2", "pytorch_model.bin: the weights' format is PyTorch's"});
  checkpoint.config["model_type"] = "bert";
  checkpoint.tokenizer_config["model_max_length"] = 3;
  checkpoint.write(folder);
  found({"the model has 3 positions"});
  fs::remove(folder / "vocab.txt");
  fs::remove(folder / "model.safetensors");
  found({"PyTorch's", "neither vocab.txt nor tokenizer.json"});
}

TEST_F(Check, ADeviceThatCannotRunTheModelIsAProblem) {
  checkpoint.write(folder);
  const CheckpointCheck result =
      check_checkpoint(folder, {.device = Device::ref(), .precision = Precision::int8, .instruction_set = {}});
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_NE(std::string(result.problems[0].what()).find("int8"), std::string::npos);
}

/// What is stated in the keys of sentence-transformers 6.2, 4.0 and 3.4, in the order in which 6.2 looks at them.
TEST_F(Check, TheActivationIsThatOfSentenceTransformers) {
  const std::string identity = "torch.nn.modules.linear.Identity", sigmoid = "torch.nn.modules.activation.Sigmoid";
  const auto stated = [&](const json& own, const json& object, const json& old) {
    TinyCheckpoint changed = checkpoint;
    if (!object.is_null()) changed.config["sentence_transformers"] = object;
    if (!old.is_null()) changed.config["sbert_ce_default_activation_function"] = old;
    changed.write(folder);
    fs::remove(folder / "config_sentence_transformers.json");
    // It counts only in a folder of modules.
    const std::string module =
        R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}])";
    fs::remove(folder / "modules.json");
    if (!own.is_null()) {
      write_file(folder / "config_sentence_transformers.json", own.dump());
      write_file(folder / "modules.json", module);
      write_file(folder / "sentence_bert_config.json", R"({"transformer_task": "sequence-classification"})");
    }
    const CheckpointInfo info = inspect_checkpoint(folder);
    EXPECT_TRUE(info.ignored_keys.empty());
    return info.activation + ", " + info.activation_source + (info.warnings.empty() ? "" : ", " + info.warnings[0]);
  };
  EXPECT_EQ(stated({}, {}, {}), "sigmoid, default");
  EXPECT_EQ(stated({}, {}, identity), "identity, config.json, key sbert_ce_default_activation_function");
  EXPECT_EQ(stated({}, {{"activation_fn", sigmoid}}, identity),
            "sigmoid, config.json, key sentence_transformers.activation_fn");
  EXPECT_EQ(stated({}, {{"activation_fn", nullptr}}, identity), "sigmoid, default");
  EXPECT_EQ(stated({}, {{"version", "4.0.1"}}, identity),
            "identity, config.json, key sbert_ce_default_activation_function");
  const json own = {{"model_type", "CrossEncoder"}, {"activation_fn", identity}};
  EXPECT_EQ(stated(own, {{"activation_fn", sigmoid}}, sigmoid),
            "identity, config_sentence_transformers.json, key activation_fn");
  EXPECT_EQ(stated({{"model_type", "CrossEncoder"}}, {{"activation_fn", identity}}, {}),
            "identity, config.json, key sentence_transformers.activation_fn");
  EXPECT_EQ(stated({{"activation_fn", identity}}, {{"activation_fn", sigmoid}}, {}),
            "sigmoid, config.json, key sentence_transformers.activation_fn");
  const std::string tanh = "torch.nn.modules.activation.Tanh";
  EXPECT_EQ(stated({}, {{"activation_fn", tanh}}, {}).find(tanh + ", config.json, key sentence_transformers"), 0U);
  EXPECT_NE(stated({}, {{"activation_fn", tanh}}, {}).find("Relucent cannot apply it"), std::string::npos);
  EXPECT_EQ(stated({}, {{"activation_fn", "os.system"}}, {}).find("sigmoid, default, config.json, key sent"), 0U);
  EXPECT_EQ(stated({}, {}, 7).find("sigmoid, default, config.json, key sbert_ce_default_activation_function is not"),
            0U);
  found({});
  write_file(folder / "modules.json", "[]");
  write_file(folder / "config_sentence_transformers.json", "[]");
  found({"config_sentence_transformers.json: is not a JSON object"});
}

}  // namespace
}  // namespace relucent::testing
