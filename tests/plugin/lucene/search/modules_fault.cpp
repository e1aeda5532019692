#include <gtest/gtest.h>

#include <fstream>

#include "relucent/rescore_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

ScorerConfig module(const std::string& path) {
  ScorerConfig config;
  config.module = path;
  return config;
}

std::string built(const std::string& name) {
  return (std::filesystem::path(RELUCENT_MODULES) / name).replace_extension(".so").string();
}

void refused(const std::string& path, ErrorKind kind, const std::string& problem) {
  SCOPED_TRACE(path);
  expect_error(kind, problem, [&] { make_scorer(module(path)); });
}

TEST(RescoringModules, AMissingFileIsAnErrorThatNamesItsWholePath) {
  refused("no/such/module.so", ErrorKind::io,
          (std::filesystem::current_path() / "no/such/module.so: the scorer module does not exist").string());
  refused("cross-encodr", ErrorKind::io, "cross-encoder");
  refused("/tmp", ErrorKind::io, "/tmp");
}

TEST(RescoringModules, AFileThatIsNoSharedObjectIsAnError) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "text.so";
  std::ofstream(file) << "not a shared object";
  refused(file.string(), ErrorKind::invalid_data, "cannot be loaded");
}

TEST(RescoringModules, MissingSymbolsAreNamed) {
  refused(built("rescoring_module_no_symbols"), ErrorKind::invalid_data, "does not export relucent_scorer_abi");
  refused(built("rescoring_module_no_factory"), ErrorKind::invalid_data, "does not export relucent_make_scorer");
}

TEST(RescoringModules, AnotherInterfaceNumberIsRefused) {
  refused(built("rescoring_module_other_abi"), ErrorKind::invalid_data,
          "was built for scorer interface " + std::to_string(kScorerAbi + 1));
}

TEST(RescoringModules, WhatAConstructorThrowsComesOutAsError) {
  refused(built("rescoring_module_throws"), ErrorKind::invalid_data, "the module's own complaint");
  refused(built("rescoring_module_throws_error"), ErrorKind::unsupported, "needs a newer machine; buy one");
  refused(built("rescoring_module_throws_integer"), ErrorKind::invalid_data, "unknown exception");
  refused(built("rescoring_module_returns_null"), ErrorKind::invalid_data, "returned no scorer");
}

TEST(RescoringModules, AModuleOfOnesOwnScoresTheHits) {
  const SmallIndex index(ten_documents({"alpha beta", "beta", "alpha", "none", "beta alpha gamma"}));
  Config config = small_config();
  config.rescorer.module = built("my_scorer");
  const auto searcher = openSearcher(index.folder(), config);
  const QueryTextScope scope("Alpha gamma");
  const auto answer = rescored(searcher->search(term_query("word"), 10));
  EXPECT_FALSE(answer->degraded) << answer->reason;
  // The share of the query's words that are in the text.
  EXPECT_EQ(documents_of(answer), (std::vector<std::int32_t>{4, 0, 2, 1, 3, 5, 6, 7, 8, 9}));
  EXPECT_EQ(rescored_hit(answer, 0)->logit, 1.F);
  EXPECT_EQ(rescored_hit(answer, 1)->logit, 0.5F);
  EXPECT_NE(to_utf8(searcher->explain(term_query("word"), 4)->toString()).find("word overlap"), std::string::npos);
}

}  // namespace
}  // namespace relucent
