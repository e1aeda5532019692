// Forms of topics, judgments, runs and rerank files, and the messages about mistakes in them.
#include <fstream>
#include <set>

#include "base/ascii.h"
#include "index_tools/evaluation/measure_table.h"
#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/rerank_output.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/evaluation/topics.h"
#include "relucent/error.h"
#include "tests/support/evaluation_support.h"

namespace relucent::index_tools {
namespace {

using testing::error_of;
using testing::TemporaryFolder;

TEST(Topics, FormsSayTheSame) {
  const TemporaryFolder scratch;
  const std::string trec =
      "<top>\n<num> Number: 1\n<title> safe rice\n<desc> Description:\nx\n</top>\n"
      "<top><num>2</num><title>fish & chips</title></top>\n";
  const std::string xml =
      "<?xml version=\"1.0\"?><!-- <topic> --><topics><topic number=\"1\"><query>safe\nrice</query><subtopic "
      "number=\"3\">no</subtopic></topic>"
      "<topic number='2'><title><![CDATA[fish & chips]]></title></topic></topics>";
  const std::vector<std::string> formats = {
      "1\tsafe rice\n2\tfish & chips\n",
      "{\"qid\": 1, \"query\": \"safe  rice\"}\n\n{\"qid\": \"2\", \"query\": \"fish & chips\"}\n",
      "{\"_id\": \"1\", \"text\": \"safe rice\"}\n{\"_id\": \"2\", \"text\": \"fish & chips\"}",
      ".I 7\r\n.W\r\nsafe\r\n rice\r\n.I 9\r\n.A\r\nnobody\r\n.W\r\nfish & chips\r\n",
      trec,
      "<TOP>\n<NUM>1<TITLE>Topic: safe rice\n</TOP><top><num> Number: 2 <title> fish &amp; chips\n</top>",
      xml,
  };
  for (const std::string& format : formats) {
    const auto topics = read_topics(scratch.write("topics", format));
    ASSERT_EQ(topics.size(), 2U) << format;
    EXPECT_EQ(topics[0].id, "1") << format;
    EXPECT_EQ(topics[0].title, "safe rice") << format;
    EXPECT_EQ(topics[1].id, "2") << format;
    EXPECT_EQ(topics[1].title, "fish & chips") << format;
  }
}

// CACM's query.text: authors and notes around the text, ".I 0" as the end mark.
TEST(Topics, CacmsQueriesAreReadToTheirEndMark) {
  const TemporaryFolder scratch;
  const auto file =
      read_topic_file(scratch.write("query.text",
                                    ".I 1\n.W\n What articles deal with time sharing, an\noperating system?\n"
                                    ".N\n 1. Somebody, Comp Serv (TSS)\n \n"
                                    ".I 2\n.W\n Articles by Nobody\n.A\nNobody, N.\n.N\n 2. Somebody\n\n"
                                    ".I 0\n \n"));
  EXPECT_EQ(file.format, TopicFormat::smart);
  ASSERT_EQ(file.topics.size(), 2U);
  EXPECT_EQ(file.topics[0].id, "1");
  EXPECT_EQ(file.topics[0].title, "What articles deal with time sharing, an operating system?");
  EXPECT_EQ(file.topics[1].title, "Articles by Nobody");
}

TEST(Topics, SmartTextMayStandBehindItsCommand) {
  const TemporaryFolder scratch;
  const auto topics =
      read_topics(scratch.write("q", ".I 1\n.W  safe rice\nand fish\n.A nobody\n.I 2\n.W\n.5 litres\n"));
  ASSERT_EQ(topics.size(), 2U);
  EXPECT_EQ(topics[0].title, "safe rice and fish");
  EXPECT_EQ(topics[1].title, ".5 litres");
}

TEST(Topics, SmartQueriesWithoutTextNameTheirLine) {
  const TemporaryFolder scratch;
  const auto message = [&](const std::string& content) {
    return error_of(ErrorKind::invalid_data, [&] { read_topics(scratch.write("q", content)); });
  };
  EXPECT_NE(message(".I 1\n.W\na\n.I 2\n.I 3\n.W\nc\n").find("q:4: query 2 has no text"), std::string::npos);
  EXPECT_NE(message(".I 1\n.W\na\n.I 2\n.A\nnobody\n").find("q:4: query 2 has no text"), std::string::npos);
}

TEST(Topics, NplsQueriesAreRecordsBetweenSlashes) {
  const TemporaryFolder scratch;
  const auto file = read_topic_file(scratch.write(
      "query-text",
      "1\nDIELECTRIC CONSTANT OF LIQUIDS\n/\n2\nMATHEMATICAL ANALYSIS AND\nDESIGN DETAILS\n/\n93\nOSCILLATORS\n/\n"));
  EXPECT_EQ(file.format, TopicFormat::npl);
  ASSERT_EQ(file.topics.size(), 3U);
  EXPECT_EQ(file.topics[0].id, "1");
  EXPECT_EQ(file.topics[0].title, "DIELECTRIC CONSTANT OF LIQUIDS");
  EXPECT_EQ(file.topics[1].title, "MATHEMATICAL ANALYSIS AND DESIGN DETAILS");
  EXPECT_EQ(file.topics[2].id, "93");
  const auto message = [&](const std::string& content) {
    return error_of(ErrorKind::invalid_data, [&] { read_topics(scratch.write("q", content)); });
  };
  EXPECT_NE(message("1\na\n/\nno number\nb\n/\n").find("q:4: is not a query number"), std::string::npos);
  EXPECT_NE(message("1\na\n/\n2\n/\n").find("q:4: query 2 has no text"), std::string::npos);
  EXPECT_NE(message("1\na\n").find("has no tab"), std::string::npos);
}

TEST(Topics, MistakesNameTheLine) {
  const TemporaryFolder scratch;
  const auto message = [&](const std::string& content) {
    return error_of(ErrorKind::invalid_data, [&] { read_topics(scratch.write("t", content)); });
  };
  EXPECT_NE(message("1\ta\nno tab here\n").find("t:2: has no tab"), std::string::npos);
  EXPECT_NE(message("1\ta\n1\tb\n").find("twice"), std::string::npos);
  EXPECT_NE(message("1\ta\n2\t  \n").find("t:2:"), std::string::npos);
  EXPECT_NE(message("{\"qid\": 1, \"query\": \"a\"}\n{\"qid\": 2, \"query\"\n").find("t:2:"), std::string::npos);
  EXPECT_NE(message("{\"query\": \"a\"}\n").find("t:1: has no field \"qid\""), std::string::npos);
  EXPECT_NE(message("<top>\n<num> 1\n<title> a\n</top>\n\n<top>\n<num> 2\n<title> b\n").find("t:6:"),
            std::string::npos);
  EXPECT_NE(message("<top>\n<title> a\n</top>\n").find("no number"), std::string::npos);
  EXPECT_NE(message("<top>\n<num> 1\n</top>\n").find("neither a title"), std::string::npos);
  EXPECT_NE(message("\n \n").find("contains no topics"), std::string::npos);
  EXPECT_NE(error_of(ErrorKind::io, [&] { read_topics(scratch.path() / "absent"); }).find("no such file"),
            std::string::npos);
}

TEST(Topics, TheChosenTextMustBeThere) {
  const Topic topic{"7", "a", "", ""};
  EXPECT_EQ(topic_text(topic, TopicText::title), "a");
  EXPECT_NE(error_of(ErrorKind::invalid_data, [&] { topic_text(topic, TopicText::narrative); }).find("topic 7"),
            std::string::npos);
}

TEST(QrelsFormats, SayTheSame) {
  const TemporaryFolder scratch;
  const Qrels expected = {{"1", {{"a", 2}, {"b", -1}}}, {"2", {{"a", 0}}}};
  for (const char* format :
       {"1 0 a 2\n1 Q0 b -1\n\n2\t0\ta\t0\n", "1 a 2 \n1 b  -1\r\n2 a 0\n",
        "{\"qid\": 1, \"docno\": \"a\", \"relevance\": 2}\n{\"query_id\": \"1\", \"doc_id\": \"b\", \"rel\": -1}\n"
        "{\"qid\": \"2\", \"docid\": \"a\", \"grade\": 0}\n",
        "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t-1\n2\ta\t0\n"}) {
    EXPECT_EQ(read_qrels(scratch.write("qrels", format)), expected) << format;
  }
  const Qrels relevant = {{"1", {{"13", 1}, {"14", 1}}}};
  EXPECT_EQ(read_qrels(scratch.write("x.REL", "1   13     0   0.000000\r\n1   14     0   0.000000\r\n")), relevant);
}

// CACM's qrels.text: numbers with leading zeros, then two columns of zeros.
TEST(QrelsFormats, CacmsZerosAreNotTrecs) {
  const TemporaryFolder scratch;
  const auto file =
      read_judgment_file(scratch.write("qrels.text", "01 1410  0 0\n01 1572  0 0\n10 0046  0 0\n64 2651 0 0\n"));
  EXPECT_EQ(file.format, QrelsFormat::smart);
  const Qrels expected = {{"1", {{"1410", 1}, {"1572", 1}}}, {"10", {{"46", 1}}}, {"64", {{"2651", 1}}}};
  EXPECT_EQ(read_qrels(scratch.write("qrels.text", "01 1410  0 0\n01 1572  0 0\n10 0046  0 0\n64 2651 0 0\n")),
            expected);
}

TEST(QrelsFormats, TrecsZerosStayTrecs) {
  const TemporaryFolder scratch;
  const auto format = [&](const std::string& content) {
    return read_judgment_file(scratch.write("q", content)).format;
  };
  EXPECT_EQ(format("1 0 0 0\n2 0 0 0\n"), QrelsFormat::trec);
  EXPECT_EQ(format("1 Q0 0 0\n1 Q0 7 0\n"), QrelsFormat::trec);
  EXPECT_EQ(format("1 1 0 0\n1 1 7 2\n"), QrelsFormat::trec);
  EXPECT_EQ(format("001 0 a 0\n"), QrelsFormat::trec);
  const Qrels kept = {{"001", {{"a", 0}}}};
  EXPECT_EQ(read_qrels(scratch.write("q", "001 0 a 0\n")), kept);
}

TEST(QrelsFormats, NplsJudgmentsAreRecordsBetweenSlashes) {
  const TemporaryFolder scratch;
  const auto write = [&](const std::string& content) { return scratch.write("rlv-ass", content); };
  const std::string content = "1\n1239 1502 4462\n 8172\n   /\n2\n4330\n   /\n";
  EXPECT_EQ(read_judgment_file(write(content)).format, QrelsFormat::npl);
  const Qrels expected = {{"1", {{"1239", 1}, {"1502", 1}, {"4462", 1}, {"8172", 1}}}, {"2", {{"4330", 1}}}};
  EXPECT_EQ(read_qrels(write(content)), expected);
  const auto message = [&](const std::string& text) {
    return error_of(ErrorKind::invalid_data, [&] { read_qrels(write(text)); });
  };
  EXPECT_NE(message("1\n1239\n/\n2 4330\n/\n").find("rlv-ass:4:"), std::string::npos);
  EXPECT_NE(message("1\n1239 1239\n/\n").find("rlv-ass:2: judges document \"1239\" a second time"), std::string::npos);
}

TEST(QrelsFormats, MistakesNameTheLine) {
  const TemporaryFolder scratch;
  const auto message = [&](const std::string& content) {
    return error_of(ErrorKind::invalid_data, [&] { read_qrels(scratch.write("q", content)); });
  };
  EXPECT_NE(message("1 0 a 1\n1 0 b\n").find("q:2: has 3 columns"), std::string::npos);
  EXPECT_NE(message("1 0 a 1\n1 0 b high\n").find("q:2: the grade \"high\""), std::string::npos);
  EXPECT_NE(message("1 0 a 1\n1 0 a 1\n").find("a second time"), std::string::npos);
  EXPECT_NE(message("1 0 a 99999999999\n").find("out of range"), std::string::npos);
  EXPECT_NE(message("hello\n").find("q:1: is not a judgment"), std::string::npos);
  EXPECT_NE(message("").find("contains no judgments"), std::string::npos);
}

TEST(RunFile, MistakesNameTheLine) {
  const TemporaryFolder scratch;
  const auto message = [&](const std::string& content) {
    return error_of(ErrorKind::invalid_data, [&] { read_run(scratch.write("r", content)); });
  };
  EXPECT_NE(message("1 Q0 a 1 2.5 t\n1 Q0 b 2\n").find("r:2: has 4 columns"), std::string::npos);
  EXPECT_NE(message("1 Q0 a 1 much t\n").find("\"much\" is not a number"), std::string::npos);
  EXPECT_NE(message("1 Q0 a 1 nan t\n").find("not a number"), std::string::npos);
  EXPECT_NE(message("1 Q0 a 1 3 t\n1 Q0 a 2 2 t\n").find("r:2: lists document \"a\" a second time"), std::string::npos);
  EXPECT_NE(message("\n").find("contains no hits"), std::string::npos);
  EXPECT_NE(error_of(ErrorKind::io, [&] { read_run(scratch.path()); }).find("is a directory"), std::string::npos);
}

TEST(RunFile, TiesAreWrittenAsDifferentFloatsInTheGivenOrder) {
  const std::string text =
      format_run({{"1", {{"a", 1.0}, {"b", 1.0}, {"c", 0.99999994}, {"d", -0.0}, {"e", 0.0}}}}, "t");
  EXPECT_EQ(text,
            "1 Q0 a 1 1 t\n"
            "1 Q0 b 2 0.99999994 t\n"
            "1 Q0 c 3 0.9999999 t\n"
            "1 Q0 d 4 0 t\n"
            "1 Q0 e 5 -1e-45 t\n");
}

TEST(RunFile, WhatWouldBreakItsColumnsIsRefused) {
  const auto message = [](const std::string& id, const std::string& docno, const std::string& tag, double score) {
    return error_of(ErrorKind::invalid_data, [&] { format_run({{id, {{docno, score}}}}, tag); });
  };
  EXPECT_NE(message("1", "two words", "t", 1).find("docno \"two words\""), std::string::npos);
  EXPECT_NE(message("", "a", "t", 1).find("is empty"), std::string::npos);
  EXPECT_NE(message("1", "a", "my tag", 1).find("run tag"), std::string::npos);
  EXPECT_NE(message("1", "a", "t", 1e39).find("not finite"), std::string::npos);
  EXPECT_EQ(format_run({{"täst", {{"文書", 1}}}}, "t"), "täst Q0 文書 1 1 t\n");
}

TEST(MeasureNames, SpellingsOfOneMeasureAreOne) {
  const auto same = [](const char* a, const char* b) {
    const Measure first = parse_measure(a), second = parse_measure(b);
    EXPECT_TRUE(first.known == second.known && first.cutoff == second.cutoff && first.relevant == second.relevant &&
                first.persistence == second.persistence && first.max_grade == second.max_grade)
        << a << " " << b;
    EXPECT_EQ(first.name, a);
  };
  same("nDCG@10", "ndcg_cut_10");
  same("MAP", "map");
  same("AP", "map");
  same("RR", "recip_rank");
  same("P@10", "P_10");
  same("R@100", "recall_100");
  EXPECT_EQ(parse_measure("ndcg_cut.10").name, "ndcg_cut_10");
  same("P@10(rel>=2)", "P(rel=2)@10");
  same("Recall@100", "recall_100");
  same("Success@5", "success_5");
  EXPECT_EQ(parse_measure("success.5").name, "success_5");
  same("Bpref", "bpref");
  same("RPrec", "Rprec");
  same("ERR@20", "err(max_rel=4)@20");
  same("RBP", "rbp(p=0.8)");
  same("RBP(p=0.95,rel=2)@10", "RBP@10(rel>=2, p=.95)");
  same("NumRelRet(rel=2)", "num_rel_ret(rel>=2)");
  const std::vector<Measure> several = parse_measures("nDCG@10, RBP(p=0.5, rel=2),num_rel_ret");
  ASSERT_EQ(several.size(), 3U);
  EXPECT_EQ(several[1].name, "RBP(p=0.5,rel=2)");
  EXPECT_EQ(several[1].persistence, 0.5);
  EXPECT_EQ(several[1].relevant, 2);
  for (const char* name : {"nDGC@10",
                           "P",
                           "P@0",
                           "P@-3",
                           "P@ten",
                           "num_q@3",
                           "MAP(rel>=",
                           "MAP(grade=2)",
                           "",
                           "recall",
                           "success",
                           "bpref@10",
                           "Rprec_5",
                           "nDCG(rel=2)@10",
                           "ERR(rel=2)@20",
                           "ERR(max_rel=99)",
                           "RBP(p=1)",
                           "RBP(p=nan)",
                           "RBP(p=)",
                           "RBP()",
                           "RBP(0.8)",
                           "P(p=0.5)@10",
                           "RBP(p=0.5"}) {
    error_of(ErrorKind::usage, [&] { parse_measures(name); });
  }
}

TEST(MeasureTable, HasEachNameOnceAndTheManualKnowsIt) {
  const std::string manual = testing::bytes_of("docs/commands/evaluate.md");
  std::set<std::string> names;
  for (const KnownMeasure& known : known_measures()) {
    const std::string cutoff = known.cutoff == KnownMeasure::Cutoff::required ? "@10" : "";
    for (const std::string_view one : known.names) {
      const std::string name(one);
      EXPECT_EQ(parse_measure(name + (name.ends_with("_cut") ? "_10" : cutoff)).known, &known) << name;
      EXPECT_TRUE(names.insert(lower_ascii(name)).second) << name;
    }
    EXPECT_NE(manual.find("`" + std::string(known.names[0]) + (cutoff.empty() ? "" : "@k") + "`"), manual.npos)
        << known.names[0];
    EXPECT_NE(measure_meanings().find(known.meaning), std::string::npos);
  }
  for (const char* name : {"ndcg_cut", "map_cut", "P", "num_q@3"})
    error_of(ErrorKind::usage, [&] { parse_measure(name); });
}

TEST(RerankFile, IsReadInAnyOrderAndWithWhatIsMissing) {
  const TemporaryFolder scratch;
  const auto file = scratch.write(
      "rerank.jsonl",
      "{\"qid\": \"1\", \"query\": \"a b\", \"docno\": \"x\", \"text\": \"X\", \"rank\": 2, \"score\": 1.5}\n"
      "{\"qid\": 2, \"query\": \"c\", \"docno\": 7, \"text\": \"  \"}\n\n"
      "{\"qid\": \"1\", \"query\": \"a b\", \"docno\": \"y\", \"rank\": 1, \"score\": 2, \"extra\": [1]}\n");
  const RerankInput input = read_rerank_input(file, true);
  ASSERT_EQ(input.queries.size(), 2U);
  EXPECT_EQ(input.candidates, 3U);
  EXPECT_FALSE(input.all_scored);
  EXPECT_EQ(input.queries[0].candidates[0].docno, "y");
  EXPECT_EQ(input.queries[0].candidates[1].docno, "x");
  EXPECT_EQ(input.queries[0].candidates[1].rank, 2);
  EXPECT_EQ(input.queries[1].candidates[0].docno, "7");
  EXPECT_EQ(input.queries[1].candidates[0].text, "  ");
  EXPECT_TRUE(input.queries[0].candidates[0].text.empty());
  EXPECT_EQ(rerank_file_in(scratch.path()), file);
}

TEST(RerankFile, MistakesNameTheLine) {
  const TemporaryFolder scratch;
  const std::string good =
      "{\"qid\": \"1\", \"query\": \"a\", \"docno\": \"x\", \"text\": \"X\", \"rank\": 1, \"score\": 1}\n";
  const auto message = [&](const std::string& line) {
    return error_of(ErrorKind::invalid_data, [&] { read_rerank_input(scratch.write("j", good + line + "\n"), false); });
  };
  EXPECT_NE(message("{\"qid\": \"1\", ").find("j:2: is not JSON"), std::string::npos);
  EXPECT_NE(message("[1]").find("j:2: is not a JSON object"), std::string::npos);
  EXPECT_NE(message("{\"qid\": 1e999}").find("j:2: contains a number that is too large"), std::string::npos);
  EXPECT_NE(message("{\"qid\": \"1\", \"query\": \"a\", \"text\": \"X\"}").find("no field \"docno\""),
            std::string::npos);
  EXPECT_NE(message("{\"qid\": \"2\", \"query\": \" \", \"docno\": \"x\"}").find("has no text in \"query\""),
            std::string::npos);
  EXPECT_NE(message("{\"qid\": \"1\", \"query\": \"b\", \"docno\": \"y\"}").find("reads \"b\" here"),
            std::string::npos);
  EXPECT_NE(message("{\"qid\": \"1\", \"query\": \"a\", \"docno\": \"x\"}").find("a second time"), std::string::npos);
  EXPECT_NE(message("{\"qid\": \"1\", \"query\": \"a\", \"docno\": \"y\", \"score\": \"1\"}").find("\"score\""),
            std::string::npos);
  EXPECT_NE(message("{\"qid\": \"1\", \"query\": \"a\", \"docno\": \"y\", \"text\": 5}").find("\"text\""),
            std::string::npos);
  EXPECT_NE(error_of(ErrorKind::io, [&] { rerank_file_in(scratch.path()); }).find("rerank.jsonl"), std::string::npos);
}

TEST(RerankFile, BadLinesCanBeLeftOut) {
  const TemporaryFolder scratch;
  const std::vector<std::string> bad = {
      R"({"qid": "2", "query": " ", "docno": "x", "text": "X"})",
      R"({"qid": "3", "query": "c", "docno": "x", "text": "\ud800"})",
      R"({"qid": "1", "query": "a", "docno": "x", "text": "again", "score": 1})",
      R"({"qid": "1", "query": "a", "docno": "z", "score": "1"})",
  };
  std::string lines = R"({"qid": "1", "query": "a", "docno": "x", "text": "X", "score": 1})"
                      "\n";
  for (const std::string& line : bad) lines += line + "\n";
  lines += R"({"qid": "1", "query": "a", "docno": "y", "text": "Y", "score": 2})"
           "\n";
  const RerankInput input = read_rerank_input(scratch.write("j", lines), true, BadLines::leave_out);
  ASSERT_EQ(input.queries.size(), 1U);
  EXPECT_EQ(input.candidates, 2U);
  EXPECT_TRUE(input.all_scored);
  ASSERT_EQ(input.queries[0].candidates.size(), 2U);
  EXPECT_EQ(input.queries[0].candidates[1].docno, "y");
  ASSERT_EQ(input.left_out.size(), bad.size());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_NE(input.left_out[i].find("j:" + std::to_string(i + 2) + ":"), std::string::npos) << input.left_out[i];
  }
  // Without a good line the first fault counts.
  const auto file = scratch.write("k", bad[0] + "\n" + bad[1] + "\n");
  EXPECT_NE(error_of(ErrorKind::invalid_data, [&] { read_rerank_input(file, false, BadLines::leave_out); })
                .find("k:1: query \"2\" has no text"),
            std::string::npos);
}

TEST(RerankFile, FormsKeepWhatTheyPromise) {
  RerankQuery query{"1", "q", {}};
  query.candidates.push_back({"a", "A", 9, 1, "{\"docno\": \"a\", \"rank\": 1, \"score\": 9, \"keep\": true}"});
  query.candidates.push_back({"b", "", 8, 2, "{\"docno\": \"b\", \"rank\": 2, \"score\": 8}"});
  query.candidates.push_back({"c", "C", 7, 3, "{\"docno\": \"c\"}"});
  RerankedQuery result;
  result.logits = {0.1F, std::nullopt, 1.0F / 3};
  for (const auto& [index, score] : {std::pair{2, 1.0F / 3}, {0, 0.1F}, {1, -2.0F}}) {
    CombinedHit hit;
    hit.index = static_cast<std::size_t>(index);
    hit.score = score;
    result.order.push_back(hit);
  }
  EXPECT_EQ(format_reranked(RerankFormat::logits, query, result, "t"), "1\ta\t0.1\n1\tc\t0.33333334\n");
  EXPECT_EQ(format_reranked(RerankFormat::run, query, result, "t"),
            "1 Q0 c 1 0.33333334 t\n1 Q0 a 2 0.1 t\n1 Q0 b 3 -2 t\n");
  EXPECT_EQ(format_reranked(RerankFormat::jsonl, query, result, "t"),
            "{\"docno\":\"c\",\"rank\":1,\"score\":0.3333333432674408}\n"
            "{\"docno\":\"a\",\"rank\":2,\"score\":0.10000000149011612,\"keep\":true}\n"
            "{\"docno\":\"b\",\"rank\":3,\"score\":-2.0}\n");
  EXPECT_EQ(rerank_format("x.tsv"), RerankFormat::logits);
  EXPECT_EQ(rerank_format("x.jsonl.gz"), RerankFormat::jsonl);
  EXPECT_EQ(rerank_format("run.txt"), RerankFormat::run);
}

}  // namespace
}  // namespace relucent::index_tools
