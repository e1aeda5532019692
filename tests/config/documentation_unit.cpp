#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "relucent/config.h"

namespace relucent {
namespace {

constexpr const char* kPage = "docs/configuration.md";
constexpr const char* kBegin = "<!-- keys: begin -->\n";
constexpr const char* kEnd = "<!-- keys: end -->";

std::string in_cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string tables() {
  std::ostringstream out;
  std::string section;
  for (const auto& key : config_keys()) {
    if (key.section != section) {
      section = key.section;
      out << "\n### `[" << section << "]`\n\n| key | default | values | meaning |\n|---|---|---|---|\n";
    }
    out << "| `" << key.name << "` | `" << key.default_value << "` | " << in_cell(key.type) << " | "
        << in_cell(key.meaning) << " |\n";
  }
  out << "\n";
  return out.str();
}

// To bring the page up to date after a change of the schema: RELUCENT_UPDATE_DOCS=1 build/dev/tests/config_tests
TEST(ConfigDocumentation, TheReferencePageListsEveryKeyAsTheLibraryKnowsIt) {
  std::ostringstream read;
  read << std::ifstream(kPage).rdbuf();
  std::string page = read.str();
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << kPage;
  ASSERT_NE(end, std::string::npos) << kPage;
  const std::size_t from = begin + std::string(kBegin).size();
  if (std::getenv("RELUCENT_UPDATE_DOCS") != nullptr) {
    page.replace(from, end - from, tables());
    std::ofstream(kPage) << page;
    GTEST_SKIP() << "SKIPPED: wrote " << kPage << " instead of checking it";
  }
  EXPECT_EQ(page.substr(from, end - from), tables());
}

TEST(ConfigDocumentation, EveryKeyHasAMeaningAndItsAllowedValues) {
  EXPECT_GE(config_keys().size(), 29U);
  for (const auto& key : config_keys()) {
    EXPECT_FALSE(key.meaning.empty()) << key.name;
    EXPECT_FALSE(key.type.empty()) << key.name;
    EXPECT_FALSE(key.default_value.empty()) << key.name;
  }
}

}  // namespace
}  // namespace relucent
