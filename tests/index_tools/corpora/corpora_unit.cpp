// Readers of the corpora in TSV, CSV and JSON: malformed input is named, counted and skipped, and reading continues.
#include <gtest/gtest.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

using testing::expect_kinds;
using testing::read_text;

TEST(MsMarcoDocument, ReadsBothFormsAlike) {
  const auto trec = read_text("msmarco-document",
                              "<DOC>\n<DOCNO>D1</DOCNO>\n<TEXT>\nurl\nA title\nThe body.\n</TEXT>\n</DOC>\n"
                              "<DOC>\n<DOCNO>D2</DOCNO>\n<TEXT>\nurl\n\n</TEXT>\n</DOC>\n",
                              true);
  const auto table = read_text("msmarco-document", "D1\turl\tA title\tThe body.\nD2\turl\t\t\n", true);
  ASSERT_EQ(trec.documents.size(), 2u);
  ASSERT_EQ(table.documents.size(), 2u);
  EXPECT_EQ(trec.documents[0].text, "A title The body.\n");  // line ends are kept, as in ir_datasets
  EXPECT_EQ(table.documents[0].text, "A title The body.");
  EXPECT_EQ(trec.documents[1].text, " ");
  EXPECT_EQ(table.documents[1].text, " ");
  EXPECT_EQ(trec.documents[1].line, 9);
}

TEST(MsMarcoDocument, NamesWhatIsMalformed) {
  expect_kinds("msmarco-document",
               "<DOC>\n<TEXT>\nurl\ntitle\n</TEXT>\n</DOC>\nstray\nmore of "
               "it\n<DOC>\n<DOCNO>D1</DOCNO>\n<TEXT>\nurl\ntitle\n</TEXT>\n</DOC>\n"
               "<DOC>\n<DOCNO>D2</DOCNO>\n<TEXT>\nurl\ntitle\n</TEXT>\n<DOC>\n<DOCNO>D3</DOCNO>\n</DOC>\n"
               "<DOC>\n<DOCNO>D4</DOCNO>\n<TEXT>\nurl\ntitle\nbody\n</TEXT>\n</DOC>\n",
               {"no <DOCNO>", "text outside <DOC>", "no </DOC>", "no url and title"}, {"D1", "D4"});
  expect_kinds("msmarco-document",
               "D1\turl\ttitle\tbody\nD2\turl\ttitle\nD3\nD4\turl\ttitle\tbody\tmore\nD5\turl\ttitle\tbody\n",
               {"too few columns", "no tab between id and text", "too many columns"}, {"D1", "D5"});
}

TEST(MsMarcoV2, NamesWhatIsMalformed) {
  expect_kinds("msmarco-passage-v2",
               "{\"pid\": \"1\", \"passage\": \"a\"}\n{\"pid\": \"2\"\n[]\n{\"passage\": \"a\"}\n{\"pid\": \"3\"}\n"
               "\n{\"pid\": \"4\", \"passage\": \"\"}\n",
               {"not JSON", "not a JSON object", "no pid", "no passage"}, {"1", "4"});
  expect_kinds("msmarco-document-v2",
               "{\"docid\": \"1\", \"title\": \"a\", \"headings\": \"b\", \"body\": \"c\"}\n{\"title\": \"a\"}\n"
               "{\"docid\": \"2\", \"title\": \"a\", \"headings\": 3, \"body\": \"c\"}\n",
               {"no docid", "no title, headings or body"}, {"1"});
}

TEST(MsMarcoV2, IsReadOutOfItsTarOfGzipFiles) {
  const testing::TemporaryFolder folder;
  testing::pack(folder / "passages", "raw", "gzip", {{"data", "{\"pid\": \"1\", \"passage\": \"a\"}\n"}});
  testing::pack(folder / "msmarco_v2_passage.tar", "ustar", "",
                {{"msmarco_v2_passage/msmarco_passage_00.gz", testing::bytes_of(folder / "passages")},
                 {"msmarco_v2_passage/README", "none"},
                 {"msmarco_v2_passage/msmarco_passage_01.gz", testing::bytes_of(folder / "passages")}});
  const auto read = testing::read_corpus("msmarco-passage-v2", {folder.path().string()}, true);
  EXPECT_EQ(read.documents.size(), 2u);
}

TEST(Antique, TakesExactlyTwoColumnsAndMendsNothing) {
  const auto read = read_text("antique", "1_0\tcaf\xC3\x83\xC2\xA9\n2_0\ta\tb\n3_0\n4_0\t \n");
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].text, "caf\xC3\x83\xC2\xA9");  // ir_datasets repairs MS MARCO's passages only
  EXPECT_EQ(read.documents[1].text, " ");
  EXPECT_EQ(read.report.malformed_records(), 2);
}

TEST(NfCorpus, JoinsTitleAndAbstract) {
  expect_kinds("nfcorpus",
               "MED-1\turl\ttitle\tabstract\nMED-2\turl\ttitle\nMED-3\turl\ttitle\tabstract\tmore\nMED-4\turl\t\t\n",
               {"too few columns", "too many columns"}, {"MED-1", "MED-4"});
  EXPECT_EQ(read_text("nfcorpus", "MED-1\turl\ttitle\tabstract\n").documents.at(0).text, "title abstract");
}

TEST(WashingtonPost, JoinsWhatHasTextAndNamesWhatIsMalformed) {
  const std::string line =
      R"({"id": "1", "title": null, "contents": [null, {"type": "kicker", "content": "no"}, )"
      R"({"type": "image", "fullcaption": "A caption"}, )"
      R"({"type": "sanitized_html", "mime": "text/html", "content": "<p>a &amp; <b>b</b></p>"}, )"
      R"({"type": "sanitized_html", "mime": "text/html", "content": "lost, as there is no element"}, )"
      R"({"type": "tweet", "content": {"text": "A tweet"}}, {"type": "video", "blurb": "\n"}]})";
  EXPECT_EQ(read_text("wapo/v2", line).documents.at(0).text, "None A caption\na & b\n\nA tweet");
  expect_kinds("wapo/v2",
               "{\"id\": \"1\", \"title\": \"t\", \"contents\": []}\n{\"title\": \"t\", \"contents\": []}\n{\"id\": "
               "\"2\", \"contents\": []}\n"
               "{\"id\": \"3\", \"title\": \"t\"}\n{\"id\": \"4\", \"title\": \"t\", \"contents\": [\"a\"]}\n"
               "{\"id\": \"5\", \"title\": \"t\", \"contents\": [{\"type\": \"image\", \"fullcaption\": 7}]}\n{\"id\": "
               "\"6\", \"title\": \"t\", \"contents\": []}\n",
               {"no id", "no title", "no contents", "a part of the contents is not an object",
                "a part of the contents has no text but something else"},
               {"1", "6"});
}

// Markup made to do harm: entities that multiply, files to be fetched, depth.
TEST(WashingtonPost, HarmfulMarkupIsOnlyText) {
  std::string bomb = "<!DOCTYPE p [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c <= 'k'; ++c) {
    const std::string one = std::string("&") + static_cast<char>(c - 1) + ";";
    bomb += std::string("<!ENTITY ") + c + " \"" + one + one + one + one + one + one + one + one + one + one + "\">";
  }
  bomb += "]><p>&k;</p>";
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<b>";
  for (const std::string& markup :
       {bomb, deep, std::string("<!DOCTYPE p SYSTEM \"file:///etc/passwd\"><p>x</p>"),
        std::string("<!DOCTYPE p [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><p>&x;</p>")}) {
    const nlohmann::json line = {
        {"id", "1"},
        {"title", "t"},
        {"contents", {{{"type", "sanitized_html"}, {"mime", "text/html"}, {"content", markup}}}}};
    const auto read = read_text("wapo/v2", line.dump() + "\n", true);
    ASSERT_EQ(read.documents.size(), 1u);
    EXPECT_LT(read.documents[0].text.size(), 100u);
    EXPECT_EQ(read.documents[0].text.find("root"), std::string::npos);
  }
}

TEST(Cord19, ReadsCsvAsPythonDoes) {
  const auto read = read_text("cord19",
                              "title,cord_uid,abstract\n\n"
                              "\"A title, with a comma\",u1,\"two\nlines \"\"quoted\"\"\"\n"
                              "a \"quote\" within,u2,\"closed\" and more\r\n"
                              ",u3,\n",
                              true);
  ASSERT_EQ(read.documents.size(), 3u);
  EXPECT_EQ(read.documents[0].text, "A title, with a comma two\nlines \"quoted\"");
  EXPECT_EQ(read.documents[0].line, 3);
  EXPECT_EQ(read.documents[1].text, "a \"quote\" within closed and more");
  EXPECT_EQ(read.documents[1].line, 5);
  EXPECT_EQ(read.documents[2].text, " ");
}

TEST(Cord19, KeepsPapersThatAreListedTwice) {
  const auto read = read_text("cord19", "cord_uid,title,abstract\nu1,a,b\nu1,a,c\n", true);
  EXPECT_EQ(read.documents.size(), 2u);
}

TEST(Cord19, NamesWhatIsMalformed) {
  expect_kinds("cord19", "cord_uid,title,abstract\nu1,a,b\nu2,a\nu3,a,b,c\nu4,a,b\nu5,\"never closed,b\nu6,a,b\n",
               {"not as many fields as the first line has", "not as many fields as the first line has",
                "a quote that is never closed"},
               {"u1", "u4", "u6"});
  // More than 4 MiB after a quote.
  std::string lines = "cord_uid,title,abstract\nu1,\"never closed,b\n";
  for (int i = 0; i < 3; ++i) lines += "v" + std::to_string(i) + "," + std::string(2 * 1024 * 1024, 'x') + ",b\n";
  const auto read = read_text("cord19", lines);
  EXPECT_EQ(read.documents.size(), 3u);
  EXPECT_EQ(read.report.malformed_records(), 1);
}

TEST(Cord19, AFileWithoutItsColumnsIsRefused) {
  const Error error = testing::expect_error(ErrorKind::invalid_data, [&] { read_text("cord19", "id,text\n1,a\n"); });
  EXPECT_TRUE(error.place().ends_with("input:1")) << error.place();
  EXPECT_NE(error.problem().find("cord_uid"), std::string::npos);
}

TEST(Cord19, FullTextsThatCannotBeReadAreNamed) {
  const testing::TemporaryFolder folder;
  folder.write("pdf/good.json", R"({"body_text": [{"section": "S", "text": "t"}, {"section": "", "text": "u"}]})");
  folder.write("pdf/bad.json", "{");
  folder.write("pdf/section.json", R"({"body_text": [{"text": "t"}]})");
  folder.write("pdf/none.json", "{}");
  const auto metadata = folder.write(
      "metadata.csv",
      "cord_uid,title,abstract,pdf_json_files,pmc_json_files\nu1,a,b,pdf/good.json,\nu2,a,b,pdf/bad.json,\n"
      "u3,a,b,pdf/missing.json,\nu4,a,b,../x.json,\nu5,a,b,/etc/passwd,\nu6,a,b,pdf/section.json,\n"
      "u7,a,b,,\nu8,a,b,pdf/none.json,\n");
  const auto read = testing::read_corpus("cord19/fulltext", {metadata.string()});
  ASSERT_EQ(read.documents.size(), 3u) << read.report.malformed_summary();
  EXPECT_EQ(read.documents[0].text, "a b S t  u");
  EXPECT_EQ(read.documents[1].text, "a b ");
  EXPECT_EQ(read.documents[2].id, "u8");
  EXPECT_EQ(read.report.malformed_records(), 5);
  EXPECT_TRUE(read.report.kinds().contains("the full text's file is not there"));
  EXPECT_EQ(read.report.kinds().at("a full text outside the release").count, 2);

  testing::pack(folder / "release.tar", "ustar", "", {{"metadata.csv", testing::bytes_of(metadata)}});
  try {
    testing::read_corpus("cord19/fulltext", {(folder / "release.tar").string()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.remedy().find("unpack"), std::string::npos);
  }
}

TEST(ArgsMe, ReadsOneObjectInAZip) {
  const testing::TemporaryFolder folder;
  testing::pack(
      folder / "debateorg.zip", "zip", "",
      {{"debateorg.json",
        "\xEF\xBB\xBF{\"a\": {\"arguments\": []}, \"arguments\": [\n"
        "{\"id\": \"S1\", \"premises\": [{\"text\": \"a } ] \\\" b\"}, {\"text\": \"c\"}], \"conclusion\": \"d\"},\n"
        "{\"id\": \"S2\", \"premises\": [], \"conclusion\": null}], \"after\": 1}"}});
  const auto read = testing::read_corpus("argsme/2020-04-01", {folder.path().string()}, true);
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].text, "a } ] \" b c d");
  EXPECT_EQ(read.documents[1].text, " None");
  EXPECT_EQ(read.documents[1].line, 2);  // the second argument
}

TEST(ArgsMe, NamesWhatIsMalformed) {
  expect_kinds(
      "argsme/2020-04-01",
      R"({"arguments": [{"id": "1", "premises": [], "conclusion": "c"}, {"id": "2" "premises": []}, [1, {"id": 2}], 7,
                  "text", {"premises": [], "conclusion": "c"}, {"id": "3", "conclusion": "c"},
                  {"id": "4", "premises": [{}], "conclusion": "c"},
                  {"id": "5", "premises": []}, {"id": "6", "premises": [], "conclusion": "c"}]})",
      {"not JSON", "not a JSON object", "not a JSON object", "not a JSON object", "no id", "no premises",
       "a premise without text", "no conclusion"},
      {"1", "6"});
}

TEST(ArgsMe, TextsThatAreNoneAreRefused) {
  for (const char* text :
       {"", "[]", "{}", "{\"arguments\": {}}", "{\"arguments\": [", "{\"arguments\": [{\"id\": \"", "{\"a\": 1"}) {
    SCOPED_TRACE(text);
    try {
      read_text("argsme/2020-04-01", text);
      EXPECT_STREQ(text, "");  // an empty file is never an error
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_data);
      EXPECT_NE(error.place().find("input:1"), std::string::npos) << error.place();
    }
  }
}

TEST(ArgsMe, AnArgumentWithoutEndIsGivenUp) {
  const std::string text = "{\"arguments\": [{\"id\": \"1\", \"premises\": [" + std::string(70 * 1024 * 1024, 'x');
  try {
    read_text("argsme/2020-04-01", text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.problem().find("64 MiB"), std::string::npos) << error.what();
  }
}

TEST(JsonlReader, TakesOneArrayAndObjectsOverSeveralLines) {
  const std::string documents[] = {
      R"([{"id": 1, "contents": "a"}, {"id": 2, "contents": "b"}])",
      "\n[\n  {\"id\": 1, \"contents\": \"a\"},\n  {\"id\": 2, \"contents\": \"b\"}\n]\n",
      "{\n  \"id\": 1,\n  \"contents\": \"a\"\n}\n{\n  \"id\": 2,\n  \"contents\": \"b\"\n}\n",
      "{\"id\": 1,\n \"contents\": \"a\"}\n{\"id\": 2, \"contents\": \"b\"}",
      "{\"id\": 1, \"contents\": \"a\"}\n{\"id\": 2, \"contents\": \"b\"}"};
  for (const std::string& text : documents) {
    SCOPED_TRACE(text);
    const auto read = read_text("jsonl", text, true);
    ASSERT_EQ(read.documents.size(), 2u);
    EXPECT_EQ(read.documents[0].id, "1");
    EXPECT_EQ(read.documents[1].text, "b");
  }
  EXPECT_EQ(read_text("jsonl", "{\n  \"id\": 1,\n  \"contents\": \"one object\"\n}", true).documents.size(), 1u);
  EXPECT_EQ(read_text("jsonl", "[]", true).documents.size(), 0u);
}

TEST(Beir, AlwaysPutsASpaceAfterTheTitle) {
  const auto read = read_text(
      "beir",
      "{\"_id\": \"1\", \"title\": \"\", \"text\": \"a\"}\n{\"_id\": \"2\", \"title\": \"t\", \"text\": \"a\"}\n",
      true);
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].text, " a");
  EXPECT_EQ(read.documents[1].text, "t a");
  expect_kinds("beir", "{\"id\": \"1\"}\n{\"_id\": \"1\", \"text\": \"\"}\n{\"_id\": \"1\", \"title\": \"\"}\n",
               {"no _id", "no title", "no text"}, {});
}

}  // namespace
}  // namespace relucent
