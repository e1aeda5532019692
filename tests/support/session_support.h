#pragma once

// Sessions over small indexes and what they must answer, without Lucene++'s types.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "relucent/config.h"
#include "relucent/index_builder.h"
#include "relucent/scorer.h"
#include "relucent/search_session.h"
#include "tests/support/number_scorer.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {

struct TextDocument {
  std::string id, text;
};

/// Writes an index of words between blanks; a commit, and so a segment, every `segment` documents.
void write_words(const std::filesystem::path& folder, const std::vector<TextDocument>& documents,
                 std::size_t segment = 1000, IndexBuilder::Mode mode = IndexBuilder::Mode::create,
                 const std::filesystem::path& token_ids_of = {});

/// Documents d0, d1, ... that begin with these words and contain "word" once. BM25 ranks them 0, 1, 2, ... for "word",
/// because each is a word longer than the one before.
std::vector<TextDocument> numbered(const std::vector<std::string>& beginnings);

/// A session whose stages have these scorers; without any, as [rescorer] module and model say.
std::unique_ptr<SearchSession> session_with(const std::filesystem::path& index, const Config& config,
                                            std::vector<std::shared_ptr<const Scorer>> scorers,
                                            QuerySyntax syntax = QuerySyntax::words);
/// A session without a second stage.
std::unique_ptr<SearchSession> bm25_session(const std::filesystem::path& index, Config config,
                                            QuerySyntax syntax = QuerySyntax::words);

struct FormulaHit {
  std::size_t document = 0;
  double score = 0;
};

/// BM25 by the formula, in double, over words between blanks: the documents that contain a word of the query, by score
/// and then by number.
std::vector<FormulaHit> bm25_by_formula(const std::vector<TextDocument>& documents, const std::string& query,
                                        double k1 = 0.9, double b = 0.4);

/// The best n hits, or the one with this id.
SearchRequest request_for(const std::string& query, std::int32_t n, HitTexts texts, const std::string& id,
                          bool explain);

std::string status_of(const SearchResult& result);
std::string status_of(const SearchHit& hit);
std::vector<std::string> words_of(const std::string& text);
std::vector<std::string> ids_of(const SearchResult& result);
std::vector<std::string> statuses_of(const SearchResult& result);
/// "d3", "d1", ...
std::vector<std::string> ids_of(const std::vector<std::size_t>& documents);

/// Expects the whole order of the first stage, with its scores, and no trace of a second one.
void expect_first_stage_order(const SearchResult& result, const SearchResult& first_stage);

}  // namespace relucent::testing
