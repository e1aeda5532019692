// Corpora through our readers, indexed by one thread and by four: the hits and the bits of the scores are Java
// Lucene's.
#include <LuceneHeaders.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "index_tools/indexing/indexer.h"
#include "relucent/analysis.h"
#include "relucent/bm25.h"
#include "relucent/index_reader.h"
#include "relucent/stored_text.h"
#include "tests/support/gz_lines.h"
#include "tests/support/indexing_support.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

using Hits = std::vector<std::pair<std::string, std::uint32_t>>;  // id, bits of the score

std::map<std::string, Hits> expected_hits(const fs::path& file) {
  std::map<std::string, Hits> hits;
  testing::for_each_line(file, [&](const std::string& line) {
    std::istringstream fields(line);
    std::string query, document, rank, score, bits;
    fields >> query >> document >> rank >> score >> bits;
    hits[query].emplace_back(document, static_cast<std::uint32_t>(std::stoul(bits, nullptr, 16)));
  });
  return hits;
}

Hits search(const boost::shared_ptr<BM25Searcher>& searcher, const std::string& text) {
  const auto query = Lucene::newLucene<Lucene::BooleanQuery>();
  for (const auto& token : analyze_english(text)) {
    const auto term = Lucene::newLucene<Lucene::Term>(L"contents", to_lucene(token.term));
    query->add(Lucene::newLucene<Lucene::TermQuery>(term), Lucene::BooleanClause::SHOULD);
  }
  Hits hits;
  const auto found = boost::static_pointer_cast<Lucene::Searcher>(searcher)->search(query, Lucene::FilterPtr(), 100);
  for (const auto& hit : found->scoreDocs) {
    hits.emplace_back(*stored_text(searcher->doc(hit->doc), "id"),
                      std::bit_cast<std::uint32_t>(static_cast<float>(hit->score)));
  }
  return hits;
}

TEST(IndexingGolden, CorporaIndexedByAnyNumberOfThreadsHaveJavaLucenesHits) {
  RELUCENT_NEEDS(testing::golden_path("bm25"));
  RELUCENT_NEEDS(testing::test_data() / "collections");
  int compared = 0;
  for (const auto& corpus : index_tools::corpora()) {
    const fs::path golden = testing::golden_path("bm25/" + corpus.id + ".k0.9-b0.4.tsv.gz");
    const fs::path collection = testing::test_data() / "collections" / corpus.id;
    if (!fs::exists(golden) || !fs::exists(collection)) continue;
    for (const int threads : {1, 2, 4}) {
      SCOPED_TRACE(corpus.id + " by " + std::to_string(threads) + " threads");
      const testing::TemporaryFolder folder;
      index_tools::IndexJob job;
      job.corpus = corpus.id;
      job.inputs = {collection.string()};
      job.index = folder / "index";
      job.threads = threads;
      job.commit_every = 700;
      job.quiet = true;
      index_tools::run_index(job);
      const auto searcher = Lucene::newLucene<BM25Searcher>(open_reader(job.index), FirstStageConfig{}, IndexConfig{});
      auto expected = expected_hits(golden);
      testing::for_each_line(testing::golden_path("bm25/" + corpus.id + ".queries.tsv"), [&](const std::string& line) {
        const std::size_t tab = line.find('\t');
        const std::string query = line.substr(0, tab);
        EXPECT_EQ(search(searcher, tab == std::string::npos ? "" : line.substr(tab + 1)), expected[query]) << line;
        ++compared;
      });
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace relucent
