// Logits and hidden states of every golden pattern, on every backend and precision of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/error.h"
#include "relucent/kernels/backend.h"
#include "relucent/model/checkpoint.h"
#include "tests/support/gz_lines.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/kernels_support.h"
#include "tests/support/required_device.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct GoldenDevice {
  std::string name;
  Precision precision;
  double tolerance;             ///< of a logit and of a hidden state
  std::string instruction_set;  ///< empty: the best
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
void PrintTo(const GoldenDevice& device, std::ostream* out) {
  *out << device.name << "_" << to_string(device.precision) << " " << device.instruction_set;
}

AttentionPattern pattern_of(const json& stated) {
  AttentionPattern pattern;
  pattern.cls_query = stated["cls_query_attention"];
  pattern.cls_document = stated["cls_doc_attention"];
  pattern.query_cls = stated["query_cls_attention"];
  pattern.query_document = stated["query_doc_attention"];
  pattern.document_cls = stated["doc_cls_attention"];
  pattern.document_query = stated["doc_query_attention"];
  if (!stated["attention_window_size"].is_null()) pattern.window = stated["attention_window_size"];
  return pattern;
}

class SparseGolden : public ::testing::TestWithParam<GoldenDevice> {
 protected:
  void SetUp() override {
    RELUCENT_NEEDS(golden_path("sparse/cases.jsonl.gz"));
    const Checkpoint checkpoint = read_checkpoint(golden_path("sparse/odd"));
    RELUCENT_NEEDS_DEVICE(create_backend(checkpoint.configuration.description, checkpoint.weights.weights, options()));
  }

  BackendOptions options() const {
    BackendOptions result;
    result.device = parse_device(GetParam().name);
    result.precision = GetParam().precision;
    result.instruction_set = GetParam().instruction_set;
    return result;
  }

  static BackendOptions exact() {
    BackendOptions result;
    result.device = Device::cpu();
    result.precision = Precision::fp32;
    return result;
  }

  const Checkpoint& checkpoint(const std::string& model) {
    const auto known = checkpoints_.find(model);
    if (known != checkpoints_.end()) return known->second;
    return checkpoints_.emplace(model, read_checkpoint(golden_path("sparse/" + model))).first->second;
  }

  /// The same model with its weights rounded to bf16.
  const Checkpoint& rounded_checkpoint(const std::string& model) {
    const auto known = rounded_.find(model);
    if (known != rounded_.end()) return known->second;
    convert_checkpoint(golden_path("sparse/" + model), folder_ / model, DataType::bf16);
    return rounded_.emplace(model, read_checkpoint(folder_ / model)).first->second;
  }

  const Backend& backend(const std::string& key, const Checkpoint& of, const json& pattern,
                         const BackendOptions& with) {
    auto& made = backends_[key + pattern.dump()];
    if (!made) {
      EncoderDescription description = of.configuration.description;
      for (Layer& layer : description.stacks.front().layers) {
        layer.attentions.front().views = views_of(pattern_of(pattern));
      }
      made = create_backend(description, of.weights.weights, with);
    }
    return *made;
  }

  TemporaryFolder folder_;
  std::map<std::string, Checkpoint> checkpoints_, rounded_;
  std::map<std::string, std::unique_ptr<Backend>> backends_;
};

/// The greatest difference between `values` and the first values of `states`.
double difference(const std::vector<double>& values, std::span<const float> states) {
  double greatest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double one = std::abs(values[i] - static_cast<double>(states[i]));
    greatest = std::isnan(one) ? INFINITY : std::max(greatest, one);
  }
  return greatest;
}

/// The same for the states at `golden["positions"]` of a sequence.
double difference(const json& golden, const std::vector<float>& states, std::size_t hidden) {
  double greatest = 0;
  for (std::size_t i = 0; i < golden["positions"].size(); ++i) {
    const auto position = golden["positions"][i].get<std::size_t>();
    const auto row = std::span(states).subspan(position * hidden, hidden);
    greatest = std::max(greatest, difference(golden["values"][i].get<std::vector<double>>(), row));
  }
  return greatest;
}

struct Differences {
  double logit = 0, state = 0;
};

Differences differences(const json& golden, const Backend& backend, std::size_t hidden) {
  const auto cls = golden["cls_id"].get<std::int32_t>();
  const auto query = golden["query_ids"].get<std::vector<std::int32_t>>();
  const std::vector<std::vector<std::int32_t>> documents{golden["doc_ids"]};
  const PairSegments pair(cls, query, documents);
  float logit = NAN;
  backend.score(pair.batch(), {&logit, 1});
  const HiddenStates states = backend.hidden_states(pair.batch());

  const std::vector<double> expected{golden["logit"].get<double>()};
  Differences result{difference(expected, {&logit, 1}), difference(expected, {&states.logit, 1})};
  const auto include = [&](double one) { result.state = std::max(result.state, one); };
  EXPECT_EQ(states.layers.size(), golden["cls_hidden"].size());
  for (std::size_t layer = 0; layer < states.layers.size(); ++layer) {
    include(difference(golden["cls_hidden"][layer].get<std::vector<double>>(), states.layers[layer][kCls]));
  }
  const auto stated = [&](const char* key) { return golden.contains(key) && !golden[key].is_null(); };
  if (stated("doc_hidden_last"))
    include(difference(golden["doc_hidden_last"], states.layers.back()[kDocument], hidden));
  if (stated("query_hidden_last"))
    include(difference(golden["query_hidden_last"], states.layers.back()[kQuery], hidden));
  return result;
}

TEST_P(SparseGolden, EveryLogitAndHiddenState) {
  Differences worst, worst_beyond_rounding;
  std::size_t cases = 0, failures = 0, lines = 0;
  // A part of the cases where they take long, most of all on an emulated GPU without its tensor cores.
  const Checkpoint& any = checkpoint("odd");
  const BackendInfo info = create_backend(any.configuration.description, any.weights.weights, options())->info();
  std::size_t step = 1;
  if (std::getenv("RELUCENT_TEST_ALL") == nullptr) {
    if (info.instruction_set == "amx_emulated" || info.device == "ref") step = 5;
    if (info.instruction_set == "plain" && info.device == "cpu" && info.precision != Precision::fp32) step = 5;
    if (info.device_name.starts_with("Emulated")) step = info.precision == Precision::fp16 ? 7 : 37;
  }
  for_each_line(golden_path("sparse/cases.jsonl.gz"), [&](const std::string& line) {
    if (lines++ % step != 0) return;
    const json golden = json::parse(line);
    const auto model = golden["model"].get<std::string>();
    const auto hidden = static_cast<std::size_t>(checkpoint(model).configuration.description.hidden_size);
    const Differences off =
        differences(golden, backend(model, checkpoint(model), golden["pattern"], options()), hidden);
    Differences allowed{GetParam().tolerance, GetParam().tolerance};
    if (info.precision == Precision::bf16) {
      // These random weights are not bf16 numbers: rounding them alone, in fp32 arithmetic, costs up to 0.06.
      // A half-precision hidden state may err twice as much as that, beyond the tolerance; a logit may not.
      const Differences share = differences(
          golden, backend("rounded " + model, rounded_checkpoint(model), golden["pattern"], exact()), hidden);
      allowed.state += 2 * share.state;
      worst_beyond_rounding.logit = std::max(worst_beyond_rounding.logit, off.logit - share.logit);
      worst_beyond_rounding.state = std::max(worst_beyond_rounding.state, off.state - share.state);
    }
    ++cases;
    worst.logit = std::max(worst.logit, off.logit);
    worst.state = std::max(worst.state, off.state);
    if ((off.logit > allowed.logit || off.state > allowed.state) && ++failures <= 10) {
      ADD_FAILURE() << golden["id"] << " " << model << " " << golden["pattern"] << ": logit off by " << off.logit
                    << ", hidden states by " << off.state;
    }
  });
  EXPECT_GT(cases, 0U);
  EXPECT_EQ(failures, 0U) << "of " << cases;
  std::cout << cases << " cases, greatest difference: logit " << worst.logit << ", hidden state " << worst.state;
  if (info.precision == Precision::bf16) {
    std::cout << "; beyond what rounding the weights costs: logit " << worst_beyond_rounding.logit << ", hidden state "
              << worst_beyond_rounding.state;
  }
  std::cout << "\n";
}

TEST(SparseGoldenFolder, PatternsInConfigJsonAreThePatternsComputed) {
  RELUCENT_NEEDS(golden_path("sparse/cases.jsonl.gz"));
  const TemporaryFolder folder;
  for (const auto& entry : fs::directory_iterator(golden_path("sparse/odd"))) {
    write_file(folder / entry.path().filename(), read_file(entry.path()));
  }
  const json config = json::parse(read_file(folder / "config.json"));
  std::size_t done = 0;
  for_each_line(golden_path("sparse/cases.jsonl.gz"), [&](const std::string& line) {
    const json golden = json::parse(line);
    if (golden["model"] != "odd") return;
    ++done;
    json changed = config;
    changed.update(golden["pattern"]);
    write_file(folder / "config.json", changed.dump());
    const Views expected = views_of(pattern_of(golden["pattern"]));
    const Checkpoint checkpoint = read_checkpoint(folder.path());
    for (const Layer& layer : checkpoint.configuration.description.stacks.front().layers) {
      EXPECT_EQ(layer.attentions.front().views, expected) << golden["id"];
    }
  });
  EXPECT_GT(done, 0U);
}

// Against a golden from PyTorch 1e-4 in fp32 and 5e-2 in 16 bits. Eight bits have no such bound: these tiny models with
// random weights are the worst case for them.
std::vector<GoldenDevice> devices() {
  std::vector<GoldenDevice> all = {{"ref", Precision::fp32, 1e-4, ""},
                                   {"cuda:0", Precision::fp32, 1e-4, ""},
                                   {"cuda:0", Precision::tf32, 5e-2, ""},
                                   {"cuda:0", Precision::fp16, 5e-2, ""},
                                   {"cuda:0", Precision::bf16, 5e-2, ""}};
  for (const std::string& level : kInstructionSets) {
    all.push_back({"cpu", Precision::fp32, 1e-4, level});
    all.push_back({"cpu", Precision::bf16, 5e-2, level});
    all.push_back({"cpu", Precision::int16, 2e-2, level});
    all.push_back({"cpu", Precision::int8, 3e-1, level});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Backends, SparseGolden, ::testing::ValuesIn(devices()), [](const auto& parameter) {
  const GoldenDevice& device = parameter.param;
  std::string name = device.name + "_" + to_string(device.precision);
  if (!device.instruction_set.empty()) name += "_" + device.instruction_set;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
});

}  // namespace
}  // namespace relucent::testing
