// Deadlines, stop signals and failures: the whole order of the first stage or an Error, never a mixture.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "relucent/error.h"
#include "relucent/stop_scope.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;
using namespace std::chrono_literals;

/// Goes wrong after it has written half of its scores.
class HalfScorer : public NumberScorer {
 public:
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    NumberScorer::score(query, candidates, scores, stop);
    if (trouble) trouble(scores, stop);
  }
  std::function<void(std::span<CandidateScore>, const StopSignal&)> trouble;
};

void wait_until_due(const StopSignal& stop) {
  while (!stop.due()) std::this_thread::sleep_for(1ms);
}

class SearchSessionDeadlines : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::shared_ptr<HalfScorer> scorer = std::make_shared<HalfScorer>();
  Config config = small_config();
  SearchResult first_stage;

  void SetUp() override {
    write_words(folder / "index", numbered({"3", "5", "1", "2", "9", "4", "70", "80"}));
    config.rescorer.window = 6;
    first_stage = bm25_session(folder / "index", config)->search("word", 10, Texts::none);
    ASSERT_EQ(first_stage.hits.size(), 8U);
  }
  std::unique_ptr<SearchSession> session() { return session_with(folder / "index", config, {scorer}); }

  void expect_failed(const SearchResult& result, const std::string& reason) {
    expect_first_stage_order(result, first_stage);
    EXPECT_EQ(status_of(result), "failed");
    EXPECT_TRUE(result.degraded && result.rescoring);
    EXPECT_FALSE(result.by_earlier_stages);
    EXPECT_TRUE(result.stages.empty());
    EXPECT_NE(result.reason.find(reason), std::string::npos) << result.reason;
  }
};

TEST_F(SearchSessionDeadlines, MissedByAScorerThatNoticesOrDoesNotGiveTheFirstStagesOrder) {
  config.rescorer.timeout = 30ms;
  for (const bool notices : {true, false}) {
    scorer->trouble = [notices](std::span<CandidateScore>, const StopSignal& stop) {
      wait_until_due(stop);
      if (notices) stop.throw_if_due("counting");
    };
    const SearchResult result = session()->search("word", 10, Texts::whole);
    expect_failed(result, notices ? "counting ran out of time" : "rescoring ran out of time");
    EXPECT_EQ(result.hits[0].text, "3 word") << "the hits' texts are still read";
  }
  scorer->trouble = {};
  config.rescorer.timeout = 1h;
  EXPECT_EQ(status_of(session()->search("word", 10, Texts::none)), "rescored");
}

TEST_F(SearchSessionDeadlines, OfTheThreadCountForItsSearchesAlone) {
  scorer->trouble = [](std::span<CandidateScore>, const StopSignal& stop) { stop.throw_if_due("counting"); };
  const auto open = session();
  StopSignal past;
  past.deadline = std::chrono::steady_clock::now();
  {
    const StopScope scope(past);
    expect_failed(open->search("word", 10, Texts::whole), "ran out of time");
    std::string other_status;
    std::thread([&] { other_status = status_of(open->search("word", 10, Texts::none)); }).join();
    EXPECT_EQ(other_status, "rescored");
  }
  EXPECT_EQ(status_of(open->search("word", 10, Texts::none)), "rescored");
}

TEST_F(SearchSessionDeadlines, AndStopsOfARequestCountForItAlone) {
  scorer->trouble = [](std::span<CandidateScore>, const StopSignal& stop) { stop.throw_if_due("counting"); };
  const auto open = session();
  SearchRequest request = request_for("word", 10, Texts::whole, "", false);
  request.stop.deadline = std::chrono::steady_clock::now();
  expect_failed(open->search(request), "ran out of time");
  EXPECT_EQ(status_of(open->search("word", 10, Texts::none)), "rescored");
  std::stop_source source;
  source.request_stop();
  request.stop = {{}, source.get_token()};
  expect_error(ErrorKind::interrupted, [&] { open->search(request); });
  EXPECT_EQ(status_of(open->search("word", 10, Texts::none)), "rescored");
}

TEST_F(SearchSessionDeadlines, AStopRequestedWhileScoringIsAnErrorWhateverOnErrorIs) {
  for (const OnError on_error : {OnError::first_stage, OnError::previous_stage, OnError::fail}) {
    config.rescorer.on_error = on_error;
    std::stop_source source;
    scorer->trouble = [&](std::span<CandidateScore>, const StopSignal& stop) {
      source.request_stop();
      stop.throw_if_due("counting");
    };
    StopSignal stop;
    stop.stop = source.get_token();
    const StopScope scope(stop);
    expect_error(ErrorKind::interrupted, [&] { session()->search("word", 10, Texts::none); });
  }
}

TEST_F(SearchSessionDeadlines, AStopRequestedBehindTheSecondStageIsNoticedWhileTextsAreRead) {
  config.rescorer.enabled = false;
  std::stop_source source;
  source.request_stop();
  StopSignal stop;
  stop.stop = source.get_token();
  const auto open = bm25_session(folder / "index", config);
  const StopScope scope(stop);
  expect_error(ErrorKind::interrupted, [&] { open->search("word", 10, Texts::whole); });
}

TEST_F(SearchSessionDeadlines, EveryKindOfFailureGivesTheFirstStagesOrder) {
  using Trouble = std::function<void(std::span<CandidateScore>)>;
  const std::vector<std::pair<std::string, Trouble>> troubles = {
      {"the disk is full", [](auto) { throw Error(ErrorKind::io, "model", "the disk is full"); }},
      {"the fan stopped", [](auto) { throw std::runtime_error("the fan stopped"); }},
      {"out of memory", [](auto) { throw std::bad_alloc(); }},
      {"unknown exception", [](auto) { throw 7; }},
      {"finite", [](auto scores) { scores.back().score = std::numeric_limits<float>::quiet_NaN(); }},
      {"finite", [](auto scores) { scores.front().score = std::numeric_limits<float>::infinity(); }},
  };
  for (const auto& [reason, trouble] : troubles) {
    SCOPED_TRACE(reason);
    scorer->trouble = [&trouble](std::span<CandidateScore> scores, const StopSignal&) {
      for (std::size_t i = scores.size() / 2; i < scores.size(); ++i) scores[i] = {};
      trouble(scores);
    };
    config.rescorer.on_error = OnError::first_stage;
    expect_failed(session()->search("word", 10, Texts::none), reason);
    const SearchResult page = session()->search("word", 3, Texts::none);
    EXPECT_EQ(ids_of(page), ids_of(std::vector<std::size_t>{0, 1, 2}));
    config.rescorer.on_error = OnError::fail;
    try {
      session()->search("word", 10, Texts::none);
      ADD_FAILURE() << "no Error was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
}

TEST_F(SearchSessionDeadlines, AFailureIsOfOneSearchOnly) {
  const auto open = session();
  int calls = 0;
  scorer->before = [&](const StopSignal&) {
    if (++calls % 2 == 1) throw std::runtime_error("the fan stopped");
  };
  for (int i = 0; i < 3; ++i) {
    expect_failed(open->search("word", 10, Texts::none), "the fan stopped");
    const SearchResult result = open->search("word", 10, Texts::none);
    EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{4, 1, 5, 0, 3, 2, 6, 7}));
    EXPECT_FALSE(result.degraded);
  }
}

}  // namespace
}  // namespace relucent::testing
