#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

void refused(const std::function<void()>& work, ErrorKind kind, const std::string& part) {
  EXPECT_FALSE(expect_error(kind, part, work).remedy().empty()) << part;
}

Config with_module() {
  Config config = small_config();
  config.rescorer.module = std::string(RELUCENT_MODULES) + "/my_scorer.so";
  return config;
}

TEST(RescoringOpen, EnabledFalseGivesPlainBM25AndLoadsNoModel) {
  const SmallIndex index(ten_documents({"1", "2"}));
  Config config = small_config();
  config.rescorer.enabled = false;
  config.rescorer.model = "/no/such/model";
  config.rescorer.module = "/no/such/module.so";
  const auto searcher = openSearcher(index.folder(), config);
  EXPECT_FALSE(boost::dynamic_pointer_cast<RescoringSearcher>(searcher));
  EXPECT_EQ(documents_of(searcher->search(term_query("word"), 3)), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(RescoringOpen, AProfileMayNameTheIndex) {
  const SmallIndex index(ten_documents({"1", "2"}));
  const TemporaryFolder folder;
  const auto profile = folder.path() / "profile.toml";
  std::ofstream(profile) << "[index]\npath = \"" << std::filesystem::relative(index.folder(), folder.path()).string()
                         << "\"\n[first_stage]\nanalyzer = \"whitespace\"\n[rescorer]\nenabled = false\n";
  EXPECT_EQ(openSearcher("", profile)->maxDoc(), 10);
  refused([&] { openSearcher("", Config()); }, ErrorKind::usage, "no index was given");
}

TEST(RescoringOpen, MissingForeignAndCorruptIndexesAreErrors) {
  refused([] { openSearcher("/no/such/index", with_module()); }, ErrorKind::io, "/no/such/index");
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "notes.txt") << "no index";
  refused([&] { openSearcher(folder.path(), with_module()); }, ErrorKind::invalid_data, folder.path().string());

  const SmallIndex index(ten_documents({"1", "2"}));
  for (const auto& entry : std::filesystem::directory_iterator(index.folder())) {
    if (entry.path().filename().string().starts_with("segments_")) std::filesystem::resize_file(entry.path(), 7);
  }
  EXPECT_THROW(openSearcher(index.folder(), with_module()), Error);
}

TEST(RescoringOpen, AMisspeltTextFieldIsAnErrorThatListsTheFields) {
  const SmallIndex index(ten_documents({"1", "2"}));
  Config config = with_module();
  config.index.text_field = "body";
  refused([&] { openSearcher(index.folder(), config); }, ErrorKind::usage, "existing fields: contents, id, text");
}

TEST(RescoringOpen, AMissingModelIsAnErrorThatNamesItsFolder) {
  const SmallIndex index(ten_documents({"1", "2"}));
  Config config = small_config();
  config.rescorer.model = "/no/such/model";
  refused([&] { openSearcher(index.folder(), config); }, ErrorKind::io, "/no/such/model");
}

TEST(RescoringOpen, WrongConfigurationsAreErrors) {
  const SmallIndex index(ten_documents({"1", "2"}));
  Config config = with_module();
  config.rescorer.window = 0;
  refused([&] { openSearcher(index.folder(), config); }, ErrorKind::usage, "[rescorer] window");
  refused([&] { openSearcher(index.folder(), "/no/such/profile.toml"); }, ErrorKind::io, "/no/such/profile.toml");
  config = with_module();
  config.log.file = "/dev/null/x.log";
  refused([&] { openSearcher(index.folder(), config); }, ErrorKind::io, "/dev/null/x.log");
}

TEST(RescoringOpen, MessagesGoToTheLogFileAndNeverToStandardOutput) {
  const SmallIndex index(ten_documents({"1", "2"}));
  const TemporaryFolder folder;
  Config config = with_module();
  config.log.level = LogLevel::debug;
  config.log.file = (folder.path() / "relucent.log").string();
  ::testing::internal::CaptureStdout();
  {
    const auto searcher = openSearcher(index.folder(), config);
    searcher->search(term_query("word"), 3);
    searcher->search(term_query("word"), 3);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  std::ostringstream text;
  text << std::ifstream(config.log.file).rdbuf();
  EXPECT_NE(text.str().find("rescoring the best 100 hits with word overlap"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("query \"word\" (text from terms)"), std::string::npos) << text.str();
  const std::size_t warning = text.str().find("queries carry no text");
  EXPECT_NE(warning, std::string::npos) << text.str();
  EXPECT_EQ(text.str().find("queries carry no text", warning + 1), std::string::npos) << "said more than once";
}

}  // namespace
}  // namespace relucent
