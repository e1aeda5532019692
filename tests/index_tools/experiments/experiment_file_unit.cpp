// An experiment's file: its settings, and its mistakes with line and column.
#include <gtest/gtest.h>

#include <filesystem>

#include "index_tools/experiments/experiment_file.h"
#include "tests/support/environment.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::index_tools {
namespace {

using testing::expect_error;

// Lines 1 to 15.
const std::string kStart = R"(title = "a study"
measures = ["nDCG@10", "RR@10"]
reference = "sparse w=4"
[[models]]
name = "long"
folder = "models/long"
get = "from there"
or_bundled = true
[[tasks]]
name = "one"
candidates = "one.jsonl.gz"
qrels = "one.qrels"
[[tasks]]
name = "two"
index = "two.index"
)";
const std::string kTask = R"(topics = "two.topics"
hits = 50
qrels = "/absolute/two.qrels"
reference = "full"
)";
const std::string kRows = R"([[averages]]
name = "both"
of = ["one", "two"]
[[rows]]
name = "first"
kind = "first stage"
tasks = ["one"]
[[rows]]
name = "full"
patterns = ["full"]
[[rows]]
name = "{pattern} w={window}"
models = ["long"]
patterns = ["sparse", "longformer"]
windows = ["inf", 4]
lengths = [128]
long_documents = ["maxp"]
)";

Experiment parse(const std::string& text) { return parse_experiment(text, "x.toml", "/experiments", {}); }

TEST(ExperimentFile, ListsBecomeARowPerCombination) {
  const Experiment e = parse(kStart + kTask + kRows);
  std::vector<std::string> names;
  for (const ExperimentRow& row : e.rows) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "full", "sparse w=inf", "sparse w=4", "longformer w=inf",
                                             "longformer w=4"}));
  const ExperimentRow& row = *e.row("longformer w=4");
  EXPECT_EQ(row.model, "long");
  EXPECT_EQ(row.rescorer.pattern, PatternChoice::longformer);
  EXPECT_EQ(row.rescorer.attention_window, 4);
  EXPECT_EQ(row.rescorer.max_length, 128);
  EXPECT_EQ(row.rescorer.long_documents, LongDocuments::maxp);
  EXPECT_GT(*e.row("sparse w=inf")->rescorer.attention_window, 100000);
  EXPECT_EQ(e.row("full")->tasks, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(e.row("first")->tasks, std::vector<std::string>{"one"});
  EXPECT_EQ(e.columns(), (std::vector<std::string>{"one", "two", "both"}));
  EXPECT_EQ(e.reference_of("one"), "sparse w=4");
  EXPECT_EQ(e.reference_of("two"), "full");
  EXPECT_EQ(e.reference_of("both"), "sparse w=4");
}

TEST(ExperimentFile, PathsAreBelowTheDataFolder) {
  const std::string text = kStart + kTask + kRows;
  EXPECT_EQ(parse(text).task("one")->candidates, "/experiments/one.jsonl.gz");
  EXPECT_EQ(parse("data = \"../d\"\n" + text).task("one")->candidates, "/d/one.jsonl.gz");
  const Experiment e = parse_experiment("data = \"../d\"\n" + text, "x.toml", "/experiments", "/other");
  EXPECT_EQ(e.task("one")->candidates, "/other/one.jsonl.gz");
  EXPECT_EQ(e.task("two")->qrels, "/absolute/two.qrels");
  EXPECT_EQ(e.models[0].folder, "/other/models/long");
}

TEST(ExperimentFile, AModelMayBeNamedAsOnTheHub) {
  const testing::TemporaryFolder cache;
  const testing::Environment of_cache("HF_HUB_CACHE", cache.path().string());
  const std::string text = kStart + kTask + kRows, commit(40, 'a');
  const auto snapshot = cache / "models--models--long" / "snapshots" / commit;
  std::filesystem::create_directories(snapshot);
  EXPECT_EQ(parse(text).models[0].folder, "/experiments/models/long");  // no branch is called main
  cache.write("models--models--long/refs/main", commit);
  EXPECT_EQ(parse(text).models[0].folder, snapshot);
  std::filesystem::create_directories(cache / "models/long");
  const Experiment e = parse_experiment(text, "x.toml", "/experiments", cache.path());
  EXPECT_EQ(e.models[0].folder, cache / "models/long");  // folders come first
}

TEST(ExperimentFile, PublishedFiguresMayHaveGaps) {
  const Experiment e = parse(kStart + kTask + kRows + R"([[published]]
measure = "nDCG@10"
columns = ["one", "both"]
[published.values]
"sparse w=4" = ["0.5 †", nan]
full = [0.4, 1]
)");
  const auto& figures = e.published.at("nDCG@10");
  EXPECT_EQ(figures.at("one").at("sparse w=4").value, 0.5);
  EXPECT_EQ(figures.at("one").at("sparse w=4").mark, "†");
  EXPECT_FALSE(figures.at("both").contains("sparse w=4"));
  EXPECT_EQ(figures.at("both").at("full").value, 1.0);
  EXPECT_EQ(figures.at("both").at("full").mark, "");
}

TEST(ExperimentFile, TimeIsAMeasureAmongOthers) {
  EXPECT_FALSE(parse(kStart + kTask + kRows).times);
  std::string text = kStart + kTask + kRows + R"([[published]]
measure = "ms"
columns = ["one"]
[published.values]
full = [0.4]
)";
  text.replace(text.find("\"nDCG@10\""), 9, "\"ms\", \"nDCG@10\"");
  const Experiment e = parse(text);
  EXPECT_TRUE(e.times);
  ASSERT_EQ(e.measures.size(), 2U);
  EXPECT_EQ(e.measures[0].name, "nDCG@10");
  EXPECT_EQ(e.published.at("ms").at("one").at("full").value, 0.4);
}

TEST(ExperimentFile, CostsHaveLengthsAsColumns) {
  const Experiment e = parse(R"(title = "costs"
[costs]
lengths = [64, 512]
[[rows]]
name = "w={window}"
patterns = ["sparse"]
windows = [4, 64]
)");
  EXPECT_EQ(e.columns(), (std::vector<std::string>{"64", "512"}));
  EXPECT_EQ(e.rows.size(), 2U);
}

TEST(ExperimentFile, MistakesAreToldWithTheirPlaceAndARemedy) {
  struct Mistake {
    std::string text, place, problem;
  };
  const std::string good = kStart + kTask + kRows;
  const Mistake mistakes[] = {
      {"titel = \"x\"", "x.toml:1:1", "title"},
      {"title = \"x\"\n[[rows]]\nname = \"a\"", "x.toml", "no tasks"},
      {kStart + kTask, "x.toml", "no rows"},
      {"nonsense = 1\n" + good, "x.toml:1:1", "unknown key \"nonsense\""},
      {good + "window = [4]\n", "x.toml:37:1", "did you mean \"windows\"?"},
      {good + "lengths = [1]\n", "x.toml:37", "lengths"},
      {good + "devices = [\"gpu\"]\n", "x.toml:37:11", "gpu"},
      {good + "precisions = [1]\n", "x.toml:37:15", "text in quotes"},
      {good + "tasks = [\"three\"]\n", "x.toml:37:9", "\"three\", which does not exist"},
      {good + "[[rows]]\nname = \"full\"\n", "x.toml:38:8", "two rows with the name"},
      {good + "[[rows]]\nwindows = [-1]\n", "x.toml:38:12", "whole number"},
      {good + "[[rows]]\npatterns = [\"full\"]\nwindows = [4]\n", "x.toml:37", "contradicts the pattern"},
      {good + "[[rows]]\npatterns = []\n", "x.toml:38:12", "at least one element"},
      {good + "[[rows]]\nlong_documents = [\"best\"]\n", "x.toml:38", "unknown mode"},
      {good + "[[rows]]\nkind = \"x\"\n", "x.toml:38:8", "choose from model, first stage, runs"},
      {good + "[[rows]]\nconfig = \"none.toml\"\n", "x.toml:38:10", "none.toml"},
      {good + "[published]\nmeasure = \"x\"\n", "x.toml:37", "must be sections"},
      {good + "[[published]]\nmeasure = \"MAP\"\n", "x.toml:38:11", "\"MAP\", which does not exist"},
      {good + "[[published]]\nmeasure = \"RR@10\"\ncolumns = [\"one\"]\n[published.values]\nfull = [1, 2]\n",
       "x.toml:41", "2 values for 1 columns"},
      {good + "[[averages]]\nname = \"all\"\nof = [\"both\", \"one\"]\nover = \"topics\"\n", "x.toml:40:8",
       "choose from queries, tasks"},
      {good + "[[averages]]\nname = \"one\"\nof = [\"two\"]\n", "x.toml:38:8", "two with the name"},
      {kStart + "qrels = \"x\"\n" + kRows, "x.toml:13", "where its candidates come from"},
      {good + "[[tasks]]\nname = \"three\"\ncandidates = \"x\"\nrun = \"y\"\nqrels = \"z\"\n", "x.toml:40:7",
       "a run has no texts"},
      {kStart + "statistics = \"x\"\n" + kTask + kRows, "x.toml:16:14", "index has the statistics"},
      {good + "[[tasks]]\nname = \"three\"\ncandidates = \"x\"\nqrels = \"z\"\nrelevant_pieces = [9, 9]\n",
       "x.toml:41:19", "not a range"},
      {good + "[[tasks]]\nname = \"three\"\ncandidates = \"x\"\nqrels = \"z\"\nweights = \"v\"\nlog = \"w\"\n",
       "x.toml:42:7", "weights are from a file"},
      {"level = 5\n" + good, "x.toml:1:9", "between 0 and 1"},
      {"correction = \"sidak\"\n" + good, "x.toml:1:14", "choose from holm, bonferroni, none"},
      {"dagger = \"both\"\n" + good, "x.toml:1:10", "choose from difference, equivalence"},
      {good + "[[published]]\nmeasure = \"RR@10\"\ncolumns = [\"one\"]\n[published.values]\nfull = [\"†0.5\"]\n",
       "x.toml:41", "a number with its mark"},
      {"[costs]\nlengths = [8]\n[[rows]]\nname = \"a\"\n", "x.toml", "title"},
      {"title = \"x\"\n[costs]\nlengths = [8]\n[[rows]]\nname = \"a\"\n", "x.toml:3:11", "no room for a document"},
      {"title = " + std::string(2000, '['), "x.toml:1", "deeper"},
      {"title = ", "x.toml:1", ""},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.text);
    const Error error =
        expect_error(ErrorKind::invalid_data, {mistake.place, mistake.problem}, [&] { parse(mistake.text); });
    EXPECT_FALSE(error.remedy().empty());
  }
  std::string wrong = good;
  wrong.replace(wrong.find("nDCG@10"), 7, "nDCG@ten");
  expect_error(ErrorKind::invalid_data, {"x.toml:2:12", "nDCG@ten"}, [&] { parse(wrong); });
  wrong = good;
  wrong.replace(wrong.find("\"nDCG@10\", \"RR@10\""), 18, "\"ms\"");
  expect_error(ErrorKind::invalid_data, {"x.toml:2:12", "without a measure of effectiveness"}, [&] { parse(wrong); });
  wrong = good;
  wrong.replace(wrong.find("sparse w=4"), 10, "sparse w=5");
  expect_error(ErrorKind::invalid_data, {"x.toml:3:13", "did you mean \"sparse w=4\"?"}, [&] { parse(wrong); });
}

TEST(ExperimentFile, EveryShippedExperimentLoadsAndStatesWhatItIsFor) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator("config/experiments")) {
    if (file.path().extension() != ".toml") continue;
    ++files;
    const Experiment e = load_experiment(file.path(), "/data");
    EXPECT_FALSE(e.rows.empty()) << file.path();
    EXPECT_FALSE(e.source.empty()) << file.path();
    for (const ExperimentModel& model : e.models) EXPECT_FALSE(model.get.empty()) << file.path() << " " << model.name;
    for (const ExperimentTask& task : e.tasks) EXPECT_FALSE(task.get.empty()) << file.path() << " " << task.name;
  }
  EXPECT_GE(files, 8);
}

// Some of the papers' figures, by hand.
TEST(ExperimentFile, ShippedExperimentsHoldThePublishedFigures) {
  const auto figure = [](const char* file, const char* measure, const char* column, const char* row) {
    return load_experiment(std::filesystem::path("config/experiments") / file, "/data")
        .published.at(measure)
        .at(column)
        .at(row)
        .value;
  };
  EXPECT_EQ(figure("ecir2024-table1-passages.toml", "nDCG@10", "passage 2021", "sparse 4"), 0.647);
  EXPECT_EQ(figure("ecir2024-table1-passages.toml", "nDCG@10", "average", "full"), 0.619);
  EXPECT_EQ(figure("ecir2024-table1-documents.toml", "nDCG@10", "document 2019", "qds 64"), 0.697);
  EXPECT_EQ(figure("ecir2024-table1-documents.toml", "nDCG@10", "average", "sparse 0"), 0.561);
  EXPECT_EQ(figure("ecir2024-table2.toml", "nDCG@10", "CORD-19", "sparse 512"), 0.673);
  EXPECT_EQ(figure("ecir2024-table2.toml", "nDCG@10", "average", "monoT5 3b"), 0.387);
  EXPECT_EQ(figure("ecir2024-table3.toml", "MB", "4096", "full"), 1608);
  EXPECT_EQ(figure("ecir2024-table3.toml", "ms", "174", "sparse w=4, full query"), 0.403);
  EXPECT_EQ(figure("mir.toml", "MAP@100", "MS MARCO dev", "MIR 2K"), 0.454);
  EXPECT_EQ(figure("mixencoder.toml", "R@1", "DSTC7", "MixEncoder-b"), 0.682);
}

}  // namespace
}  // namespace relucent::index_tools
