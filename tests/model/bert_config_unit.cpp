// config.json as the description that backends run.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/families/families.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

class BertConfig : public ::testing::Test {
 protected:
  TinyCheckpoint checkpoint;
  TemporaryFolder folder;

  CheckpointInfo inspect() {
    checkpoint.write(folder.path());
    return inspect_checkpoint(folder.path());
  }
};

const std::vector<Layer>& layers_of(const CheckpointInfo& info) { return info.description.stacks.front().layers; }

const Views& views_of_layer(const CheckpointInfo& info, std::size_t layer) {
  return layers_of(info).at(layer).attentions.front().views;
}

TEST_F(BertConfig, SizesAreRead) {
  const CheckpointInfo info = inspect();
  const EncoderDescription& description = info.description;
  EXPECT_EQ(description.vocabulary_size, 57);
  EXPECT_EQ(description.hidden_size, 8);
  ASSERT_EQ(layers_of(info).size(), 2U);
  for (const Layer& layer : layers_of(info)) {
    EXPECT_EQ(layer.attentions.front().heads, 2);
    EXPECT_EQ(layer.attentions.front().head_size, 4);
    EXPECT_EQ(layer.attentions.front().scale, 0.5);
    EXPECT_EQ(layer.feed_forward.size, 12);
  }
  EXPECT_EQ(description.max_positions, 64);
  EXPECT_EQ(description.token_types, 2);
  EXPECT_FLOAT_EQ(description.norm_epsilon, 1e-12F);
  EXPECT_EQ(info.architecture, "BertForSequenceClassification");
  EXPECT_EQ(info.tokenizer, "WordPiece, 57 entries, lower-cased (vocab.txt)");
  EXPECT_EQ(info.weight_type, "F32");
}

TEST_F(BertConfig, APlainModelAttendsEverywhereWithoutWindow) {
  const CheckpointInfo info = inspect();
  for (const std::size_t layer : {0, 1}) EXPECT_EQ(views_of_layer(info, layer), views_of(AttentionPattern{}));
}

TEST_F(BertConfig, EachFlagSetsItsOwnPartOfThePattern) {
  const std::pair<const char*, bool AttentionPattern::*> flags[] = {
      {"cls_query_attention", &AttentionPattern::cls_query},
      {"cls_doc_attention", &AttentionPattern::cls_document},
      {"query_cls_attention", &AttentionPattern::query_cls},
      {"query_doc_attention", &AttentionPattern::query_document},
      {"doc_cls_attention", &AttentionPattern::document_cls},
      {"doc_query_attention", &AttentionPattern::document_query}};
  checkpoint.config["architectures"] = {"ListformerModelForSequenceClassification"};
  for (const auto& [key, flag] : flags) {
    TinyCheckpoint changed = checkpoint;
    changed.config[key] = false;
    changed.write(folder.path());
    AttentionPattern expected;
    expected.*flag = false;
    const CheckpointInfo info = inspect_checkpoint(folder.path());
    for (const std::size_t layer : {0, 1}) EXPECT_EQ(views_of_layer(info, layer), views_of(expected)) << key;
  }
}

TEST_F(BertConfig, WindowsFromZeroToUnlimited) {
  for (const int window : {0, 1, 4, 1000}) {
    checkpoint.config["attention_window_size"] = window;
    EXPECT_EQ(views_of_layer(inspect(), 1)[kDocument][kDocument], (View{View::Kind::window, window}));
  }
  checkpoint.config["attention_window_size"] = nullptr;
  EXPECT_EQ(views_of_layer(inspect(), 1)[kDocument][kDocument], View{View::Kind::all});
}

TEST_F(BertConfig, LegacyAndHarmlessKeysAreIgnoredAndListed) {
  const char* keys[] = {"cls_other_cls_attention",
                        "doc_other_cls_attention",
                        "rank_position_embedding",
                        "base_max_position_embeddings",
                        "save_step",
                        "input_type_embedding",
                        "normalize_output",
                        "depth",
                        "attention_probs_dropout_prob",
                        "transformers_version",
                        "use_cache",
                        "cls_token_id"};
  for (const char* key : keys) checkpoint.config[key] = true;
  const CheckpointInfo info = inspect();
  EXPECT_EQ(info.ignored_keys.size(), std::size(keys));
  for (const char* key : keys) {
    EXPECT_NE(std::find(info.ignored_keys.begin(), info.ignored_keys.end(), key), info.ignored_keys.end()) << key;
  }
}

TEST_F(BertConfig, TokenTypeEmbeddingIsLive) {
  const auto document_type = [&] {
    inspect();
    return kBertFamily.read_configuration(JsonFile::read(folder / "config.json")).input.document_type;
  };
  EXPECT_EQ(document_type(), 1);
  checkpoint.config["token_type_embedding"] = false;
  EXPECT_EQ(document_type(), 0);
  checkpoint.config["type_vocab_size"] = 1;
  auto& table = checkpoint.tensors["bert.embeddings.token_type_embeddings.weight"];
  table.shape[0] = 1;
  table.bytes.resize(table.bytes.size() / 2);
  EXPECT_EQ(inspect().description.token_types, 1);
}

TEST_F(BertConfig, MaxLengthIsTheLesserOfTableAndTokenizer) {
  EXPECT_EQ(inspect().max_length, 64);
  checkpoint.tokenizer_config["model_max_length"] = 48;
  EXPECT_EQ(inspect().max_length, 48);
  checkpoint.tokenizer_config["model_max_length"] = 1e30;  // how "no limit" is written
  EXPECT_EQ(inspect().max_length, 64);
  checkpoint.tokenizer_config = nullptr;
  std::filesystem::remove(folder / "tokenizer_config.json");
  EXPECT_EQ(inspect().max_length, 64);
}

TEST_F(BertConfig, OtherTensorsAreIgnoredAndListed) {
  checkpoint.tensors["bert.embeddings.position_ids"] = {"I64", {1, 64}, std::string(512, '\0')};
  checkpoint.tensors["cls.predictions.bias"] = {"F32", {1}, std::string(4, '\0')};
  const CheckpointInfo info = inspect();
  std::size_t ignored = 0;
  for (const TensorSummary& tensor : info.tensors) {
    const bool expected = tensor.name != "bert.embeddings.position_ids" && tensor.name != "cls.predictions.bias";
    EXPECT_EQ(tensor.used, expected) << tensor.name;
    ignored += tensor.used ? 0 : 1;
  }
  EXPECT_EQ(ignored, 2U);
  std::uint64_t parameters = 0;
  for (const TensorSummary& tensor : info.tensors) parameters += tensor.used ? tensor.bytes / 4 : 0;
  EXPECT_EQ(info.parameters, parameters);
}

TEST(PublishedConfig, APlainCrossEncodersIsUnderstood) {
  const std::filesystem::path path = test_data() / "tokenizers/ms-marco-MiniLM-L-6-v2/config.json";
  RELUCENT_NEEDS(path);
  const FamilyConfiguration configuration = kBertFamily.read_configuration(JsonFile::read(path));
  EXPECT_EQ(configuration.architecture, "BertForSequenceClassification");
  EXPECT_EQ(configuration.description.hidden_size, 384);
  ASSERT_EQ(configuration.description.stacks.front().layers.size(), 6U);
  for (const Layer& layer : configuration.description.stacks.front().layers) {
    EXPECT_EQ(layer.attentions.front().views, views_of(AttentionPattern{}));
  }
}

TEST(PublishedConfig, AModelWithoutAScoringHeadIsRefused) {
  const std::filesystem::path folder = test_data() / "models/lightning-ir-test-model";
  RELUCENT_NEEDS(folder);
  expect_error(ErrorKind::invalid_data, {"tensor classifier.weight", "is missing", "classification head"},
               [&] { inspect_checkpoint(folder); });
}

}  // namespace
}  // namespace relucent::testing
