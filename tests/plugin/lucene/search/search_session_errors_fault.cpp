// What a session refuses: queries, settings and indexes; and an index that goes while it is open.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using Texts = HitTexts;

class SearchSessionErrors : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  Config config = small_config();
  fs::path index = folder / "index";

  void SetUp() override { write_words(index, numbered({"1", "2", "3"}), 2); }
  std::unique_ptr<SearchSession> session(QuerySyntax syntax = QuerySyntax::words) {
    return session_with(index, config, {std::make_shared<NumberScorer>()}, syntax);
  }
  void refused(ErrorKind kind, const std::string& part) {
    const Error error = expect_error(kind, part, [&] { session(); });
    EXPECT_FALSE(error.remedy().empty()) << error.what();
  }
};

TEST_F(SearchSessionErrors, ABlankQuery) {
  for (const QuerySyntax syntax : {QuerySyntax::words, QuerySyntax::lucene}) {
    const auto open = session(syntax);
    for (const std::string query : {"", " ", " \t\r\n\v\f "}) {
      const Error error = expect_error(ErrorKind::usage, "is empty", [&] { open->search(query, 10, Texts::none); });
      EXPECT_EQ(error.place(), "query");
      EXPECT_FALSE(error.remedy().empty());
    }
  }
}

TEST_F(SearchSessionErrors, AQueryThatDoesNotFollowTheSyntax) {
  const auto open = session(QuerySyntax::lucene);
  for (const std::string query : {"\"unclosed", "(word", "word)", "word AND", "[a TO", "word^"}) {
    SCOPED_TRACE(query);
    for (const int call : {0, 1, 2}) {
      const Error error = expect_error(ErrorKind::usage, "cannot be parsed", [&] {
        if (call == 0) open->search(query, 10, Texts::none);
        if (call == 1) open->explain(query, 0);
        if (call == 2) open->statistics(query);
      });
      EXPECT_EQ(error.place(), "query");
    }
  }
  EXPECT_EQ(open->search("word", 10, Texts::none).hits.size(), 3U) << "the next query is answered";
  // The same characters are words, or nothing, where no syntax is asked for.
  for (const std::string query : {"\"unclosed", "(word", "[a TO"}) session()->search(query, 10, Texts::none);
}

TEST_F(SearchSessionErrors, AMissingIndexAFolderWithoutOneAndNone) {
  config.rescorer.enabled = false;
  const auto open = [&](const fs::path& place) { return SearchSession(place, config, QuerySyntax::words); };
  expect_error(ErrorKind::io, (folder / "absent").string(), [&] { open(folder / "absent"); });
  fs::create_directory(folder / "empty");
  expect_error(ErrorKind::invalid_data, (folder / "empty").string(), [&] { open(folder / "empty"); });
  expect_error(ErrorKind::usage, "no index was given", [&] { open(""); });
  config.index.path = index.string();
  EXPECT_EQ(open("").search("word", 10, Texts::none).total_hits, 3);
}

TEST_F(SearchSessionErrors, UnknownFieldsAndWrongSettings) {
  config.index.text_field = "body";
  expect_error(ErrorKind::usage, {"\"body\"", "existing fields"},
               [&] { SearchSession(index, config, QuerySyntax::words); });
  config = small_config();
  config.rescorer.window = 0;
  refused(ErrorKind::usage, "[rescorer] window");
  config = small_config();
  config.first_stage.k1 = -1;
  refused(ErrorKind::usage, "[first_stage] k1");
  config = small_config();
  config.rescorer.module = "/no/such/module.so";
  expect_error(ErrorKind::io, "/no/such/module.so", [&] { SearchSession(index, config, QuerySyntax::words); });
}

TEST_F(SearchSessionErrors, ADamagedFileOfTheIndex) {
  std::size_t damaged = 0;
  for (const auto& entry : fs::directory_iterator(index)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".frq" && extension != ".tis" && extension != ".fdt" && extension != ".cfs") continue;
    const std::string bytes = bytes_of(entry.path());
    std::string wrong = bytes;
    for (std::size_t i = wrong.size() / 2; i < wrong.size(); i += 3) wrong[i] = static_cast<char>(wrong[i] ^ 0x55);
    std::ofstream(entry.path(), std::ios::binary) << wrong;
    ++damaged;
    // At the opening or at the first search that reads it.
    try {
      session()->search("word", 10, Texts::whole);
      ADD_FAILURE() << entry.path() << " was read";
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::invalid_data || error.kind() == ErrorKind::io) << error.what();
      EXPECT_NE(std::string(error.what()).find(index.string()), std::string::npos) << error.what();
    }
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  EXPECT_GE(damaged, 2U);
  EXPECT_EQ(session()->search("word", 10, Texts::whole).total_hits, 3);
}

TEST_F(SearchSessionErrors, AnIndexThatIsDeletedIsSearchedUntilTheSessionEnds) {
  const auto open = session();
  const SearchResult before = open->search("word", 10, Texts::whole);
  fs::remove_all(index);
  const SearchResult after = open->search("word", 10, Texts::whole);
  EXPECT_EQ(ids_of(after), ids_of(before));
  for (std::size_t i = 0; i < before.hits.size(); ++i) EXPECT_EQ(after.hits[i].text, before.hits[i].text);
  refused(ErrorKind::io, index.string());
}

TEST_F(SearchSessionErrors, AnIndexWhoseFilesShrinkGivesTheAnswerOrAnError) {
  const auto open = session();
  const SearchResult before = open->search("word", 10, Texts::whole);
  for (const auto& entry : fs::directory_iterator(index)) fs::resize_file(entry.path(), 0);
  for (const std::string query : {"word", "other1", "other2 word"}) {
    try {
      const SearchResult after = open->search(query, 10, Texts::whole);
      if (query == "word") {
        EXPECT_EQ(ids_of(after), ids_of(before));
      }
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::io || error.kind() == ErrorKind::invalid_data) << error.what();
    }
  }
}

}  // namespace
}  // namespace relucent::testing
