// MIR's scores and states against a float64 implementation, on every backend of this machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/cpu/vector_kernels.h"
#include "kernels/pair_form.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "model/families/families.h"
#include "model/mir/passage_batch.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;
using Numbers = std::vector<std::int32_t>;

/// A case's passages and pivots, whose nodes are given by places in the input.
struct Case {
  std::vector<Numbers> ids, starts;
  PivotGraphs pivots;

  Case(const json& row, std::int32_t query) {
    for (const json& passage : row["passages"]) {
      ids.push_back(passage["ids"]);
      starts.push_back(passage["sentence_starts"]);
      pivots.passages.push_back({0, static_cast<std::int32_t>(ids.back().size())});
    }
    // The input has [PSG], the query, and a token before each sentence's first piece.
    const auto piece_of = [&](std::size_t passage, std::int32_t place) {
      std::int32_t before = 0;  // tokens of sentences
      for (const std::int32_t start : starts[passage]) before += 1 + query + start + before < place ? 1 : 0;
      return place - 1 - query - before;
    };
    for (const json& node : row["s_nodes"]) {
      const std::size_t passage = node[0];
      pivots.sentences.push_back({node[0], piece_of(passage, node[1].get<std::int32_t>() + 1)});
    }
    for (const json& node : row["t_nodes"]) {
      const Numbers places = node[1];
      const std::int32_t first = piece_of(node[0], places.front());
      pivots.tokens.push_back({node[0], first, static_cast<std::int32_t>(places.size()), 0});
    }
    pivots.between_passages = graph_of(row["p2p"]);
    pivots.between_sentences = graph_of(row["s2s"]);
    pivots.between_tokens = graph_of(row["t2t"]);
  }

  std::vector<PassageBatch::Pieces> passages() const {
    std::vector<PassageBatch::Pieces> all;
    for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], starts[i]});
    return all;
  }

 private:
  static Adjacency graph_of(const json& lists) {
    Adjacency graph;
    for (const json& list : lists) graph.add_node(graph.add_list(list.get<Numbers>()));
    return graph;
  }
};

constexpr const char* kNoFiles = "SKIPPED: needs mir/forward*.jsonl.gz (set RELUCENT_GOLDENS)";

std::vector<std::filesystem::path> forward_files() {
  std::vector<std::filesystem::path> files = golden_listing("mir");
  std::erase_if(files, [](const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return !name.starts_with("forward") || !name.ends_with(".jsonl.gz");
  });
  return files;
}

void for_each_forward(const std::function<void(const json&)>& use) {
  for (const std::filesystem::path& file : forward_files())
    for_each_line(file, [&](const std::string& line) { use(json::parse(line)); });
}

struct MirDevice {
  std::string name, instruction_set;
  Precision precision;
  double tolerance;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
void PrintTo(const MirDevice& device, std::ostream* out) { *out << device.name << " " << device.instruction_set; }

class MirGolden : public ::testing::TestWithParam<MirDevice> {
 protected:
  void SetUp() override {
    if (forward_files().empty()) GTEST_SKIP() << kNoFiles;
    RELUCENT_NEEDS_DEVICE(backend(first_model()));
  }

  static std::string first_model() {
    std::string model;
    for_each_forward([&](const json& row) {
      if (model.empty()) model = row["model"];
    });
    return model;
  }
  const Checkpoint& checkpoint(const std::string& model) {
    const auto known = checkpoints_.find(model);
    if (known != checkpoints_.end()) return known->second;
    return checkpoints_.emplace(model, read_checkpoint(golden_path("mir/" + model))).first->second;
  }
  const Backend& backend(const std::string& model) {
    std::unique_ptr<Backend>& made = backends_[model];
    if (!made) {
      BackendOptions options;
      options.device = parse_device(GetParam().name);
      options.precision = GetParam().precision;
      options.instruction_set = GetParam().instruction_set;
      options.threads = 2;
      const Checkpoint& of = checkpoint(model);
      made = create_backend(of.configuration.description, of.weights.weights, options);
    }
    return *made;
  }

  std::map<std::string, Checkpoint> checkpoints_;
  std::map<std::string, std::unique_ptr<Backend>> backends_;
};

double norm_of(const std::vector<std::vector<float>>& rows) {
  double sum = 0;
  for (const std::vector<float>& row : rows) {
    for (const float value : row) sum += static_cast<double>(value) * value;
  }
  return std::sqrt(sum);
}

void expect_first(const json& expected, const std::vector<float>& values, const std::string& what) {
  ASSERT_GE(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i].get<double>(), 2e-5) << what;
}

TEST_P(MirGolden, ScoresAreThoseOfTheReference) {
  std::map<std::string, std::size_t> rows;
  double greatest = 0;
  // All documents of a model in one batch, and each alone: the same bits.
  for_each_forward([&](const json& row) {
    SCOPED_TRACE(row["id"].get<std::string>());
    const std::string model = row["model"];
    const PassageForm& form = *checkpoint(model).configuration.passages;
    const Numbers query = row["query_ids"];
    const Case one(row, static_cast<std::int32_t>(query.size()));
    PassageBatch batch(form, query);
    batch.add(one.passages(), one.pivots);
    for (std::size_t i = 0; i < one.ids.size(); ++i) EXPECT_EQ(batch.ids_of(i), row["input_ids"][i].get<Numbers>());
    float logit = 0;
    backend(model).score(batch.batch(), {&logit, 1});
    EXPECT_NEAR(logit, row["score"].get<double>(), GetParam().tolerance);
    greatest = std::max(greatest, std::abs(logit - row["score"].get<double>()));
    ++rows[model];
  });
  EXPECT_FALSE(rows.empty());
  std::printf("greatest difference %.2g\n", greatest);
}

TEST_P(MirGolden, BitsDoNotDependOnTheBatch) {
  std::map<std::string, std::vector<json>> rows;
  for_each_forward(
      [&](const json& row) { rows[row["model"].get<std::string>() + row["query_ids"].dump()].push_back(row); });
  // The query of the first case with the documents of others.
  std::map<std::string, std::vector<const json*>> by_model;
  for (const auto& [key, some] : rows) {
    for (const json& row : some) by_model[row["model"]].push_back(&row);
  }
  for (const auto& [model, cases] : by_model) {
    const PassageForm& form = *checkpoint(model).configuration.passages;
    const Numbers query = (*cases.front())["query_ids"];
    PassageBatch together(form, query);
    std::vector<float> alone;
    const bool slow = GetParam().name == "ref" || std::getenv("RELUCENT_CUDA_EMULATOR") != nullptr;
    const std::size_t count = std::min<std::size_t>(cases.size(), slow ? 5 : 40);
    for (std::size_t i = 0; i < count; ++i) {
      const Case one(*cases[i], static_cast<std::int32_t>((*cases[i])["query_ids"].size()));
      PassageBatch single(form, query);
      single.add(one.passages(), one.pivots);
      together.add(one.passages(), one.pivots);
      backend(model).score(single.batch(), {&alone.emplace_back(), 1});
    }
    std::vector<float> logits(count);
    backend(model).score(together.batch(), logits);
    EXPECT_EQ(std::memcmp(logits.data(), alone.data(), count * sizeof(float)), 0) << model;
  }
}

// The paper's ablations that take the same tensors. The training's tests compare them, and those of views, with a dense
// formulation in PyTorch.
TEST_P(MirGolden, AblationsAreThoseOfTheReference) {
  const std::string model = first_model();
  std::vector<json> rows;
  for_each_forward([&](const json& row) {
    if (row["model"] == model && rows.size() < 6) rows.push_back(row);
  });
  for (const json& change :
       {json{{"mir_links", {{"passage", "none"}, {"token", "all"}}}}, json{{"mir_links", {{"sentence", "none"}}}},
        json{{"mir_exchanges", "last"}}, json{{"mir_shared_layers", true}}}) {
    SCOPED_TRACE(change.dump());
    const TemporaryFolder temporary;
    const std::filesystem::path folder = temporary / "model";
    std::filesystem::copy(golden_path("mir/" + model), folder);
    json config;
    std::ifstream(folder / "config.json") >> config;
    config.update(change);
    std::filesystem::permissions(folder / "config.json", std::filesystem::perms::owner_all);
    std::ofstream(folder / "config.json") << config;
    const Checkpoint changed = read_checkpoint(folder);
    BackendOptions options;
    options.device = parse_device(GetParam().name);
    options.precision = GetParam().precision;
    options.instruction_set = GetParam().instruction_set;
    const EncoderDescription& description = changed.configuration.description;
    const auto found = create_backend(description, changed.weights.weights, options);
    options = {};
    options.device = Device::ref();
    const auto expected = create_backend(description, changed.weights.weights, options);
    double greatest = 0;
    for (const json& row : rows) {
      const Numbers query = row["query_ids"];
      const Case one(row, static_cast<std::int32_t>(query.size()));
      PassageBatch batch(*changed.configuration.passages, query);
      batch.add(one.passages(), one.pivots);
      float logit = 0, wanted = 0;
      found->score(batch.batch(), {&logit, 1});
      expected->score(batch.batch(), {&wanted, 1});
      EXPECT_NEAR(logit, wanted, GetParam().tolerance);
      greatest = std::max(greatest, std::abs(wanted - row["score"].get<double>()));
    }
    EXPECT_GT(greatest, 1e-3);  // from the model without the change
  }
}

std::vector<MirDevice> devices() {
  std::vector<MirDevice> all{{"ref", "", Precision::fp32, 2e-5}};
  const cpu::VectorLevels levels = cpu::available_vector_kernels();
  for (std::size_t i = 0; i < levels.count; ++i) all.push_back({"cpu", levels.levels[i]->name, Precision::fp32, 2e-5});
  // These weights are far rougher than trained ones.
  all.push_back({"cpu", "", Precision::bf16, 0.06});
  all.push_back({"cpu", "", Precision::int16, 0.02});
  all.push_back({"cpu", "", Precision::int8, 0.3});
  all.push_back({"cuda:0", "", Precision::fp32, 2e-5});
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::bf16}) {
    all.push_back({"cuda:0", "", precision, 0.05});
  }
  return all;
}
std::string name_of(const ::testing::TestParamInfo<MirDevice>& test) {
  return (test.param.name == "cuda:0" ? "cuda" : test.param.name) + "_" + to_string(test.param.precision) +
         (test.param.instruction_set.empty() ? "" : "_" + test.param.instruction_set);
}
INSTANTIATE_TEST_SUITE_P(Devices, MirGolden, ::testing::ValuesIn(devices()), name_of);

/// Poolings other than by attention (goldens/mir-pooling).
class MirPoolingGolden : public ::testing::TestWithParam<MirDevice> {};

TEST_P(MirPoolingGolden, ScoresAreThoseOfTheReference) {
  std::map<std::string, std::unique_ptr<Backend>> backends;
  std::map<std::string, Checkpoint> checkpoints;
  double greatest = 0;
  std::size_t rows = 0;
  for_each_line(golden_path("mir-pooling/cases.jsonl.gz"), [&](const std::string& line) {
    const json row = json::parse(line);
    SCOPED_TRACE(row["id"].get<std::string>());
    const std::string model = row["model"];
    std::unique_ptr<Backend>& backend = backends[model];
    if (!backend) {
      BackendOptions options;
      options.device = parse_device(GetParam().name);
      options.precision = GetParam().precision;
      options.instruction_set = GetParam().instruction_set;
      const Checkpoint& of =
          checkpoints.emplace(model, read_checkpoint(golden_path("mir-pooling") / model)).first->second;
      backend = create_backend(of.configuration.description, of.weights.weights, options);
    }
    const Numbers query = row["query_ids"];
    const Case one(row, static_cast<std::int32_t>(query.size()));
    PassageBatch batch(*checkpoints.at(model).configuration.passages, query);
    for (int copy = 0; copy < 2; ++copy) batch.add(one.passages(), one.pivots);
    for (std::size_t i = 0; i < one.ids.size(); ++i) EXPECT_EQ(batch.ids_of(i), row["input_ids"][i].get<Numbers>());
    float logits[2] = {};
    backend->score(batch.batch(), logits);
    // The Transformer's layers come on top of MIR's own: in bf16 alone it needs MIR's tolerance (0.057 of 0.06).
    const bool bf16 = GetParam().precision == Precision::bf16 && model != "transformer";
    EXPECT_NEAR(logits[0], row["score"].get<double>(), bf16 ? 0.05 : GetParam().tolerance);
    EXPECT_EQ(std::memcmp(&logits[0], &logits[1], sizeof *logits), 0);
    greatest = std::max(greatest, std::abs(logits[0] - row["score"].get<double>()));
    ++rows;
  });
  EXPECT_EQ(rows, 45U);
  std::printf("greatest difference %.2g\n", greatest);
}

std::vector<MirDevice> devices_that_pool() {
  std::vector<MirDevice> all = devices();
  std::erase_if(all, [](const MirDevice& device) { return device.name == "cuda:0"; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Devices, MirPoolingGolden, ::testing::ValuesIn(devices_that_pool()), name_of);

TEST(MirPooling, IsRefusedByNameOnAGpu) {
  for (const std::string model : {"max", "transformer"}) {
    const Checkpoint checkpoint = read_checkpoint(golden_path("mir-pooling") / model);
    expect_error(ErrorKind::unsupported, {"CUDA backend", "pooled by a maximum or a Transformer"},
                 [&] { require_features(checkpoint.configuration.description, FastPath::cuda); });
  }
}

TEST(MirPooling, OthersAreRefusedByName) {
  const auto refuse = [](const json& change, std::initializer_list<std::string> words) {
    const TemporaryFolder temporary;
    const std::filesystem::path folder = temporary / "model";
    std::filesystem::copy(golden_path("mir-pooling/max"), folder);
    json config;
    std::ifstream(folder / "config.json") >> config;
    config.update(change);
    std::ofstream(folder / "config.json") << config;
    expect_error(ErrorKind::unsupported, words, [&] { read_checkpoint(folder); });
  };
  for (const std::string name : {"gcn", "gin", "graphsage", "cnn"}) {
    refuse({{"mir_pooling", name}}, {"mir_pooling", name + " is not computed", "attention, max or transformer"});
    refuse({{"mir_graph_encoder", name}}, {"mir_graph_encoder", name + " is not computed"});
  }
  refuse({{"mir_pooling", "sum"}}, {"unknown value sum"});
  refuse({{"mir_graph_encoder", "sum"}}, {"unknown value sum"});
}

TEST(MirStates, AreThoseOfTheReference) {
  if (forward_files().empty()) GTEST_SKIP() << kNoFiles;
  std::map<std::string, std::unique_ptr<Backend>> backends;
  std::map<std::string, Checkpoint> checkpoints;
  for_each_forward([&](const json& row) {
    SCOPED_TRACE(row["id"].get<std::string>());
    const std::string model = row["model"];
    if (!backends[model]) {
      checkpoints.emplace(model, read_checkpoint(golden_path("mir/" + model)));
      const Checkpoint& of = checkpoints.at(model);
      BackendOptions options;
      options.device = parse_device("ref");
      backends[model] = create_backend(of.configuration.description, of.weights.weights, options);
    }
    const Numbers query = row["query_ids"];
    const Case one(row, static_cast<std::int32_t>(query.size()));
    PassageBatch batch(*checkpoints.at(model).configuration.passages, query);
    batch.add(one.passages(), one.pivots);
    const HiddenStates states = backends[model]->hidden_states(batch.batch());
    EXPECT_NEAR(states.logit, row["score"].get<double>(), 2e-5);
    const json& blocks = row["blocks"];
    ASSERT_EQ(states.layers.size(), blocks.size());
    ASSERT_EQ(states.pivots.size(), blocks.size());
    for (std::size_t l = 0; l < blocks.size(); ++l) {
      SCOPED_TRACE(l);
      const json& block = blocks[l];
      const auto near = [&](const char* key, double value) {
        EXPECT_NEAR(value, block[key].get<double>(), 1e-5 * (1 + block[key].get<double>())) << key;
      };
      near("p", norm_of({states.pivots[l][0]}));
      near("s", norm_of({states.pivots[l][1]}));
      near("t", norm_of({states.pivots[l][2]}));
      expect_first(block["g_first"], states.pivots[l][0], "first passage pivot");
      near(l + 1 < blocks.size() ? "block" : "intra", norm_of(states.layers[l]));
    }
    ASSERT_EQ(states.pooled.size(), 3U);
    expect_first(row["views"]["passage"], states.pooled[0], "passages");
    expect_first(row["views"]["sentence"], states.pooled[1], "sentences");
    expect_first(row["views"]["token"], states.pooled[2], "tokens");
  });
}

}  // namespace
}  // namespace relucent::testing
