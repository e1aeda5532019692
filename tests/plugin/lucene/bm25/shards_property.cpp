// A collection in several indexes, each searched with the statistics of all: the scores of one index, to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "relucent/collection_statistics.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"

namespace relucent::testing {
namespace {

using Lucene::BooleanClause;
using Lucene::newLucene;
using Searcher = boost::shared_ptr<BM25Searcher>;

/// Words by Zipf's law, so that some are in every document and some in few; the last documents have words of their own.
std::vector<TestDocument> zipf_documents(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TestDocument> documents;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text;
    for (auto words = random() % 60; words > 0; --words) {
      const double share = static_cast<double>(random() % 100'000 + 1) / 100'000;
      text += "w" + std::to_string(static_cast<int>(1 / share) % 900) + (i > count * 9 / 10 ? "late " : " ");
    }
    documents.push_back({"d" + std::to_string(i), text});
  }
  return documents;
}

/// One index of all documents, and the same divided into several.
class Shards {
 public:
  enum class Writer { own, stock };

  Shards(const std::vector<TestDocument>& documents, const std::vector<std::size_t>& sizes, Writer writer) {
    const auto write = [&](const std::string& name, const std::vector<TestDocument>& some, std::size_t segment) {
      if (writer == Writer::own) {
        write_own(folder_ / name, some, segment);
      } else {
        write_stock(folder_ / name, some, segment);
      }
      return open_bm25(folder_ / name);
    };
    whole = write("whole", documents, 97);
    auto next = documents.begin();
    for (const std::size_t size : sizes) {
      firsts.push_back(static_cast<std::int32_t>(next - documents.begin()));
      parts.push_back(write("part" + std::to_string(parts.size()), {next, next + static_cast<std::ptrdiff_t>(size)},
                            10 * parts.size() + 31));
      next += static_cast<std::ptrdiff_t>(size);
    }
  }

  CollectionStatistics statistics_of(const Lucene::QueryPtr& query) const {
    CollectionStatistics sum;
    for (const Searcher& part : parts) sum += part->statistics_of(query);
    return sum;
  }

  /// The n best hits of all parts, numbered as in the whole.
  TestHits search_parts(const Lucene::QueryPtr& query, std::int32_t n, bool generally) const {
    TestHits all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i]->maxDoc() == 0) continue;
      const TestHits some = generally ? search_generally(parts[i], query, n) : search(parts[i], query, n);
      all.total += some.total;
      for (const TestHit& hit : some.hits) all.hits.push_back({hit.document + firsts[i], hit.bits});
    }
    std::ranges::stable_sort(all.hits, [](const TestHit& a, const TestHit& b) {
      return std::bit_cast<float>(a.bits) > std::bit_cast<float>(b.bits);
    });
    all.hits.resize(std::min(all.hits.size(), static_cast<std::size_t>(n)));
    return all;
  }

  Searcher whole;
  std::vector<Searcher> parts;
  std::vector<std::int32_t> firsts;

 private:
  TemporaryFolder folder_;
};

Lucene::QueryPtr random_query(std::mt19937& random) {
  const auto word = [&] {
    const std::string text = "w" + std::to_string(random() % (random() % 2 == 0 ? 6 : 300));
    return random() % 8 == 0 ? text + "late" : text;
  };
  const auto query = newLucene<Lucene::BooleanQuery>();
  const auto kind = random() % 4;
  for (auto clauses = 1 + random() % 5; clauses > 0; --clauses) {
    auto occur = BooleanClause::SHOULD;
    if (kind == 1) occur = random() % 3 == 0 ? BooleanClause::MUST : BooleanClause::SHOULD;
    if (kind == 2 && clauses == 1) occur = BooleanClause::MUST_NOT;
    Lucene::QueryPtr part = term_query(word());
    if (kind == 3 && random() % 2 == 0) {
      const auto phrase = newLucene<Lucene::PhraseQuery>();
      phrase->add(newLucene<Lucene::Term>(L"contents", to_lucene("w1")));
      phrase->add(newLucene<Lucene::Term>(L"contents", to_lucene(word())));
      part = phrase;
    }
    if (random() % 4 == 0) part->setBoost(1.5 + random() % 3);
    query->add(part, occur);
  }
  return query;
}

void expect_the_scores_of_the_whole(const Shards& shards, unsigned seed) {
  std::mt19937 random(seed);
  int different_alone = 0;
  for (int i = 0; i < 150; ++i) {
    const Lucene::QueryPtr query = random_query(random);
    const std::int32_t n = i % 3 == 0 ? 5 : 400;
    const std::string name = to_utf8(query->toString());
    const CollectionStatistics statistics = shards.statistics_of(query);
    EXPECT_EQ(statistics, shards.whole->statistics_of(query)) << name;
    for (const bool generally : {false, true}) {
      const TestHits expected = generally ? search_generally(shards.whole, query, n) : search(shards.whole, query, n);
      TestHits alone = shards.search_parts(query, n, generally);
      different_alone += alone == expected ? 0 : 1;
      const CollectionStatisticsScope scope(statistics);
      const TestHits together = shards.search_parts(query, n, generally);
      EXPECT_EQ(together.total, expected.total) << name;
      ASSERT_EQ(together.hits, expected.hits) << name << (generally ? " generally" : "");
    }
  }
  EXPECT_GT(different_alone, 100);
}

TEST(ShardsProperty, WithTheCollectionsStatisticsScoreAsOneIndex) {
  expect_the_scores_of_the_whole(Shards(zipf_documents(500, 3), {100, 250, 150}, Shards::Writer::own), 1);
}

TEST(ShardsProperty, OfVeryDifferentSizesToo) {
  expect_the_scores_of_the_whole(Shards(zipf_documents(700, 4), {1, 690, 9}, Shards::Writer::own), 2);
}

TEST(ShardsProperty, OfAnotherProgramsIndexesToo) {
  expect_the_scores_of_the_whole(Shards(zipf_documents(400, 5), {150, 50, 200}, Shards::Writer::stock), 3);
}

TEST(Shards, ExplainWithTheCollectionsStatistics) {
  const Shards shards(zipf_documents(200, 6), {80, 120}, Shards::Writer::own);
  const Lucene::QueryPtr query = flat_query("w1 w3 w10");
  const CollectionStatistics statistics = shards.statistics_of(query);
  const TestHits best = search(shards.whole, query, 1);
  const std::int32_t document = best.hits.at(0).document;
  const auto explain = [&](const Searcher& searcher, std::int32_t number) {
    return to_utf8(boost::static_pointer_cast<Lucene::Searcher>(searcher)->explain(query, number)->toString());
  };
  const std::size_t part = document < shards.firsts[1] ? 0 : 1;
  const std::string expected = explain(shards.whole, document);
  EXPECT_NE(explain(shards.parts[part], document - shards.firsts[part]), expected);
  const CollectionStatisticsScope scope(statistics);
  EXPECT_EQ(explain(shards.parts[part], document - shards.firsts[part]), expected);
}

TEST(Shards, AnInnerScopeCountsAndItsEndRestoresTheOuterOne) {
  EXPECT_EQ(CollectionStatisticsScope::current(), nullptr);
  CollectionStatistics statistics;
  statistics.fields["a"].totals = {2, 5};
  const CollectionStatisticsScope outer(statistics);
  {
    const CollectionStatisticsScope inner(CollectionStatistics{});
    EXPECT_TRUE(CollectionStatisticsScope::current()->fields.empty());
  }
  EXPECT_EQ(*CollectionStatisticsScope::current(), statistics);
}

TEST(Shards, StatisticsOfAnotherQueryAreRefused) {
  const Shards shards(zipf_documents(60, 7), {60}, Shards::Writer::own);
  const CollectionStatisticsScope scope(shards.statistics_of(flat_query("w1 w2")));
  EXPECT_GT(search(shards.parts[0], flat_query("w2"), 5).total, 0);
  expect_error(ErrorKind::usage, "lack the query's term \"w3\"",
               [&] { search(shards.parts[0], flat_query("w1 w3"), 5); });
  expect_error(ErrorKind::usage, "lack the query's field \"id\"",
               [&] { search(shards.parts[0], term_query("d1", "id"), 5); });
  // Their own are independent of any scope.
  EXPECT_EQ(shards.parts[0]->statistics_of(flat_query("w3")), shards.whole->statistics_of(flat_query("w3")));
}

TEST(Shards, NumbersThatNoCollectionHasAreRefused) {
  const auto refused = [](std::int64_t documents, std::int64_t tokens, std::int64_t frequency) {
    CollectionStatistics statistics;
    statistics.fields["contents"] = {{documents, tokens}, {{"word", frequency}}};
    expect_error(ErrorKind::invalid_data, "contents", [&] { const CollectionStatisticsScope scope(statistics); });
    EXPECT_EQ(CollectionStatisticsScope::current(), nullptr);
  };
  refused(-1, 5, 0);
  refused(5, 4, 1);
  refused(5, 9, 6);
  refused(5, 9, -1);
}

}  // namespace
}  // namespace relucent::testing
