// No memory for a request or its answer: each allocation fails in turn, alone and with all after it. That ends in a
// std::bad_alloc that leaves nothing behind, or in an answer of the server, and never ends the process.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file/folder_entries.h"
#include "base/require_memory.h"
#include "plugin/index_format/analysis/word_segmenter.h"
#include "plugin/index_format/fields/declared_fields.h"
#include "plugin/index_format/fields/filter.h"
#include "server/document_requests.h"
#include "server/refusal.h"
#include "server/rerank_requests.h"
#include "server/result_json.h"
#include "server/routes.h"
#include "server/search_requests.h"
#include "server/service.h"
#include "server/shard_answers.h"
#include "server/span_exporter.h"
#include "server/statistics_json.h"
#include "tests/server/empty_engine.h"
#include "tests/server/loopback_client.h"
#include "tests/support/failing_memory.h"
#include "tests/support/temporary_folder.h"

namespace relucent::server {
namespace {

using testing::fail_each_allocation, testing::memory;

constexpr const char* kMetadata =
    R"({"z": [1, 2.50, {"a": null, "z": true, "a": [[]]}], "y": -0, "u": "\u00e9", "e": {}})";

SearchResult whole_result() {
  SearchResult result;
  result.query = "naïve \"query\"";
  result.rescoring = result.degraded = true;
  result.reason = "/opt/models/a: is damaged";
  result.stages.resize(2);
  for (StageReport& stage : result.stages) stage.scorer = "a scorer with a long name";
  result.facets = {{"lang", {{"de", 3}, {"en", 1}}, 5}, {"none", {}, 0}};
  for (int i = 0; i < 3; ++i) {
    SearchHit& hit = result.hits.emplace_back();
    hit.id = "d\xff" + std::to_string(i);
    hit.text = std::string(400, 'a');
    hit.score = 0.1;
    hit.logit = 0.1F;
    hit.passage = {"text", "wörter and more than a short string holds", 4, 11, true};
    hit.stage_logits = {1.5F, -2e20F};
    hit.fields = kMetadata;
    hit.explanation = {0.3, "from x on cpu", {{0.1, "inner", {{2, "innermost", {}}}}, {1, "two", {}}}};
  }
  return result;
}

/// More members than an object may have whose members keep their order.
std::string large_object() {
  std::string json = R"({"b": {"z": 1, "a": 2, "z": [3]}, "a": [0)";
  for (int i = 0; i < 2000; ++i) json += ", 0";
  return json + "]}";
}

/// Answers with one result, and from then on its thread's allocations fail as told.
class FailingEngine final : public testing::EmptyEngine {
 public:
  SearchResult search(const SearchOrder&) override {
    SearchResult result = whole_result();
    memory = {allocations.has_value(), for_good, false, allocations.value_or(0), memory.held};
    return result;
  }
  const IndexConfig* fields() const override { return &fields_; }

  std::optional<std::size_t> allocations;
  bool for_good = false;

 private:
  IndexConfig fields_ = [] {
    IndexConfig fields;
    fields.keyword_fields = {"lang"};
    fields.number_fields = {"year"};
    fields.analyzed_fields = {"title"};
    return fields;
  }();
};

TEST(AnswersWithoutMemory, LeaveNothingBehind) {
  const SearchResult result = whole_result();
  SearchBody search;
  fail_each_allocation("/search", 100, [&] { return search_answer(search, result); });
  search.order.texts = HitTexts::whole;
  search.whole_passages = true;
  fail_each_allocation("/search with texts", 100, [&] { return search_answer(search, result); });

  RerankScores scores;
  scores.scores.resize(3);
  RerankRequest rerank;
  rerank.texts = {"a text that is longer than a short string", "b", "ü"};
  rerank.top = 3;
  rerank.return_texts = true;
  for (const RerankForm form : {RerankForm::tei, RerankForm::v2, RerankForm::infinity}) {
    rerank.form = form;
    fail_each_allocation("/rerank", 10, [&] { return rerank_answer(rerank, scores, "a model with a long name"); });
  }
  for (const std::string& metadata : {std::string(kMetadata), large_object(), std::string(R"({"a": [1, {"b": 2)")}) {
    const StoredDocument document{"a document with a long id", "text", metadata};
    fail_each_allocation("/doc", 5, [&] { return to_text(document_json(document)); });
  }
  CollectionStatistics statistics;
  statistics.fields["contents"] = {{3, 40}, {{"a term that is longer than a short string", 2}, {"née", 0}}};
  fail_each_allocation("/statistics", 5, [&] { return to_text(statistics_json(statistics)); });
  fail_each_allocation("/documents", 3, [] { return put_answer({1, 2, 3}, "a problem in /a/b/c"); });
  Span span;
  span.name = "POST /search";
  span.attributes = {{"a", Span::Text{"a text that is longer than a short string"}}, {"c", 0.5}};
  fail_each_allocation("a span", 20, [&] { return otlp_json({span}, "a service with a long name"); });
  const FailingEngine engine;
  fail_each_allocation("/info", 20, [&] { return info_answer(engine, {}, 3).body; });
  fail_each_allocation(
      "/openapi.json", 500, [&] { return openapi_answer(engine, {}, true, true).body; }, 13);
  fail_each_allocation("a refusal", 3, [] { return answer_of({503, "Overloaded", "a message of some length"}).body; });
}

TEST(RequestsWithoutMemory, LeaveNothingBehind) {
  const ServerConfig limits;
  fail_each_allocation("/search", 20, [&] {
    return parse_search(R"({"query": "a query of some length", "filter": {"a": [1, {"b": [2]}], "c": "x", "a": 3}})",
                        limits)
        .order.filter;
  });
  fail_each_allocation("/rerank", 20, [&] {
    return parse_rerank(
               R"({"query": "q", "documents": [{"text": "a text of some length", "x": [[1], {"y": 2}]}, "b"]})",
               RerankForm::v1, limits)
        .texts.at(0);
  });
  fail_each_allocation("/documents", 20, [&] {
    return parse_documents(R"({"documents": [{"id": "1", "text": "t", "z": [{"b": [1]}], "a": {"c": [2, 3]}}]})",
                           limits)
        .at(0)
        .metadata;
  });
  const std::vector<fields::DeclaredField> declared = {{"lang", fields::Kind::keyword}, {"year", fields::Kind::number}};
  fail_each_allocation("a filter", 10, [&] {
    return fields::parse_filter(R"({"year": {"gte": 2020, "lt": 2024}, "lang": ["de", "a language of some length"]})",
                                declared)
        .at(0)
        .field;
  });
  fail_each_allocation("values of fields", 10, [&] {
    return fields::values_of(declared, R"({"lang": ["de", "a language of some length"], "x": [[{"y": 1}]]})", "d")
        .at(1)
        .bytes;
  });
}

TEST(ShardsAnswersWithoutMemory, LeaveNothingBehind) {
  server::ShardOrder order{"what is a shard", 2, true, true, {"lang"}};
  fail_each_allocation("hits", 20, [&] {
    return read_hits("a shard",
                     R"({"total_hits": 1, "facets": {"lang": {"distinct": 1, "counts": [)"
                     R"({"value": "a value of some length", "count": 1}]}}, "hits": [{"id": "d",)"
                     R"("text": "a text of some length", "fields": {"a": [[{"b": 1}]]}, )"
                     R"("first_stage_score": 0.5}]})",
                     order)
        .hits.at(0)
        .fields;
  });
  fail_each_allocation("statistics", 10, [&] {
    return to_text(statistics_json(read_statistics(
        "a shard", R"({"fields":{"contents":{"documents":3,"frequencies":{"a term of some length":2},"tokens":40}}})",
        order)));
  });
  fail_each_allocation("a document", 10, [&] {
    return read_document("a shard", R"({"id": "d", "text": "a text of some length", "metadata": {"a": [{"b": [1]}]}})")
        .metadata;
  });
  fail_each_allocation("an error", 5, [] { return read_error(R"({"error": "a text of some length", "x": [[{}]]})"); });
}

TEST(LibrariesWithoutMemory, AreNotAsked) {
  fail_each_allocation("blocks", 6, [] {
    require_memory(std::size_t{200} << 10);
    return std::string("there is");
  });
  const testing::TemporaryFolder folder;
  for (const char* name : {"a", "a file with a long name", "b"}) std::ofstream(folder.path() / name) << name;
  fail_each_allocation("a folder", 3, [&] {
    std::error_code error;
    std::vector<std::string> names;
    for (FolderEntry& entry : entries_of(folder.path(), error)) names.push_back(std::move(entry.name));
    std::ranges::sort(names);
    return error ? error.message() : names.at(0) + names.at(1) + names.at(2);
  });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  // In processes that have not compiled the word rules: ICU would crash.
  for (const rlim_t room : {0U, 64U << 10, 512U << 10, 1U << 20, 2U << 20, 3U << 20, 4U << 20, 8U << 20, 16U << 20}) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + room;
      const rlimit limits{limit, limit};
      if (::setrlimit(RLIMIT_AS, &limits) != 0) ::_exit(2);
      try {
        analysis::WordSegmenter segmenter;
        std::vector<analysis::WordSpan> words;
        segmenter.segment(u"naïve words", words);
        ::_exit(words.size() == 2 ? 0 : 3);
      } catch (const std::bad_alloc&) {
        ::_exit(room >= 16U << 20 ? 4 : 0);
      }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << room << " bytes: " << status;
  }
}

/// One thread computes, so that it is the one whose allocations fail.
ServerConfig one_thread() {
  ServerConfig settings;
  settings.port = 0;
  settings.access_log = "/dev/null";
  settings.concurrency = 1;
  return settings;
}

TEST(SearchesWithoutMemory, AreAnsweredAndTheServerServesOn) {
  const auto engine = std::make_shared<FailingEngine>();
  std::promise<std::uint16_t> ready;
  Service service(
      one_thread(), [&](const std::shared_ptr<Engine>&) { return engine; }, [](const std::string&) {},
      std::chrono::seconds(0));
  Service::Ended ended;
  std::thread thread([&] { ended = service.run([&](std::uint16_t port) { ready.set_value(port); }); });
  const std::uint16_t port = ready.get_future().get();
  const std::string whole = testing::request("/search", R"({"query": "q", "texts": "full", "explain": true, "k": 1})");
  UniqueFd connection = testing::connect_to(port);
  const auto ask = [&] {
    std::string answer;
    for (int tries = 0; answer.empty() && tries < 5; ++tries) {  // without memory for an error it closes the connection
      if (testing::send_all(connection, whole)) answer = testing::receive(connection);
      if (answer.empty()) connection = testing::connect_to(port);
    }
    return answer;
  };
  const auto body_of = [](const std::string& answer) { return answer.substr(answer.find("\r\n\r\n")); };
  const std::string expected = ask();
  ASSERT_TRUE(expected.starts_with("HTTP/1.1 200 ")) << expected.substr(0, 300);
  int answers = 0, errors = 0;
  for (std::size_t allocations = 0; answers < 20 && allocations < 5000; ++allocations) {
    engine->allocations = allocations;
    const std::string answer = ask();
    if (answer.starts_with("HTTP/1.1 200 ")) {
      EXPECT_EQ(body_of(answer), body_of(expected));
      ++answers;
    } else {
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ") || answer.starts_with("HTTP/1.1 500 ")) << answer.substr(0, 300);
      answers = 0;
      ++errors;
    }
  }
  EXPECT_GT(errors, 100);
  EXPECT_EQ(answers, 20);
  engine->allocations.reset();
  (void)ask();  // the last failure that was ordered may wait for it
  EXPECT_EQ(body_of(ask()), body_of(expected));
  connection = {};
  ::kill(::getpid(), SIGTERM);
  thread.join();
  EXPECT_EQ(ended.stuck_threads, 0U);
}

}  // namespace
}  // namespace relucent::server
