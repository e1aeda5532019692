#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relucent/collection_statistics.h"
#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescore_report.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent {

struct ManagedSearcher;

/// How a query's text is read.
enum class QuerySyntax {
  words,   ///< its words; punctuation is ignored
  lucene,  ///< Lucene++'s query language: "a phrase", +must, -not, field:word ...
};

/// How many bytes of a text HitTexts::beginnings returns, or the whole text if it is shorter.
inline constexpr std::size_t kTextBeginning = std::size_t{64} << 10;

/// The part of a hit's stored text that scored best.
struct SearchPassage {
  std::string field, text;         ///< text is empty unless texts are asked for
  std::size_t begin = 0, end = 0;  ///< bytes of the field's text
  bool ends_field = false;         ///< nothing but white space follows it; known if texts are asked for
};

/// How a score came about, as Lucene explains it.
struct SearchExplanation {
  double value = 0;
  std::string description;
  std::vector<SearchExplanation> details;
};

/// One hit, with the scores of both stages.
struct SearchHit : HitOutcome {
  std::int32_t document = 0;  ///< its number in the index as it was opened
  std::string id, text;       ///< text is empty unless asked for
  std::string fields;         ///< an object in JSON, the members of its metadata that were asked for; empty: none were
  std::int64_t rank = 0;
  double score = 0;
  std::optional<SearchPassage> passage;
  std::optional<SearchExplanation> explanation;  ///< if asked for
};

/// How many of the documents that match a query have each value of a keyword field.
struct FacetCounts {
  struct Value {
    std::string value;
    std::int64_t documents = 0;
  };
  std::string key;
  std::vector<Value> values;  ///< the most frequent ones first, equally frequent ones by value; at most kMaxFacetValues
  std::int64_t all_values = 0;  ///< how many there are
};
inline constexpr std::size_t kMaxFacetValues = 100;

/// The answer to one query. Its `times` include all steps from the text on, and its `status` counts only if
/// `rescoring`.
struct SearchResult : RescoreReport {
  std::string query;
  std::vector<SearchHit> hits;
  std::int64_t total_hits = 0;                    ///< documents that match
  bool total_is_exact = true;                     ///< false: at least so many; [first_stage] count limits the count
  bool no_words = false;                          ///< the query has only stop words and punctuation
  bool rescoring = false;                         ///< a second stage is configured
  AnalyzerKind analyzer = AnalyzerKind::english;  ///< of the query and the documents
  std::vector<FacetCounts> facets;                ///< one per key asked for, in that order
  std::chrono::nanoseconds total{0};              ///< from the text to the hits, including reading stored ids and texts
};

/// How much of the hits' texts a search returns.
enum class HitTexts {
  none,
  beginnings,  ///< enough for a snippet, however long the document is: up to the end of the passage
  whole
};

/// A document as the index stores it.
struct StoredDocument {
  std::string id, text;
  std::string metadata;  ///< an object in JSON; empty: none
};

/// A query, and how it is answered.
struct SearchRequest {
  std::string query;  ///< UTF-8
  std::int32_t hits = 10;
  /// How many of the best hits are left out: a page of the list that a search for `offset + hits` hits gives, with its
  /// ranks and scores. The sum is at most 2^31 - 1.
  std::int32_t offset = 0;
  HitTexts texts = HitTexts::beginnings;
  std::string id;        ///< the hit with this id alone, if it is among the best; empty: all
  bool explain = false;  ///< whether the hits explain their scores, for which nothing is scored again
  /// A deadline, or a request to stop. Without either, the thread's StopScope holds.
  StopSignal stop;
  /// Statistics of the collection that the index is a part of. Without them, the thread's CollectionStatisticsScope
  /// holds.
  std::optional<CollectionStatistics> statistics;
  /// Only documents that pass it are found, and counted: an object in JSON as makeFieldFilter() reads it; empty: all.
  std::string filter;
  std::vector<std::string> facets;  ///< keyword fields whose values are counted in all documents that match
  std::vector<std::string> fields;  ///< members of the hits' metadata to return
  bool all_fields = false;          ///< all of them
  /// What the first stage searches, as [first_stage] fields; empty: these.
  std::vector<std::string> search_fields = {};
};

/// An index opened for searching, for hosts without Lucene++ types of their own: openSearcher(), the query parsers, the
/// engine's own search() and the hits' stored fields behind one call. Thread-safe. Sees the index as it was when
/// opened.
class RELUCENT_API SearchSession {
 public:
  /// As openSearcher(), with the profile of config_of_index(): the query is analyzed as the index was. Throws what they
  /// throw.
  SearchSession(const std::filesystem::path& index, const Config& config, QuerySyntax syntax);
  /// Uses a searcher that is open. `index`: its name in messages.
  SearchSession(const ManagedSearcher& searcher, std::string index, QuerySyntax syntax);
  ~SearchSession();

  using Texts = HitTexts;

  /// The best hits. Throws Error: `usage` for a blank query, one that does not follow the syntax and a page that cannot
  /// be, `interrupted` once the stop signal of the request, or else of the thread's StopScope, is requested to stop.
  SearchResult search(const SearchRequest& request) const;
  SearchResult search(std::string_view query, std::int32_t hits, Texts texts) const {
    SearchRequest request;
    request.query = query;
    request.hits = hits;
    request.texts = texts;
    return search(request);
  }

  /// The whole texts of documents by their ids, for which every document's id is read. Ids that the index lacks are
  /// left out; of documents with the same id the first counts. Throws Error.
  std::unordered_map<std::string, std::string> texts_of(const std::unordered_set<std::string>& ids) const;

  /// The document with this id, the first of several; nothing if there is none. Throws Error.
  std::optional<StoredDocument> document(std::string_view id) const;

  /// Explains the score that search() gives the document with this number. Throws Error as search() does.
  SearchExplanation explain(std::string_view query, std::int32_t document) const;

  /// This index's part of the statistics that the scores of the query's first stage depend on. Throws Error as
  /// search(). `search_fields`: as in the request.
  CollectionStatistics statistics(std::string_view query, const std::vector<std::string>& search_fields = {}) const;

  /// What a user should know before trusting the scores: parts of the index that they ignore, an attention pattern
  /// that is not the model's.
  std::vector<std::string> notices() const;
  /// Describes each stage's scorer, its device, and why it does not use a GPU, one line per stage; empty without
  /// rescoring.
  std::string scorer() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent
