// Documents of every corpus against what ir_datasets' own parsing code makes of the same files, and against records as
// ir_datasets' tests have them of the whole corpora. See corpora/make_expected.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "tests/support/corpora_goldens.h"
#include "tests/support/indexing_support.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

using index_tools::Document;
using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kCorporaAnswers = "tests/index_tools/corpora/golden_corpora";

TEST(CorporaGolden, TextsAreThoseOfIrDatasetsParsers) {
  const auto expected = testing::corpus_answers(kCorporaAnswers / "expected.jsonl", "file");
  EXPECT_GE(expected.size(), 10u);
  for (const auto& [input, documents] : expected) {
    SCOPED_TRACE(input.first);
    const auto read = testing::read_corpus(input.first, {(kCorporaAnswers / "inputs" / input.second).string()}, true);
    ASSERT_EQ(read.documents.size(), documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
      EXPECT_EQ(read.documents[i].id, documents[i].at("id").get<std::string>());
      EXPECT_EQ(read.documents[i].text, documents[i].at("text").get<std::string>()) << read.documents[i].id;
    }
  }
}

// The pieces are not ours, so of their texts only checksums are kept. ir_datasets fails on some records that others
// made for their tests; those are left out.
TEST(CorporaGolden, RealPiecesGiveIrDatasetsTexts) {
  const fs::path formats = testing::test_data() / "formats";
  RELUCENT_NEEDS(formats);
  int compared = 0;
  for (const auto& [input, documents] : testing::corpus_answers(kCorporaAnswers / "pieces.jsonl", "piece")) {
    SCOPED_TRACE(input.first + " " + input.second);
    const fs::path piece = formats / input.second;
    if (!fs::exists(piece) || to_hex(checksum_of_file(piece)) != documents[0].at("piece_crc64").get<std::string>())
      continue;  // another piece
    const auto read = testing::read_corpus(input.first, {piece.string()});
    for (const json& answer : documents) {
      const auto found = std::ranges::find(read.documents, answer.at("id").get<std::string>(), &Document::id);
      ASSERT_NE(found, read.documents.end()) << answer;
      EXPECT_EQ(to_hex(checksum(found->text)), answer.at("crc64").get<std::string>()) << found->text;
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "SKIPPED: none of the pieces is in " << formats;
}

// ---- records of the whole corpora ---------------------------------------------------------------------------------

// A value of the sample: its text or, where only start and end are known ("^start.{N}end$"), a text of that shape.
std::string value_of(const json& field) {
  if (field.is_null()) return {};
  if (field.is_string()) return field.get<std::string>();
  const std::string pattern = field.at("regex").get<std::string>();
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      text += pattern[++i];
    } else if (c == '.' && i + 1 < pattern.size() && pattern[i + 1] == '{') {
      const std::size_t end = pattern.find('}', i);
      for (int n = std::stoi(pattern.substr(i + 2, end - i - 2)); n > 0; --n) text += n % 6 == 0 ? ' ' : 'm';
      i = end;
    } else if (c == '.' && i + 1 < pattern.size() && pattern[i + 1] == '*') {
      text += " anything ";
      ++i;
    } else if (!(c == '^' && i == 0) && !(c == '$' && i + 1 == pattern.size())) {
      text += c;
    }
  }
  return text;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string field_of(const json& record, const char* name) { return value_of(record.at(name)); }

// A record in the corpus's original format, and the text it must give.
using InOriginalFormat = std::function<std::string(const json& record)>;

void expect_records(const std::string& corpus, const std::string& file, const std::string& header,
                    const InOriginalFormat& original,
                    const std::function<std::pair<std::string, std::string>(const json&)>& id_and_text,
                    const std::string& footer = "", std::size_t documents_in_footer = 0) {
  RELUCENT_NEEDS(testing::corpus_samples() / file);
  SCOPED_TRACE(corpus);
  std::int64_t official = 0;
  const std::vector<json> records = testing::sample_records(file, corpus, official);
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(index_tools::find_corpus(corpus).official_documents, official);
  std::string bytes = header;
  for (const json& record : records) bytes += original(record);
  const auto read = testing::read_text(corpus, bytes + footer, true);
  ASSERT_EQ(read.documents.size(), records.size() + documents_in_footer);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto [id, text] = id_and_text(records[i]);
    EXPECT_EQ(read.documents[i].id, id);
    EXPECT_EQ(read.documents[i].text, text);
  }
}

TEST(CorporaSamples, MsMarcoDocuments) {
  const auto expected = [](const json& r) {
    return std::pair(field_of(r, "arg0"), field_of(r, "arg2") + " " + field_of(r, "arg3"));
  };
  expect_records(
      "msmarco-document", "msmarco_document.jsonl", "",
      [](const json& r) {
        return "<DOC>\n<DOCNO>" + field_of(r, "arg0") + "</DOCNO>\n<TEXT>\n" + field_of(r, "arg1") + "\n" +
               field_of(r, "arg2") + "\n" + field_of(r, "arg3") + "</TEXT>\n</DOC>\n";
      },
      expected);
}

TEST(CorporaSamples, MsMarcoDocumentsV2) {
  expect_records(
      "msmarco-document-v2", "msmarco_document_v2.jsonl", "",
      [](const json& r) {
        return json{{"docid", field_of(r, "arg0")},
                    {"url", field_of(r, "arg1")},
                    {"title", field_of(r, "arg2")},
                    {"headings", field_of(r, "arg3")},
                    {"body", field_of(r, "arg4")}}
                   .dump() +
               "\n";
      },
      [](const json& r) {
        return std::pair(field_of(r, "arg0"),
                         field_of(r, "arg2") + " " + field_of(r, "arg3") + " " + field_of(r, "arg4"));
      });
}

TEST(CorporaSamples, MsMarcoPassagesV2) {
  expect_records(
      "msmarco-passage-v2", "msmarco_passage_v2.jsonl", "",
      [](const json& r) {
        return json{{"pid", field_of(r, "arg0")}, {"passage", field_of(r, "arg1")}, {"docid", field_of(r, "arg3")}}
                   .dump() +
               "\n";
      },
      [](const json& r) { return std::pair(field_of(r, "arg0"), field_of(r, "arg1")); });
}

TEST(CorporaSamples, Antique) {
  expect_records(
      "antique", "antique.jsonl", "",
      [](const json& r) { return field_of(r, "doc_id") + "\t" + field_of(r, "text") + "\n"; },
      [](const json& r) { return std::pair(field_of(r, "doc_id"), field_of(r, "text")); });
}

TEST(CorporaSamples, NfCorpus) {
  expect_records(
      "nfcorpus", "nfcorpus.jsonl", "",
      [](const json& r) {
        return field_of(r, "arg0") + "\t" + field_of(r, "arg1") + "\t" + field_of(r, "arg2") + "\t" +
               field_of(r, "arg3") + "\n";
      },
      [](const json& r) { return std::pair(field_of(r, "arg0"), field_of(r, "arg2") + " " + field_of(r, "arg3")); });
}

TEST(CorporaSamples, ArgsMe) {
  const auto original = [](const json& r) {
    json premises = json::array();
    for (const json& premise : r.at("premises"))
      premises.push_back({{"text", field_of(premise, "text")}, {"stance", "PRO"}});
    return json{{"id", field_of(r, "doc_id")},
                {"conclusion", field_of(r, "conclusion")},
                {"premises", premises},
                {"context", {{"sourceText", r.contains("source_text") ? value_of(r.at("source_text")) : ""}}}}
               .dump() +
           ",";
  };
  const auto expected = [](const json& r) {
    return std::pair(field_of(r, "doc_id"), field_of(r, "premises_texts") + " " + field_of(r, "conclusion"));
  };
  for (const char* corpus : {"argsme/1.0", "argsme/1.0-cleaned", "argsme/2020-04-01"}) {
    expect_records(corpus, "argsme.jsonl", "{\"version\": 1, \"arguments\": [", original, expected,
                   "{\"id\": \"last\", "
                   "\"premises\": [], \"conclusion\": \"c\"}]}",
                   1);
  }
}

std::string quoted(std::string text) {
  for (std::size_t i = text.find('"'); i != std::string::npos; i = text.find('"', i + 2)) text.insert(i, 1, '"');
  return '"' + text + '"';
}

TEST(CorporaSamples, Cord19) {
  const auto row = [](const json& r) {
    return quoted(field_of(r, "arg0")) + ",sha," + quoted(field_of(r, "arg1")) + "," + quoted(field_of(r, "arg4")) +
           "\n";
  };
  expect_records("cord19", "cord19.jsonl", "cord_uid,sha,title,abstract\n", row, [](const json& r) {
    return std::pair(field_of(r, "arg0"), field_of(r, "arg1") + " " + field_of(r, "arg4"));
  });
}

// The release as it is when unpacked: metadata.csv, and the full texts in folders next to it.
TEST(CorporaSamples, Cord19WithFullTexts) {
  RELUCENT_NEEDS(testing::corpus_samples() / "cord19.jsonl");
  std::int64_t official = 0;
  const std::vector<json> records = testing::sample_records("cord19.jsonl", "cord19/fulltext", official);
  EXPECT_EQ(index_tools::find_corpus("cord19/fulltext").official_documents, official);
  const testing::TemporaryFolder folder;
  std::string metadata = "cord_uid,title,abstract,pdf_json_files,pmc_json_files\n";
  std::vector<std::string> expected;
  for (const json& record : records) {
    const std::string id = field_of(record, "arg0");
    const std::string file = "document_parses/pmc_json/" + id + ".xml.json";
    metadata += id + "," + quoted(field_of(record, "arg1")) + "," + quoted(field_of(record, "arg4")) + ",," + file +
                "; other.json\n";
    expected.push_back(field_of(record, "arg1") + " " + field_of(record, "arg4"));
    json sections = json::array();
    for (const json& section : record.at("arg5")) {
      const std::string title = section.contains("title") ? field_of(section, "title") : field_of(section, "arg0");
      const std::string text = section.contains("text") ? field_of(section, "text") : field_of(section, "arg1");
      sections.push_back({{"section", title}, {"text", text}});
      expected.back() += " " + title + " " + text;
    }
    folder.write(file, json{{"paper_id", id}, {"body_text", sections}}.dump(1));
  }
  const auto read = testing::read_corpus("cord19/fulltext", {folder.write("metadata.csv", metadata).string()}, true);
  ASSERT_EQ(read.documents.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(read.documents[i].text, expected[i]);
}

TEST(CorporaSamples, Beir) {
  expect_records(
      "beir/nfcorpus", "beir.jsonl", "",
      [](const json& r) {
        return json{{"_id", field_of(r, "arg0")},
                    {"title", field_of(r, "arg2")},
                    {"text", field_of(r, "arg1")},
                    {"metadata", json::object()}}
                   .dump() +
               "\n";
      },
      [](const json& r) { return std::pair(field_of(r, "arg0"), field_of(r, "arg2") + " " + field_of(r, "arg1")); });
}

// The sample has the paragraphs of wapo/v4 whole, and of the whole text start, end and length. Media come before the
// paragraphs, and plain text is told from HTML by its characters, except in the last record, where all is HTML.
TEST(CorporaSamples, WashingtonPost) {
  RELUCENT_NEEDS(testing::corpus_samples() / "wapo.jsonl");
  std::int64_t official = 0;
  ASSERT_FALSE(testing::sample_records("wapo.jsonl", "wapo/v2", official).empty());
  EXPECT_EQ(index_tools::find_corpus("wapo/v2").official_documents, official);
  const std::vector<json> records = testing::sample_records("wapo.jsonl", "wapo/v4", official);
  EXPECT_EQ(index_tools::find_corpus("wapo/v4").official_documents, official);
  int compared = 0;
  for (const json& record : records) {
    const json& paragraphs = record.at("arg7");
    if (!std::all_of(paragraphs.begin(), paragraphs.end(), [](const json& paragraph) { return paragraph.is_string(); }))
      continue;
    const bool all_html = record.at("arg8").empty();
    json contents =
        json::array({{{"type", "kicker"}, {"mime", "text/plain"}, {"content", record.at("arg5")}}, nullptr});
    for (const json& media : record.at("arg8")) {
      const char* text = media.contains("text") ? "text" : "arg2";
      contents.push_back({{"type", "image"}, {"imageURL", "u"}, {"fullcaption", media.at(text)}});
    }
    for (const json& paragraph : paragraphs) {
      const bool html = all_html || paragraph.get_ref<const std::string&>().find_first_of("<&") != std::string::npos;
      contents.push_back(
          {{"type", "sanitized_html"}, {"mime", html ? "text/html" : "text/plain"}, {"content", paragraph}});
    }
    const json line = {{"id", record.at("arg0")}, {"title", record.at("arg2")}, {"contents", contents}};
    const auto read = testing::read_text("wapo/v4", line.dump() + "\n", true);
    ASSERT_EQ(read.documents.size(), 1u);
    const std::string& text = read.documents[0].text;
    const std::string shape = value_of(record.at("arg6"));
    const std::string title = field_of(record, "arg2") + " ";
    EXPECT_TRUE(text.starts_with(title + shape.substr(0, 40))) << text;
    EXPECT_TRUE(text.ends_with(shape.substr(shape.size() - 60))) << text;
    EXPECT_EQ(characters(text), characters(title + shape)) << text;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace relucent
