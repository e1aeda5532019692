// A file cut off anywhere: no crash, no hang, and nothing made up: documents before the cut are read as from the whole
// file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "relucent/error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPartBytes = 2000;

// The corpora whose inputs lie next to their expected texts, with the input.
std::set<std::pair<std::string, fs::path>> inputs() {
  const fs::path folder = "tests/index_tools/corpora/golden_corpora";
  std::set<std::pair<std::string, fs::path>> found;
  testing::for_each_line(folder / "expected.jsonl", [&](const std::string& line) {
    const auto answer = nlohmann::json::parse(line);
    found.emplace(answer.at("corpus"), folder / "inputs" / answer.at("file").get<std::string>());
  });
  return found;
}

index_tools::InputFile input_file(const fs::path& path) {
  return index_tools::find_input_files({path.string()}, {}).files.at(0);
}

TEST(TruncatedCorpora, AreReadUpToTheCutAtEveryByte) {
  for (const auto& [corpus, file] : inputs()) {
    SCOPED_TRACE(corpus);
    const testing::TemporaryFolder folder;
    if (fs::exists(file.parent_path() / "document_parses")) {
      fs::copy(file.parent_path() / "document_parses", folder / "document_parses", fs::copy_options::recursive);
    }
    const std::string bytes = testing::bytes_of(file);
    const auto whole = testing::read_corpus(corpus, {file.string()}).documents;
    std::size_t most = 0;
    const auto part = folder.write("part", std::string_view(bytes).substr(0, kPartBytes));
    for (std::size_t cut = fs::file_size(part); cut-- > 0;) {
      fs::resize_file(part, cut);
      std::vector<index_tools::Document> read;
      try {
        index_tools::CorpusReader reader(index_tools::find_corpus(corpus), {input_file(part)}, {}, false);
        for (index_tools::Document document; reader.next(document);) read.push_back(document);
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::invalid_data) << error.what();
        ASSERT_NE(error.place().find(part.string()), std::string::npos) << error.what();
      }
      ASSERT_LE(read.size(), whole.size());
      for (std::size_t i = 0; i + 1 < read.size(); ++i) {  // the last one may be cut
        ASSERT_EQ(read[i].id, whole[i].id) << "cut at " << cut;
        ASSERT_EQ(read[i].text, whole[i].text) << "cut at " << cut;
      }
      most = std::max(most, read.size());
    }
    EXPECT_GT(most, 1u);
  }
}

}  // namespace
}  // namespace relucent
