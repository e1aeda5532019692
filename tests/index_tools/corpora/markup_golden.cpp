// Documents of the corpora in markup against what ir_datasets' own parsing code makes of the same files, and
// against records as ir_datasets' tests have them of the whole corpora. See markup/make_expected.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "tests/support/corpora_goldens.h"
#include "tests/support/indexing_support.h"
#include "tests/support/markup_support.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

using index_tools::Document;
using nlohmann::json;
namespace fs = std::filesystem;

TEST(MarkupGolden, TextsAreThoseOfIrDatasetsParsers) {
  const auto expected = testing::corpus_answers(testing::markup_answers() / "expected.jsonl", "file");
  EXPECT_GE(expected.size(), 10u);
  for (const auto& [input, documents] : expected) {
    SCOPED_TRACE(input.first + " " + input.second);
    const auto read =
        testing::read_corpus(input.first, {(testing::markup_answers() / "inputs" / input.second).string()}, true);
    ASSERT_EQ(read.documents.size(), documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
      EXPECT_EQ(read.documents[i].id, documents[i].at("id").get<std::string>());
      EXPECT_EQ(read.documents[i].text, documents[i].at("text").get<std::string>()) << read.documents[i].id;
    }
  }
}

TEST(MarkupGolden, TextsDoNotDependOnHowBytesArrive) {
  for (const auto& [input, documents] : testing::corpus_answers(testing::markup_answers() / "expected.jsonl", "file")) {
    SCOPED_TRACE(input.first + " " + input.second);
    const std::string bytes = testing::bytes_of(testing::markup_answers() / "inputs" / input.second);
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const auto read = testing::read_part(input.first, input.second, bytes, seed, 40);
      ASSERT_EQ(read.documents.size(), documents.size());
      for (std::size_t i = 0; i < documents.size(); ++i) {
        ASSERT_EQ(read.documents[i].id, documents[i].at("id").get<std::string>());
        ASSERT_EQ(read.documents[i].text, documents[i].at("text").get<std::string>());
      }
    }
  }
}

// The pieces are not ours, so of their texts only checksums are kept.
TEST(MarkupGolden, RealPiecesGiveIrDatasetsTexts) {
  const fs::path formats = testing::test_data() / "formats";
  RELUCENT_NEEDS(formats);
  std::map<std::string, int> compared;
  for (const auto& [input, documents] : testing::corpus_answers(testing::markup_answers() / "pieces.jsonl", "piece")) {
    SCOPED_TRACE(input.first + " " + input.second);
    if (!fs::exists(formats / input.second)) continue;
    const auto read = testing::read_corpus(input.first, {(formats / input.second).string()});
    std::map<std::string, std::string> texts;
    for (const Document& document : read.documents) texts[document.id] = document.text;
    for (const json& answer : documents) {
      const std::string& id = answer.at("id").get_ref<const std::string&>();
      ASSERT_TRUE(texts.contains(id)) << id;
      EXPECT_EQ(to_hex(checksum(texts[id])), answer.at("crc64").get<std::string>()) << id << " " << texts[id];
      ++compared[input.first];
    }
  }
  if (compared.empty()) GTEST_SKIP() << "SKIPPED: none of the pieces is in " << formats;
  for (const auto& [corpus, count] : compared) RecordProperty("texts_of_" + corpus, count);
}

TEST(MarkupGolden, PiecesOfShakespeareAreReadWhole) {
  const fs::path folder = testing::test_data() / "formats/trec-sgml-shakespeare";
  RELUCENT_NEEDS(folder);
  const auto read = testing::read_corpus("trec", {folder.string()}, false, {"*.trec.*"});
  EXPECT_EQ(read.documents.size(), 22u);
  EXPECT_EQ(read.report.malformed_records(), 0) << read.report.malformed_summary();
}

// A record without <DOCNO> stands between two whole ones. ir_datasets stops there.
TEST(MarkupGolden, TrecwebPieceIsReadPastItsBrokenRecord) {
  const fs::path piece = testing::test_data() / "formats/anserini/trecweb/collection1/segment1.txt";
  RELUCENT_NEEDS(piece);
  const auto read = testing::read_corpus("trecweb", {piece.string()});
  ASSERT_EQ(read.documents.size(), 2u);
  EXPECT_EQ(read.documents[0].id, "WEB-0001");
  EXPECT_EQ(read.documents[1].id, "WEB-0003");
  EXPECT_EQ(read.documents[0].text, "Wh at ever here will be parsed\nasdf");
  EXPECT_EQ(read.documents[1].text, read.documents[0].text);
  EXPECT_EQ(read.report.malformed_summary(), "1 record skipped: no <DOCNO> (" + piece.string() + ":10)");
}

TEST(MarkupGolden, DisplayFormatGivesTheTextOfMedlinesXml) {
  const fs::path piece = testing::test_data() / "formats/medline/pubmed_result1.txt";
  RELUCENT_NEEDS(piece);
  const auto read = testing::read_corpus("medline/2004", {piece.string()}, true);
  ASSERT_EQ(read.documents.size(), 1u);
  EXPECT_EQ(read.documents[0].id, "12230038");
  EXPECT_TRUE(
      read.documents[0].text.starts_with("The Bio* toolkits--a brief overview. Bioinformatics research is often"));
  EXPECT_TRUE(read.documents[0].text.ends_with("point of view of the beginning biologist programmer."));
  EXPECT_NE(read.documents[0].text.find("commercial software. The Open Source"), std::string::npos);
}

// ---- records of the whole corpora
// ---------------------------------------------------------------------------------------

std::string bytes_of_latin1(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    bytes +=
        byte < 0x80 ? text[i] : static_cast<char>((byte & 0x03) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F));
  }
  return bytes;
}

// A field's value. Where the sample has only its start and end ("^start.{N}end$"), `middle` comes between.
std::string value_of(const json& field, const std::string& middle) {
  if (field.is_string()) return field.get<std::string>();
  if (field.contains("bytes_latin1")) return bytes_of_latin1(field.at("bytes_latin1").get<std::string>());
  const json& regex = field.at("regex");
  const std::string pattern =
      regex.is_string() ? regex.get<std::string>() : bytes_of_latin1(regex.at("bytes_latin1").get<std::string>());
  std::string value;
  for (std::size_t i = 1; i + 1 < pattern.size(); ++i) {  // between ^ and $
    if (pattern[i] == '\\') {
      value += pattern[++i];
    } else if (pattern.compare(i, 2, ".{") == 0) {
      i = pattern.find('}', i);
      value += middle;
    } else {
      value += pattern[i];
    }
  }
  return value;
}

const std::string kPageMiddle = "\"'></script></style>--><body> middle ",
                  kSgmlMiddle = "\n</P>\n</DATE>\n<TEXT>\nmiddle ";

std::string in_warc(const std::string& version, const std::string& id, const std::string& headers,
                    const std::string& body) {
  const std::string end = version == "0.18" ? "\n" : "\r\n";
  const std::string payload = headers + end + end + body;
  return "WARC/" + version + end + "WARC-Type: response" + end + "WARC-TREC-ID: " + id + end +
         "Content-Length: " + std::to_string(payload.size()) + end + end + payload + end + end;
}

std::string in_trecweb(const std::string& id, const std::string& headers, const std::string& body) {
  return "<DOC>\n<DOCNO>" + id + "</DOCNO>\n<DOCHDR>\nhttp://url\n" + headers + "</DOCHDR>\n" + body + "</DOC>\n";
}

// Real records put back into their corpus's format. As only start and end of the pages are known, the middle
// is ours, and ir_datasets' answer is that to the same page.
TEST(MarkupSamples, WebPagesAndDisks45) {
  RELUCENT_NEEDS(testing::corpus_samples());
  std::map<std::pair<std::string, std::string>, std::string> answers;
  testing::for_each_line(testing::markup_answers() / "samples.jsonl", [&](const std::string& line) {
    const json answer = json::parse(line);
    answers[{answer.at("corpus"), answer.at("id")}] = answer.at("crc64");
  });
  for (const std::string corpus :
       {"gov", "gov2", "clueweb09", "clueweb09/en", "clueweb09/catb", "clueweb12", "clueweb12/b13", "disks45/nocr"}) {
    SCOPED_TRACE(corpus);
    const std::string name = corpus.substr(0, corpus.find('/'));
    std::int64_t official = index_tools::find_corpus(corpus).official_documents;
    const std::vector<json> records = testing::sample_records(name + ".jsonl", corpus, official);
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(index_tools::find_corpus(corpus).official_documents, official);
    std::string file;
    for (const json& record : records) {
      const std::string id = record.at("arg0");
      if (name == "disks45") {
        file += value_of(record.at("arg3"), kSgmlMiddle) + "\n";
      } else if (name.starts_with("gov")) {
        file += in_trecweb(id, value_of(record.at("arg2"), kPageMiddle), value_of(record.at("arg3"), kPageMiddle));
      } else {
        file += in_warc(name == "clueweb09" ? "0.18" : "1.0", id, value_of(record.at("arg3"), kPageMiddle),
                        value_of(record.at("arg4"), kPageMiddle));
      }
    }
    const auto read = testing::read_text(corpus, file, true);
    ASSERT_EQ(read.documents.size(), records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      const Document& document = read.documents[i];
      EXPECT_EQ(document.id, records[i].at("arg0").get<std::string>());
      ASSERT_TRUE(answers.contains({corpus, document.id})) << document.id;
      EXPECT_EQ(to_hex(checksum(document.text)), (answers[{corpus, document.id}]))
          << document.id << " " << document.text;
    }
  }
}

// What the sample knows of the text's end is in the record's end.
TEST(MarkupSamples, Disks45EndsAsItsTextDoes) {
  RELUCENT_NEEDS(testing::corpus_samples());
  std::int64_t official = 0;
  for (const json& record : testing::sample_records("disks45.jsonl", "disks45/nocr", official)) {
    const auto read = testing::read_text("disks45/nocr", value_of(record.at("arg3"), kSgmlMiddle), true);
    ASSERT_EQ(read.documents.size(), 1u);
    const std::string text = value_of(record.at("arg2"), "\n");
    EXPECT_TRUE(read.documents[0].text.ends_with(text.substr(text.size() - 30))) << read.documents[0].text;
  }
}

// Titles and abstracts, whole or as far as they are known, put into MEDLINE's XML and into the form of the
// extra abstracts.
TEST(MarkupSamples, Medline) {
  RELUCENT_NEEDS(testing::corpus_samples());
  const auto escaped = [](std::string text) {
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}) {
      for (std::size_t i = text.find(from); i != std::string::npos; i = text.find(from, i + to.size()))
        text.replace(i, from.size(), to);
    }
    return text;
  };
  for (const std::string corpus : {"medline/2004", "medline/2017"}) {
    SCOPED_TRACE(corpus);
    std::int64_t official = 0;
    const std::vector<json> records = testing::sample_records("medline.jsonl", corpus, official);
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(index_tools::find_corpus(corpus).official_documents, official);
    for (const json& record : records) {
      const std::string id = record.at("arg0"), title = value_of(record.at("arg1"), " middle "),
                        abstract = value_of(record.at("arg2"), " middle ");
      const testing::TemporaryFolder folder;
      const bool extra = id.find('_') != std::string::npos;
      const auto file =
          extra ? folder.write(id + ".txt", "Meeting\nTitle: " + title + "\n\n" + abstract + "\n")
                : folder.write("medline.xml",
                               "<MedlineCitationSet><MedlineCitation><PMID>" + id + "</PMID><Article><ArticleTitle>" +
                                   escaped(title) + "</ArticleTitle><Abstract><AbstractText>" + escaped(abstract) +
                                   "</AbstractText></Abstract></Article></MedlineCitation></MedlineCitationSet>");
      const auto read = testing::read_corpus(corpus, {file.string()}, true);
      ASSERT_EQ(read.documents.size(), 1u);
      EXPECT_EQ(read.documents[0].id, id);
      EXPECT_EQ(read.documents[0].text, title + " " + abstract);
    }
  }
}

}  // namespace
}  // namespace relucent
