// Files in markup cut off anywhere, and with bytes changed anywhere: no crash, no hang, and nothing made up.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "gz_lines.h"
#include "indexing_support.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 1200;

// The corpora whose inputs lie beside their expected texts, with the input.
std::set<std::pair<std::string, fs::path>> inputs() {
  const fs::path folder = "tests/golden/markup";
  std::set<std::pair<std::string, fs::path>> found;
  testing::for_each_line(folder / "expected.jsonl", [&](const std::string& line) {
    const auto answer = nlohmann::json::parse(line);
    found.emplace(answer.at("corpus"), folder / "inputs" / answer.at("file").get<std::string>());
  });
  return found;
}

TEST(TruncatedMarkup, IsReadUpToTheCutAtEveryByte) {
  const testing::TemporaryFolder folder;
  for (const auto& [corpus, file] : inputs()) {
    SCOPED_TRACE(corpus + " " + file.string());
    const std::string bytes = testing::bytes_of(file);
    const auto whole = testing::read_corpus(corpus, {file.string()}).documents;
    for (std::size_t cut = 0; cut <= std::min(bytes.size(), kBytes); ++cut) {
      const auto part = folder.write(file.filename().string(), std::string_view(bytes).substr(0, cut));
      const auto read = testing::read_corpus(corpus, {part.string()});
      ASSERT_LE(read.documents.size(), whole.size());
      ASSERT_LE(read.report.malformed_records(), 1) << cut << " " << read.report.malformed_summary();
      for (std::size_t i = 0; i < read.documents.size(); ++i) {
        ASSERT_EQ(read.documents[i].id, whole[i].id) << "cut at " << cut;
        // WARC 0.18 and the extra abstracts end with the file.
        if (i + 1 < read.documents.size()) {
          ASSERT_EQ(read.documents[i].text, whole[i].text) << "cut at " << cut;
        }
      }
    }
  }
}

TEST(DamagedMarkup, IsReadWithoutCrashing) {
  const testing::TemporaryFolder folder;
  std::mt19937 random(20);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::string pieces[] = {"<DOC>\n", "</DOC>\n", "<DOCNO>", "</DOCHDR>\n", "WARC/1.0\r\n", "WARC/0.18\n", "Content-Length: 99999\r\n", "\r\n\r\n",
                                "<MedlineCitation>", "</MedlineCitation>", "charset=utf-16", "charset=euc-jp", "<script>", "<!--", "<![CDATA[",
                                std::string(1, '\0'), "\xFF\xFE", "&#x110000;", "PMID- ", "Title:"};
  for (const auto& [corpus, file] : inputs()) {
    SCOPED_TRACE(corpus + " " + file.string());
    const std::string bytes = testing::bytes_of(file);
    for (int round = 0; round < 300; ++round) {
      std::string damaged = bytes.substr(below(bytes.size()), 4000);
      for (std::size_t n = below(12); n > 0; --n) {
        const std::size_t at = below(damaged.size() + 1);
        if (below(2) == 0) {
          damaged.insert(at, pieces[below(std::size(pieces))]);
        } else if (at < damaged.size()) {
          damaged[at] = static_cast<char>(below(256));
        }
      }
      const auto part = folder.write(file.filename().string(), damaged);
      EXPECT_NO_THROW(testing::read_corpus(corpus, {part.string()})) << round;
    }
  }
}

}  // namespace
}  // namespace relucent
