// The documentation's two programs, compiled and run: one line is all that makes a plain Lucene++ program a rescoring
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "relucent/english_analyzer.h"
#include "relucent/index_builder.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Line {
  double score = 0;
  std::string id;
};

std::vector<Line> run(const std::string& program, const std::filesystem::path& index, const std::string& question) {
  const std::string command = "'" + program + "' '" + index.string() + "' '" + question + "'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command + "\n" + output);
  std::vector<Line> hits;
  std::istringstream in(output);
  int rank = 0;
  Line hit;
  while (in >> rank >> hit.score >> hit.id) hits.push_back(hit);
  return hits;
}

// Written by Lucene++'s own writer, as an existing program does it.
void write_index(const std::filesystem::path& folder,
                 const std::vector<std::pair<std::string, std::string>>& documents) {
  const auto writer =
      newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.string())),
                                     newLucene<EnglishAnalyzer>(), true, Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(newLucene<Lucene::SerialMergeScheduler>());
  for (const auto& [id, text] : documents) {
    const auto document = newLucene<Lucene::Document>();
    document->add(
        newLucene<Lucene::Field>(L"id", to_lucene(id), Lucene::Field::STORE_YES, Lucene::Field::INDEX_NOT_ANALYZED));
    document->add(
        newLucene<Lucene::Field>(L"text", to_lucene(text), Lucene::Field::STORE_YES, Lucene::Field::INDEX_NO));
    document->add(
        newLucene<Lucene::Field>(L"contents", to_lucene(text), Lucene::Field::STORE_NO, Lucene::Field::INDEX_ANALYZED));
    writer->addDocument(document);
  }
  writer->close();
}

TEST(RescoringExamples, TheTwoProgramsDifferInOneLine) {
  const auto plain = lines_of("docs/examples/plain_search.cpp");
  const auto rescored_program = lines_of("docs/examples/rescored_search.cpp");
  ASSERT_GT(plain.size(), 10U);
  ASSERT_EQ(plain.size(), rescored_program.size());
  int different = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) different += plain[i] != rescored_program[i] ? 1 : 0;
  EXPECT_EQ(different, 1);
}

TEST(RescoringExamples, TheGuideShowsBothProgramsAsTheyAre) {
  std::ostringstream guide;
  guide << std::ifstream("docs/embedding.md").rdbuf();
  for (const auto& line : lines_of("docs/examples/plain_search.cpp")) {
    EXPECT_NE(guide.str().find(line), std::string::npos) << line;
  }
  for (const auto& line : lines_of("docs/examples/rescored_search.cpp")) {
    EXPECT_NE(guide.str().find(line), std::string::npos) << line;
  }
}

// Compiled in tests/install.
TEST(RescoringExamples, TheGuideShowsTheCallsOfTheOtherPrograms) {
  std::ostringstream guide;
  guide << std::ifstream("docs/embedding.md").rdbuf();
  const auto count_shown = [&](const char* program, const std::vector<std::string>& names) {
    int shown = 0;
    for (const auto& line : lines_of(program)) {
      if (!std::ranges::any_of(names, [&](const auto& name) { return line.find(name) != std::string::npos; })) continue;
      ++shown;
      EXPECT_NE(guide.str().find(line), std::string::npos) << line;
    }
    return shown;
  };
  EXPECT_EQ(count_shown("docs/examples/current_search.cpp", {"manager", "current.searcher->search"}), 5);
  EXPECT_EQ(count_shown("docs/examples/session_search.cpp", {"SearchSession ", "session.search(", "hit."}), 3);
}

TEST(RescoringExamples, TheChangedLineRescoresTheHits) {
  const TemporaryFolder folder;
  const auto index = folder.path() / "index";
  write_index(
      index,
      {
          {"word",
           "How the word bread came into English: keep and fresh are old words, and bread, fresh bread, is the "
           "youngest "
           "of the three words."},
          {"answer",
           "Store bread in a paper bag or a bread box at room temperature to keep it from drying out and going stale."},
          {"band",
           "Bread, the band, had a fresh sound; fans of Bread keep their records, and keep asking how Bread did it."},
          {"bicycle", "A bicycle chain wants a drop of oil every few weeks to keep it running."},
      });
  const auto plain = run(RELUCENT_PLAIN_SEARCH, index, "how do I keep bread fresh");
  const auto better = run(RELUCENT_RESCORED_SEARCH, index, "how do I keep bread fresh");
  ASSERT_EQ(plain.size(), 4U);
  ASSERT_EQ(better.size(), 4U);
  EXPECT_NE(plain.front().id, "answer");
  EXPECT_EQ(better.front().id, "answer");

  // The scores are the model's, for the words that the query holds.
  Config config;
  config.rescorer.timeout = std::chrono::milliseconds(0);
  const auto scorer = make_scorer(config.rescorer);
  const std::string text =
      "Store bread in a paper bag or a bread box at room temperature to keep it from drying out and going stale.";
  const Candidate candidate{"answer", text, 1, 1};
  CandidateScore score;
  scorer->score("how do i keep bread fresh", std::span(&candidate, 1), std::span(&score, 1), {});
  EXPECT_NEAR(better.front().score, score.score, 1e-3);
}

// A query of inflected words finds what `relucent search` finds.
TEST(RescoringExamples, ParseAsTheIndexWasAnalyzed) {
  const TemporaryFolder folder;
  const auto builder = IndexBuilder::open(folder.path() / "index", IndexBuilder::Mode::create, {});
  builder->add("other", "A duplicate key opens the same lock as the first one.");
  builder->add("rdfind", "Finds duplicated file names and contents, and removes one file of each pair.");
  builder->commit({});
  builder->close();
  const auto hits = run(RELUCENT_PLAIN_SEARCH, folder.path() / "index", "finding duplicates of files");
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits.front().id, "rdfind");
}

}  // namespace
}  // namespace relucent
