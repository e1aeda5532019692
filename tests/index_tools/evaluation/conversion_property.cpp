// Topics, judgments and runs written in one format and read back are the same, whatever stands in them.
#include <random>

#include "index_tools/evaluation/qrels_writer.h"
#include "index_tools/evaluation/run_formats.h"
#include "index_tools/evaluation/text_lines.h"
#include "index_tools/evaluation/topic_writer.h"
#include "tests/support/evaluation_support.h"

namespace relucent::index_tools {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

constexpr TopicFormat kTopicFormats[] = {TopicFormat::trec, TopicFormat::trec_xml, TopicFormat::smart,
                                         TopicFormat::jsonl, TopicFormat::tsv};

// Words that a careless writer or reader would trip over.
std::string random_text(std::mt19937& random, int max_words) {
  static const std::vector<std::string> words = {
      "rice",       "fish & chips", "&amp;",      "&lt;", "AT&T;", "a<b",    "x > y",  "<b>",
      "</title>",   "<title>",      "<desc>",     "<!--", "]]>",   "Topic:", "topic",  "title",
      "Narrative:", "Description",  "\"",         "'",    ".I",    ".W",     ".T",     "文書",
      "ü",          "&#65;",        "{\"a\": 1}", "\\",   "?>",    "<top>",  "<topic>"};
  std::string text;
  const int count = std::uniform_int_distribution<int>(1, max_words)(random);
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : " ") + words[std::uniform_int_distribution<std::size_t>(0, words.size() - 1)(random)];
  }
  return text;
}

TEST(TopicConversion, EveryFormGivesBackWhatItHasAPlaceFor) {
  const TemporaryFolder scratch;
  std::mt19937 random(351);
  for (int round = 0; round < 200; ++round) {
    std::vector<Topic> topics;
    for (int i = 1; i <= 3; ++i) {
      Topic topic{std::to_string(i), random_text(random, 4), "", ""};
      if (round % 3 != 0) topic.description = random_text(random, 4);
      if (round % 3 == 2) topic.narrative = random_text(random, 4);
      topics.push_back(std::move(topic));
    }
    for (const TopicFormat format : kTopicFormats) {
      const std::string text = format_topics(topics, format);
      const TopicFile back = read_topic_file(scratch.write("topics", text));
      EXPECT_EQ(to_string(back.format), to_string(format)) << text;
      ASSERT_EQ(back.topics.size(), topics.size()) << text;
      for (std::size_t i = 0; i < topics.size(); ++i) {
        EXPECT_EQ(back.topics[i].id, topics[i].id) << text;
        EXPECT_EQ(back.topics[i].title, topics[i].title) << text;
        EXPECT_EQ(back.topics[i].description, carries_descriptions(format) ? topics[i].description : "") << text;
        EXPECT_EQ(back.topics[i].narrative, carries_descriptions(format) ? topics[i].narrative : "") << text;
      }
    }
  }
}

TEST(TopicConversion, WhatAFormCannotHoldIsRefused) {
  const auto message = [](const Topic& topic, TopicFormat format) {
    return error_of(ErrorKind::invalid_data, [&] { format_topics({topic}, format); });
  };
  EXPECT_NE(message({"301", "a", "", ""}, TopicFormat::smart).find("topic 301"), std::string::npos);
  EXPECT_NE(message({"1", "", "only this", ""}, TopicFormat::tsv).find("--topic-text"), std::string::npos);
  EXPECT_NE(message({"two words", "a", "", ""}, TopicFormat::trec).find("contains white space"), std::string::npos);
  EXPECT_NE(message({"{1", "a", "", ""}, TopicFormat::tsv).find("JSON lines"), std::string::npos);
  EXPECT_EQ(format_topics({{"1", "", "only this", ""}}, TopicFormat::trec),
            "<top>\n<num> Number: 1\n\n<desc> Description:\nonly this\n</top>\n\n");
}

TEST(TopicConversion, NamesSayTheForm) {
  EXPECT_EQ(topic_formats().implied("a/b.tsv.gz"), TopicFormat::tsv);
  EXPECT_EQ(topic_formats().implied("b.xml"), TopicFormat::trec_xml);
  EXPECT_EQ(topic_formats().implied("topics.txt"), std::nullopt);
  for (const TopicFormat format : kTopicFormats) EXPECT_EQ(topic_formats().named(to_string(format)), format);
  error_of(ErrorKind::usage, [] { topic_formats().named("sgml"); });
  error_of(ErrorKind::usage, [] { topic_formats().named("npl"); });  // only read
  EXPECT_EQ(to_string(TopicFormat::npl), "npl");
  EXPECT_EQ(qrels_formats().implied("x.rel"), QrelsFormat::smart);
  EXPECT_EQ(run_formats().implied("x.tsv"), RunFormat::msmarco);
}

TEST(QrelsConversion, EveryFormGivesBackWhatItHasAPlaceFor) {
  const TemporaryFolder scratch;
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<Judgment> judgments;
    for (int i = 0; i < 20; ++i) {
      judgments.push_back({"q" + std::to_string(i % 4), "文" + std::to_string(i), round % 2 == 0 ? "0" : "4.5",
                           std::uniform_int_distribution<int>(-2, 4)(random)});
    }
    for (const QrelsFormat format : {QrelsFormat::trec, QrelsFormat::smart, QrelsFormat::jsonl, QrelsFormat::beir}) {
      const JudgmentFile back = read_judgment_file(scratch.write("qrels", format_judgments(judgments, format)));
      EXPECT_EQ(to_string(back.format), to_string(format));
      ASSERT_EQ(back.judgments.size(), judgments.size());
      const bool iterations = format == QrelsFormat::trec || format == QrelsFormat::jsonl;
      for (std::size_t i = 0; i < judgments.size(); ++i) {
        EXPECT_EQ(back.judgments[i].query, judgments[i].query);
        EXPECT_EQ(back.judgments[i].docno, judgments[i].docno);
        EXPECT_EQ(back.judgments[i].iteration, iterations ? judgments[i].iteration : "0");
        EXPECT_EQ(back.judgments[i].grade, judgments[i].grade);
      }
    }
  }
  error_of(ErrorKind::invalid_data, [] { format_judgments({{"1", "two words", "0", 1}}, QrelsFormat::trec); });
}

std::vector<std::string> docnos_of(std::vector<RunHit> hits, ScoreType type) {
  sort_as_trec_eval(hits, type);
  std::vector<std::string> docnos;
  for (const RunHit& hit : hits) docnos.push_back(hit.docno);
  return docnos;
}

TEST(RunConversion, EveryFormKeepsTheOrderThatTrecEvalReads) {
  const TemporaryFolder scratch;
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      const int score = std::uniform_int_distribution<int>(0, 10)(random);  // many ties
      text += "q" + std::to_string(i % 2) + " Q0 d" + std::to_string((i * 7919) % 1000) + " 0 " +
              std::to_string(score) + " t\n";
    }
    const index_tools::Run run = read_run(scratch.write("a.run", text));
    for (const RunFormat format : {RunFormat::trec, RunFormat::msmarco, RunFormat::jsonl}) {
      const std::string written = format_run_as(format, ranked_queries(run, RunOrder::score, 0), "t");
      const index_tools::Run back = read_run(scratch.write("b.run", written));
      EXPECT_EQ(to_string(back.format), to_string(format));
      EXPECT_EQ(back.query_order, run.query_order);
      EXPECT_EQ(check_run(back).ties_as_float, 0U);
      EXPECT_EQ(check_run(back).queries_ranked_otherwise, 0U);
      for (const auto& [query, hits] : run.queries) {
        for (const ScoreType type : {ScoreType::single_precision, ScoreType::double_precision}) {
          EXPECT_EQ(docnos_of(back.queries.at(query), type), docnos_of(hits, type)) << to_string(format);
        }
      }
    }
  }
}

TEST(RunConversion, RanksDecideWhereTheyAreAskedTo) {
  const TemporaryFolder scratch;
  const index_tools::Run run = read_run(scratch.write("r", "1 Q0 a 3 7 t\n1 Q0 b 1 5 t\n1 Q0 c 2 5 t\n"));
  EXPECT_EQ(check_run(run).queries_ranked_otherwise, 1U);
  EXPECT_EQ(check_run(run).ties_as_double, 1U);
  EXPECT_EQ(format_run_as(RunFormat::msmarco, ranked_queries(run, RunOrder::rank, 0), "t"),
            "1\tb\t1\n1\tc\t2\n1\ta\t3\n");
  EXPECT_EQ(format_run_as(RunFormat::trec, ranked_queries(run, RunOrder::rank, 2), "u"),
            "1 Q0 b 1 5 u\n1 Q0 c 2 4.9999995 u\n");
  EXPECT_EQ(format_run_as(RunFormat::msmarco, ranked_queries(run, RunOrder::score, 0), "t"),
            "1\ta\t1\n1\tc\t2\n1\tb\t3\n");
  const index_tools::Run unranked = read_run(scratch.write("j", "{\"qid\": 1, \"docno\": \"a\", \"score\": 2}\n"));
  EXPECT_NE(error_of(ErrorKind::invalid_data, [&] { ranked_queries(unranked, RunOrder::rank, 0); }).find("has no rank"),
            std::string::npos);
}

TEST(RunConversion, MistakesNameTheLine) {
  const TemporaryFolder scratch;
  const auto message = [&](const std::string& content) {
    return error_of(ErrorKind::invalid_data, [&] { read_run(scratch.write("r", content)); });
  };
  EXPECT_NE(message("1\ta\t1\n1\tb\t0\n").find("r:2: the rank \"0\""), std::string::npos);
  EXPECT_NE(message("1\ta\t1\n1\tb\t2\t3\n").find("r:2: has 4 columns"), std::string::npos);
  EXPECT_NE(message("{\"qid\": 1, \"docno\": \"a\", \"score\": 1}\n{\"qid\": 1, \"docno\": \"b\"}\n")
                .find("r:2: \"score\" is missing or not a number"),
            std::string::npos);
}

}  // namespace
}  // namespace relucent::index_tools
