// The bundled checkpoint's logits on real candidates against PyTorch's, and that nothing but the pair matters
// to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
const fs::path kBundled = "model/relucent-minilm-l6-w4";
constexpr std::size_t kMostPairs = 1'300;  // of all sets together, so that larger ones take no longer

struct Candidates {
  std::string query;
  std::vector<std::string> names, texts;
  std::vector<float> logits;  ///< the golden ones
};

/// The candidates of one set with their golden logits, by query in the file's order.
std::vector<Candidates> read_set(const fs::path& golden, const fs::path& data) {
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<float> logits;
  for_each_line(golden, [&](const std::string& line) {
    std::istringstream fields(line);
    std::string query, document;
    double logit = NAN;
    fields >> query >> document >> logit;
    keys.emplace_back(query, document);
    logits.push_back(static_cast<float>(logit));
  });
  std::vector<Candidates> queries;
  std::map<std::string, std::size_t> places;
  std::size_t row = 0;
  for_each_line(data, [&](const std::string& line) {
    const auto json = nlohmann::json::parse(line);
    const auto query = json["qid"].get<std::string>();
    ASSERT_LT(row, keys.size());
    ASSERT_EQ(keys[row], std::make_pair(query, json["docno"].get<std::string>()));
    const auto [place, is_new] = places.try_emplace(query, queries.size());
    if (is_new) queries.push_back({json["query"].get<std::string>(), {}, {}, {}});
    Candidates& candidates = queries[place->second];
    candidates.names.push_back(json["docno"].get<std::string>());
    candidates.texts.push_back(json["text"].get<std::string>());
    candidates.logits.push_back(logits[row++]);
  });
  EXPECT_EQ(row, keys.size());
  return queries;
}

/// Every set whose logits and candidates are both there.
std::map<std::string, std::vector<Candidates>> read_sets() {
  std::map<std::string, std::vector<Candidates>> sets;
  for (const auto& entry : fs::directory_iterator(goldens() / "trained-v2")) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".tsv.gz")) continue;
    const std::string name = file.substr(0, file.find('.'));
    const fs::path data = test_data() / "candidates" / (name + "-passage.bm25.rerank.jsonl.gz");
    if (!fs::exists(data)) {
      std::cout << "SKIPPED " << name << ": needs " << data << "\n";
      continue;
    }
    sets[name] = read_set(entry.path(), data);
  }
  return sets;
}

/// Whether the environment asks for the samples' whole.
bool test_all() { return std::getenv("RELUCENT_TEST_ALL") != nullptr; }

std::vector<std::string_view> views(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

class TrainedGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    RELUCENT_NEEDS(goldens() / "trained-v2");
    RELUCENT_NEEDS(test_data() / "candidates");
    if (sets().empty())
      GTEST_SKIP() << "SKIPPED: no set of " << goldens() / "trained-v2"
                   << " has its candidates";
  }
  static const std::map<std::string, std::vector<Candidates>>& sets() {
    static const auto read = read_sets();
    return read;
  }
  static std::shared_ptr<const CrossEncoder> load(const std::string& device, Precision precision, int threads = 0) {
    CrossEncoderOptions options;
    options.backend.device = parse_device(device);
    options.backend.precision = precision;
    options.backend.threads = threads;
    return CrossEncoder::load(kBundled, options);
  }

  /// Holds the sets to their golden logits and ranking: about `most` of their pairs, in queries at equal distances,
  /// with every `candidate_step`-th of their candidates; or everything if the environment asks for it.
  static void compare(const CrossEncoder& model, double tolerance, std::size_t most, std::size_t candidate_step = 1) {
    double worst = 0;
    std::size_t pairs = 0, all = 0;
    if (test_all()) candidate_step = 1;
    for (const auto& [name, queries] : sets()) {
      for (const Candidates& candidates : queries)
        all += (candidates.texts.size() + candidate_step - 1) / candidate_step;
    }
    const std::size_t query_step = test_all() ? 1 : std::max<std::size_t>(1, (all + most - 1) / most);
    for (const auto& [name, queries] : sets()) {
      for (std::size_t q = 0; q < queries.size(); q += query_step) {
        const Candidates candidates = thin_out(queries[q], candidate_step);
        const PairScores scores = model.score(candidates.query, views(candidates.texts));
        for (std::size_t i = 0; i < candidates.texts.size(); ++i) {
          const double off = std::abs(static_cast<double>(scores.documents[i].logit) - candidates.logits[i]);
          worst = std::isnan(off) ? INFINITY : std::max(worst, off);
          EXPECT_LE(off, tolerance) << name << " " << candidates.query << " " << candidates.names[i];
          EXPECT_FALSE(scores.documents[i].truncated);
        }
        check_ranking(candidates, scores, tolerance);
        pairs += candidates.texts.size();
      }
    }
    const BackendInfo& info = model.backend();
    std::cout << pairs << " pairs on " << info.device << " " << to_string(info.precision) << " ("
              << info.instruction_set << "), greatest difference " << worst << "\n";
    EXPECT_GT(pairs, 0U);
  }

  static Candidates thin_out(const Candidates& all, std::size_t step) {
    Candidates some{all.query, {}, {}, {}};
    for (std::size_t i = 0; i < all.texts.size(); i += step) {
      some.names.push_back(all.names[i]);
      some.texts.push_back(all.texts[i]);
      some.logits.push_back(all.logits[i]);
    }
    return some;
  }

  /// Where two golden logits differ by more than twice the tolerance, so do ours, the same way round.
  static void check_ranking(const Candidates& candidates, const PairScores& scores, double tolerance) {
    for (std::size_t i = 0; i < candidates.texts.size(); ++i) {
      for (std::size_t j = 0; j < candidates.texts.size(); ++j) {
        if (candidates.logits[i] - candidates.logits[j] > 2 * tolerance) {
          EXPECT_GT(scores.documents[i].logit, scores.documents[j].logit)
              << candidates.query << ": " << candidates.names[i] << " before " << candidates.names[j];
        }
      }
    }
  }
};

TEST_F(TrainedGolden, CpuInFp32) { compare(*load("cpu", Precision::fp32), 1e-4, kMostPairs); }

TEST_F(TrainedGolden, CpuInBf16) { compare(*load("cpu", Precision::bf16), 5e-2, kMostPairs); }

TEST_F(TrainedGolden, CpuInInt16) { compare(*load("cpu", Precision::int16), 2e-2, kMostPairs); }

// What eight bits mean to the ranking is held by program_trained.
TEST_F(TrainedGolden, CpuInInt8) { compare(*load("cpu", Precision::int8), 4e-1, kMostPairs); }

// An emulated GPU takes as long as the plain backend: a sample of the pairs there.
TEST_F(TrainedGolden, CudaInEveryPrecision) {
  for (const auto& [precision, tolerance] : {std::pair(Precision::fp32, 1e-4), std::pair(Precision::tf32, 5e-2),
                                             std::pair(Precision::fp16, 5e-2), std::pair(Precision::bf16, 5e-2)}) {
    std::shared_ptr<const CrossEncoder> model;
    RELUCENT_NEEDS_DEVICE(model = load("cuda:0", precision));
    const bool emulated = model->backend().device_name.starts_with("Emulated");
    compare(*model, tolerance, emulated ? 15 : kMostPairs, emulated ? 20 : 1);
  }
}

// The plain backend is for reading, not for speed: up to a second per pair. RELUCENT_TEST_ALL=1 takes every
// pair.
TEST_F(TrainedGolden, ReferenceOnASampleOfThePairs) { compare(*load("ref", Precision::fp32), 1e-4, 12, 20); }

std::vector<std::uint32_t> bits(const PairScores& scores) {
  std::vector<std::uint32_t> result;
  for (const PairScore& score : scores.documents) result.push_back(std::bit_cast<std::uint32_t>(score.logit));
  return result;
}

/// A query whose candidates' lengths vary, short enough to repeat often.
Candidates sample(const std::vector<Candidates>& queries) {
  Candidates result = queries.front();
  for (std::string& text : result.texts) text = text.substr(0, 20 + text.size() % 100);
  return result;
}

TEST_F(TrainedGolden, TheSameBitsOverAHundredRepeats) {
  const Candidates candidates = sample(sets().begin()->second);
  const auto model = load("cpu", Precision::automatic);
  ASSERT_NE(model, nullptr);
  const std::vector<std::string> some(candidates.texts.begin(), candidates.texts.begin() + 10);
  const auto expected = bits(model->score(candidates.query, views(some)));
  for (int repeat = 0; repeat < 100; ++repeat) {
    ASSERT_EQ(bits(model->score(candidates.query, views(some))), expected) << repeat;
  }
}

TEST_F(TrainedGolden, TheSameBitsInBatchesOfAnySizeAndOrderOnAnyNumberOfThreads) {
  const Candidates candidates = sample(sets().begin()->second);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const auto model = load("cpu", precision);
    if (!model) continue;
    const auto expected = bits(model->score(candidates.query, views(candidates.texts)));
    const auto score_in_batches = [&](const CrossEncoder& with, std::size_t size) {
      std::vector<std::uint32_t> result;
      for (std::size_t begin = 0; begin < candidates.texts.size(); begin += size) {
        const auto end = std::min(begin + size, candidates.texts.size());
        const std::vector<std::string> batch(candidates.texts.begin() + static_cast<std::ptrdiff_t>(begin),
                                             candidates.texts.begin() + static_cast<std::ptrdiff_t>(end));
        const auto part = bits(with.score(candidates.query, views(batch)));
        result.insert(result.end(), part.begin(), part.end());
      }
      return result;
    };
    for (const std::size_t size : {1, 7, 32, 100}) EXPECT_EQ(score_in_batches(*model, size), expected) << size;
    for (const int threads : {1, 2, 3, 8}) {
      EXPECT_EQ(score_in_batches(*load("cpu", precision, threads), 100), expected) << threads << " threads";
    }
    std::vector<std::size_t> order(candidates.texts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(11));
    std::vector<std::string> shuffled;
    for (const std::size_t i : order) shuffled.push_back(candidates.texts[i]);
    const auto scores = bits(model->score(candidates.query, views(shuffled)));
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(scores[i], expected[order[i]]);
  }
}

TEST_F(TrainedGolden, ExactDuplicatesHaveEqualScores) {
  const auto model = load("cpu", Precision::automatic);
  ASSERT_NE(model, nullptr);
  std::size_t duplicates = 0;
  for (const auto& [name, queries] : sets()) {
    for (const Candidates& candidates : queries) {
      std::map<std::string, std::vector<std::size_t>> places;
      for (std::size_t i = 0; i < candidates.texts.size(); ++i) places[candidates.texts[i]].push_back(i);
      std::vector<std::string> same;
      for (const auto& [text, where] : places) {
        if (where.size() > 1) same.insert(same.end(), where.size(), text);
      }
      if (same.empty() || duplicates > 100) continue;
      const PairScores scores = model->score(candidates.query, views(same));
      for (std::size_t i = 1; i < same.size(); ++i) {
        if (same[i] != same[i - 1]) continue;
        EXPECT_EQ(scores.documents[i].logit, scores.documents[i - 1].logit);
      }
      duplicates += same.size();
    }
  }
  std::cout << duplicates << " duplicates\n";
}

}  // namespace
}  // namespace relucent::testing
