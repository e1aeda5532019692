// Readers of SGML, HTML, WARC and XML: what they read, and that what is malformed is named, counted and
// skipped.
#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>

#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/charset.h"
#include "index_tools/corpora/html_text.h"
#include "index_tools/corpora/markup_attributes.h"
#include "index_tools/corpora/web_page.h"
#include "relucent/error.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

using index_tools::decode_charset;
using index_tools::decode_html;
using index_tools::has_too_many_xml_attributes;
using index_tools::html_fields;
using index_tools::kMaxRecord;
using testing::expect_kinds;
using testing::read_corpus;
using testing::read_text;
using testing::TemporaryFolder;

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string sgml(const std::string& id, const std::string& text = "words") {
  return "<DOC>\n<DOCNO> " + id + " </DOCNO>\n<TEXT>\n" + text + "\n</TEXT>\n</DOC>\n";
}

std::string trecweb(const std::string& id, const std::string& page = "<p>words", const std::string& end = "\n") {
  return "<DOC>" + end + "<DOCNO>" + id + "</DOCNO>" + end + "<DOCHDR>" + end + "http://a.gov" + end +
         "HTTP/1.0 200 OK" + end + "</DOCHDR>" + end + page + end + "</DOC>" + end;
}

std::string warc(const std::string& fields, const std::string& page = "<p>words", const std::string& version = "1.0",
                 int off_by = 0) {
  const std::string payload = "HTTP/1.1 200 OK\r\n\r\n" + page;
  return "WARC/" + version + "\r\nWARC-Type: response\r\n" + fields +
         "Content-Length: " + std::to_string(static_cast<int>(payload.size()) + off_by) + "\r\n\r\n" + payload +
         "\r\n\r\n";
}

std::string warc_of(const std::string& id) { return warc("WARC-TREC-ID: " + id + "\r\n"); }

std::string citation(const std::string& id) {
  return "<MedlineCitation>\n<PMID>" + id + "</PMID><ArticleTitle>t</ArticleTitle>\n</MedlineCitation>\n";
}

TEST(Trec, ReadsAllTextButTheNumber) {
  const auto read = read_text(
      "trec", "junk\n" + sgml("D1", "a &amp; <b>b</b>\n\n  c") + "<DOC id=\"D2\">\n<TEXT>x</TEXT>\n</DOC>", true);
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].id, "D1");
  EXPECT_EQ(read.documents[0].text, "a & b\nc");
  EXPECT_EQ(read.documents[0].line, 2);
  EXPECT_EQ(read.documents[1].id, "D2");
  EXPECT_EQ(read.documents[1].text, "x");
  EXPECT_EQ(read.documents[1].line, 10);
}

TEST(Trec, ReplacesMalformedUtf8AndDisks45DropsIt) {
  EXPECT_EQ(read_text("trec", sgml("D1",
                                   "a\xFF"
                                   "b"))
                .documents.at(0)
                .text,
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(read_text("trec", sgml("D1",
                                   "a\xFF"
                                   "b"))
                .report.replaced_sequences(),
            1);
  EXPECT_EQ(read_text("disks45/nocr", sgml("D1",
                                           "a\xFF"
                                           "b"))
                .documents.at(0)
                .text,
            " ab");
}

TEST(Trec, NamesWhatIsMalformed) {
  for (const char* corpus : {"trec", "disks45/nocr"}) {
    expect_kinds(corpus, sgml("D1") + "<DOC>\n<TEXT>\nno number\n</TEXT>\n</DOC>\n" + sgml("D2"), {"no <DOCNO>"},
                 {"D1", "D2"});
    expect_kinds(corpus, sgml("D1") + "<DOC>\n<DOCNO>lost</DOCNO>\n<TEXT>\n" + sgml("D2"), {"no </DOC>"}, {"D1", "D2"});
    expect_kinds(corpus, sgml("D1") + "<DOC>\n<DOCNO>lost</DOCNO>\n<TEXT>\n", {"no </DOC>"}, {"D1"});
    EXPECT_EQ(read_text(corpus, repeated("<DOC>\n", 9) + sgml("D1")).documents.at(0).line, 10);
    expect_kinds(corpus, sgml("D1") + sgml("two words") + sgml("D2"), {"id with white space or control characters"},
                 {"D1", "D2"});
  }
  expect_kinds("trec", sgml("D1") + sgml("large", std::string(kMaxRecord + 1, 'x')) + sgml("D2"),
               {"record over 64 MiB"}, {"D1", "D2"});
}

TEST(Trec, FilesOfDisks45AreChosenByTheirFolder) {
  const TemporaryFolder folder;
  folder.write("disk5/FBIS/fb396001", sgml("FBIS3-1"));
  testing::pack(folder / "disk5/FBIS/FB396002.Z", "raw", "compress", {{"data", sgml("FBIS3-2")}});
  folder.write("disk5/DTDS/FBISDTD", sgml("dtd"));
  folder.write("disk4/CR/hfiles/CR93H1", sgml("congress"));
  folder.write("disk4/FT/FT911/FT911_1", sgml("FT911-1"));
  folder.write("disk4/FR94/01/FR940104.0", sgml("FR940104-1"));
  folder.write("disk5/LATIMES/LA010189", sgml("LA010189-1"));
  folder.write("disk4/FT/README", sgml("readme"));
  std::vector<std::string> ids;
  for (const auto& document : read_corpus("disks45/nocr", {folder.path().string()}, true).documents)
    ids.push_back(document.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"FR940104-1", "FT911-1", "FBIS3-2", "FBIS3-1", "LA010189-1"}));
}

TEST(Trecweb, ReadsLinesOfEitherEnd) {
  for (const char* end : {"\n", "\r\n"}) {
    const auto read = read_text(
        "trecweb", trecweb("W1", "<title>t</title><body>b <DOC> </DOC> more", end) + trecweb("W2", "x", end), true);
    ASSERT_EQ(read.documents.size(), 2u);
    EXPECT_EQ(read.documents[0].id, "W1");
    EXPECT_EQ(read.documents[0].text, "tb more");
    EXPECT_EQ(read.documents[1].text, "x");
    EXPECT_EQ(read.documents[1].line, 9);
  }
}

// libxml2 compares each attribute with the tag's others: these took over 25 seconds.
TEST(Medline, RefusesTagsOfTooManyAttributesAndReadsManyPiecesOfText) {
  std::string attributes;
  for (int i = 0; i < 50'000; ++i) attributes += " a" + std::to_string(i) + "=''";
  expect_kinds("medline/2017",
               citation("1") + "<MedlineCitation>\n<PMID>2</PMID><ArticleTitle" + attributes +
                   ">t</ArticleTitle>\n</MedlineCitation>\n" + citation("3"),
               {"tags with too many attributes"}, {"1", "3"});
  const std::string pieces = repeated("<!---->piece of text ", 800'000);
  const auto started = std::chrono::steady_clock::now();
  const auto read = read_text(
      "medline/2017",
      "<MedlineCitation>\n<PMID>4</PMID><ArticleTitle>" + pieces + "</ArticleTitle>\n</MedlineCitation>\n", true);
  ASSERT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.documents[0].text.size(), std::string("piece of text ").size() * 800'000 + 1);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(15));
}

TEST(XmlAttributes, AreCountedPerElementWhateverPrecedesIt) {
  const auto of = [](const std::string& begin, int count, const std::string& end) {
    std::string tag = begin;
    for (int i = 0; i < count; ++i) tag += (i % 2 == 0 ? " a" : "\n xmlns:n") + std::to_string(i) + " = '>'";
    return tag + end;
  };
  EXPECT_FALSE(has_too_many_xml_attributes(of("<p", 256, ">") + of("<q", 256, "/>")));
  EXPECT_TRUE(has_too_many_xml_attributes(of("<p", 256, ">") + of("<q", 257, "/>")));
  EXPECT_TRUE(has_too_many_xml_attributes(of("<p", 257, "")));
  EXPECT_TRUE(has_too_many_xml_attributes(of("<x =\"<p", 257, ">\"")));    // no value: a tag of its own
  EXPECT_TRUE(has_too_many_xml_attributes(of("<x a=\"b<p", 257, ">\"")));  // values have no '<'
  EXPECT_FALSE(has_too_many_xml_attributes("<p>" + repeated(" a=\"b\"", 300) + "</p>"));
  EXPECT_FALSE(has_too_many_xml_attributes("<p a b" + repeated(" a=\"b\"", 300)));
}

TEST(Wapo, RefusesTagsOfTooManyAttributes) {
  std::string attributes;
  for (int i = 0; i < 50'000; ++i) attributes += " a" + std::to_string(i) + "=''";
  const auto article = [](const std::string& id, const std::string& markup) {
    return R"({"id":")" + id + R"(","title":"t","contents":[{"type":"sanitized_html","mime":"text/html","content":")" +
           markup + R"("}]})" + "\n";
  };
  const std::string usual = "<p>words</p>", with_attributes = "<p" + attributes + ">words</p>";
  // Attributes that are declared count for every element: 6,000 of them made each take 17 ms.
  std::string declared;
  for (int i = 0; i < 6'000; ++i) declared += " a" + std::to_string(i) + " CDATA ''";
  const std::string with_declared =
      "<!DOCTYPE p [<!ATTLIST b" + declared + ">]><p>" + repeated("<b/>", 10'000) + "</p>";
  const auto started = std::chrono::steady_clock::now();
  for (const std::string& markup : {with_attributes, with_declared}) {
    expect_kinds("wapo/v2", article("1", usual) + article("2", markup) + article("3", usual),
                 {"tags with too many attributes"}, {"1", "3"});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(15));
}

TEST(Trecweb, NamesWhatIsMalformed) {
  for (const char* corpus : {"trecweb", "gov", "gov2"}) {
    expect_kinds(corpus, trecweb("W1") + "<DOC>\n<DOCHDR>\nu\n</DOCHDR>\nx\n</DOC>\n" + trecweb("W2"), {"no <DOCNO>"},
                 {"W1", "W2"});
    expect_kinds(corpus, trecweb("W1") + "<DOC>\n<DOCNO>x</DOCNO>\nx\n</DOC>\n" + trecweb("W2"), {"no <DOCHDR>"},
                 {"W1", "W2"});
    expect_kinds(corpus, trecweb("W1") + "<DOC>\n<DOCNO>lost</DOCNO>\n<DOCHDR>\nu\n</DOCHDR>\nx\n" + trecweb("W2"),
                 {"no </DOC>"}, {"W1", "W2"});
    expect_kinds(corpus, trecweb("W1") + "<DOC>\n<DOCNO>lost</DOCNO>\n", {"no </DOC>"}, {"W1"});
  }
  expect_kinds("gov", trecweb("W1") + trecweb("large", std::string(kMaxRecord + 1, 'x')) + trecweb("W2"),
               {"record over 64 MiB"}, {"W1", "W2"});
  expect_kinds("gov",
               trecweb("W1") + trecweb("deep", repeated("<b>", 60'000) + repeated("</i>", 100'000)) + trecweb("W2"),
               {"elements nested too deep"}, {"W1", "W2"});
  expect_kinds("gov", trecweb("W1") + trecweb("many", "<a" + repeated(" x", 200'000)) + trecweb("W2"),
               {"tags with too many attributes"}, {"W1", "W2"});
  const auto long_value = read_text("gov", trecweb("W1", "<a b = '" + repeated(" x", 200'000) + "'>words"), true);
  EXPECT_EQ(long_value.documents.at(0).text, "words");
}

TEST(Warc, ReadsResponsesAlone) {
  const std::string info = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 3\r\n\r\na\r\n\r\n\r\n";
  const auto read = read_text("warc", info + warc("WARC-Record-ID: <urn:uuid:1>\r\n") + warc_of("T1"), true);
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].id, "urn:uuid:1");
  EXPECT_EQ(read.documents[1].id, "T1");
  EXPECT_EQ(read.documents[1].text, "words");
  EXPECT_EQ(read.documents[0].line, 8);
}

TEST(Warc, NamesWhatIsMalformed) {
  const std::string t1 = warc_of("T1"), t2 = warc_of("T2"), id = "WARC-TREC-ID: lost\r\n";
  for (const char* corpus : {"warc", "clueweb12"}) {
    expect_kinds(corpus, t1 + warc(id, "<p>x", "1.0", 9) + t2, {"wrong Content-Length"}, {"T1", "T2"});
    expect_kinds(corpus, t1 + warc(id, "<p>x", "1.0", 1'000'000) + t2, {"the record is cut off"}, {"T1", "T2"});
    expect_kinds(corpus, t1 + warc(id, "<p>x", "2.7") + t2, {"not a WARC version"}, {"T1", "T2"});
    expect_kinds(corpus, t1 + "WARC/1.0\r\nWARC-Type: response\r\n\r\n" + t2, {"no Content-Length"}, {"T1", "T2"});
    expect_kinds(corpus, t1 + "WARC/1.0\r\nContent-Length: -5\r\n\r\n" + t2, {"Content-Length is not a number"},
                 {"T1", "T2"});
    expect_kinds(corpus, t1 + warc(id).substr(0, 30), {"the record is cut off"}, {"T1"});
  }
  expect_kinds("warc", t1 + "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 123456789012\r\n\r\nx\r\n\r\n" + t2,
               {"record over 64 MiB"}, {"T1", "T2"});
  expect_kinds("clueweb12", t1 + warc("WARC-Record-ID: <urn:uuid:1>\r\n") + t2, {"no WARC-TREC-ID"}, {"T1", "T2"});
  expect_kinds("warc", t1 + warc("") + t2, {"no WARC-TREC-ID or WARC-Record-ID"}, {"T1", "T2"});
  expect_kinds("warc", t1 + warc(id, std::string(kMaxRecord, 'x')) + t2, {"record over 64 MiB"}, {"T1", "T2"});
}

// As ir_datasets' parsers, which look for the next record behind the length that this one claims.
TEST(Warc, PagesEndWithTheirContentLength) {
  const std::string t1 = warc_of("T1"), t2 = warc_of("T2"), id = "WARC-TREC-ID: long\r\n";
  for (const char* corpus : {"warc", "clueweb12", "clueweb09"}) {
    for (const char* version : {"1.0", "0.18"}) {
      SCOPED_TRACE(std::string(corpus) + " " + version);
      const auto read = read_text(corpus, t1 + warc(id, "<p>one two\nthree\r\n\r\nfour", version, -14) + t2, true);
      ASSERT_EQ(read.documents.size(), 3u);
      EXPECT_EQ(read.documents[1].id, "long");
      EXPECT_EQ(read.documents[1].text, "one two");
      EXPECT_EQ(read.documents[2].text, read.documents[0].text);
    }
  }
}

// The length ends within the next record's first line.
TEST(Warc, LengthsThatReachALittleTooFarLoseNoOtherRecord) {
  const std::string t1 = warc_of("T1"), t2 = warc_of("T2");
  for (int by = 5; by < 14; ++by) {
    SCOPED_TRACE(by);
    expect_kinds("clueweb12", t1 + warc("WARC-TREC-ID: lost\r\n", "<p>x", "1.0", by) + t2, {"wrong Content-Length"},
                 {"T1", "T2"});
  }
}

TEST(Warc, LengthsOfClueWeb09ThatReachTooFarEndWithTheRecord) {
  const auto record = [](const std::string& id, int off_by) {
    const std::string payload = "Content-Type: text/html\n\n<p>words of " + id;
    return "WARC/0.18\nWARC-Type: response\nWARC-TREC-ID: " + id +
           "\n\nContent-Length: " + std::to_string(static_cast<int>(payload.size()) + off_by) + "\n\n" + payload +
           "\n\n";
  };
  const auto read = read_text("clueweb09", record("T1", 16) + record("T2", 0) + record("T3", 16), true);
  ASSERT_EQ(read.documents.size(), 3u);
  for (const auto& document : read.documents) EXPECT_EQ(document.text, "words of " + document.id);
}

TEST(Medline, NamesWhatIsMalformed) {
  for (const char* corpus : {"medline/2004", "medline/2017"}) {
    expect_kinds(corpus, citation("1") + "<MedlineCitation><b>&nothing;</b></MedlineCitation>" + citation("2"),
                 {"not well-formed XML"}, {"1", "2"});
    expect_kinds(corpus, citation("1") + "<MedlineCitation Status=\"x\"></MedlineCitation>" + citation("2"),
                 {"no PMID"}, {"1", "2"});
    expect_kinds(corpus, citation("1") + "<MedlineCitation><PMID>3</PMID>" + citation("2"), {"no </MedlineCitation>"},
                 {"1", "2"});
    expect_kinds(corpus, citation("1") + "<MedlineCitation><PMID>3</PM", {"no </MedlineCitation>"}, {"1"});
    expect_kinds(corpus, "PMID- 1\nTI  - t\n\nTI  - no number\n\nPMID- 2\nAB  - a\n      b\n", {"no PMID"}, {"1", "2"});
    expect_kinds(corpus, "Meeting\nno title\n", {"no line \"Title:\""}, {});
  }
}

TEST(Medline, ACollectionCutIntoFilesAnywhereIsRead) {
  const std::string whole = "<?xml version=\"1.0\"?><MedlineCitationSet>\n" + citation("1") + citation("2") +
                            citation("3") + "</MedlineCitationSet>";
  for (std::size_t cut = 30; cut + 30 < whole.size(); cut += 7) {
    const TemporaryFolder folder;
    testing::pack(folder / "medline_A.gz", "raw", "gzip", {{"data", whole.substr(0, cut)}});
    folder.write("medline_B", whole.substr(cut));
    const auto read = read_corpus("medline/2004", {folder.path().string()}, true);
    ASSERT_EQ(read.documents.size(), 3u) << cut;
    EXPECT_EQ(read.documents[2].text, "t ");
  }
}

TEST(Files, AreDocumentsNamedByTheirPath) {
  const TemporaryFolder folder;
  folder.write("in/a b/page 100%.html", "<title>T</title><body>body</body>");
  folder.write("in/c.txt",
               "\xEF\xBB\xBF"
               "1 < 2\n");
  folder.write("in/d.htm", std::string("\xFF\xFE<\0p\0>\0\xE9\0", 10));
  folder.write("in/other.pdf", "x");
  testing::pack(folder / "in/z.zip", "zip", "", {{"e/f.html", "<p>zipped"}});
  const auto read = read_corpus("html", {(folder / "in").string()}, true);
  std::map<std::string, std::string> texts;
  for (const auto& document : read.documents) texts[document.id] = document.text;
  EXPECT_EQ(
      texts,
      (std::map<std::string, std::string>{
          {"a%20b/page%20100%25.html", "T body"}, {"c.txt", "1 < 2\n"}, {"d.htm", "é"}, {"z.zip/e/f.html", "zipped"}}));
  EXPECT_EQ(read_corpus("text", {(folder / "in").string()}, true).documents.size(), 1u);
  EXPECT_EQ(read_corpus("text", {(folder / "in").string()}, true).documents[0].text, "1 < 2\n");
}

TEST(Html, PutsTextIntoFields) {
  const auto fields = html_fields(
      "<html><head><title>A &amp; <b>b</b> c</title><script>x</script></head><body> one\t<b>two</b>\r\n\r\n "
      "three</body>",
      {{"title"}, {}});
  EXPECT_EQ(fields, (std::vector<std::string>{"A & b c", "one two\nthree"}));
  EXPECT_EQ(html_fields("<p>a<h1>b</h1>c", {{"h1", "p"}, {"h1"}}), (std::vector<std::string>{"ab", "b"}));
  EXPECT_EQ(html_fields("", {{"title"}}), (std::vector<std::string>{""}));
  EXPECT_EQ(html_fields("\xC2\xA0\xE3\x80\x80x\xC2\xA0", {{}}), (std::vector<std::string>{"x"}));
}

TEST(Html, DefinesNoEntitiesAndLoadsNothing) {
  const std::string bomb =
      "<!DOCTYPE html [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c SYSTEM "
      "\"file:///etc/passwd\">]><p>&b;&c;";
  const std::string text = html_fields(bomb, {{}}).front();
  EXPECT_EQ(text.find("aaaaaaaaaaaaaaaaaaaa"), std::string::npos) << text;
  EXPECT_EQ(text.find("root:"), std::string::npos) << text;
}

TEST(Charset, IsFoundAsIrDatasetsFindsIt) {
  EXPECT_EQ(decode_html("<meta charset=\"iso-8859-1\">\xE9", "charset=utf-8"), "<meta charset=\"iso-8859-1\">é");
  EXPECT_EQ(decode_html("\xE9", "Content-Type: text/html; charset=windows-1252"), "é");
  EXPECT_EQ(decode_html("charset=nonsense \xE9", "charset=latin1"), "charset=nonsense é");
  EXPECT_EQ(decode_html("charset=nonsense \xE9x", "charset="), "charset=nonsense x");
}

TEST(Charset, DecodesAsPythonDoes) {
  EXPECT_EQ(decode_charset("\x93\xFA\x96{\xB6 \x87\x40.", "Shift_JIS"), "日本ｶ @.");
  EXPECT_EQ(decode_charset("\x87\x40", "cp932"), "①");
  EXPECT_EQ(decode_charset("\xC6\xFC\xCB\xDC\x8E\xB6\x8F\xB0\xA1\xFF", "EUC-JP"), "日本ｶ丂");
  EXPECT_EQ(decode_charset("\xD6\xD0\xCE\xC4\x80\xA1", "gb2312"), "中文");
  EXPECT_EQ(decode_charset("\x81\x30\x81\x30\x90\x30\x81\x30", "gb18030"), "\xC2\x80\xF0\x90\x80\x80");
  EXPECT_EQ(decode_charset("\xA4\xA4\xA4\xE5", "Big5"), "中文");
  EXPECT_EQ(decode_charset("\xC7\xD1\xB1\xB9", "ks_c_5601-1987"), "한국");
  EXPECT_EQ(decode_charset("\xCF\xF0\x98", "windows-1251"), "Пр");
  EXPECT_EQ(decode_charset("\x1B$BF|\x1B(B.", "iso-2022-jp"), "日.");
  EXPECT_EQ(decode_charset(std::string_view("a\0\x3D\xD8\x00\xDE\x00\xDC", 8), "utf-16"), "a😀");
  EXPECT_EQ(decode_charset("a\xE9z", "us-ascii"), "az");
  EXPECT_EQ(decode_charset("x", "x-sjis"), std::nullopt);
}

}  // namespace
}  // namespace relucent
