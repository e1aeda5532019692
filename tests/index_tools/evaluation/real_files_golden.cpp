// Real topics and judgments in their several formats.
#include <unistd.h>

#include <fstream>
#include <map>

#include "base/text.h"
#include "index_tools/evaluation/qrels_writer.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/evaluation/text_lines.h"
#include "index_tools/evaluation/topic_writer.h"
#include "tests/support/test_data.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> titles(const fs::path& file) {
  std::map<std::string, std::string> result;
  for (const Topic& topic : read_topics(file)) result[topic.id] = topic.title;
  return result;
}

TEST(RealTopics, EveryFileIsReadWithItsQueries) {
  const fs::path folder = testing::test_data() / "topics";
  RELUCENT_NEEDS(folder);
  // How many topics each file has, and one of them.
  struct Expected {
    std::size_t count;
    std::string id, title;
  };
  const std::map<std::string, Expected> known = {
      {"topics.adhoc.351-400.txt", {50, "351", "Falkland petroleum exploration"}},
      {"topics.adhoc.401-450.txt", {50, "401", "foreign minorities, Germany"}},
      {"topics.core17.txt", {50, "310", "Radio Waves and Brain Cancer"}},
      {"topics.core18.txt", {50, "336", "Black Bear Attacks"}},
      {"topics.covid-round5.xml", {50, "1", "coronavirus origin"}},
      {"topics.dl21.txt", {477, "1136649", "why is energy lost in the second law of thermodynamics"}},
      {"topics.msmarco-passage.dev-subset.txt.gz", {6980, "2", "Androgen receptor define"}},
      {"topics.robust04.txt", {250, "302", "Poliomyelitis and Post-Polio"}},
      {"topics.terabyte04.701-750.txt", {50, "702", "Pearl farming"}},
      {"topics.web.1-50.txt", {50, "1", "obama family tree"}},
      {"topics.web.151-200.txt", {50, "151", "403b"}},
  };
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto found = titles(entry.path());
    EXPECT_FALSE(found.empty()) << entry.path();
    for (const auto& [id, title] : found) {
      EXPECT_FALSE(title.empty()) << entry.path() << " " << id;
      EXPECT_EQ(title, collapse_blanks(title)) << entry.path() << " " << id;
      EXPECT_EQ(title.find('<'), std::string::npos) << entry.path() << " " << id << " " << title;
    }
    if (const auto expected = known.find(entry.path().filename().string()); expected != known.end()) {
      EXPECT_EQ(found.size(), expected->second.count) << entry.path();
      EXPECT_EQ(found.at(expected->second.id), expected->second.title) << entry.path();
    }
    ++files;
  }
  EXPECT_GT(files, 0U);
}

std::size_t count_of(const std::string& text, std::string_view piece) {
  std::size_t count = 0;
  for (std::size_t place = text.find(piece); place != std::string::npos; place = text.find(piece, place + 1)) ++count;
  return count;
}

// Every topics file of the collections' formats that the data folder has.
std::vector<fs::path> topic_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(testing::test_data() / "topics")) files.push_back(entry.path());
  for (const char* folder : {"collections", "formats/tirex-rerank"}) {
    for (const auto& entry : fs::recursive_directory_iterator(testing::test_data() / folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("quer") || name.ends_with(".QRY") || name.ends_with(".qry")) files.push_back(entry.path());
    }
  }
  return files;
}

TEST(RealTopics, NoneIsLostAndEveryFormGivesThemBack) {
  RELUCENT_NEEDS(testing::test_data() / "topics");
  const fs::path written = fs::temp_directory_path() / ("relucent-topics-" + std::to_string(::getpid()));
  for (const fs::path& file : topic_files()) {
    std::string text;
    std::size_t lines = 0;
    for_each_line(file, [&](const std::string& line, std::int64_t) {
      text += line + "\n";
      lines += trim(line).empty() ? 0 : 1;
    });
    const TopicFile topics = read_topic_file(file);
    std::size_t expected = lines;  // JSON lines, TSV
    if (topics.format == TopicFormat::trec) expected = count_of(text, "<num>");
    if (topics.format == TopicFormat::trec_xml) expected = count_of(text, "</topic>");
    if (topics.format == TopicFormat::smart) expected = count_of(text, "\n.W");
    EXPECT_EQ(topics.topics.size(), expected) << file;
    for (const TopicFormat format : {TopicFormat::trec, TopicFormat::trec_xml, TopicFormat::jsonl, TopicFormat::tsv}) {
      std::ofstream(written) << format_topics(topics.topics, format);
      const TopicFile back = read_topic_file(written);
      EXPECT_EQ(to_string(back.format), to_string(format)) << file;
      ASSERT_EQ(back.topics.size(), topics.topics.size()) << file;
      for (std::size_t i = 0; i < back.topics.size(); ++i) {
        const Topic& right = topics.topics[i];
        EXPECT_EQ(back.topics[i].id, right.id) << file;
        EXPECT_EQ(back.topics[i].title, right.title) << file << " " << right.id;
        EXPECT_EQ(back.topics[i].description, carries_descriptions(format) ? right.description : "")
            << file << " " << right.id;
        EXPECT_EQ(back.topics[i].narrative, carries_descriptions(format) ? right.narrative : "")
            << file << " " << right.id;
      }
    }
  }
  fs::remove(written);
}

TEST(RealTopics, DescriptionsAndNarrativesComeWithoutTheirLabels) {
  const fs::path folder = testing::test_data() / "topics";
  RELUCENT_NEEDS(folder);
  for (const Topic& topic : read_topics(folder / "topics.robust04.txt")) {
    EXPECT_FALSE(topic.description.empty() || topic.narrative.empty()) << topic.id;
    EXPECT_FALSE(topic.description.starts_with("Description") || topic.narrative.starts_with("Narrative")) << topic.id;
  }
  for (const Topic& topic : read_topics(folder / "topics.core18.txt")) {
    EXPECT_FALSE(topic.narrative.starts_with("Narrative")) << topic.id << " " << topic.narrative;
  }
  const auto covid = read_topics(folder / "topics.covid-round5.xml");
  EXPECT_EQ(covid[0].description, "what is the origin of COVID-19");
  const auto web = read_topics(folder / "topics.web.1-50.txt");
  EXPECT_EQ(web[0].description,
            "Find information on President Barack Obama's family history, including genealogy, national "
            "origins, places and dates of birth, etc.");
}

TEST(RealTopics, SmartAndVaswaniQueriesAreThoseOfTheBM25Goldens) {
  const fs::path collections = testing::test_data() / "collections";
  RELUCENT_NEEDS(collections);
  RELUCENT_NEEDS(testing::golden_path("bm25"));
  const std::map<std::string, fs::path> files = {{"cranfield", collections / "cranfield/cran.qry"},
                                                 {"med", collections / "med/MED.QRY"},
                                                 {"vaswani", collections / "vaswani/query-text.trec"}};
  for (const auto& [name, file] : files) {
    std::map<std::string, std::string> expected;
    const fs::path answers = testing::golden_path("bm25/" + name + ".queries.tsv");
    if (!fs::exists(answers)) {
      std::cout << "SKIPPED: " << name << " needs " << answers << "\n";
      continue;
    }
    for_each_line(answers, [&](const std::string& line, std::int64_t) {
      expected[line.substr(0, line.find('\t'))] = collapse_blanks(line.substr(line.find('\t') + 1));
    });
    EXPECT_EQ(titles(file), expected) << name;
  }
}

TEST(RealQrels, EveryFileIsReadWithAllItsJudgments) {
  const fs::path folder = testing::test_data() / "qrels";
  RELUCENT_NEEDS(folder);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::size_t lines = 0;
    for_each_line(entry.path(),
                  [&](const std::string& line, std::int64_t) { lines += split_fields(line).empty() ? 0 : 1; });
    const JudgmentFile read = read_judgment_file(entry.path());
    EXPECT_EQ(read.judgments.size(), lines) << entry.path();
    EXPECT_EQ(count_judgments(read_qrels(entry.path())), lines) << entry.path();
    const fs::path written = fs::temp_directory_path() / ("relucent-qrels-" + std::to_string(::getpid()));
    for (const QrelsFormat format : {QrelsFormat::trec, QrelsFormat::smart, QrelsFormat::jsonl, QrelsFormat::beir}) {
      std::ofstream(written) << format_judgments(read.judgments, format);
      EXPECT_EQ(read_qrels(written), read_qrels(entry.path())) << entry.path() << " as " << to_string(format);
    }
    fs::remove(written);
    ++files;
  }
  EXPECT_GT(files, 0U);
}

TEST(RealQrels, SmallCollectionsHaveTheirOfficialCounts) {
  const fs::path collections = testing::test_data() / "collections";
  RELUCENT_NEEDS(collections);
  const Qrels cranfield = read_qrels(collections / "cranfield/cranqrel");
  EXPECT_EQ(count_judgments(cranfield), 1837U);
  EXPECT_EQ(cranfield.size(), 225U);
  EXPECT_EQ(cranfield.at("1").at("184"), 2);  // the number as it stands
  EXPECT_EQ(cranfield.at("1").at("486"), -1);
  EXPECT_EQ(count_judgments(read_qrels(collections / "med/MED.REL")), 696U);
  EXPECT_EQ(read_qrels(collections / "med/MED.REL"), read_qrels(collections / "med/MED.REL.OLD"));
  EXPECT_EQ(count_judgments(read_qrels(collections / "vaswani/qrels")), 2083U);
}

TEST(RealRerankInput, IsGroupedByQueryInFirstStageOrder) {
  const fs::path folder = testing::test_data() / "candidates";
  RELUCENT_NEEDS(folder);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().find(".rerank.jsonl") == std::string::npos) continue;
    const RerankInput input = read_rerank_input(entry.path(), false);
    EXPECT_TRUE(input.all_scored);
    for (const RerankQuery& query : input.queries) {
      for (std::size_t i = 1; i < query.candidates.size(); ++i) {
        EXPECT_GE(query.candidates[i - 1].score, query.candidates[i].score) << query.id << " " << i;
      }
    }
    if (entry.path().filename() == "dl21-passage.bm25.rerank.jsonl.gz") {
      EXPECT_EQ(input.queries.size(), 53U);
      EXPECT_EQ(input.candidates, 5300U);
    }
    ++files;
  }
  EXPECT_GT(files, 0U);
}

TEST(RealRerankInput, TirexSamplesAreRead) {
  const fs::path folder = testing::test_data() / "formats/tirex-rerank";
  RELUCENT_NEEDS(folder);
  const RerankInput input = read_rerank_input(rerank_file_in(folder / "re-ranking-outputs"), true);
  ASSERT_EQ(input.queries.size(), 2U);
  EXPECT_EQ(input.queries[0].candidates[0].text, "Text of doc-1");
  EXPECT_EQ(read_run(folder / "ranking-outputs/run.txt").queries.at("1").size(), 2U);
  const auto jsonl = read_topics(folder / "sample-input-full-rank/queries.jsonl");
  const auto xml = read_topics(folder / "sample-input-full-rank/queries.xml");
  ASSERT_EQ(jsonl.size(), 2U);
  EXPECT_EQ(jsonl[1].description, "Which pangrams have multiple animals where one of the animals is a zebra?");
  EXPECT_EQ(format_topics(jsonl, TopicFormat::jsonl), format_topics(xml, TopicFormat::jsonl));
}

}  // namespace
}  // namespace relucent::index_tools
