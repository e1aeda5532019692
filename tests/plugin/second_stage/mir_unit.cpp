// A MIR as [rescorer] model, its candidates with the records of their graphs.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "model/graphs/build_graph.h"
#include "model/mir/passage_model.h"
#include "plugin/index_format/token_ids.h"
#include "plugin/second_stage/graph_input.h"
#include "plugin/second_stage/graph_settings.h"
#include "relucent/rescore_candidates.h"
#include "relucent/score_cache.h"
#include "tests/support/cuda_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_mir.h"

namespace relucent::testing {
namespace {

class MirAsRescorer : public ::testing::Test {
 protected:
  MirAsRescorer() {
    TinyMir().write(temporary_ / "mir");
    config.model = (temporary_ / "mir").string();
    config.device = Device::cpu();
    config.threads = 2;
    config.precision = Precision::fp32;
    scorer = make_scorer(config);
  }

  const GraphForm& graph_form() const {
    const InputKinds kinds = scorer->inputs();
    return *graph_form_of(*kinds.at(1));
  }

  /// Without terms: only passages and sentences are pivots.
  DocumentGraph graph_of(const std::string& text) const {
    const GraphForm& form = graph_form();
    return build_graph(form.settings, {text, {}}, {10, [](std::string_view) { return 1U; }}, *form.tokenizer).graph;
  }

  static BackendOptions cpu() {
    BackendOptions options;
    options.device = Device::cpu();
    options.threads = 2;
    options.precision = Precision::fp32;
    return options;
  }

  std::vector<Candidate> candidates(const std::vector<std::string>& of_texts) {
    records_.clear();
    for (const std::string& text : of_texts) {
      records_.push_back(encode_graph(graph_form().settings, graph_of(text)));
    }
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < of_texts.size(); ++i) {
      Candidate& candidate = all.emplace_back();
      candidate.id = of_texts[i];
      candidate.text = of_texts[i];
      candidate.first_stage_rank = static_cast<std::int32_t>(i + 1);
      candidate.inputs = {{kGraphInput, records_[i]}};
    }
    return all;
  }

  const std::string long_text = [] {
    std::string text;
    for (int i = 0; i < 90; ++i) text += std::string(1, static_cast<char>('a' + i % 25)) + (i % 6 == 5 ? ". " : " ");
    return text;
  }();
  const std::vector<std::string> texts{"a b c", "", long_text, "\xCC\x81", "x y"};
  SecondStageConfig config;
  std::shared_ptr<const Scorer> scorer;

 private:
  TemporaryFolder temporary_;
  std::vector<std::string> records_;
};

TEST_F(MirAsRescorer, TheCpuStandsInForAGpuThatFails) {
  const std::vector<Candidate> some = candidates(texts);
  const RescoredCandidates truth = rescore_candidates(*scorer, "b x", some, config, {});
  config.device = Device::cuda(0);
  const FakeCuda cuda;
  const auto on_gpu = make_scorer(config);
  EXPECT_NE(on_gpu->describe().find("cuda:0 (Fake GPU"), std::string::npos) << on_gpu->describe();
  for (const std::string why : {"", "fail_score", ""}) {
    const FakeCuda told(why);
    const RescoredCandidates rescored = rescore_candidates(*on_gpu, "b x", some, config, {});
    ASSERT_EQ(rescored.status, RescoreStatus::rescored);
    EXPECT_EQ(rescored.degraded, !why.empty());
    EXPECT_NE(rescored.reason.find(why.empty() ? "" : "scored on the CPU"), std::string::npos) << rescored.reason;
    EXPECT_EQ(rescored.last_score(0)->score.score, truth.last_score(0)->score.score);
  }
  const FakeCuda absent("no_driver");
  const auto without = make_scorer(config);
  EXPECT_EQ(without->inputs().at(1)->name(), kGraphInput);
  EXPECT_TRUE(rescore_candidates(*without, "b x", some, config, {}).degraded);
}

TEST_F(MirAsRescorer, OrdersByTheModelsScores) {
  const RescoredCandidates rescored = rescore_candidates(*scorer, "b x", candidates(texts), config, {});
  ASSERT_EQ(rescored.status, RescoreStatus::rescored) << rescored.reason;
  EXPECT_FALSE(rescored.degraded);
  const auto model = PassageModel::load(config.model, cpu());
  for (const std::size_t i : {0, 2, 4}) {
    const StageScore* const last = rescored.last_score(i);
    ASSERT_NE(last, nullptr) << i;
    const DocumentGraph graph = graph_of(texts[i]);
    const GraphedDocument document{texts[i], &graph};
    const PassageScore expected = model->score("b x", {&document, 1}).documents[0];
    EXPECT_EQ(last->score.score, expected.logit);  // alone, the same bits
    EXPECT_EQ(last->score.tokens, expected.tokens);
    EXPECT_EQ(last->score.truncated, i == 2);
  }
  // A text without pieces ranks like one without text.
  EXPECT_EQ(rescored.last_score(1), nullptr);
  EXPECT_EQ(rescored.last_score(3), nullptr);
  EXPECT_EQ(rescored.order[3].index, 1U);
  EXPECT_EQ(rescored.order[4].index, 3U);
  const std::string text = scorer->describe();
  EXPECT_NE(text.find("MIR"), std::string::npos) << text;
  EXPECT_NE(text.find("passages of 8 word pieces of at most 60"), std::string::npos) << text;
}

TEST_F(MirAsRescorer, ItsScoresMayBeKeptByTextAndGraph) {
  const auto cached = with_score_cache(scorer, 1);
  EXPECT_EQ(cached->inputs(), scorer->inputs());
  const std::vector<Candidate> all = candidates(texts);
  std::vector<CandidateScore> expected(all.size()), first(all.size()), again(all.size());
  scorer->score("b x", all, expected, {});
  cached->score("b x", all, first, {});
  cached->score("b x", all, again, {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(first[i].cached);
    EXPECT_TRUE(again[i].cached);
    EXPECT_EQ(again[i].score, expected[i].score);
    EXPECT_EQ(again[i].tokens, expected[i].tokens);
    EXPECT_EQ(again[i].truncated, expected[i].truncated);
    EXPECT_EQ(again[i].unreadable, expected[i].unreadable);
  }
}

TEST_F(MirAsRescorer, ReadsTheIndexsTokenIds) {
  const std::vector<std::string> one{"a b c"};
  std::vector<Candidate> given = candidates(one);
  std::vector<CandidateScore> from_text(1), from_ids(1);
  scorer->score("b", given, from_text, {});
  std::string ids;
  write_token_ids({graph_form().tokenizer, 10}, given[0].text, ids);
  given[0].inputs.push_back({TokenIdsKind::kName, ids});
  given[0].text = "not read";
  scorer->score("b", given, from_ids, {});
  EXPECT_EQ(from_text[0].score, from_ids[0].score);
}

TEST_F(MirAsRescorer, NothingWithoutGraphs) {
  std::vector<Candidate> given = candidates(texts);
  given[4].inputs.clear();
  const RescoredCandidates rescored = rescore_candidates(*scorer, "b x", given, config, {});
  EXPECT_TRUE(rescored.degraded);
  EXPECT_TRUE(rescored.in_first_stage_order);
  EXPECT_NE(rescored.reason.find("\"x y\""), std::string::npos) << rescored.reason;
  EXPECT_NE(rescored.reason.find("relucent graphs"), std::string::npos) << rescored.reason;
  // A record of another text, and one that is none.
  given = candidates(texts);
  given[0].inputs = given[4].inputs;
  std::vector<CandidateScore> scores(texts.size());
  expect_error(ErrorKind::invalid_data, {"a b c", "its graph has 2 pieces, but its text 3", "relucent graphs"},
               [&] { scorer->score("b x", given, scores, {}); });
  given[0].inputs = {{kGraphInput, "\x7F"}};
  expect_error(ErrorKind::invalid_data, {"a b c", "relucent graphs"}, [&] { scorer->score("b x", given, scores, {}); });
}

TEST_F(MirAsRescorer, AMissedDeadlineGivesTheFirstStagesOrder) {
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const RescoredCandidates rescored = rescore_candidates(*scorer, "b x", candidates(texts), config, late);
  EXPECT_TRUE(rescored.degraded);
  EXPECT_TRUE(rescored.in_first_stage_order);
  EXPECT_EQ(rescored.failure, ErrorKind::deadline);
}

TEST_F(MirAsRescorer, KeysThatDoNotApplyAreRefused) {
  const auto refuse = [&](const char* key, const auto& set) {
    SecondStageConfig changed = config;
    set(changed);
    expect_error(ErrorKind::usage, {std::string("[rescorer] ") + key, "does not apply to a MIR"},
                 [&] { make_scorer(changed); });
  };
  refuse("max_length", [](auto& of) { of.max_length = 10; });
  refuse("max_query_length", [](auto& of) { of.max_query_length = 10; });
  refuse("instruction", [](auto& of) { of.instruction = "judge"; });
  refuse("attention_window", [](auto& of) { of.attention_window = 4; });
  refuse("pattern", [](auto& of) { of.pattern = PatternChoice::full; });
  refuse("long_documents", [](auto& of) { of.long_documents = LongDocuments::maxp; });
}

TEST_F(MirAsRescorer, GraphsStateWhatTheyWereMadeWith) {
  IndexConfig fields;
  fields.text_fields = {"a title", "two\nlines\\", "body"};
  const GraphForm& form = graph_form();
  const GraphOrigin origin = graph_origin(form, fields, {});
  EXPECT_EQ(from_settings(to_settings(origin)), origin);
  EXPECT_EQ(settings_in(origin, "place").window, 8);
  EXPECT_EQ(value_of(origin, "tokenizer").size(), 16U);
  EXPECT_EQ(difference(origin, origin), std::nullopt);
  fields.text_fields.pop_back();
  EXPECT_EQ(difference(origin, graph_origin(form, fields, {})),
            "text_field is a title, two\\nlines\\\\, not a title, two\\nlines\\\\, body");
  EXPECT_EQ(difference(origin, {}), "record is not stated, not 1");
  for (const char* settings : {"", "passage_window 8", "passage_window x\n", "passage_window 70000\n", "\n\n", "a"}) {
    expect_error(ErrorKind::invalid_data, {"place", "passage_", "relucent graphs"},
                 [&] { settings_in(from_settings(settings), "place"); });
  }
}

}  // namespace
}  // namespace relucent::testing
