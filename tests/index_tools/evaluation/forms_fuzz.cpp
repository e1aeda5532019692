// Damaged topics, judgments, runs and rerank files: an error that names the file, or an answer that every
// format gives back.
#include <random>

#include "index_tools/evaluation/qrels_writer.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/run_formats.h"
#include "index_tools/evaluation/topic_writer.h"
#include "tests/support/evaluation_support.h"

namespace relucent::index_tools {
namespace {

constexpr int kRounds = 800;

// One to four changes: bytes, pieces of the formats, repetitions, cuts.
std::string damaged(std::string text, std::mt19937& random) {
  static const std::vector<std::string> pieces = {"<top>",
                                                  "</top>",
                                                  "<topic number=\"",
                                                  "<title>",
                                                  "<![CDATA[",
                                                  "]]>",
                                                  "<!--",
                                                  "&#x110000;",
                                                  "&#0;",
                                                  ".I 1\n",
                                                  ".W\n",
                                                  "\t",
                                                  "\n",
                                                  "\r\n",
                                                  " ",
                                                  "{",
                                                  "}",
                                                  "\"",
                                                  "\\ud800",
                                                  "null",
                                                  "1e999",
                                                  "nan",
                                                  "-1",
                                                  "99999999999999999999",
                                                  "\xEF\xBB\xBF",
                                                  "\xFF\xFE",
                                                  "\x1F\x8B",
                                                  "0"};
  const auto pick = [&](std::size_t size) { return std::uniform_int_distribution<std::size_t>(0, size - 1)(random); };
  for (std::size_t change = 0, changes = 1 + pick(4); change < changes && !text.empty(); ++change) {
    const std::size_t place = pick(text.size());
    switch (pick(5)) {
      case 0: text[place] = static_cast<char>(pick(256)); break;
      case 1: text.insert(place, pieces[pick(pieces.size())]); break;
      case 2: text.erase(place, 1 + pick(8)); break;
      case 3: text.insert(place, text.substr(pick(text.size()), 1 + pick(40))); break;
      default: text.resize(place);
    }
  }
  return text;
}

// Whether `work` came to an end. An Error does not count as one, but must name the place.
template <typename Work>
bool succeeds(const Work& work, const std::string& input) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::invalid_data || error.kind() == ErrorKind::io) << error.what();
    EXPECT_FALSE(error.place().empty()) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << " for\n" << input;
  }
  return false;
}

template <typename Read>
void damage(const std::vector<std::string>& seeds, const Read& read) {
  const testing::TemporaryFolder scratch;
  std::mt19937 random(112358);
  std::size_t answers = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string input = damaged(seeds[static_cast<std::size_t>(round) % seeds.size()], random);
    const auto file = scratch.write("input", input);
    answers += succeeds([&] { read(file, scratch.path() / "again"); }, input) ? 1 : 0;
  }
  // Neither everything nor nothing is refused, or the damage shows nothing.
  EXPECT_GT(answers, 0U);
  EXPECT_LT(answers, static_cast<std::size_t>(kRounds));
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

TEST(DamagedForms, Topics) {
  const std::vector<Topic> topics = {{"1", "fish & chips", "How <are> they fried?", "With &amp; without salt."},
                                     {"2", "rice", "", ""}};
  std::vector<std::string> seeds;
  for (const TopicFormat format :
       {TopicFormat::trec, TopicFormat::trec_xml, TopicFormat::smart, TopicFormat::jsonl, TopicFormat::tsv}) {
    seeds.push_back(format_topics(topics, format));
  }
  damage(seeds, [](const auto& file, const auto& again) {
    const TopicFile read = read_topic_file(file);
    write(again, format_topics(read.topics, TopicFormat::jsonl));
    const TopicFile back = read_topic_file(again);
    ASSERT_EQ(back.topics.size(), read.topics.size());
    for (std::size_t i = 0; i < back.topics.size(); ++i) {
      EXPECT_EQ(back.topics[i].id, read.topics[i].id);
      EXPECT_EQ(back.topics[i].title, read.topics[i].title);
      EXPECT_EQ(back.topics[i].description, read.topics[i].description);
      EXPECT_EQ(back.topics[i].narrative, read.topics[i].narrative);
    }
  });
}

TEST(DamagedForms, Judgments) {
  const std::vector<Judgment> judgments = {{"1", "a", "0", 2}, {"1", "b", "4.5", -1}, {"2", "c", "0", 0}};
  std::vector<std::string> seeds = {"1 13 0 0.000000\n1 14 0 0.000000\n"};
  for (const QrelsFormat format : {QrelsFormat::trec, QrelsFormat::smart, QrelsFormat::jsonl, QrelsFormat::beir}) {
    seeds.push_back(format_judgments(judgments, format));
  }
  damage(seeds, [](const auto& file, const auto& again) {
    write(again, format_judgments(read_judgment_file(file).judgments, QrelsFormat::jsonl));
    EXPECT_EQ(read_qrels(again), read_qrels(file));
  });
}

TEST(DamagedForms, Runs) {
  const std::vector<RankedQuery> queries = {{"1", {{"a", 3}, {"b", 2.5}, {"c", 2.5}}}, {"2", {{"a", -1e-3}}}};
  std::vector<std::string> seeds;
  for (const RunFormat format : {RunFormat::trec, RunFormat::msmarco, RunFormat::jsonl})
    seeds.push_back(format_run_as(format, queries, "tag"));
  damage(seeds, [](const auto& file, const auto& again) {
    const index_tools::Run run = read_run(file);
    write(again, format_run_as(RunFormat::jsonl, ranked_queries(run, RunOrder::score, 0), "tag"));
    const index_tools::Run back = read_run(again);
    EXPECT_EQ(back.query_order, run.query_order);
    for (const auto& [query, hits] : run.queries) {
      std::vector<RunHit> expected = hits, found = back.queries.at(query);
      sort_as_trec_eval(expected);
      sort_as_trec_eval(found);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].docno, expected[i].docno);
    }
  });
}

TEST(DamagedForms, RerankFiles) {
  const std::string seed = format_rerank_line("1", "boil an egg", {"a", "Put it in ...", 3.5, 1, ""}) +
                           format_rerank_line("1", "boil an egg", {"b", "", 2, 2, ""}) +
                           format_rerank_line("2", "rice", {"a", "Rice.", 1, 1, ""});
  damage({seed}, [](const auto& file, const auto& again) {
    const RerankInput input = read_rerank_input(file, false);
    std::string text;
    for (const RerankQuery& query : input.queries) {
      for (const RerankCandidate& candidate : query.candidates)
        text += format_rerank_line(query.id, query.text, candidate);
    }
    write(again, text);
    EXPECT_EQ(read_rerank_input(again, false).candidates, input.candidates);
  });
}

}  // namespace
}  // namespace relucent::index_tools
