#include "relucent/search_session.h"

#include <BooleanQuery.h>
#include <Explanation.h>
#include <IndexReader.h>
#include <LuceneException.h>
#include <Term.h>
#include <TermDocs.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/ascii.h"
#include "base/json_members.h"
#include "base/nesting.h"
#include "base/text.h"
#include "plugin/index_format/fields/declared_fields.h"
#include "plugin/lucene/bm25/searchable_fields.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/stored_fields.h"
#include "plugin/lucene/queries/syntax_problem.h"
#include "plugin/lucene/search/facets.h"
#include "plugin/lucene/search/rescore_weight.h"
#include "plugin/lucene/search/searcher_parts.h"
#include "plugin/second_stage/model_text.h"
#include "relucent/bm25.h"
#include "relucent/english_analyzer.h"
#include "relucent/error.h"
#include "relucent/field_filter.h"
#include "relucent/index_reader.h"
#include "relucent/rescored_top_docs.h"
#include "relucent/rescoring_query_parser.h"
#include "relucent/rescoring_searcher.h"
#include "relucent/searcher_manager.h"
#include "relucent/stop_scope.h"
#include "relucent/stored_text.h"
#include "relucent/text_query.h"
#include "relucent/weighted_field.h"

namespace relucent {
namespace {

using Texts = SearchSession::Texts;
using Clock = std::chrono::steady_clock;

// Read beyond what is shown, so that a snippet shows that the text continues.
constexpr std::size_t kMoreBytes = 64;

constexpr const char* kSearchFields = "search_fields";

/// How many hits a request's page ends with. Throws Error.
std::int32_t page_end(const SearchRequest& request) {
  const auto refuse = [](const std::string& problem, const char* remedy) {
    throw Error(ErrorKind::usage, "query", problem, remedy);
  };
  if (request.hits < 0) refuse(fmt::format("{} hits were asked for", request.hits), "ask for 0 or more");
  if (request.offset < 0) refuse(fmt::format("the offset is {}", request.offset), "let it be 0 or more");
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  if (request.hits > most - request.offset) {
    refuse(fmt::format("the offset {} and {} hits are more than {}", request.offset, request.hits, most),
           "ask for an earlier page");
  }
  return request.offset + request.hits;
}

bool has_no_words(const Lucene::QueryPtr& query) {
  const auto words = boost::dynamic_pointer_cast<Lucene::BooleanQuery>(query);
  return words && words->getClauses().empty();
}

/// The stored metadata's members that the request asks for; none if it is damaged.
std::string members_asked_for(const std::string& metadata, const SearchRequest& request) {
  constexpr const char* none = "{}";
  if (too_deep_in_json(metadata) || too_many_in_json(metadata) || !nlohmann::json::accept(metadata)) return none;
  if (request.all_fields) return metadata;
  std::vector<JsonMember> members = json_members(metadata);
  std::erase_if(members, [&](const JsonMember& member) {
    return std::ranges::find(request.fields, member.name) == request.fields.end();
  });
  return members.empty() ? none : json_object_of(members);
}

SearchExplanation tree_of(const Lucene::ExplanationPtr& node) {
  SearchExplanation tree{node->getValue(), to_utf8(node->getDescription()), {}};
  if (const auto details = node->getDetails()) {
    for (const Lucene::ExplanationPtr& detail : details) tree.details.push_back(tree_of(detail));
  }
  return tree;
}

}  // namespace

struct SearchSession::Implementation {
  std::string index;
  Config config;
  QuerySyntax syntax;
  Lucene::IndexSearcherPtr searcher;

  // Lucene++'s exceptions explain little, so the operation is added to the message.
  template <typename Work>
  auto guarded(ErrorKind kind, const std::string& place, const char* operation, const char* remedy, Work&& work) const
      -> std::invoke_result_t<Work> {
    try {
      return work();
    } catch (const Lucene::LuceneException& error) {
      throw Error(
          kind, place,
          fmt::format("{} failed: {}", operation, to_utf8(const_cast<Lucene::LuceneException&>(error).getError())),
          remedy);
    }
  }

  RescoreQueryPtr parse(std::string_view text, const std::vector<std::string>& search_fields = {}) const {
    return search_fields.empty() ? parse_with(config, text) : parse_with(config_searching(search_fields), text);
  }

  /// The configuration with other [first_stage] fields.
  Config config_searching(const std::vector<std::string>& search_fields) const {
    const std::vector<WeightedField> fields = parse_weighted_fields(search_fields, kSearchFields);
    if (config.first_stage.rm3 && (fields.size() > 1 || fields[0].name != config.index.contents_field)) {
      throw Error(
          ErrorKind::usage, kSearchFields,
          fmt::format("[first_stage] rm3 expands queries of the field \"{}\" alone", config.index.contents_field),
          "leave them out, or set rm3 to false");
    }
    const Lucene::IndexReaderPtr reader = searcher->getIndexReader();
    bm25::require_searchable(fields, reader, commit_data_of(reader, index), index);
    Config searching = config;
    searching.first_stage.fields = search_fields;
    return searching;
  }

  RescoreQueryPtr parse_with(const Config& searching, std::string_view text) const {
    if (syntax == QuerySyntax::words) return makeTextQuery(text, searching);
    try {
      RescoringQueryParser parser(searching);
      return boost::dynamic_pointer_cast<RescoreQuery>(parser.parse(to_lucene(text)));
    } catch (const Lucene::LuceneException& error) {
      const std::string message = to_utf8(const_cast<Lucene::LuceneException&>(error).getError());
      throw Error(ErrorKind::usage, "query", "cannot be parsed: " + syntax_problem(to_utf8(to_lucene(text)), message),
                  "escape special characters with \\, or search for plain words");
    }
  }

  void describe(const Lucene::TopDocsPtr& found, SearchResult& result) const {
    result.total_hits = found->totalHits;
    const auto rescored = boost::dynamic_pointer_cast<RescoredTopDocs>(found);
    result.total_is_exact =
        rescored ? rescored->totalIsExact : boost::dynamic_pointer_cast<AtLeastTopDocs>(found) == nullptr;
    if (!rescored) return;
    const std::chrono::nanoseconds parse = result.times.parse;  // includes the user's syntax
    static_cast<RescoreReport&>(result) = *rescored;
    result.times.parse = parse;
  }

  /// The id, the metadata if it is asked for, and the text if one is; of a long one at least the first `end` bytes.
  std::vector<WantedField> wanted_fields(Texts texts, std::size_t end, bool metadata = false) const {
    std::vector<WantedField> wanted{{to_lucene(config.index.id_field), WantedField::Values::first_text}};
    if (metadata) wanted.push_back({to_lucene(fields::kMetadataField), WantedField::Values::first_text});
    if (texts == Texts::none) return wanted;
    for (const std::string& field : config.index.fields_read()) {
      wanted.push_back({to_lucene(field), WantedField::Values::all_texts});
      // More than is shown, so that a snippet shows that the text continues.
      if (texts == Texts::beginnings) wanted.back().at_most = std::max(kTextBeginning, end) + kMoreBytes;
    }
    return wanted;
  }

  /// Sets the passage's text, if texts are asked for.
  void show(const std::vector<std::optional<std::string>>& values, SearchPassage& passage) const {
    const std::vector<std::string> fields = config.index.fields_read();
    const auto field = std::find(fields.begin(), fields.end(), passage.field) - fields.begin() + 1;
    if (static_cast<std::size_t>(field) >= values.size()) return;
    const std::string text = values[static_cast<std::size_t>(field)].value_or("");
    passage.text = text.substr(std::min(passage.begin, text.size()), passage.end - passage.begin);
    passage.ends_field = text.find_first_not_of(" \t\r\n\f\v", passage.end) == std::string::npos;
  }

  SearchHit hit_of(const Lucene::ScoreDocPtr& found, std::int64_t rank, const StoredFields& stored,
                   const SearchRequest& request, const StopSignal& stop) const {
    SearchHit hit;
    if (const auto rescored = boost::dynamic_pointer_cast<RescoredHit>(found)) {
      static_cast<HitOutcome&>(hit) = *rescored;
      if (const auto& passage = rescored->passage) {
        hit.passage = {passage->field, {}, passage->bytes.begin, passage->bytes.end};
      }
    } else {
      hit.first_stage_rank = static_cast<std::int32_t>(rank);
      hit.first_stage_score = found->score;
    }
    hit.document = found->doc;
    hit.rank = rank;
    hit.score = found->score;
    const bool metadata = request.all_fields || !request.fields.empty();
    const std::vector<WantedField> wanted = wanted_fields(request.texts, hit.passage ? hit.passage->end : 0, metadata);
    std::vector<std::optional<std::string>> values = stored.read(found->doc, wanted, stop);
    if (values[0].value_or("").empty()) {
      throw Error(ErrorKind::usage, index,
                  fmt::format("document {} has no stored field \"{}\"", found->doc, config.index.id_field),
                  "set [index] id_field in a profile to the stored field that holds the documents' ids");
    }
    hit.id = *std::move(values[0]);
    if (metadata) {
      hit.fields = members_asked_for(values[1].value_or(""), request);
      values.erase(values.begin() + 1);
    }
    if (hit.passage) show(values, *hit.passage);
    hit.text = join_fields(std::span(values).subspan(1), stop).text;
    return hit;
  }

  bool has_id(std::int32_t document, const std::string& id, const StoredFields& stored, const StopSignal& stop) const {
    return stored.read(document, wanted_fields(Texts::none, 0), stop).front() == id;
  }

  /// The number of the first document with this id. Indexes of other programs may not have indexed it.
  std::optional<std::int32_t> number_of(std::string_view id, const Lucene::IndexReaderPtr& reader,
                                        const StoredFields& stored) const {
    const Lucene::String field = to_lucene(config.index.id_field), wanted = to_lucene(id);
    if (reader->getFieldNames(Lucene::IndexReader::FIELD_OPTION_INDEXED).contains(field)) {
      const Lucene::TermDocsPtr documents = reader->termDocs(Lucene::newLucene<Lucene::Term>(field, wanted));
      if (documents->next()) return documents->doc();
      return std::nullopt;
    }
    const std::string text = to_utf8(wanted);
    for (std::int32_t i = 0; i < reader->maxDoc(); ++i) {
      if (!reader->isDeleted(i) && has_id(i, text, stored, {})) return i;
    }
    return std::nullopt;
  }

  SearchExplanation explanation_of(const Lucene::WeightPtr& weight, const Lucene::TopDocsPtr& found,
                                   std::int32_t document) const {
    const auto rescoring = boost::dynamic_pointer_cast<RescoringSearcher>(searcher);
    const auto rescored = boost::dynamic_pointer_cast<RescoredTopDocs>(found);
    return tree_of(rescoring && rescored ? rescoring->explain(weight, rescored, document)
                                         : searcher->explain(weight, document));
  }

  /// The query's weight, which takes the request's statistics and stop signal through Lucene++'s search().
  Lucene::WeightPtr weight_of(const RescoreQueryPtr& query, const SearchRequest& request,
                              const StopSignal* stop) const {
    const CollectionStatistics* const collection = request.statistics ? &*request.statistics : nullptr;
    if (const auto rescoring = boost::dynamic_pointer_cast<RescoringSearcher>(searcher)) {
      return rescoring->makeWeight(query, collection, stop != nullptr ? std::optional(*stop) : std::nullopt);
    }
    const auto bm25 = boost::dynamic_pointer_cast<BM25Searcher>(searcher);
    return bm25 ? bm25->makeWeight(query, collection) : query->weight(searcher);
  }
};

SearchSession::SearchSession(const std::filesystem::path& index, const Config& config, QuerySyntax syntax)
    : implementation_(std::make_unique<Implementation>()) {
  auto& self = *implementation_;
  self.index = index.empty() ? config.index.path : index.string();
  self.syntax = syntax;
  check_config(config);
  const std::filesystem::path folder = folder_to_search(index, config);
  self.searcher = with_errors(folder.string(), "opening a searcher", [&] {
    const Lucene::IndexReaderPtr reader = open_reader(folder, config.index.verify);
    self.config = config_of_index(reader, config);
    return make_searcher(reader, self.config, folder, [&] { return std::make_shared<Rescorer>(self.config); });
  });
}

SearchSession::SearchSession(const ManagedSearcher& searcher, std::string index, QuerySyntax syntax)
    : implementation_(std::make_unique<Implementation>()) {
  auto& self = *implementation_;
  self.index = std::move(index);
  self.config = *searcher.config;
  self.syntax = syntax;
  self.searcher = searcher.searcher;
}

SearchSession::~SearchSession() = default;

std::vector<std::string> SearchSession::notices() const {
  std::vector<std::string> notices;
  if (const auto bm25 = boost::dynamic_pointer_cast<BM25Searcher>(implementation_->searcher)) {
    notices.push_back(bm25->notice());
  }
  if (const auto rescoring = boost::dynamic_pointer_cast<RescoringSearcher>(implementation_->searcher)) {
    for (const RescoringStage& stage : rescoring->rescorer().stages()) notices.push_back(stage.scorer->warning());
  }
  std::erase(notices, "");
  return notices;
}

std::string SearchSession::scorer() const {
  const auto searcher = boost::dynamic_pointer_cast<RescoringSearcher>(implementation_->searcher);
  if (!searcher) return {};
  const auto line = [](const RescoringStage& stage) {
    const std::string notice = stage.scorer->notice();
    return stage.scorer->describe() + (notice.empty() ? "" : "; " + notice);
  };
  return join(searcher->rescorer().stages(), "\n", line);
}

SearchResult SearchSession::search(const SearchRequest& request) const {
  const auto& self = *implementation_;
  const std::string_view query = request.query;
  if (is_blank(query)) {
    throw Error(ErrorKind::usage, "query", "is empty", "say what to search for");
  }
  const std::int32_t end = page_end(request);
  const bool has_stop = request.stop.deadline || request.stop.stop.stop_possible();
  const StopSignal* const signal = has_stop ? &request.stop : StopScope::current();
  const auto start = Clock::now();
  SearchResult result;
  result.query = query;
  result.rescoring = self.config.rescorer.enabled;
  result.analyzer = analyzer_of(self.config.index, self.config.first_stage);
  const Lucene::IndexReaderPtr reader = self.searcher->getIndexReader();
  const Lucene::FilterPtr filter =
      request.filter.empty() ? Lucene::FilterPtr() : makeFieldFilter(reader, request.filter);
  check_facets(reader, request.facets);
  for (const std::string& key : request.facets) result.facets.push_back({key, {}, 0});
  const RescoreQueryPtr parsed = self.parse(query, request.search_fields);
  result.times.parse = time_since(start);
  result.no_words = has_no_words(parsed->inner());
  if (result.no_words) return result;
  self.guarded(ErrorKind::io, self.index, "searching", "check the index with `relucent verify`", [&] {
    const auto searching = Clock::now();
    const Lucene::WeightPtr weight = self.weight_of(parsed, request, signal);
    const std::chrono::nanoseconds preparing = time_since(searching);  // with [first_stage] rm3 also a search
    const Lucene::TopDocsPtr found = self.searcher->search(weight, filter, end);
    result.times.first_stage = time_since(searching);
    self.describe(found, result);
    if (result.rescoring) result.times.first_stage += preparing;
    // At a deadline, the hits that were found are still answered.
    StopSignal stop;
    if (signal != nullptr) stop.stop = signal->stop;
    if (!request.facets.empty()) {
      const auto rescoring = boost::dynamic_pointer_cast<RescoreWeight>(weight);
      result.facets = count_facets(reader, rescoring ? rescoring->inner() : weight, filter, request.facets, stop);
    }
    std::int64_t rank = 0;
    const StoredFields stored(reader);
    for (const auto& hit : found->scoreDocs) {
      if (++rank <= request.offset) continue;
      if (!request.id.empty() && !self.has_id(hit->doc, request.id, stored, stop)) continue;
      result.hits.push_back(self.hit_of(hit, rank, stored, request, stop));
      if (request.explain) result.hits.back().explanation = self.explanation_of(weight, found, hit->doc);
    }
  });
  result.total = time_since(start);
  return result;
}

std::unordered_map<std::string, std::string> SearchSession::texts_of(const std::unordered_set<std::string>& ids) const {
  const auto& self = *implementation_;
  return self.guarded(ErrorKind::io, self.index, "reading texts", "check the index with `relucent verify`", [&] {
    std::unordered_map<std::string, std::string> texts;
    const Lucene::IndexReaderPtr reader = self.searcher->getIndexReader();
    const StoredFields stored(reader);
    const std::vector<WantedField> id_alone = self.wanted_fields(Texts::none, 0),
                                   wanted = self.wanted_fields(Texts::whole, 0);
    const StopSignal never;
    for (std::int32_t i = 0; i < reader->maxDoc() && texts.size() < ids.size(); ++i) {
      if (reader->isDeleted(i)) continue;
      const std::string id = stored.read(i, id_alone, never).front().value_or("");
      if (!ids.contains(id) || texts.contains(id)) continue;
      auto values = stored.read(i, wanted, never);
      texts[id] = join_fields(std::span(values).subspan(1), never).text;
    }
    return texts;
  });
}

std::optional<StoredDocument> SearchSession::document(std::string_view id) const {
  const auto& self = *implementation_;
  return self.guarded(ErrorKind::io, self.index, "reading a document", "check the index with `relucent verify`", [&] {
    const Lucene::IndexReaderPtr reader = self.searcher->getIndexReader();
    const StoredFields stored(reader);
    const StopSignal never;
    std::optional<StoredDocument> found;
    const auto number = self.number_of(id, reader, stored);
    if (!number) return found;
    auto values = stored.read(*number, self.wanted_fields(Texts::whole, 0, true), never);
    found.emplace(StoredDocument{values[0].value_or(""), {}, values[1].value_or("")});
    found->text = join_fields(std::span(values).subspan(2), never).text;
    if (!nlohmann::json::accept(found->metadata)) found->metadata.clear();
    return found;
  });
}

SearchExplanation SearchSession::explain(std::string_view query, std::int32_t document) const {
  const auto& self = *implementation_;
  const RescoreQueryPtr parsed = self.parse(query);
  return self.guarded(ErrorKind::io, self.index, "explaining", "check the index with `relucent verify`",
                      [&] { return tree_of(self.searcher->explain(parsed, document)); });
}

CollectionStatistics SearchSession::statistics(std::string_view query,
                                               const std::vector<std::string>& search_fields) const {
  const auto& self = *implementation_;
  const RescoreQueryPtr parsed = self.parse(query, search_fields);
  if (has_no_words(parsed->inner())) return {};
  return boost::dynamic_pointer_cast<BM25Searcher>(self.searcher)->statistics_of(parsed);
}

}  // namespace relucent
