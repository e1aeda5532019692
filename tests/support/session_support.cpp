#include "tests/support/session_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

#include "relucent/rescorer.h"
#include "relucent/searcher_manager.h"

namespace relucent::testing {

void write_words(const std::filesystem::path& folder, const std::vector<TextDocument>& documents, std::size_t segment,
                 IndexBuilder::Mode mode, const std::filesystem::path& token_ids_of) {
  IndexBuilder::Options options;
  options.first_stage.analyzer = AnalyzerKind::whitespace;
  options.token_ids_of = token_ids_of;
  const auto builder = IndexBuilder::open(folder, mode, options);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    builder->add(documents[i].id, documents[i].text);
    if ((i + 1) % segment == 0) builder->commit({});
  }
  builder->close();
}

std::vector<TextDocument> numbered(const std::vector<std::string>& beginnings) {
  std::vector<TextDocument> documents;
  std::string rest = " word";
  for (const std::string& beginning : beginnings) {
    documents.push_back({"d" + std::to_string(documents.size()), beginning + rest});
    rest += " other" + std::to_string(documents.size());
  }
  return documents;
}

std::unique_ptr<SearchSession> session_with(const std::filesystem::path& index, const Config& config,
                                            std::vector<std::shared_ptr<const Scorer>> scorers, QuerySyntax syntax) {
  if (scorers.empty()) return std::make_unique<SearchSession>(index, config, syntax);
  const SearcherManager manager(index, std::make_shared<const Rescorer>(config, std::move(scorers)));
  return std::make_unique<SearchSession>(manager.acquire(), index.string(), syntax);
}

std::unique_ptr<SearchSession> bm25_session(const std::filesystem::path& index, Config config, QuerySyntax syntax) {
  config.rescorer.enabled = false;
  return std::make_unique<SearchSession>(index, config, syntax);
}

SearchRequest request_for(const std::string& query, std::int32_t n, HitTexts texts, const std::string& id,
                          bool explain) {
  SearchRequest request;
  request.query = query;
  request.hits = n;
  request.texts = texts;
  request.id = id;
  request.explain = explain;
  return request;
}

std::string status_of(const SearchResult& result) { return to_string(result.status); }
std::string status_of(const SearchHit& hit) { return to_string(hit.status); }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<FormulaHit> bm25_by_formula(const std::vector<TextDocument>& documents, const std::string& query, double k1,
                                        double b) {
  std::vector<std::map<std::string, double>> counts;
  std::vector<double> lengths;
  double sum = 0, not_empty = 0;
  for (const TextDocument& document : documents) {
    counts.emplace_back();
    const std::vector<std::string> words = words_of(document.text);
    for (const std::string& word : words) ++counts.back()[word];
    lengths.push_back(static_cast<double>(words.size()));
    sum += lengths.back();
    not_empty += words.empty() ? 0 : 1;
  }
  std::vector<FormulaHit> hits;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    double score = 0;
    bool found = false;
    for (const std::string& word : words_of(query)) {
      if (!counts[i].contains(word)) continue;
      found = true;
      const auto with = static_cast<double>(
          std::count_if(counts.begin(), counts.end(), [&](const auto& of) { return of.contains(word); }));
      const double idf = std::log(1 + (not_empty - with + 0.5) / (with + 0.5));
      const double tf = counts[i].at(word);
      score += idf * tf / (tf + k1 * (1 - b + b * lengths[i] / (sum / not_empty)));
    }
    if (found) hits.push_back({i, score});
  }
  // As floats: sums of the same numbers in another order are a tie.
  std::stable_sort(hits.begin(), hits.end(), [](const auto& x, const auto& y) {
    return static_cast<float>(x.score) > static_cast<float>(y.score);
  });
  return hits;
}

std::vector<std::string> ids_of(const SearchResult& result) {
  std::vector<std::string> ids;
  for (const SearchHit& hit : result.hits) ids.push_back(hit.id);
  return ids;
}

std::vector<std::string> statuses_of(const SearchResult& result) {
  std::vector<std::string> statuses;
  for (const SearchHit& hit : result.hits) statuses.push_back(status_of(hit));
  return statuses;
}

std::vector<std::string> ids_of(const std::vector<std::size_t>& documents) {
  std::vector<std::string> ids;
  for (const std::size_t document : documents) ids.push_back("d" + std::to_string(document));
  return ids;
}

void expect_first_stage_order(const SearchResult& result, const SearchResult& first_stage) {
  ASSERT_EQ(ids_of(result), ids_of(first_stage));
  EXPECT_EQ(result.total_hits, first_stage.total_hits);
  EXPECT_EQ(result.rescored, 0);
  for (std::size_t i = 0; i < result.hits.size(); ++i) {
    const SearchHit& hit = result.hits[i];
    EXPECT_EQ(hit.rank, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(hit.first_stage_rank, hit.rank);
    EXPECT_EQ(hit.score, first_stage.hits[i].score) << hit.id;
    EXPECT_EQ(hit.first_stage_score, hit.score) << hit.id;
    EXPECT_EQ(status_of(hit), "not_rescored") << hit.id;
    EXPECT_FALSE(hit.logit) << hit.id;
    EXPECT_TRUE(hit.stage_logits.empty()) << hit.id;
    EXPECT_FALSE(hit.passage) << hit.id;
  }
}

}  // namespace relucent::testing
