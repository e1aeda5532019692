// The bundled checkpoint through the engine's own search(), against PyTorch's answers.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "relucent/index_builder.h"
#include "relucent/rescoring_query_parser.h"
#include "relucent/text_query.h"
#include "tests/support/gz_lines.h"
#include "tests/support/rescoring_support.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

using namespace testing;
namespace fs = std::filesystem;

constexpr std::size_t kQueries = 2;  // of each set; all pairs are compared in the model's own tests

struct Set {
  std::vector<std::pair<std::string, std::string>> queries;    // id, text
  std::map<std::string, std::string> texts;                    // of documents
  std::map<std::string, std::map<std::string, float>> logits;  // by query and document
};

Set read_set(const fs::path& golden, const fs::path& candidates) {
  Set set;
  bool enough = false;
  for_each_line(candidates, [&](const std::string& line) {
    if (enough) return;
    const auto record = nlohmann::json::parse(line);
    const std::string id = record["qid"];
    if (set.queries.empty() || set.queries.back().first != id) {
      enough = set.queries.size() == kQueries;
      if (enough) return;
      set.queries.emplace_back(id, record["query"]);
    }
    set.texts[record["docno"]] = record["text"];
  });
  for_each_line(golden, [&](const std::string& line) {
    std::istringstream fields(line);
    std::string query, document;
    float logit = 0;
    fields >> query >> document >> logit;
    set.logits[query][document] = logit;
  });
  return set;
}

std::string id_of(const Lucene::IndexSearcherPtr& searcher, std::int32_t document) {
  return stored_text(searcher->doc(document), "id").value();
}

void check_set(const Set& set) {
  const TemporaryFolder folder;
  const auto builder = IndexBuilder::open(folder.path() / "index", IndexBuilder::Mode::create, {});
  for (const auto& [id, text] : set.texts) builder->add(id, text);
  builder->commit({});
  builder->close();

  Config config;
  config.rescorer.device = Device::cpu();
  config.rescorer.precision = Precision::fp32;
  config.rescorer.timeout = std::chrono::milliseconds(0);
  const auto searcher = openSearcher(folder.path() / "index", config);
  std::vector<RescoredTopDocsPtr> answers;
  for (const auto& [id, text] : set.queries) {
    const auto answer = rescored(searcher->search(makeTextQuery(text, config), 100));
    answers.push_back(answer);
    ASSERT_FALSE(answer->degraded) << answer->reason;
    ASSERT_GT(answer->rescored, 10);
    int compared = 0;
    for (std::int32_t i = 0; i < answer->scoreDocs.size(); ++i) {
      const auto hit = rescored_hit(answer, i);
      if (i > 0) {
        EXPECT_GE(answer->scoreDocs[i - 1]->score, hit->score);
      }
      if (hit->status != HitStatus::rescored) continue;
      EXPECT_EQ(static_cast<float>(hit->score), *hit->logit);
      EXPECT_GT(hit->tokens, 3);
      const auto& golden = set.logits.at(id);
      const auto found = golden.find(id_of(searcher, hit->doc));
      if (found == golden.end()) continue;
      EXPECT_NEAR(*hit->logit, found->second, 1e-4) << id << " " << found->first;
      ++compared;
    }
    EXPECT_GT(compared, 10) << "too few hits of query " << id << " are in the golden";
  }

  // Two queries at once, half as many candidates wanted: the same bits.
  std::vector<std::thread> threads;
  for (std::size_t q = 0; q < set.queries.size(); ++q) {
    threads.emplace_back([&, q] {
      const auto again = rescored(searcher->search(makeTextQuery(set.queries[q].second, config), 50));
      for (std::int32_t i = 0; i < again->scoreDocs.size(); ++i) {
        EXPECT_EQ(again->scoreDocs[i]->doc, answers[q]->scoreDocs[i]->doc);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(again->scoreDocs[i]->score),
                  std::bit_cast<std::uint64_t>(answers[q]->scoreDocs[i]->score));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(RescoringTrainedGolden, SearchGivesPyTorchsLogits) {
  const fs::path folder = goldens() / "trained-v2";
  RELUCENT_NEEDS(folder);
  RELUCENT_NEEDS(test_data() / "candidates");
  int sets = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".tsv.gz")) continue;
    name.resize(name.size() - 7);
    check_set(read_set(entry.path(), test_data() / "candidates" / (name + "-passage.bm25.rerank.jsonl.gz")));
    ++sets;
  }
  EXPECT_GT(sets, 0);
}

}  // namespace
}  // namespace relucent
