// What requests may contain, what the answers look like, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "server/answer.h"
#include "server/http_client.h"
#include "server/json.h"
#include "server/refusal.h"
#include "server/rerank_requests.h"
#include "server/scoring.h"
#include "server/search_requests.h"
#include "server/statistics_json.h"
#include "server/tokens.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::server {
namespace {

using Ordered = nlohmann::ordered_json;

ServerConfig small_limits() {
  ServerConfig limits;
  limits.texts = 3;
  limits.text_bytes = 10;
  limits.hits = 20;
  limits.explained_hits = 5;
  return limits;
}

/// "STATUS message" of the refusal; "accepted" if there is none.
template <typename Parse>
std::string outcome(Parse parse) {
  try {
    parse();
  } catch (const Refusal& refusal) {
    return std::to_string(refusal.status()) + " " + refusal.what();
  }
  return "accepted";
}

std::string tei(std::string_view body) {
  return outcome([&] { parse_rerank(body, RerankForm::v1, small_limits()); });
}
std::string v1(std::string_view body) {
  return outcome([&] { parse_rerank(body, RerankForm::v1, small_limits()); });
}
std::string v2(std::string_view body) {
  return outcome([&] { parse_rerank(body, RerankForm::v2, small_limits()); });
}
std::string search(std::string_view body) {
  return outcome([&] { parse_search(body, small_limits()); });
}

TEST(RerankRequests, ReadsEveryFieldOfTextEmbeddingsInference) {
  const RerankRequest request =
      parse_rerank(R"({"query":"q","texts":["a","b"],"raw_scores":true,"return_text":true,"truncate":false,)"
                   R"("truncation_direction":"Left","timeout_ms":70})",
                   RerankForm::v1, ServerConfig());
  EXPECT_EQ(request.query, "q");
  EXPECT_EQ(request.texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.raw_scores && request.return_texts && !request.truncate && request.truncate_left);
  EXPECT_EQ(request.timeout_ms, 70);
  const RerankRequest defaults = parse_rerank(R"({"query":"q","texts":["a"],"truncate":null})", RerankForm::v1, {});
  EXPECT_TRUE(!defaults.raw_scores && !defaults.return_texts && defaults.truncate && !defaults.truncate_left);
}

TEST(RerankRequests, ReadsStringsAndObjectsInTheFormOfCohereAndJina) {
  const RerankRequest request = parse_rerank(
      R"({"model":"m","query":"q","documents":["a",{"text":"b","title":1}],"top_n":5,"return_documents":true})",
      RerankForm::v1, ServerConfig());
  EXPECT_EQ(request.texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.top, 2U);
  EXPECT_TRUE(request.return_texts);
  EXPECT_EQ(request.model, "m");
}

TEST(RerankRequests, HaveTheFormOfTheirFields) {
  const auto form = [](std::string_view body, RerankForm of_path) {
    return parse_rerank(body, of_path, ServerConfig()).form;
  };
  EXPECT_EQ(form(R"({"query":"q","texts":["a"]})", RerankForm::v1), RerankForm::tei);
  EXPECT_EQ(form(R"({"query":"q","texts":["a"],"documents":["a"]})", RerankForm::v1), RerankForm::tei);
  EXPECT_EQ(form(R"({"query":"q","texts":null,"documents":["a"]})", RerankForm::v1), RerankForm::v1);
  EXPECT_EQ(form(R"({"query":"q","texts":["a"],"documents":["a"]})", RerankForm::v2), RerankForm::v2);
}

TEST(RerankRequests, ATopOfZeroIsEveryDocument) {
  const auto top = [](std::string_view body) { return parse_rerank(body, RerankForm::v1, ServerConfig()).top; };
  EXPECT_EQ(top(R"({"query":"q","documents":["a","b"],"top_n":0})"), 2U);
  EXPECT_EQ(top(R"({"query":"q","documents":["a","b"],"top_n":null})"), 2U);
  EXPECT_EQ(top(R"({"query":"q","documents":["a","b"],"top_n":1})"), 1U);
}

TEST(RerankRequests, RefusesWhatIsNotOneAndStatesWhy) {
  EXPECT_EQ(tei(R"({"query":"q","texts":["a"]})"), "accepted");
  EXPECT_EQ(tei(""), "400 byte 1 of the body: this is not JSON in UTF-8");
  EXPECT_EQ(tei(R"({"query":"q","texts":["a"})"), "400 byte 26 of the body: this is not JSON in UTF-8");
  EXPECT_EQ(tei("{\"query\":\"\xff\",\"texts\":[\"a\"]}").substr(0, 3), "400");
  EXPECT_EQ(tei(R"({"query":"\ud800","texts":["a"]})").substr(0, 3), "400");
  EXPECT_EQ(tei(R"({"query":1e999,"texts":["a"]})").substr(0, 3), "400");
  EXPECT_EQ(tei("[1]"), "422 the body must be an object, not an array");
  EXPECT_EQ(tei(R"({"texts":["a"]})"), "422 `query` is missing");
  EXPECT_EQ(tei(R"({"query":5,"texts":["a"]})"), "422 `query` must be a string, not a whole number");
  EXPECT_EQ(tei(R"({"query":"q"})"), "422 `texts` or `documents` is missing");
  EXPECT_EQ(tei(R"({"query":"q","texts":"a"})"), "422 `texts` must be an array of strings, not a string");
  EXPECT_EQ(tei(R"({"query":"q","texts":["a",{}]})"), "422 `texts[1]` must be a string, not an object");
  EXPECT_EQ(tei(R"({"query":"q","texts":["a"],"truncate":"no"})"),
            "422 `truncate` must be true or false, not a string");
  EXPECT_EQ(tei(R"({"query":"q","texts":["a"],"truncation_direction":"up"})"),
            "422 `truncation_direction` must be \"left\" or \"right\"");
  EXPECT_EQ(tei(R"({"query":"q","texts":["a"],"timeout_ms":-1})"), "422 `timeout_ms` is below 0");
  EXPECT_EQ(v1(R"({"query":"q","documents":[{"text":1}]})"), "422 `documents[0]` must have a string `text`");
  EXPECT_EQ(v1(R"({"query":"q","documents":["a"],"top_n":-1})"), "422 `top_n` is below 0");
  EXPECT_EQ(v1(R"({"query":"q","documents":[]})"), "422 `documents` cannot be empty");
  EXPECT_EQ(v2(R"({"query":"q","texts":["a"]})"), "422 `documents` is missing");
  EXPECT_EQ(v1(R"({"query":"q","documents":["a"],"top_n":1.0})"), "accepted");
  EXPECT_EQ(v1(R"({"query":"q","documents":["a"],"top_n":1e300})"), "413 `top_n` is above 9007199254740992");
  EXPECT_EQ(v1(R"({"query":"q","documents":["a"],"top_n":-1e300})"), "422 `top_n` is below 0");
  EXPECT_EQ(v1(R"({"query":"q","documents":["a"],"top_n":1.5})"), "422 `top_n` must be a whole number, not a number");
}

TEST(RerankRequests, RefusesWhatIsAboveALimit) {
  EXPECT_EQ(tei(R"({"query":"q","texts":[]})"), "413 `texts` cannot be empty");
  EXPECT_EQ(tei(R"({"query":"q","texts":["a","b","c","d"]})"), "413 batch size 4 > maximum allowed batch size 3");
  EXPECT_EQ(tei(R"({"query":"0123456789","texts":["0123456789"]})"), "accepted");
  EXPECT_EQ(tei(R"({"query":"0123456789x","texts":["a"]})"), "413 `query` has 11 bytes, more than the 10 allowed");
  EXPECT_EQ(tei(R"({"query":"q","texts":["a","0123456789x"]})"),
            "413 `texts[1]` has 11 bytes, more than the 10 allowed ([server] text_bytes)");
  EXPECT_EQ(outcome([] { parse_search("{\"query\":\"" + std::string(65537, 'x') + "\"}", ServerConfig()); }),
            "413 `query` has 65537 bytes, more than the 65536 allowed");
  const std::string deep = std::string(100000, '[');
  EXPECT_EQ(tei(R"({"query":)" + deep), "400 byte 264 of the body: nested more than 256 deep");
  EXPECT_EQ(v1(R"({"query":"q","documents":["a"],"top_n":18446744073709551615})"),
            "413 `top_n` is above 9007199254740992");
}

RerankScores three_scores() {
  RerankScores scores;
  scores.scores.resize(3);
  scores.scores[0].score = -1.25F;
  scores.scores[1].score = 0.1F;
  scores.scores[2].score = 0.1F;
  return scores;
}

TEST(RerankAnswers, AreSortedByScoreWithTheSigmoidUnlessRawScoresAreAskedFor) {
  RerankRequest request;
  request.texts = {"a", "b\"", "c"};
  request.top = 3;
  EXPECT_EQ(rerank_answer(request, three_scores(), "m"),
            R"([{"index":1,"score":0.5249792},{"index":2,"score":0.5249792},{"index":0,"score":0.22270013}])");
  request.raw_scores = request.return_texts = true;
  EXPECT_EQ(rerank_answer(request, three_scores(), "m"),
            R"([{"index":1,"text":"b\"","score":0.1},{"index":2,"text":"c","score":0.1},)"
            R"({"index":0,"text":"a","score":-1.25}])");
}

TEST(RerankScores, AnEmptyTextIsScoredAsItIs) {
  class LengthScorer : public Scorer {
   public:
    void score(std::string_view, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
               const StopSignal&) const override {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        scores[i].score = static_cast<float>(candidates[i].text.size());
      }
    }
    std::string describe() const override { return "lengths"; }
  };
  const std::string texts[] = {"", " ", "ab"};
  const RescoringStage stage{std::make_shared<LengthScorer>(), {}};
  const RerankScores answer = score_texts(stage, "q", texts, {});
  ASSERT_EQ(answer.scores.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(answer.scores[i].score, static_cast<float>(texts[i].size()));
}

TEST(RerankAnswers, ASimilarityStaysAsItIs) {
  RerankScores scores;
  scores.meaning = ScoreMeaning::similarity;
  scores.scores.resize(1);
  scores.scores[0].score = 20.5F;
  RerankRequest request;
  request.texts = {"a"};
  request.top = 1;
  EXPECT_EQ(rerank_answer(request, scores, "m"), R"([{"index":0,"score":20.5}])");
}

TEST(RerankAnswers, TheProbabilityOfALogarithmIsItsExponential) {
  RerankScores scores;
  scores.meaning = ScoreMeaning::log_probability;
  scores.scores.resize(2);
  scores.scores[0].score = -0.125F;
  scores.scores[1].score = -3.0F;
  RerankRequest request;
  request.texts = {"a", "b"};
  request.top = 2;
  EXPECT_EQ(rerank_answer(request, scores, "m"), R"([{"index":0,"score":0.8824969},{"index":1,"score":0.049787067}])");
  request.raw_scores = true;
  EXPECT_EQ(rerank_answer(request, scores, "m"), R"([{"index":0,"score":-0.125},{"index":1,"score":-3.0}])");
}

TEST(RerankAnswers, HaveTheFormOfCohereAndJina) {
  RerankRequest request;
  request.texts = {"a", "b", "c"};
  request.top = 2;
  request.return_texts = true;
  request.form = RerankForm::v1;
  const Ordered answer = Ordered::parse(rerank_answer(request, three_scores(), "m"));
  ASSERT_EQ(answer["results"].size(), 2U);
  EXPECT_EQ(answer["results"][0]["index"], 1);
  EXPECT_EQ(answer["results"][0]["document"]["text"], "b");
  EXPECT_EQ(answer["results"][1]["relevance_score"].get<double>(), 0.5249792);
  EXPECT_EQ(answer["model"], "m");
  EXPECT_EQ(answer["meta"]["api_version"]["version"], "1");
}

TEST(RerankAnswers, HaveTheFormOfInfinity) {
  RerankRequest request;
  request.texts = {"a", "b", "c"};
  request.top = 1;
  request.return_texts = true;
  request.form = RerankForm::infinity;
  const Ordered answer = Ordered::parse(rerank_answer(request, three_scores(), "m"));
  EXPECT_EQ(answer["object"], "rerank");
  EXPECT_EQ(answer["results"][0]["document"], "b");
}

TEST(RerankAnswers, TellWhereTruncationWasForbidden) {
  RerankRequest request;
  request.texts = {"a", "b", "c"};
  request.top = 3;
  RerankScores scores = three_scores();
  scores.scores[1].truncated = true;
  const auto answer = [&] { rerank_answer(request, scores, "m"); };
  EXPECT_EQ(outcome(answer), "accepted");
  request.truncate = false;
  EXPECT_EQ(outcome(answer), "413 text 1 is too long for the model, and `truncate` is false");
  request.truncate = request.truncate_left = true;
  EXPECT_EQ(outcome(answer).substr(0, 37), "413 text 1 is too long for the model,");
  scores.scores[1].truncated = false;
  EXPECT_EQ(outcome(answer), "accepted");
}

TEST(RerankAnswers, KeepEveryBitOfAScore) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    float score = 0, read = 0;
    std::memcpy(&score, &bits, sizeof score);
    if (!std::isfinite(score)) continue;
    read = static_cast<float>(Ordered::parse(to_text(as_json(score))).get<double>());
    EXPECT_EQ(std::memcmp(&read, &score, sizeof score), 0) << score;
  }
}

TEST(SearchRequests, AreReadWithinTheLimits) {
  const SearchBody request =
      parse_search(R"({"query":"q","k":3,"explain":true,"texts":"full","timeout_ms":5})", small_limits());
  EXPECT_EQ(request.order.hits, 3);
  EXPECT_TRUE(request.order.explain);
  EXPECT_TRUE(request.whole_passages);
  EXPECT_EQ(request.order.texts, HitTexts::whole);
  EXPECT_EQ(request.timeout_ms, 5);
  EXPECT_EQ(search(R"({"query":"q"})"), "accepted");
  EXPECT_EQ(search(R"({"query":" \t"})"), "422 `query` is empty");
  EXPECT_EQ(search(R"({"query":"q","k":21})"), "413 `k` is above 20");
  EXPECT_EQ(search(R"({"query":"q","k":0})"), "422 `k` is below 1");
  EXPECT_EQ(search(R"({"query":"q","k":6,"explain":true})"),
            "413 `explain` is possible for `k` up to 5 ([server] explained_hits), or for one `id`");
  EXPECT_EQ(search(R"({"query":"q","k":20,"explain":true,"id":"d"})"), "accepted");
  EXPECT_EQ(search(R"({"query":"q","texts":1})"), "422 `texts` must be \"none\", \"snippet\", \"passage\" or \"full\"");
  EXPECT_EQ(search(R"({"query":"q","statistics":{"fields":{}}})"), "422 `statistics` names no field");
}

TEST(SearchRequests, AskForPagesWithinTheLimits) {
  const SearchBody request = parse_search(R"({"query":"q","k":5,"offset":15})", small_limits());
  EXPECT_EQ(request.order.hits, 5);
  EXPECT_EQ(request.order.offset, 15);
  EXPECT_EQ(parse_search(R"({"query":"q","offset":null})", small_limits()).order.offset, 0);
  EXPECT_EQ(search(R"({"query":"q","k":6,"offset":15})"), "413 `offset` and `k` together are above 20 ([server] hits)");
  EXPECT_EQ(search(R"({"query":"q","k":1,"offset":20})"), "413 `offset` is above 19");
  EXPECT_EQ(search(R"({"query":"q","offset":1e300})"), "413 `offset` is above 19");
  EXPECT_EQ(search(R"({"query":"q","offset":-1})"), "422 `offset` is below 0");
  EXPECT_EQ(search(R"({"query":"q","offset":1.5})"), "422 `offset` must be a whole number, not a number");
  EXPECT_EQ(search(R"({"query":"q","offset":"2"})"), "422 `offset` must be a whole number, not a string");
}

TEST(SearchRequests, CarryStatisticsThereAndBack) {
  CollectionStatistics statistics;
  statistics.fields["contents"] = {{3, 40}, {{"a\"b", 2}, {"née", 0}}};
  statistics.fields["empty"] = {};
  EXPECT_EQ(parse_statistics(Json::parse(to_text(statistics_json(statistics)))), statistics);
  const auto reading = [](const char* json) {
    return outcome([&] { parse_statistics(Json::parse(json)); }).substr(0, 3);
  };
  EXPECT_EQ(reading(R"({"fields":{}})"), "acc");
  for (const char* wrong :
       {"1", "{}", R"({"fields":[]})", R"({"fields":{"f":1}})", R"({"fields":{"f":{"documents":1,"tokens":1}}})",
        R"({"fields":{"f":{"documents":-1,"tokens":1,"frequencies":{}}}})",
        R"({"fields":{"f":{"documents":1.5,"tokens":1,"frequencies":{}}}})",
        R"({"fields":{"f":{"documents":1,"tokens":18446744073709551615,"frequencies":{}}}})",
        R"({"fields":{"f":{"documents":3,"tokens":2,"frequencies":{}}}})",
        R"({"fields":{"f":{"documents":3,"tokens":9,"frequencies":{"x":4}}}})",
        R"({"fields":{"f":{"documents":3,"tokens":9,"frequencies":{"x":"1"}}}})"}) {
    EXPECT_EQ(reading(wrong), "422") << wrong;
  }
}

TEST(Peers, AreNamedByHostAndPort) {
  const auto read = [](const char* url) {
    const Peer peer = parse_peer(url);
    return peer.host + " " + peer.port;
  };
  EXPECT_EQ(read("http://shard-1:8081"), "shard-1 8081");
  EXPECT_EQ(read("http://10.0.0.1/"), "10.0.0.1 80");
  EXPECT_EQ(read("http://[::1]:99"), "::1 99");
  EXPECT_EQ(read("http://[::1]"), "::1 80");
  for (const char* wrong : {"", "shard:1", "https://a:1", "http://", "http://:1", "http://a:", "http://a:b",
                            "http://a/b", "http://u@a:1"}) {
    EXPECT_THROW(parse_peer(wrong), Error) << wrong;
  }
}

TEST(SearchAnswers, HaveBothScoresThePassageAndNoPaths) {
  SearchResult result;
  result.query = "q";
  result.degraded = true;
  result.reason = "/opt/models/secret/model.safetensors:3: is damaged";
  SearchHit& hit = result.hits.emplace_back();
  hit.id = "d\xff";
  hit.logit = 0.1F;
  hit.passage = {"text", "wörter", 4, 11, true};
  hit.score = hit.first_stage_score = static_cast<double>(0.1F);
  hit.explanation = {static_cast<double>(0.3F), "from ../models/secret/x on cpu", {{0.1, "inner", {}}}};
  SearchBody request;
  const std::string text = search_answer(request, result);
  EXPECT_EQ(text.find("models"), std::string::npos) << text;
  const Ordered json = Ordered::parse(text);
  EXPECT_EQ(json["reason"], "model.safetensors:3: is damaged");
  EXPECT_EQ(json["hits"][0]["id"], "d\xef\xbf\xbd");
  EXPECT_EQ(json["hits"][0]["logit"].get<double>(), 0.1);
  EXPECT_EQ(json["hits"][0]["snippet"], "wörter");
  EXPECT_EQ(json["hits"][0]["passage"]["end"], 11);
  EXPECT_FALSE(json["hits"][0]["passage"].contains("text"));
  // The shortest numbers that read back to the same float, or to the same double.
  EXPECT_NE(text.find(R"("score":0.1,)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("first_stage_score":0.1,)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("explanation":{"value":0.3,)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("details":[{"value":0.1,)"), std::string::npos) << text;
  request.whole_passages = true;
  const Ordered whole = Ordered::parse(search_answer(request, result));
  EXPECT_EQ(whole["hits"][0]["passage"]["text"], "wörter");
  EXPECT_FALSE(whole["hits"][0].contains("snippet"));
}

TEST(Requests, HaveALimitOfValues) {
  std::string many = R"({"query":"q","x":[0)";
  for (std::size_t i = 0; i < kMaxValues; ++i) many += ",0";
  EXPECT_EQ(search(many + "]}"), "413 the body has more than 50000 values and names");
}

TEST(Refusals, HidePathsAndKeepTheRest) {
  EXPECT_EQ(without_paths("/home/me/models/x/config.json:3:1: is wrong; see `relucent model`"),
            "config.json:3:1: is wrong; see `relucent model`");
  EXPECT_EQ(without_paths("cross-encoder /opt/m/ on cpu, (/a/b)"), "cross-encoder m on cpu, (b)");
  EXPECT_EQ(without_paths("../shared/m: and/or 1/2, ~/.cache/x"), "m: and/or 1/2, x");
  EXPECT_EQ(without_paths("/srv/my big models/a b/config.json:3: is wrong, see \"/x y/z w\""),
            "config.json:3: is wrong, see \"z w\"");
  EXPECT_EQ(without_paths("/srv/my models on 2 of 3 devices"), "my models on 2 of 3 devices");
  EXPECT_EQ(without_paths("log(1 + (N - n + 0.5) / (n + 0.5))"), "log(1 + (N - n + 0.5) / (n + 0.5))");
}

TEST(Refusals, HaveTheStatusOfTheirKind) {
  EXPECT_EQ(refusal_of(Error(ErrorKind::deadline, "", "x")).status(), 504);
  EXPECT_EQ(refusal_of(Error(ErrorKind::usage, "", "x")).status(), 422);
  EXPECT_EQ(refusal_of(Error(ErrorKind::device, "", "x")).status(), 424);
  EXPECT_EQ(refusal_of(Error(ErrorKind::device, "", "x")).type(), "Backend");
}

TEST(BearerTokens, AreFoundWholeAlone) {
  const Tokens tokens({"alpha", "beta"}, "test");
  EXPECT_EQ(tokens.find("Bearer alpha"), 0U);
  EXPECT_EQ(tokens.find("bearer  beta "), 1U);
  for (const char* wrong : {"", "alpha", "Bearer", "Bearer ", "Bearer alph", "Bearer alphaa", "Basic alpha",
                            "Bearer alpha beta", "Bearer ALPHA"}) {
    EXPECT_FALSE(tokens.find(wrong)) << wrong;
  }
  EXPECT_FALSE(Tokens().required());
  EXPECT_FALSE(Tokens().find("Bearer "));
}

TEST(BearerTokens, FilesMustHaveOneAndBePrivate) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "tokens").string();
  const auto write = [&](const char* text, std::filesystem::perms rights) {
    std::ofstream(file) << text;
    std::filesystem::permissions(file, rights);
  };
  using std::filesystem::perms;
  write("one\n\n two \n", perms::owner_read | perms::owner_write);
  EXPECT_EQ(Tokens::load(file).count(), 2U);
  EXPECT_EQ(Tokens::load(file).find("Bearer two"), 1U);
  write("\n", perms::owner_read | perms::owner_write);
  EXPECT_THROW(Tokens::load(file), Error);
  write("a b\n", perms::owner_read | perms::owner_write);
  EXPECT_THROW(Tokens::load(file), Error);
  write("one\n", perms::owner_read | perms::owner_write | perms::others_read);
  EXPECT_THROW(Tokens::load(file), Error);
  EXPECT_THROW(Tokens::load(file + ".absent"), Error);
}

}  // namespace
}  // namespace relucent::server
