// Files in markup cut off anywhere, and with bytes changed anywhere: no crash, no hang, and nothing made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/support/markup_support.h"

namespace relucent {
namespace {

constexpr std::size_t kMarkupBytes = 4000;

TEST(TruncatedMarkup, IsReadUpToTheCutAtEveryByte) {
  for (const auto& [corpus, file] : testing::markup_inputs()) {
    SCOPED_TRACE(corpus + " " + file);
    const std::string bytes = testing::bytes_of(testing::markup_answers() / "inputs" / file);
    const auto whole = testing::read_part(corpus, file, bytes).documents;
    std::size_t most = 0;
    for (std::size_t cut = 0; cut <= std::min(bytes.size(), kMarkupBytes); ++cut) {
      const auto read = testing::read_part(corpus, file, bytes.substr(0, cut));
      ASSERT_LE(read.documents.size(), whole.size());
      ASSERT_LE(read.report.malformed_records(), 1) << cut << " " << read.report.malformed_summary();
      for (std::size_t i = 0; i < read.documents.size(); ++i) {
        ASSERT_EQ(read.documents[i].id, whole[i].id) << "cut at " << cut;
        // The last one may be cut: WARC 0.18 and the extra abstracts end with the file.
        if (i + 1 < read.documents.size()) {
          ASSERT_EQ(read.documents[i].text, whole[i].text) << "cut at " << cut;
        }
      }
      most = std::max(most, read.documents.size());
    }
    EXPECT_GE(most, std::min<std::size_t>(whole.size(), 2));
  }
}

TEST(DamagedMarkup, IsReadWithoutCrashing) {
  std::mt19937 random(20);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::string pieces[] = {"<DOC>\n",
                                "</DOC>\n",
                                "<DOCNO>",
                                "</DOCHDR>\n",
                                "WARC/1.0\r\n",
                                "WARC/0.18\n",
                                "Content-Length: 99999\r\n",
                                "\r\n\r\n",
                                "<MedlineCitation>",
                                "</MedlineCitation>",
                                "charset=utf-16",
                                "charset=euc-jp",
                                "<script>",
                                "<!--",
                                "<![CDATA[",
                                std::string(1, '\0'),
                                "\xFF\xFE",
                                "&#x110000;",
                                "PMID- ",
                                "Title:"};
  for (const auto& [corpus, file] : testing::markup_inputs()) {
    SCOPED_TRACE(corpus + " " + file);
    const std::string bytes = testing::bytes_of(testing::markup_answers() / "inputs" / file);
    for (unsigned round = 0; round < 300; ++round) {
      std::string damaged = bytes.substr(below(bytes.size()), 4000);
      for (std::size_t n = below(12); n > 0; --n) {
        const std::size_t at = below(damaged.size() + 1);
        if (below(2) == 0) {
          damaged.insert(at, pieces[below(std::size(pieces))]);
        } else if (at < damaged.size()) {
          damaged[at] = static_cast<char>(below(256));
        }
      }
      EXPECT_NO_THROW(testing::read_part(corpus, file, damaged, round)) << round;
    }
  }
}

}  // namespace
}  // namespace relucent
