#include <gtest/gtest.h>

#include <string>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

using testing::read_text;

TEST(TsvReader, TakesEverythingAfterTheFirstTabAsText) {
  const auto read = read_text("tsv", "a\tfirst text\r\n\nb\tone\ttwo\nc\t\nlast\tno line end");
  ASSERT_EQ(read.documents.size(), 4u);
  EXPECT_EQ(read.documents[0].text, "first text");
  EXPECT_EQ(read.documents[1].text, "one\ttwo");
  EXPECT_EQ(read.documents[1].line, 3);
  EXPECT_EQ(read.documents[2].text, "");
  EXPECT_EQ(read.documents[3].text, "no line end");
  EXPECT_EQ(read.report.empty_texts(), 1);
  EXPECT_EQ(read.report.malformed_records(), 0);
}

TEST(TsvReader, CountsMalformedLinesByKindWithTheirPlaces) {
  const auto read = read_text("tsv", "no tab here\nok\ttext\n\tempty id\ntwo words\ttext\nanother without\n");
  ASSERT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.report.malformed_records(), 4);
  const auto& kinds = read.report.kinds();
  ASSERT_TRUE(kinds.contains("no tab between id and text"));
  const auto& entry = kinds.at("no tab between id and text");
  EXPECT_EQ(entry.count, 2);
  EXPECT_TRUE(entry.examples[0].ends_with("input:1")) << entry.examples[0];
  EXPECT_TRUE(entry.examples[1].ends_with("input:5")) << entry.examples[1];
  EXPECT_TRUE(kinds.contains("empty id"));
  EXPECT_TRUE(kinds.contains("id with white space or control characters"));
}

TEST(TsvReader, MsMarcoTakesExactlyTwoColumns) {
  const auto read = read_text("msmarco-passage", "1\ttext\n2\ttext\tmore\n");
  EXPECT_EQ(read.documents.size(), 1u);
  EXPECT_TRUE(read.report.kinds().contains("more than two columns"));
}

TEST(MsMarcoPassage, UndoesDoubleEncodingAndNothingElse) {
  // "é" twice encoded, "é" once, a CJK character and an emoji twice encoded, a lone "Ã" that starts nothing.
  const auto read = read_text("msmarco-passage",
                              "1\tcaf\xC3\x83\xC2\xA9 caf\xC3\xA9\n"
                              "2\t\xC3\xA6\xC2\x97\xC2\xA5 \xC3\xB0\xC2\x9F\xC2\x98\xC2\x80!\n"
                              "3\t\xC3\x83 x\n");
  ASSERT_EQ(read.documents.size(), 3u);
  EXPECT_EQ(read.documents[0].text, "caf\xC3\xA9 caf\xC3\xA9");
  EXPECT_EQ(read.documents[1].text, "\xE6\x97\xA5 \xF0\x9F\x98\x80!");
  EXPECT_EQ(read.documents[2].text, "\xC3\x83 x");
}

TEST(CsvCorpus, ReadsWhatSpreadsheetsWrite) {
  const auto read = read_text("csv",
                              "\xEF\xBB\xBFPrice, Text ,ID,title\r\n"
                              "1,plain text,a,\r\n"
                              "2,\"quoted, with \"\"quotes\"\" and\r\na line end\",b,Title\r\n"
                              "3,,c,\"\"\r\n"
                              "4,last,d,No line end");
  ASSERT_EQ(read.documents.size(), 4U);
  EXPECT_EQ(read.documents[0].id, "a");
  EXPECT_EQ(read.documents[0].text, "plain text");
  EXPECT_EQ(read.documents[1].text, "Title quoted, with \"quotes\" and\r\na line end");
  EXPECT_EQ(read.documents[1].line, 3);
  EXPECT_EQ(read.documents[2].text, "");
  EXPECT_EQ(read.documents[3].text, "No line end last");
  EXPECT_EQ(read.documents[3].line, 6);
  EXPECT_EQ(read.report.malformed_records(), 0);
}

TEST(CsvCorpus, KnowsTheNamesOfIdAndText) {
  for (const char* header : {"id,text", "docno,contents", "_id,text", "DOCID,Contents"}) {
    const auto read = read_text("csv", std::string(header) + "\n7,seven\n");
    ASSERT_EQ(read.documents.size(), 1U) << header;
    EXPECT_EQ(read.documents[0].id, "7");
    EXPECT_EQ(read.documents[0].text, "seven");
  }
}

TEST(CsvCorpus, CountsRecordsThatDoNotFitTheFirstLine) {
  const auto read = read_text("csv", "id,text\na,one\nb\nc,two,three\n\n,empty id\nd,\"never closed\ne,four\n");
  ASSERT_EQ(read.documents.size(), 2U);
  EXPECT_EQ(read.documents[1].id, "e");
  const auto& kinds = read.report.kinds();
  EXPECT_EQ(kinds.at("not as many fields as the first line has").count, 2);
  EXPECT_EQ(kinds.at("empty id").count, 1);
  EXPECT_EQ(kinds.at("a quote that is never closed").count, 1);
}

TEST(CsvCorpus, StatesWhichColumnIsMissing) {
  const auto problem_of = [](const std::string& text) {
    return std::string(testing::expect_error(ErrorKind::invalid_data, [&] { read_text("csv", text); }).what());
  };
  EXPECT_NE(problem_of("name,text\na,b\n")
                .find("input:1: the first line names no column id or docno or _id or docid: "
                      "\"name, text\""),
            std::string::npos);
  EXPECT_NE(problem_of("id,body\na,b\n").find("no column text or contents"), std::string::npos);
  EXPECT_NE(problem_of("id;text\na;b\n").find("separate the columns by commas"), std::string::npos);
  EXPECT_EQ(read_text("csv", "").documents.size(), 0U);
  EXPECT_EQ(read_text("csv", "id,text\n").documents.size(), 0U);
}

TEST(CorpusNames, SuggestTheOneThatWasMeant) {
  EXPECT_NE(std::string(testing::expect_error(ErrorKind::usage, [] { index_tools::find_corpus("jsonlines"); }).what())
                .find("unknown corpus"),
            std::string::npos);
  EXPECT_NE(std::string(testing::expect_error(ErrorKind::usage, [] { index_tools::find_corpus("jsnol"); }).what())
                .find("did you mean \"jsonl\"?"),
            std::string::npos);
}

TEST(LineReader, ReplacesMalformedUtf8AndCountsIt) {
  const auto read = read_text("tsv",
                              "\xEF\xBB\xBF"
                              "1\tab\xFF"
                              "c \xE2\x82 \xED\xA0\x80\n");
  ASSERT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.documents[0].id, "1");  // the byte order mark is gone
  EXPECT_EQ(read.documents[0].text,
            "ab\xEF\xBF\xBD"
            "c \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(read.report.replaced_sequences(), 5);
}

TEST(JsonlReader, KnowsTheNamesOfIdAndText) {
  const auto read = read_text("jsonl",
                              R"({"id": 7, "contents": "a"}
{"docno": "d", "text": "b", "title": ""}
{"_id": "e", "text": "c", "title": "The title"}
{"docid": "f", "text": "", "title": null, "more": [1, {"x": 2}]}

{"id": "g", "docno": "other", "text": "t", "contents": "unused"}
)");
  ASSERT_EQ(read.documents.size(), 5u);
  EXPECT_EQ(read.documents[0].id, "7");
  EXPECT_EQ(read.documents[0].text, "a");
  EXPECT_EQ(read.documents[1].text, "b");
  EXPECT_EQ(read.documents[2].text, "The title c");
  EXPECT_EQ(read.documents[3].id, "f");
  EXPECT_EQ(read.documents[4].id, "g");
  EXPECT_EQ(read.documents[4].text, "t");
}

TEST(JsonlReader, SkipsWhatIsNoDocument) {
  const auto read = read_text("jsonl",
                              "{\"id\": \"1\", \"text\": \"a\"\n[1]\n{\"text\": \"a\"}\n{\"id\": \"1\"}\n"
                              "{\"id\": \"1\", \"text\": 3}\n{\"id\": 1.5, \"text\": \"a\"}\n"
                              "{\"id\": \"1\", \"text\": \"a\", \"title\": 4}\n{\"id\": \"ok\", \"text\": \"a\"}\n");
  EXPECT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.report.malformed_records(), 7);
  EXPECT_EQ(read.report.kinds().size(), 7u);
}

TEST(JsonlReader, SkipsRecordsThatNestTooDeeply) {
  const std::string deep(200000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  const auto read = read_text("jsonl", deep + "\n{\"id\": \"1\", \"text\": \"a\", \"x\": " + closed + "}\n");
  EXPECT_EQ(read.documents.size(), 0u);
  EXPECT_EQ(read.report.malformed_records(), 2);
}

TEST(JsonlReader, HalfASurrogatePairBecomesU_FFFD) {
  const auto read = read_text("jsonl", R"({"id": "1", "text": "\ud83d\ude00 \ud83d x \ude00 \\ud83d"})"
                                       "\n");
  ASSERT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.documents[0].text, "\xF0\x9F\x98\x80 \xEF\xBF\xBD x \xEF\xBF\xBD \\ud83d");
}

TEST(SmartReader, JoinsCranfieldsTitleAndText) {
  const auto read = read_text("cranfield",
                              ".I 1\n.T\na title\nin two lines .\n.A\nname\n.B\nplace\n.W\n  first line\nsecond .\n"
                              ".I 2\n.T\n.A\n.B\n.W\n");
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].id, "1");
  EXPECT_EQ(read.documents[0].text, "a title\nin two lines . first line\nsecond .");
  EXPECT_EQ(read.documents[1].text, " ");
}

TEST(SmartReader, MedsLastLineWithoutNumberIsNoDocument) {
  const auto read = read_text("med", ".I 1\r\n.W\r\nline one  \r\nline two\r\n.I\r\n", true);
  ASSERT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.documents[0].text, "line one  \nline two");
}

TEST(SmartReader, ReportsRecordsThatAreNone) {
  const auto read = read_text("med", "stray\n.I\n.W\ntext\n.I 2\n.I 3\n.W\nok\n");
  ASSERT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.documents[0].id, "3");
  EXPECT_EQ(read.report.malformed_records(), 3);
  EXPECT_TRUE(read.report.kinds().contains("text before the first .I"));
  EXPECT_TRUE(read.report.kinds().contains(".I without a number"));
  EXPECT_TRUE(read.report.kinds().contains("a record without .T or .W"));
}

TEST(VaswaniReader, ReadsBothForms) {
  const auto trec =
      read_text("vaswani", "<DOC>\n<DOCNO>1</DOCNO>\nline one\nline two\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\n</DOC>\n");
  const auto plain = read_text("vaswani", "1\nline one\nline two\n   /\n2\n   /\n");
  for (const auto* read : {&trec, &plain}) {
    ASSERT_EQ(read->documents.size(), 2u);
    EXPECT_EQ(read->documents[0].id, "1");
    EXPECT_EQ(read->documents[0].text, "line one\nline two\n");
    EXPECT_EQ(read->documents[1].text, "");
    EXPECT_EQ(read->report.malformed_records(), 0);
  }
}

TEST(VaswaniReader, ReportsCutOffAndStrayRecords) {
  const auto trec = read_text("vaswani",
                              "<DOC>\n<DOCNO>1</DOCNO>\nno end\n<DOC>\n<DOCNO>2</DOCNO>\nok\n</DOC>\nstray\n"
                              "<DOC>\nno number\n</DOC>\n<DOC>\n<DOCNO>3</DOCNO>\ncut");
  ASSERT_EQ(trec.documents.size(), 1u);
  EXPECT_EQ(trec.documents[0].id, "2");
  EXPECT_EQ(trec.report.malformed_records(), 4);
  const auto plain = read_text("vaswani", "1\nok\n   /\n2\ncut off\n");
  EXPECT_EQ(plain.documents.size(), 1u);
  EXPECT_EQ(plain.report.malformed_records(), 1);
}

TEST(CorpusReader, ReadsATenMegabyteDocument) {
  const std::string text(10 * 1000 * 1000, 'x');
  const auto read = read_text("tsv", "1\t" + text + "\n2\tafter\n");
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].text, text);
}

TEST(Corpora, AreFoundByNameAndAnUnknownOneListsThem) {
  for (const auto& corpus : index_tools::corpora()) EXPECT_EQ(&index_tools::find_corpus(corpus.id), &corpus);
  const Error error = testing::expect_error(ErrorKind::usage, [&] { index_tools::find_corpus("msmarco"); });
  EXPECT_NE(error.remedy().find("msmarco-passage"), std::string::npos);
}

}  // namespace
}  // namespace relucent
