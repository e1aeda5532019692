// Graphs that the command stores next to an index against those of two independent implementations.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/utf8.h"
#include "index_tools/indexing/graph_pass.h"
#include "plugin/second_stage/graph_settings.h"
#include "relucent/analysis.h"
#include "relucent/index_builder.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_mir.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;
using testing::golden_path;
using testing::TemporaryFolder;
using testing::TinyMir;

/// A checkpoint with the settings of a golden case and the vocabulary that its pieces are of.
void write_model(const std::filesystem::path& folder, const json& settings) {
  TinyMir tiny;
  std::mt19937 random(1);
  tiny.vocabulary.clear();
  std::ifstream entries("model/relucent-minilm-l6-w4/vocab.txt");
  for (std::string line; std::getline(entries, line);) tiny.vocabulary.push_back(line);
  const auto size = static_cast<std::int64_t>(tiny.vocabulary.size());
  tiny.config["vocab_size"] = size;
  tiny.config["max_position_embeddings"] = 512;
  tiny.tokenizer_config = nullptr;
  tiny.add_f32(random, "bert.embeddings.word_embeddings.weight", {size, 8});
  tiny.add_f32(random, "bert.embeddings.position_embeddings.weight", {512, 8});
  for (const auto& [key, value] : settings.items()) tiny.config[key] = value;
  tiny.write(folder);
}

/// A text in which the analyzer finds each of these terms, or nothing if a word gives another term by itself.
class Words {
 public:
  explicit Words(const json& row) {
    const std::string text = row["text"];
    std::vector<std::size_t> places;  // by code point: byte
    for (std::size_t at = 0; at < text.size();) {
      places.push_back(at);
      next_code_point(text, at);
    }
    places.push_back(text.size());
    for (const json& token : row["given"]["tokens"]) {
      const std::string term = token[0];
      const std::size_t begin = places.at(token[1].get<std::size_t>()), end = places.at(token[2].get<std::size_t>());
      const std::string word = text.substr(begin, end - begin);
      const auto found = analyze_english(word);
      if (found.size() == 1 && found[0].term == term) words_.emplace(term, word);
    }
  }
  const std::string* of(const std::string& term) const {
    const auto found = words_.find(term);
    return found == words_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::string> words_;
};

/// Texts that, with the case's own, have its N and df; nothing if there are none.
std::optional<std::vector<std::string>> others_of(const json& row) {
  const Words words(row);
  const bool has_terms = !row["given"]["tokens"].empty();
  std::vector<std::string> others(row["N"].get<std::size_t>() - (has_terms ? 1 : 0));
  for (const auto& [term, count] : row["df"].items()) {
    const std::string* word = words.of(term);
    const auto documents = count.get<std::size_t>();
    if (documents == 0 || word == nullptr) return std::nullopt;
    for (std::size_t i = 0; i + 1 < documents; ++i) others.at(i) += *word + " . ";
  }
  for (std::string& other : others) {
    if (other.empty()) other = "zzfillerzz";
  }
  return others;
}

json pairs_of(const Adjacency& graph) {
  json pairs = json::array();
  for (std::size_t i = 0; i < graph.nodes(); ++i) {
    for (const std::int32_t j : graph.seen_by(i)) {
      if (static_cast<std::size_t>(j) > i) pairs.push_back({i, j});
    }
  }
  return pairs;
}

void expect_graph(const GraphSettings& settings, const DocumentGraph& graph, const json& expected) {
  const PivotGraphs pivots = pivot_graphs(settings, graph);
  json passages = json::array(), sentences = json::array(), nodes = json::array(), expected_nodes = json::array();
  for (const Passage& passage : pivots.passages) {
    passages.push_back({passage.begin, passage.end, sentence_starts(graph, passage)});
  }
  EXPECT_EQ(passages, expected["passages"]);
  for (const auto& node : pivots.sentences) sentences.push_back({node.passage, node.piece});
  EXPECT_EQ(sentences, expected["s_nodes"]);
  for (const auto& node : pivots.tokens) nodes.push_back({node.passage, node.first, node.first + node.size});
  for (const json& node : expected["t_nodes"]) expected_nodes.push_back({node[0], node[1], node[2]});
  EXPECT_EQ(nodes, expected_nodes);
  EXPECT_EQ(pairs_of(pivots.between_passages), expected["p2p"]);
  EXPECT_EQ(pairs_of(pivots.between_sentences), expected["s2s"]);
  EXPECT_EQ(pairs_of(pivots.between_tokens), expected["t2t"]);
}

TEST(GraphPassGolden, StoresTheGraphsOfTheReferences) {
  RELUCENT_NEEDS(golden_path("mir/graphs.jsonl.gz"));
  const TemporaryFolder folder;
  std::map<std::string, std::filesystem::path> models;
  std::size_t rows = 0, compared = 0;
  testing::for_each_line(golden_path("mir/graphs.jsonl.gz"), [&](const std::string& line) {
    const json row = json::parse(line);
    SCOPED_TRACE(row["id"].get<std::string>());
    ++rows;
    const auto others = others_of(row);
    if (!others) return;
    const auto [model, is_new] =
        models.try_emplace(row["config"].dump(), folder / ("model" + std::to_string(models.size())));
    if (is_new) write_model(model->second, row["config"]);
    GraphJob job;
    job.index = folder / ("index" + std::to_string(rows));
    job.config.rescorer.model = model->second.string();
    job.threads = 2;
    job.quiet = true;
    {
      const auto builder = IndexBuilder::open(job.index, IndexBuilder::Mode::create, {});
      builder->add("golden", row["text"].get<std::string>());
      for (std::size_t i = 0; i < others->size(); ++i) builder->add(std::to_string(i), (*others)[i]);
      builder->close();
    }
    if (!row["weights"].is_null()) {
      job.notes.weights = GraphNotesJob::Weights::file;
      job.notes.weights_file = folder / "weights.jsonl";
      testing::write_file(job.notes.weights_file, json{{"id", "golden"}, {"weights", row["weights"]}}.dump() + "\n");
    }
    if (!row["entities"].empty()) {
      job.notes.entities_file = folder / "entities.jsonl";
      testing::write_file(job.notes.entities_file, json{{"id", "golden"}, {"entities", row["entities"]}}.dump() + "\n");
    }
    const GraphSummary summary = make_graphs(job, {});
    EXPECT_EQ(summary.documents, static_cast<std::int64_t>(others->size() + 1));
    EXPECT_EQ(summary.with_weights, row["weights"].is_null() ? 0 : 1);
    const auto records = SegmentRecords::open_file(records_file(job.index, kGraphRecords, "_0"), kGraphRecords);
    const GraphOrigin origin = from_settings(records->header().settings);
    EXPECT_EQ(value_of(origin, "documents"), std::to_string(row["N"].get<std::size_t>()));
    const GraphSettings settings = settings_in(origin, "settings");
    expect_graph(settings, decode_graph(settings, records->record(0).value(), "record"), row["expected"]);
    ++compared;
    std::filesystem::remove_all(job.index);
  });
  std::printf("%zu of %zu cases through an index\n", compared, rows);
  EXPECT_GT(compared, 30U);
}

}  // namespace
}  // namespace relucent::index_tools
