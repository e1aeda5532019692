// A kind of input that the library does not know, from a scorer's module: whatever scores candidates brings it, and the
// cache tells candidates apart by it. Each test fails if its part ignores the kind, because the scorer refuses a
// candidate without a note.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relucent/rescore_candidates.h"
#include "relucent/search_session.h"
#include "server/engine.h"
#include "tests/support/expect_error.h"
#include "tests/support/number_scorer.h"
#include "tests/support/session_support.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

using Scores = std::vector<std::optional<float>>;

class NewKindOfInput : public ::testing::Test {
 protected:
  NewKindOfInput() {
    config.rescorer.module = RELUCENT_NOTES_MODULE;
    config.rescorer.on_error = OnError::fail;
    config.rescorer.cache_mb = 1;
    // BM25 ranks them 0, 1, 2, 3. Texts alone cannot tell the first two apart.
    write_words(index(), {{"d0", "word"}, {"d1", "word"}, {"d2", "word x"}, {"d3", "word x x"}}, 3);
    write_notes({"2", "4", "1", "3"});
  }

  std::filesystem::path index() const { return folder / "index"; }
  void write_notes(const std::vector<std::string>& notes) const {
    std::ofstream file(index() / "notes.txt");
    for (const std::string& note : notes) file << note << "\n";
  }
  SearchResult search() const { return SearchSession(index(), config, QuerySyntax::words).search("word", 10, {}); }
  std::vector<RescoringStage> stages() const { return make_stages(config.rescorer, make_scorers(config.rescorer)); }

  const TemporaryFolder folder;
  Config config = small_config();
  const std::vector<std::string> texts{"a note of 1", "a note of 5", "a note of 3"};
};

Scores logits_of(const SearchResult& result) {
  Scores logits;
  for (const SearchHit& hit : result.hits) logits.push_back(hit.logit);
  return logits;
}

TEST_F(NewKindOfInput, IsReadBySearches) {
  const SearchResult found = search();
  EXPECT_EQ(ids_of(found), (std::vector<std::string>{"d1", "d3", "d0", "d2"}));
  EXPECT_EQ(logits_of(found), (Scores{4, 3, 2, 1}));
}

TEST_F(NewKindOfInput, MayStandForTheText) {
  config.rescorer.model = "instead";
  write_notes({"2", "", "1", "3"});
  const SearchResult found = search();
  // An empty input: nothing to read.
  EXPECT_EQ(ids_of(found), (std::vector<std::string>{"d3", "d0", "d2", "d1"}));
  EXPECT_EQ(found.hits.back().status, HitStatus::without_text);
}

TEST_F(NewKindOfInput, ThatCannotBeOpenedFailsTheOpeningOfASearcher) {
  std::filesystem::remove(index() / "notes.txt");
  expect_error(ErrorKind::io, {"notes.txt", "is missing", "a line per document"}, [&] { search(); });
}

TEST_F(NewKindOfInput, IsMadeOfTextsThatAreReranked) {
  std::vector<RescoringStage> with = stages();
  open_inputs(with);
  std::vector<Candidate> candidates;
  for (const std::string& text : texts) candidates.push_back({"", text});
  candidates[2].inputs = {{"note", "9"}};  // known already
  const RescoredCandidates rescored = rescore_candidates(config.rescorer, with, "word", candidates, {});
  EXPECT_EQ(rescored.last_logits(), (Scores{1, 5, 9}));
  ASSERT_EQ(rescored.order.size(), 3U);
  EXPECT_EQ(rescored.order[0].index, 2U);
  EXPECT_EQ(rescored.order[1].index, 1U);
}

TEST_F(NewKindOfInput, IsPartOfTheCachesKey) {
  const std::vector<RescoringStage> with = stages();
  const auto score = [&](std::string_view note) {
    const std::vector<Candidate> one{{.id = "", .text = "the same", .inputs = {{"note", note}}}};
    const RescoredCandidates rescored = rescore_candidates(config.rescorer, with, "word", one, {});
    return std::pair(rescored.last_logits().at(0), rescored.report().cached);
  };
  EXPECT_EQ(score("1"), std::pair(std::optional(1.F), 0));
  EXPECT_EQ(score("2"), std::pair(std::optional(2.F), 0));
  EXPECT_EQ(score("1"), std::pair(std::optional(1.F), 1));
}

TEST_F(NewKindOfInput, IsReadByTheServersEngine) {
  const auto engine = server::open_engine(index(), config);
  server::SearchOrder order;
  order.query = "word";
  const SearchResult found = engine->search(order);
  EXPECT_EQ(ids_of(found), (std::vector<std::string>{"d1", "d3", "d0", "d2"}));
  EXPECT_EQ(logits_of(found), (Scores{4, 3, 2, 1}));
  for (const auto& one : {engine, server::open_engine({}, config)}) {
    ASSERT_TRUE(one->can_rerank());
    const server::RerankScores scores = one->rerank("word", texts, {});
    ASSERT_EQ(scores.scores.size(), 3U);
    EXPECT_EQ(scores.scores[0].score, 1);
    EXPECT_EQ(scores.scores[1].score, 5);
    EXPECT_EQ(scores.scores[2].score, 3);
  }
}

}  // namespace
}  // namespace relucent::testing
