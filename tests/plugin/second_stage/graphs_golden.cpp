// Graphs of documents against two independent implementations, and what must hold for any text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/utf8.h"
#include "model/graphs/build_graph.h"
#include "model/graphs/query_log_weights.h"
#include "model/mir/passage_model.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/sentences.h"
#include "plugin/index_format/analysis/term_places.h"
#include "relucent/analysis.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/required_device.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

/// BERT's vocabulary, of which the repository has a copy.
const WordPieceTokenizer& bert() {
  static const LoadedTokenizer loaded = load_tokenizer("model/relucent-minilm-l6-w4", 30522);
  return dynamic_cast<const WordPieceTokenizer&>(*loaded.tokenizer);
}

GraphSettings settings_of(const json& config) {
  GraphSettings settings;
  settings.window = config["passage_window"];
  settings.stride = config["passage_stride"];
  settings.max_document_tokens = config["max_document_tokens"];
  settings.max_sentence_nodes = config["max_sentence_nodes"];
  settings.max_token_nodes = config["max_token_nodes"];
  settings.max_terms = config["max_terms"];
  settings.passage_neighbours = config["passage_neighbours"];
  settings.entity_min_score = config["entity_min_score"];
  return settings;
}

BuiltGraph build(const GraphSettings& settings, const std::string& text, const std::vector<EntityPlace>& entities = {},
                 const TermWeights* weights = nullptr) {
  const std::vector<TermPlace> terms = analysis::places_of_terms(AnalyzerKind::english, text);
  return build_graph(settings, {text, terms, entities, weights}, {1000, [](std::string_view) { return 10U; }}, bert());
}

std::vector<EntityPlace> entities_of(const json& stated) {
  std::vector<EntityPlace> entities;
  for (const json& entity : stated) {
    entities.push_back({{entity["start"], entity["end"]}, entity["id"], entity.value("score", 1.0)});
  }
  return entities;
}

/// `df` must outlive the result.
TermStatistics statistics_of(std::uint64_t documents, const json& df) {
  return {documents, [&df](std::string_view term) {
            const auto found = df.find(std::string(term));
            return found == df.end() ? std::uint64_t{0} : found->get<std::uint64_t>();
          }};
}

json json_of(const std::vector<TermPlace>& terms) {
  json tokens = json::array();
  for (const TermPlace& term : terms) tokens.push_back({term.term, term.place.begin, term.place.end});
  return tokens;
}

json pairs_of(const Adjacency& graph) {
  json pairs = json::array();
  for (std::size_t i = 0; i < graph.nodes(); ++i) {
    bool itself = false;
    for (const std::int32_t j : graph.seen_by(i)) {
      itself = itself || static_cast<std::size_t>(j) == i;
      if (static_cast<std::size_t>(j) > i) pairs.push_back({i, j});
    }
    EXPECT_TRUE(itself) << "node " << i << " does not see itself";
  }
  return pairs;
}

std::string name_of(const BuiltGraph::NamedMention& mention) { return (mention.entity ? "e:" : "w:") + mention.name; }

TEST(GraphGolden, EveryStepIsThatOfTheReferences) {
  RELUCENT_NEEDS(golden_path("mir/graphs.jsonl.gz"));
  std::size_t rows = 0, bytes = 0, pieces = 0;
  for_each_line(golden_path("mir/graphs.jsonl.gz"), [&](const std::string& line) {
    const json row = json::parse(line);
    SCOPED_TRACE(row["id"].get<std::string>());
    ++rows;
    const std::string text = row["text"];
    const GraphSettings settings = settings_of(row["config"]);
    const std::vector<EntityPlace> entities = entities_of(row["entities"]);
    TermWeights weights;
    if (!row["weights"].is_null()) weights = row["weights"].get<TermWeights>();
    const std::vector<TermPlace> terms = analysis::places_of_terms(AnalyzerKind::english, text);
    const TermStatistics statistics = statistics_of(row["N"], row["df"]);
    const BuiltGraph built = build_graph(
        settings, {text, terms, entities, row["weights"].is_null() ? nullptr : &weights}, statistics, bert());
    const PivotGraphs pivots = pivot_graphs(settings, built.graph);

    // What the steps start from.
    const json& given = row["given"];
    EXPECT_EQ(json_of(terms), given["tokens"]) << "terms";
    std::vector<std::int32_t> ids;
    std::vector<CodePoints> places;
    bert().encode_with_places(text, text.size() + 1, ids, places);
    std::vector<std::size_t> starts, ends;
    for (const CodePoints& place : places) {
      starts.push_back(place.begin);
      ends.push_back(place.end);
    }
    EXPECT_EQ(json(ids), given["piece_ids"]) << "pieces";
    EXPECT_EQ(json(starts), given["piece_starts"]) << "pieces' places";
    EXPECT_EQ(json(ends), given["piece_ends"]) << "pieces' places";
    EXPECT_EQ(json(sentence_boundaries(text, text.size())), given["sentence_boundaries"]) << "sentences";

    const json& expected = row["expected"];
    json passages = json::array(), selected = json::array(), mentions = json::array(), sentences = json::array(),
         nodes = json::array();
    for (const Passage& passage : pivots.passages) {
      passages.push_back({passage.begin, passage.end, sentence_starts(built.graph, passage)});
    }
    EXPECT_EQ(passages, expected["passages"]);
    for (const auto& [term, count] : built.terms) selected.push_back({term, count});
    EXPECT_EQ(selected, expected["terms"]);
    std::map<std::int32_t, std::string> keys;
    for (const auto& mention : built.mentions) {
      mentions.push_back({mention.first, mention.end, name_of(mention)});
      for (const Mention& kept : built.graph.mentions) {
        if (kept.first == mention.first) keys[kept.key] = name_of(mention);
      }
    }
    EXPECT_EQ(mentions, expected["mentions"]);
    for (const auto& node : pivots.sentences) sentences.push_back({node.passage, node.piece});
    EXPECT_EQ(sentences, expected["s_nodes"]);
    for (const auto& node : pivots.tokens) {
      nodes.push_back({node.passage, node.first, node.first + node.size, keys[node.key]});
    }
    EXPECT_EQ(nodes, expected["t_nodes"]);
    EXPECT_EQ(pairs_of(pivots.between_passages), expected["p2p"]);
    EXPECT_EQ(pairs_of(pivots.between_sentences), expected["s2s"]);
    EXPECT_EQ(pairs_of(pivots.between_tokens), expected["t2t"]);

    const std::string record = encode_graph(settings, built.graph);
    EXPECT_EQ(decode_graph(settings, record, "record"), built.graph);
    EXPECT_LE(record.size(), 1500U);
    bytes += record.size();
    pieces += ids.size();
  });
  EXPECT_GT(rows, 0U);
  std::printf("%zu documents of %zu pieces, %zu bytes of records\n", rows, pieces, bytes);
}

/// From a query and a text to a score, with the tiny checkpoints' own tokenizers.
TEST(GraphGolden, WholePathsGiveTheScoresOfTheReferences) {
  RELUCENT_NEEDS(golden_path("mir/whole.jsonl.gz"));
  const char* const wanted = std::getenv("RELUCENT_TEST_DEVICE");
  for (const char* device : wanted == nullptr ? std::vector{"ref", "cpu"} : std::vector{wanted}) {
    std::map<std::string, std::unique_ptr<const PassageModel>> models;
    std::string absent;
    std::size_t rows = 0;
    for_each_line(golden_path("mir/whole.jsonl.gz"), [&](const std::string& line) {
      if (!absent.empty()) return;
      const json row = json::parse(line);
      SCOPED_TRACE(row["id"].get<std::string>() + " " + device);
      std::unique_ptr<const PassageModel>& model = models[row["model"]];
      if (!model) {
        BackendOptions options;
        options.device = parse_device(device);
        options.precision = Precision::fp32;
        try {
          model = PassageModel::load(golden_path("mir/" + row["model"].get<std::string>()), options);
        } catch (const Error& error) {
          if (!may_skip(error)) throw;
          absent = error.what();
          return;
        }
      }
      const std::string text = row["text"];
      const std::vector<EntityPlace> entities = entities_of(row["entities"]);
      const std::vector<TermPlace> terms = analysis::places_of_terms(AnalyzerKind::english, text);
      EXPECT_EQ(json_of(terms), row["tokens"]);
      const BuiltGraph built = build_graph(model->graph_settings(), {text, terms, entities},
                                           statistics_of(row["N"], row["df"]), model->tokenizer());
      const PivotGraphs pivots = pivot_graphs(model->graph_settings(), built.graph);
      EXPECT_EQ(json({pivots.passages.size(), pivots.sentences.size(), pivots.tokens.size()}), row["nodes"]);
      EXPECT_EQ(json({pairs_of(pivots.between_passages).size(), pairs_of(pivots.between_sentences).size(),
                      pairs_of(pivots.between_tokens).size()}),
                row["edges"]);
      // As it would come from an index.
      const DocumentGraph graph =
          decode_graph(model->graph_settings(), encode_graph(model->graph_settings(), built.graph), "record");
      const GraphedDocument document{text, &graph};
      const auto scores = model->score(row["query"].get<std::string>(), {&document, 1});
      EXPECT_NEAR(scores.documents.front().logit.value(), row["score"].get<double>(), 2e-5);
      ++rows;
    });
    if (!absent.empty()) GTEST_SKIP() << "SKIPPED: " << absent;
    EXPECT_GT(rows, 0U);
  }
}

TEST(GraphGolden, QueryLogWeightsAreThoseOfTheReferences) {
  RELUCENT_NEEDS(golden_path("mir/prf.jsonl.gz"));
  RELUCENT_NEEDS(golden_path("bm25/cranfield.querytokens.tsv"));
  std::map<std::string, QueryLogWeights> logs;
  const auto fields = [](const std::string& line) {
    std::vector<std::string> all(1);
    for (const char c : line) {
      if (c == '\t') {
        all.emplace_back();
      } else {
        all.back() += c;
      }
    }
    return all;
  };
  const auto read = [&](const std::string& collection) {
    std::map<std::string, std::vector<std::int64_t>> hits;
    for_each_line(golden_path("bm25/" + collection + ".k0.9-b0.4.tsv.gz"), [&](const std::string& line) {
      const std::vector<std::string> hit = fields(line);
      if (std::stoi(hit[2]) <= 10) hits[hit[0]].push_back(std::stoll(hit[1]));
    });
    QueryLogWeights& log = logs[collection];
    for_each_line(golden_path("bm25/" + collection + ".querytokens.tsv"), [&](const std::string& line) {
      const std::vector<std::string> query = fields(line);
      std::vector<std::string> terms(1);
      for (const char c : query[1]) {
        if (c == ' ') {
          terms.emplace_back();
        } else {
          terms.back() += c;
        }
      }
      log.add_query(terms, hits[query[0]]);
    });
  };
  std::size_t rows = 0;
  for_each_line(golden_path("mir/prf.jsonl.gz"), [&](const std::string& line) {
    const json row = json::parse(line);
    const std::string collection = row["collection"];
    SCOPED_TRACE(collection + " " + row["docno"].get<std::string>());
    if (!logs.contains(collection)) read(collection);
    const std::int64_t document = std::stoll(row["docno"].get<std::string>());
    EXPECT_EQ(logs[collection].queries(document), row["queries"].get<std::size_t>());
    const TermWeights weights = logs[collection].weights(document);
    EXPECT_EQ(weights.size(), row["weights"].size());
    for (const auto& [term, weight] : row["weights"].items()) {
      const auto found = weights.find(term);
      ASSERT_NE(found, weights.end()) << term;
      EXPECT_NEAR(found->second, weight.get<double>(), 1e-12) << term;
    }
    ++rows;
  });
  EXPECT_GT(rows, 0U);
  EXPECT_TRUE(logs.begin()->second.weights(-1).empty());
}

TEST(Graph, ATextWithoutPiecesHasNoPassage) {
  for (const std::string text : {"", " \n", "\xCC\x81"}) {
    const BuiltGraph built = build({}, text, {{{0, 1}, "entity"}});
    EXPECT_EQ(built.graph, DocumentGraph());
    EXPECT_TRUE(pivot_graphs({}, built.graph).passages.empty());
    EXPECT_EQ(decode_graph({}, encode_graph({}, built.graph), "record"), built.graph);
  }
}

TEST(Graph, OnlyTheFirstPiecesOfALongTextCount) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += i % 7 == 0 ? "Whale. " : "ocean of blue water ";
  const BuiltGraph built = build({}, text);
  EXPECT_EQ(built.graph.pieces, 2048);
  const BuiltGraph start = build({}, text.substr(0, 20'000));
  EXPECT_EQ(start.graph.mentions, built.graph.mentions);
  EXPECT_EQ(pivot_graphs({}, built.graph).passages.size(), 21U);
  EXPECT_EQ(pivot_graphs({}, built.graph).tokens.size(), 256U);
}

TEST(Graph, TakesAnyNumberOfEntitiesAnywhere) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "whale ";
  std::vector<EntityPlace> entities;
  for (std::size_t i = 0; i < 100'000; ++i) entities.push_back({{i * 7919 % 30'000, i * 104'729 % 40'000}, "e", 0.5});
  const BuiltGraph built = build({}, text, entities);
  std::int32_t end = 0;
  for (const auto& mention : built.mentions) {
    EXPECT_GE(mention.first, end);
    EXPECT_GT(mention.end, mention.first);
    end = mention.end;
  }
  EXPECT_LE(end, 2048);
  EXPECT_EQ(decode_graph({}, encode_graph({}, built.graph), "record"), built.graph);
}

TEST(Graph, AMalformedByteIsOneCodePoint) {
  const std::string good = "A whale\xEF\xBF\xBD here. Another whale there.",
                    bad = "A whale\xFF here. Another whale there.";
  const BuiltGraph one = build({}, good), other = build({}, bad);
  EXPECT_EQ(one.graph, other.graph);
  EXPECT_EQ(one.places, other.places);
  EXPECT_EQ(one.graph.mentions.size(), 4U);  // whale, here, anoth, whale
}

TEST(Graph, PiecesHaveThePlacesOfWhatIsLeftOfThem) {
  std::vector<std::int32_t> ids, plain;
  std::vector<CodePoints> places;
  const std::string text = "e\xCC\x81t\xC3\xA9, \xED\x95\x9C " + std::string(101, 'x') + " \xE2\x80\x8Bwhaling";
  bert().encode_with_places(text, 100, ids, places);
  bert().encode(text, 100, plain);
  EXPECT_EQ(ids, plain);
  ASSERT_GE(places.size(), 6U);
  EXPECT_EQ(places[0], (CodePoints{0, 3}));  // et, with the accent inside
  EXPECT_EQ(places[1], (CodePoints{3, 4}));
  EXPECT_EQ(places[2], (CodePoints{4, 5}));
  EXPECT_EQ(places[3].begin, 6U);  // a syllable's letters, all at its place
  EXPECT_EQ(places[places.size() - 2], (CodePoints{8, 109}));
  EXPECT_EQ(places.back(), (CodePoints{111, 118}));  // not the mark before it
}

TEST(GraphRecord, RefusesBytesThatItCannotHaveWritten) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "The whale swims in the blue ocean of the north. Ships follow it. ";
  const GraphSettings settings;
  const BuiltGraph built = build(settings, text);
  const std::string record = encode_graph(settings, built.graph);
  ASSERT_GT(built.graph.mentions.size(), 20U);
  for (std::size_t size = 0; size < record.size(); ++size) {
    expect_error(ErrorKind::invalid_data, {"a record"},
                 [&] { decode_graph(settings, record.substr(0, size), "a record"); });
  }
  expect_error(ErrorKind::invalid_data, {"a record", "1 bytes too many"},
               [&] { decode_graph(settings, record + '\0', "a record"); });
  // Any other bytes are refused, or they are the record of another graph, whose pivots can be found.
  std::size_t refused = 0;
  for (std::size_t i = 0; i < record.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = record;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ 1U << bit);
      try {
        const DocumentGraph graph = decode_graph(settings, changed, "a record");
        EXPECT_EQ(encode_graph(settings, graph), changed);
        pivot_graphs(settings, graph);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_data);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100U);
  GraphSettings smaller;
  smaller.max_document_tokens = 100;
  expect_error(ErrorKind::invalid_data, {"more than 100"}, [&] { decode_graph(smaller, record, "a record"); });
}

}  // namespace
}  // namespace relucent::testing
