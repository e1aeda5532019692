// Sessions with a checkpoint: logits of the plain reference encoder, cuts, chunks, kept scores, stored token ids.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;
constexpr double kTolerance = 1e-5;  // fp32

/// Words of one letter, which are one piece each, all with a "q".
std::string letter_words(std::size_t count, unsigned seed) {
  std::string text = "q";
  for (std::size_t i = 1; i < count; ++i)
    text += std::string(" ") + static_cast<char>('a' + (i * 7 + i / 5 + seed) % 26);
  return text;
}

class SearchSessionModel : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  Config config = small_config();
  const std::vector<TextDocument> documents = {{"d0", letter_words(10, 1)},  {"d1", letter_words(20, 5)},
                                               {"d2", letter_words(31, 11)}, {"d3", letter_words(45, 2)},
                                               {"d4", letter_words(150, 3)}, {"d5", letter_words(7, 19)}};

  void SetUp() override {
    TinyCheckpoint().write(folder / "model");
    write_words(folder / "index", documents, 4);
    config.rescorer.model = (folder / "model").string();
    config.rescorer.device = Device::cpu();
    config.rescorer.precision = Precision::fp32;
  }
  /// By kernels/ref, each text by itself.
  float reference(const std::string& query, std::string_view text) const {
    CrossEncoderOptions plain;
    plain.backend.device = Device::ref();
    return CrossEncoder::load(folder / "model", plain)->score(query, {&text, 1}).documents.at(0).logit;
  }
  SearchResult search(const std::string& query, Texts texts = Texts::none) {
    return SearchSession(folder / "index", config, QuerySyntax::words).search(query, 10, texts);
  }
};

TEST_F(SearchSessionModel, HasTheLogitsOfTheReference) {
  for (const std::string query : {"q", "q a b c", "q zebra"}) {
    const SearchResult result = search(query);
    ASSERT_EQ(result.hits.size(), documents.size());
    EXPECT_EQ(status_of(result), "rescored") << result.reason;
    double before = 1e9;
    for (const SearchHit& hit : result.hits) {
      const std::string& text = documents[static_cast<std::size_t>(hit.document)].text;
      EXPECT_NEAR(hit.logit.value(), reference(query, text), kTolerance) << hit.id;
      EXPECT_EQ(hit.score, hit.logit);
      EXPECT_LE(hit.score, before);
      before = hit.score;
      EXPECT_EQ(hit.truncated, hit.id == "d4") << "of 64 positions";
    }
    EXPECT_EQ(result.truncated, 1);
    EXPECT_FALSE(result.query_truncated);
  }
}

TEST_F(SearchSessionModel, ReadsOnlyTheBeginningOfWhatIsTooLong) {
  // [CLS] q [SEP] and [SEP] leave 60 pieces for the text.
  const std::string& text = documents[4].text;
  const SearchResult result = search("q", Texts::whole);
  const auto hit = std::find_if(result.hits.begin(), result.hits.end(), [](const auto& one) { return one.id == "d4"; });
  EXPECT_NEAR(*hit->logit, reference("q", std::string_view(text).substr(0, 2 * 60 - 1)), kTolerance);
  ASSERT_TRUE(hit->passage);
  EXPECT_EQ(hit->passage->text, text.substr(0, 2 * 60 - 1));
  EXPECT_FALSE(hit->passage->ends_field);

  config.rescorer.max_query_length = 3;
  const SearchResult cut = search("q a b c d e");
  EXPECT_TRUE(cut.query_truncated);
  EXPECT_NEAR(*cut.hits[0].logit, reference("q a b", documents[static_cast<std::size_t>(cut.hits[0].document)].text),
              kTolerance);
  config.rescorer.max_query_length = 6;
  EXPECT_FALSE(search("q a b c d e").query_truncated);
}

TEST_F(SearchSessionModel, ScoresChunksAndNamesTheBest) {
  config.rescorer.long_documents = LongDocuments::maxp;
  config.rescorer.chunk = 25;
  config.rescorer.stride = 20;
  const SearchResult result = search("q", Texts::whole);
  for (const SearchHit& hit : result.hits) {
    const std::string& text = documents[static_cast<std::size_t>(hit.document)].text;
    // What fits into the model, up to 60 words, is read in one piece.
    const std::size_t words = (text.size() + 1) / 2, chunk = words > 60 ? 25 : words;
    double best = -1e9;
    std::size_t place = 0;
    for (std::size_t begin = 0;; begin += 20) {
      const double logit = reference("q", std::string_view(text).substr(2 * begin, 2 * chunk - 1));
      if (logit > best) place = 2 * begin;
      best = std::max(best, logit);
      if (begin + chunk >= words) break;
    }
    EXPECT_NEAR(*hit.logit, best, kTolerance) << hit.id;
    ASSERT_TRUE(hit.passage);
    EXPECT_EQ(hit.passage->begin, place) << hit.id;
    EXPECT_EQ(hit.passage->text, text.substr(place, 2 * chunk - 1)) << hit.id;
    EXPECT_EQ(hit.passage->ends_field, place + 2 * chunk > text.size()) << hit.id;
    EXPECT_FALSE(hit.truncated) << hit.id;
  }
}

TEST_F(SearchSessionModel, GivesTheSameBitsFromTheCacheAndFromStoredTokenIds) {
  const SearchResult plain = search("q a b");
  config.rescorer.cache_mb = 1;
  const SearchSession session(folder / "index", config, QuerySyntax::words);
  write_words(folder / "stored", documents, 4, IndexBuilder::Mode::create, folder / "model");
  const SearchSession stored(folder / "stored", config, QuerySyntax::words);
  for (const std::int64_t cached : {0, 6}) {
    for (const SearchSession* const one : {&session, &stored}) {
      const SearchResult result = one->search("q a b", 10, Texts::none);
      EXPECT_EQ(result.cached, cached);
      ASSERT_EQ(ids_of(result), ids_of(plain));
      for (std::size_t i = 0; i < plain.hits.size(); ++i) EXPECT_EQ(result.hits[i].logit, plain.hits[i].logit);
    }
  }
}

TEST_F(SearchSessionModel, DescribesItsScorer) {
  const SearchSession session(folder / "index", config, QuerySyntax::words);
  EXPECT_NE(session.scorer().find((folder / "model").string()), std::string::npos) << session.scorer();
  EXPECT_TRUE(session.notices().empty());
}

TEST_F(SearchSessionModel, DamagedCheckpointsAreErrorsThatNameTheFile) {
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    TinyCheckpoint().write(folder / "model");
    write_file(folder / "model" / name, bytes);
    const Error error = expect_error(ErrorKind::invalid_data, name, [&] { search("q"); });
    EXPECT_FALSE(error.problem().empty());
  };
  const std::string weights = read_file(folder / "model" / "model.safetensors");
  refused("model.safetensors", weights.substr(0, weights.size() / 2));
  refused("model.safetensors", std::string(8, '\xFF') + weights.substr(8));
  refused("config.json", "{\"model_type\": \"bert\"");
  std::filesystem::remove_all(folder / "model");
  expect_error(ErrorKind::io, (folder / "model").string(), [&] { search("q"); });
}

}  // namespace
}  // namespace relucent::testing
