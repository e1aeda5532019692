// A run that we write is read back in our order, by floats and by doubles, whatever its scores.
#include <random>

#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/evaluation/text_lines.h"
#include "tests/support/evaluation_support.h"

namespace relucent::index_tools {
namespace {

std::vector<RankedQuery> random_queries(std::mt19937& random) {
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  std::vector<RankedQuery> queries;
  for (int q = 0; q <= pick(4); ++q) {
    RankedQuery query{"q" + std::to_string(q) + (pick(1) == 0 ? "ü" : ""), {}};
    const int kind = pick(4);
    for (int i = 0, hits = 1 + pick(60); i < hits; ++i) {
      double score = 0;
      switch (kind) {
        case 0: score = pick(3); break;                                                        // many ties
        case 1: score = 12.345678 + pick(50) * 1e-12; break;                                   // equal only as floats
        case 2: score = std::uniform_real_distribution<double>(-1e-44, 1e-44)(random); break;  // denormal
        case 3: score = -1e30 * pick(2); break;
        default: score = std::normal_distribution<double>(0, 5)(random);
      }
      query.hits.push_back({"文" + std::to_string((i * 7919) % 1000), score});
    }
    std::stable_sort(query.hits.begin(), query.hits.end(),
                     [](const RunHit& a, const RunHit& b) { return a.score > b.score; });
    queries.push_back(std::move(query));
  }
  return queries;
}

TEST(RunOrder, SurvivesWritingAndReading) {
  const testing::TemporaryFolder scratch;
  std::mt19937 random(20240612);
  for (int round = 0; round < 300; ++round) {
    const auto queries = random_queries(random);
    const auto file = scratch.path() / (round % 2 == 0 ? "a.run" : "a.run.gz");
    write_run(file, queries, "tag");
    const index_tools::Run run = read_run(file);
    EXPECT_EQ(run.tag, "tag");
    ASSERT_EQ(run.queries.size(), queries.size());
    for (const RankedQuery& query : queries) {
      for (const ScoreType type : {ScoreType::single_precision, ScoreType::double_precision}) {
        std::vector<RunHit> hits = run.queries.at(query.id);
        std::shuffle(hits.begin(), hits.end(), random);
        sort_as_trec_eval(hits, type);
        ASSERT_EQ(hits.size(), query.hits.size());
        for (std::size_t i = 0; i < hits.size(); ++i)
          ASSERT_EQ(hits[i].docno, query.hits[i].docno) << round << " " << i;
      }
    }
  }
}

TEST(Measures, StayBetweenZeroAndOneAndKnowThePerfectRun) {
  std::mt19937 random(7);
  const auto measures = parse_measures("nDCG@10,nDCG,MAP,RR,RR@10,P@5,R@10,Judged@10");
  for (int round = 0; round < 200; ++round) {
    Qrels qrels;
    index_tools::Run run, perfect;
    for (int d = 0; d < 30; ++d) {
      const std::string docno = "d" + std::to_string(d);
      const int grade = std::uniform_int_distribution<int>(-1, 3)(random);
      qrels["1"][docno] = grade;
      run.queries["1"].push_back({docno, std::uniform_real_distribution<double>(0, 1)(random)});
      perfect.queries["1"].push_back({docno, static_cast<double>(grade)});
    }
    const Evaluation evaluation = evaluate(run, qrels, measures);
    const Evaluation best = evaluate(perfect, qrels, measures);
    for (std::size_t m = 0; m < measures.size(); ++m) {
      EXPECT_GE(evaluation.all[m], 0) << measures[m].name;
      EXPECT_LE(evaluation.all[m], best.all[m] + 1e-12) << measures[m].name;
      EXPECT_LE(best.all[m], 1 + 1e-12) << measures[m].name;
    }
    EXPECT_NEAR(best.all[0], 1, 1e-12);
  }
}

TEST(OutputFile, LeavesNothingBehindWithoutCommit) {
  const testing::TemporaryFolder scratch;
  const auto file = scratch.write("out.txt", "old");
  {
    OutputFile output(file);
    output.write("new");
  }
  std::string content;
  for_each_line(file, [&](const std::string& line, std::int64_t) { content += line; });
  EXPECT_EQ(content, "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
  OutputFile output(file);
  output.write("new");
  output.commit();
  content.clear();
  for_each_line(file, [&](const std::string& line, std::int64_t) { content += line; });
  EXPECT_EQ(content, "new");
}

}  // namespace
}  // namespace relucent::index_tools
