// Changed checkpoints of late interaction: what is refused, by file and key.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/late_interaction.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ChangedColbert : public ::testing::Test {
 protected:
  void start(const char* name) {
    golden_ = golden_path("rerankers") / name;
    if (fs::exists(golden_)) fs::copy(golden_, folder(), fs::copy_options::recursive);
  }
  fs::path folder() const { return temporary_.path() / "model"; }

  void put_back(const fs::path& file) const {
    fs::copy_file(golden_ / file, folder() / file, fs::copy_options::overwrite_existing);
  }
  void change(const fs::path& file, const std::string& key, const json& value) const {
    json changed = json::parse(std::ifstream(golden_ / file));
    changed[key] = value;
    std::ofstream(folder() / file) << changed;
  }
  /// With `key` = `value` in `file`, as it was otherwise.
  void expect_refused(const fs::path& file, ErrorKind kind, const std::string& key, const json& value,
                      const std::string& problem) const {
    change(file, key, value);
    const Error error = expect_error(kind, {problem}, [&] { LateInteraction::load(folder()); });
    EXPECT_TRUE(error.place().ends_with(file.string() + ", key " + key)) << error.what();
    put_back(file);
  }

  fs::path golden_;
  TemporaryFolder temporary_;
};

TEST_F(ChangedColbert, OfLightningIr) {
  start("colbert-lightning");
  RELUCENT_NEEDS(golden_);
  const auto unsupported = [&](const char* key, const json& value, const std::string& problem) {
    expect_refused("config.json", ErrorKind::unsupported, key, value, problem);
  };
  unsupported("backbone_model_type", "t5", "unknown backbone t5");
  unsupported("use_adapter", true, "adapters are not supported");
  unsupported("doc_expansion", true, "is not supported");
  unsupported("sparsification_strategy", "relu", "is not supported");
  unsupported("projection", "mlm", "unknown setting mlm");
  unsupported("similarity_function", "l2", "unknown setting l2");
  unsupported("query_aggregation_function", "min", "unknown setting min");
  unsupported("doc_aggregation_function", "sum", "unknown setting sum");
  unsupported("normalization_strategy", "l1", "is not l2");
  unsupported("doc_mask_scoring_tokens", "words", "unknown setting");
  const auto invalid = [&](const char* key, const json& value, const std::string& problem) {
    expect_refused("config.json", ErrorKind::invalid_data, key, value, problem);
  };
  invalid("query_length", 3, "leaves no room");
  invalid("doc_length", 257, "the encoder takes at most 256 tokens");
  invalid("doc_length", "long", "");
  invalid("doc_mask_scoring_tokens", json::array({1}), "is not a list of tokens");
  change("config.json", "doc_mask_scoring_tokens", json::array({"[CLS]"}));
  expect_error(ErrorKind::unsupported, "[CLS] is among", [&] { LateInteraction::load(folder()); });
  change("config.json", "projection", "linear");  // there is no bias
  expect_error(ErrorKind::invalid_data, "projection.bias", [&] { LateInteraction::load(folder()); });
  put_back("config.json");
  EXPECT_NO_THROW(LateInteraction::load(folder()));
}

TEST_F(ChangedColbert, OfColbertAi) {
  start("colbert-stanford");
  RELUCENT_NEEDS(golden_);
  expect_refused("artifact.metadata", ErrorKind::unsupported, "similarity", "l2", "unknown similarity l2");
  expect_refused("artifact.metadata", ErrorKind::unsupported, "interaction", "flipr", "unknown interaction flipr");
  expect_refused("artifact.metadata", ErrorKind::invalid_data, "query_maxlen", 3, "leaves no room");
  expect_refused("artifact.metadata", ErrorKind::invalid_data, "doc_maxlen", 300, "at most 256 tokens");
  expect_refused("artifact.metadata", ErrorKind::invalid_data, "dim", 0, "");
  change("artifact.metadata", "doc_token_id", "[nowhere]");
  expect_error(ErrorKind::invalid_data, "[nowhere]", [&] { LateInteraction::load(folder()); });
  change("artifact.metadata", "dim", 33);
  expect_error(ErrorKind::invalid_data, "linear.weight", [&] { LateInteraction::load(folder()); });
  const CheckpointCheck check = check_checkpoint(folder());
  ASSERT_EQ(check.problems.size(), 1U);
  fs::remove(folder() / "artifact.metadata");
  expect_error(ErrorKind::io, "artifact.metadata", [&] { LateInteraction::load(folder()); });
}

TEST_F(ChangedColbert, KeepsItsScoresInACopy) {
  start("colbert-stanford");
  RELUCENT_NEEDS(golden_);
  convert_checkpoint(folder(), temporary_ / "copy", std::nullopt);
  const LateCandidate candidate{"a text"};
  const BackendOptions options{Device::cpu(), Precision::fp32, 1, ""};
  EXPECT_EQ(LateInteraction::load(temporary_ / "copy", options)->score("query", {&candidate, 1}).candidates[0].score,
            LateInteraction::load(folder(), options)->score("query", {&candidate, 1}).candidates[0].score);
  const fs::path modular = golden_path("rerankers") / "colbert-pylate";
  expect_error(ErrorKind::unsupported, "head of modules",
               [&] { convert_checkpoint(modular, temporary_ / "other", std::nullopt); });
}

TEST_F(ChangedColbert, OfPyLate) {
  start("colbert-pylate-hidden");
  RELUCENT_NEEDS(golden_);
  const fs::path settings = "config_sentence_transformers.json";
  expect_refused(settings, ErrorKind::invalid_data, "query_length", 34, "some [MASK] would see nothing");
  expect_refused(settings, ErrorKind::unsupported, "similarity_fn_name", "cosine", "unknown similarity cosine");
  expect_refused(settings, ErrorKind::unsupported, "default_prompt_name", "query", "prompts");
  expect_refused(settings, ErrorKind::unsupported, "pooling_factor", 2, "is not supported");
  expect_refused(settings, ErrorKind::invalid_data, "skiplist_words", "words", "is not a list");
  expect_refused(settings, ErrorKind::invalid_data, "document_length", 401, "at most 400 tokens");
  const fs::path dense = "1_Dense/config.json";
  expect_refused(dense, ErrorKind::unsupported, "activation_function", "torch.nn.modules.activation.Tanh",
                 "is not the identity");
  expect_refused(dense, ErrorKind::invalid_data, "in_features", 31, "is 31");
  expect_refused(dense, ErrorKind::unsupported, "use_residual", true, "is true");
  change(dense, "out_features", 17);
  expect_error(ErrorKind::invalid_data, "linear.weight", [&] { LateInteraction::load(folder()); });
  put_back(dense);
  std::ofstream(folder() / "modules.json")
      << R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"}])";
  expect_error(ErrorKind::unsupported, "Transformer with one Dense", [&] { LateInteraction::load(folder()); });
  put_back("modules.json");
  change(settings, "document_prefix", "[Z] ");
  expect_error(ErrorKind::invalid_data, "[Z] ", [&] { LateInteraction::load(folder()); });
  // Without modules the settings do not count, not even damaged ones: it is an encoder without a head.
  std::ofstream(folder() / settings) << "{";
  EXPECT_THROW(LateInteraction::is(folder()), Error);
  fs::remove(folder() / "modules.json");
  EXPECT_FALSE(LateInteraction::is(folder()));
  put_back("modules.json");
  // Without a prefix texts have no marker.
  change(settings, "document_prefix", "");
  EXPECT_NO_THROW(LateInteraction::load(folder()));
}

}  // namespace
}  // namespace relucent::testing
