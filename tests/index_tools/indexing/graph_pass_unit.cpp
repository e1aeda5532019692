// Graphs of an index that another program wrote and changes, and searches with them.
#include <RAMDirectory.h>
#include <gtest/gtest.h>

#include <map>

#include "index_tools/indexing/graph_pass.h"
#include "model/mir/passage_model.h"
#include "plugin/lucene/analysis/analyzer_places.h"
#include "plugin/lucene/graphs/check_graphs.h"
#include "relucent/index_reader.h"
#include "relucent/rescore_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/rescoring_support.h"
#include "tests/support/tiny_mir.h"

namespace relucent::index_tools {
namespace {

using testing::expect_error;
using testing::SmallIndex;
using testing::StoredDocument;
using testing::TemporaryFolder;
using testing::TinyMir;

std::vector<StoredDocument> documents() {
  std::vector<StoredDocument> all;
  for (int i = 0; i < 12; ++i) {
    std::string text = "a ";
    for (int word = 0; word < 4 * i; ++word) {
      text += std::string(1, static_cast<char>('a' + (i + 3 * word) % 20)) + (word % 4 == 3 ? ". " : " ");
    }
    all.push_back({"d" + std::to_string(i), text, text});
  }
  all.push_back({"none", std::nullopt, "a"});
  return all;
}

class GraphPass : public ::testing::Test {
 protected:
  GraphPass() {
    TinyMir().write(folder / "mir");
    config = testing::small_config();
    config.rescorer.model = (folder / "mir").string();
    config.rescorer.device = Device::cpu();
    config.rescorer.precision = Precision::fp32;
    config.rescorer.on_error = OnError::fail;
  }

  GraphSummary make(bool rebuild = false) const {
    GraphJob job;
    job.index = index.folder();
    job.config = config;
    job.rebuild = rebuild;
    job.threads = 2;
    job.quiet = true;
    return make_graphs(job, {});
  }

  std::map<std::string, float> logits(MissingGraphs missing = MissingGraphs::error) const {
    Config changed = config;
    changed.rescorer.missing_graphs = missing;
    return logits_of(openSearcher(index.folder(), changed));
  }

  static std::map<std::string, float> logits_of(const Lucene::IndexSearcherPtr& searcher) {
    std::map<std::string, float> found;
    const QueryTextScope text("b c");
    const auto answer = testing::rescored(searcher->search(testing::term_query("a"), 20));
    for (std::int32_t i = 0; i < answer->scoreDocs.size(); ++i) {
      const auto hit = testing::rescored_hit(answer, i);
      if (hit->logit) {
        found[*first_stored_text(searcher->doc(hit->doc), "id")] = *hit->logit;
      }
    }
    return found;
  }

  /// As another program changes the index.
  template <typename Change>
  void change(Change&& what) {
    const auto writer = Lucene::newLucene<Lucene::IndexWriter>(
        Lucene::FSDirectory::open(to_lucene(index.folder().string())), Lucene::newLucene<Lucene::WhitespaceAnalyzer>(),
        false, Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
    writer->setMergeScheduler(Lucene::newLucene<Lucene::SerialMergeScheduler>());
    what(writer);
    writer->close();
  }

  TemporaryFolder folder;
  SmallIndex index{documents()};
  Config config;
};

TEST_F(GraphPass, StoredGraphsAreThoseMadeOfTheText) {
  expect_error(ErrorKind::io, {"relucent-_0.graphs", "is missing", "relucent graphs --index", "--model"},
               [&] { logits(); });
  const auto made = logits(MissingGraphs::make);
  EXPECT_EQ(made.size(), 12U);
  const GraphSummary summary = make();
  EXPECT_EQ(summary.made, 13);
  EXPECT_EQ(summary.without_text, 1);
  EXPECT_EQ(logits(), made);
  // By hand, with the terms of the other analyzer.
  const auto model = PassageModel::load(folder / "mir",
                                        {.device = Device::cpu(), .precision = Precision::fp32, .instruction_set = {}});
  const std::string text = *documents()[7].text;
  const auto terms = term_places(config.first_stage, text);
  const auto reader = open_reader(index.folder());
  const TermStatistics statistics{13, [&](std::string_view term) {
                                    return static_cast<std::uint64_t>(
                                        reader->docFreq(Lucene::newLucene<Lucene::Term>(L"contents", to_lucene(term))));
                                  }};
  const BuiltGraph built = build_graph(model->graph_settings(), {text, terms}, statistics, model->tokenizer());
  EXPECT_GT(built.graph.mentions.size(), 0U);
  const GraphedDocument document{text, &built.graph};
  EXPECT_EQ(model->score("b c", {&document, 1}).documents[0].logit, made.at("d7"));
}

TEST_F(GraphPass, DeletionsChangeNothingAndMergesNeedNewGraphs) {
  make();
  auto before = logits();
  change([](const auto& writer) { writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", L"d3")); });
  before.erase("d3");
  EXPECT_EQ(logits(), before);
  EXPECT_EQ(make().kept, 13);
  change([](const auto& writer) { writer->optimize(); });
  expect_error(ErrorKind::io, {".graphs", "is missing", "relucent graphs"}, [&] { logits(); });
  const GraphsCheck old = check_graphs(index.folder());
  EXPECT_EQ(old.leftover, std::vector<std::string>{"relucent-_0.graphs"});
  const GraphSummary summary = make();
  EXPECT_EQ(summary.made, 12);
  EXPECT_EQ(summary.removed, std::vector<std::string>{"relucent-_0.graphs"});
  EXPECT_EQ(logits().size(), 11U);
  EXPECT_EQ(check_graphs(index.folder()).whole.size(), 1U);
}

TEST_F(GraphPass, AddedDocumentsNeedGraphsAndOldOnesKeepTheirs) {
  make();
  const auto before = logits();
  change([](const auto& writer) {
    const auto entry = Lucene::newLucene<Lucene::Document>();
    for (const wchar_t* name : {L"id", L"text", L"contents"}) {
      entry->add(
          Lucene::newLucene<Lucene::Field>(name, L"a new b", Lucene::Field::STORE_YES, Lucene::Field::INDEX_ANALYZED));
    }
    writer->addDocument(entry);
  });
  expect_error(ErrorKind::io, {"relucent-_1.graphs", "is missing", "relucent graphs"}, [&] { logits(); });
  auto found = logits(MissingGraphs::make);
  EXPECT_EQ(found.erase("a new b"), 1U);
  EXPECT_EQ(found, before);
  const GraphSummary summary = make();
  EXPECT_EQ(std::pair(summary.made, summary.kept), std::pair(std::int64_t{1}, std::int64_t{13}));
  EXPECT_EQ(summary.earlier_statistics, 1);
  found = logits();
  EXPECT_EQ(found.erase("a new b"), 1U);
  EXPECT_EQ(found, before);
  const GraphSummary rebuilt = make(true);
  EXPECT_EQ(std::pair(rebuilt.made, rebuilt.kept), std::pair(std::int64_t{13}, std::int64_t{1}));
  EXPECT_EQ(make(true).made, 0);
}

TEST_F(GraphPass, GraphsOfAnotherAnalyzerOrFieldAreRefused) {
  make();
  for (const auto& [change, text] : std::map<std::string, std::string>{{"analyzer", "analyzer is whitespace, not"},
                                                                       {"field", "text_field is text, not id"}}) {
    Config changed = config;
    if (change == "analyzer") changed.first_stage.analyzer = AnalyzerKind::standard;
    if (change == "field") changed.index.text_field = "id";
    expect_error(ErrorKind::invalid_data, {"relucent-_0.graphs", text, "relucent graphs"},
                 [&] { openSearcher(index.folder(), changed); });
  }
}

TEST_F(GraphPass, AnIndexInMemoryHasNoFilesButItsGraphsCanBeMade) {
  make();
  const auto memory =
      Lucene::newLucene<Lucene::RAMDirectory>(Lucene::FSDirectory::open(to_lucene(index.folder().string())));
  const auto reader = Lucene::IndexReader::open(memory, true);
  const auto search = [&](MissingGraphs missing) {
    Config changed = config;
    changed.rescorer.missing_graphs = missing;
    return logits_of(Lucene::newLucene<RescoringSearcher>(reader, changed, std::make_shared<Rescorer>(changed)));
  };
  expect_error(ErrorKind::unsupported, {"missing_graphs"}, [&] { search(MissingGraphs::error); });
  EXPECT_EQ(search(MissingGraphs::make), logits());
}

TEST_F(GraphPass, ARescorerServesSeveralReaders) {
  make();
  const auto rescorer = std::make_shared<Rescorer>(config);
  const auto search = [&] {
    return logits_of(Lucene::newLucene<RescoringSearcher>(open_reader(index.folder()), config, rescorer));
  };
  EXPECT_EQ(search().size(), 12U);
  change([](const auto& writer) {
    writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", L"d3"));
    writer->optimize();
  });
  make();
  EXPECT_EQ(search().size(), 11U);
}

TEST(AnalyzerPlaces, CountCodePoints) {
  FirstStageConfig first_stage;
  const std::string text = "\xF0\x9F\x90\xB3 whales \xC3\xA9t\xC3\xA9, whales";
  for (const AnalyzerKind analyzer : {AnalyzerKind::whitespace, AnalyzerKind::standard, AnalyzerKind::english}) {
    first_stage.analyzer = analyzer;
    const std::vector<TermPlace> places = term_places(first_stage, text);
    const std::string stem = analyzer == AnalyzerKind::english ? "whale" : "whales";
    std::vector<CodePoints> found;
    for (const TermPlace& place : places) {
      if (place.term == stem) found.push_back(place.place);
    }
    EXPECT_EQ(found, (std::vector<CodePoints>{{2, 8}, {14, 20}})) << to_string(analyzer);
  }
}

}  // namespace
}  // namespace relucent::index_tools
