// Queries and documents of 1 to 3,000 words: what is read of them, and the logits, as sentence-transformers has them.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/families/pair_lengths.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/gz_lines.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/required_device.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The text that a case describes by its number of words, its number and its kind.
std::string text_of(const json& words, const json& text) {
  const json& of_kind = words.at(text.at(2).get<std::size_t>());
  std::string all;
  for (std::size_t i = 0; i < text.at(0).get<std::size_t>(); ++i) {
    if (i > 0) all += ' ';
    all += of_kind.at((7 * i + text.at(1).get<std::size_t>()) % of_kind.size()).get<std::string>();
  }
  return all;
}

/// Cases left out of an emulated run, which is slow.
bool left_out(const BackendOptions& backend, const json& query, const json& document, std::int32_t max_length) {
  const bool gpu = backend.device.kind == Device::Kind::cuda && std::getenv("RELUCENT_CUDA_EMULATOR") != nullptr;
  if (!gpu && backend.instruction_set != "amx_emulated") return false;
  return std::min(max_length, query.at(0).get<int>() + document.at(0).get<int>()) > (gpu ? 150 : 600);
}

class QueriesGolden : public ::testing::TestWithParam<BackendOptions> {};

TEST_P(QueriesGolden, EveryLogit) {
  RELUCENT_NEEDS(golden_path("queries"));
  std::size_t computed = 0;
  for (const fs::path& folder : golden_listing("queries")) {
    if (!fs::exists(folder / "cases.json")) continue;
    CrossEncoderOptions options;
    options.backend = GetParam();
    std::shared_ptr<const CrossEncoder> model;
    try {
      model = CrossEncoder::load(folder, options);
    } catch (const Error& error) {
      if (may_skip(error)) GTEST_SKIP() << "SKIPPED: " << error.what();
      throw;
    }
    const json golden = json::parse(std::ifstream(folder / "cases.json"));
    double worst = 0;
    for (const json& one : golden.at("cases")) {
      if (left_out(GetParam(), one.at("query"), one.at("document"), model->max_length())) continue;
      const std::string query = text_of(golden.at("words"), one.at("query"));
      const std::string document = text_of(golden.at("words"), one.at("document"));
      const std::string_view texts[] = {document};
      const double off = std::abs(model->score(query, texts).documents.at(0).logit - one.at("logit").get<double>());
      EXPECT_LE(off, 1e-4) << folder.filename() << " " << one.dump();
      worst = std::max(worst, off);
      ++computed;
    }
    std::cout << folder.filename().string() << ": greatest difference " << worst << "\n";
  }
  EXPECT_GT(computed, 0U);
}

std::vector<BackendOptions> places() {
  std::vector<BackendOptions> all = {{Device::ref(), Precision::fp32, 1, ""}};
  for (const std::string& level : kInstructionSets) all.push_back({Device::cpu(), Precision::fp32, 2, level});
  all.push_back({Device::cuda(0), Precision::fp32, 1, ""});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Backends, QueriesGolden, ::testing::ValuesIn(places()), [](const auto& test) {
  const BackendOptions& place = test.param;
  if (place.device.kind == Device::Kind::cpu) return "cpu_" + place.instruction_set;
  return std::string(place.device.kind == Device::Kind::cuda ? "cuda" : "ref");
});

TEST(CutPair, KeepsWhatHuggingFacesTokenizersKeep) {
  RELUCENT_NEEDS(golden_path("queries/longest_first.tsv"));
  std::size_t rows = 0;
  for_each_line(golden_path("queries/longest_first.tsv"), [&](const std::string& line) {
    if (line.starts_with('#')) return;
    std::istringstream fields(line);
    std::size_t places = 0;
    PairLengths all, kept;
    fields >> places >> all.query >> all.document >> kept.query >> kept.document;
    ASSERT_TRUE(fields) << line;
    EXPECT_EQ(cut_pair(all, places, PairCut::longest_first), kept) << line;
    // The pieces of the document that deciding_pieces() counts do decide.
    const PairLengths known{all.query, std::min(all.document, deciding_pieces(all.query, places))};
    EXPECT_EQ(cut_pair(known, places, PairCut::longest_first), kept) << line;
    ++rows;
  });
  EXPECT_GT(rows, 500U);
}

}  // namespace
}  // namespace relucent::testing
