#include <IndexSearcher.h>
#include <LuceneHeaders.h>
#include <SegmentReader.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>

#include "base/text.h"
#include "plugin/lucene/bm25/boolean_weight.h"
#include "plugin/lucene/bm25/field_models.h"
#include "plugin/lucene/bm25/ignored_boosts.h"
#include "plugin/lucene/bm25/other_analyzer.h"
#include "plugin/lucene/bm25/query_compiler.h"
#include "plugin/lucene/bm25/query_expansion.h"
#include "plugin/lucene/bm25/searchable_fields.h"
#include "plugin/lucene/bm25/similarity.h"
#include "plugin/lucene/bm25/term_at_a_time.h"
#include "plugin/lucene/bm25/total_frequencies.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/field_lengths.h"
#include "plugin/lucene/index/file_directory.h"
#include "plugin/lucene/log.h"
#include "relucent/bm25.h"
#include "relucent/rescore_query.h"
#include "relucent/stored_text.h"
#include "relucent/weighted_field.h"

namespace relucent {
namespace {

using bm25::FieldModel;

std::string folder_of_index(const Lucene::IndexReaderPtr& reader) {
  try {
    return folder_of(reader->directory()).string();
  } catch (const Lucene::LuceneException&) {
    return {};  // a reader of several indexes has no directory
  }
}

std::set<std::string> utf8_names(const Lucene::HashSet<Lucene::String>& names) {
  std::set<std::string> texts;
  for (const auto& name : names) texts.insert(to_utf8(name));
  return texts;
}

}  // namespace

struct BM25Searcher::Implementation {
  Implementation(const Lucene::IndexReaderPtr& index_reader, const FirstStageConfig& first_stage,
                 const IndexConfig& fields, const LogConfig& log_config)
      : log(log_config),
        reader(index_reader),
        leaves(bm25::leaf_readers(index_reader)),
        folder(folder_of_index(index_reader)),
        settings(first_stage),
        count(first_stage.count.value_or(kExactCount)),
        feedback_documents(first_stage.rm3_documents),
        totals(leaves) {
    const auto data = commit_data_of(reader, folder);
    const std::vector<WeightedField> searched = searched_fields(fields, first_stage);
    const auto is_searched = [&](const std::string& name) {
      return std::ranges::find(searched, name, &WeightedField::name) != searched.end();
    };
    contents = to_lucene(is_searched(fields.contents_field) ? fields.contents_field : searched.front().name);
    const auto indexed = reader->getFieldNames(Lucene::IndexReader::FIELD_OPTION_INDEXED);
    if (!first_stage.fields.empty()) bm25::require_searchable(searched, reader, data, folder);
    if (first_stage.fields.empty() && reader->maxDoc() > 0 && !indexed.contains(contents)) {
      throw Error(ErrorKind::usage, folder,
                  fmt::format("the field \"{}\" is not indexed; indexed fields: {}", fields.contents_field,
                              join(utf8_names(indexed))),
                  "set [index] contents_field to one of them");
    }
    const AnalyzerKind analyzer = analyzer_of(fields, first_stage);
    if (data && data->analyzer != analyzer) throw other_analyzer(folder, data->analyzer, analyzer);
    if (data) recorded_analyzer = data->analyzer;
    bm25::FieldModels::Index index{reader, leaves, folder, std::nullopt};
    const bool ours = data && data->segments == bm25::segments_identity(leaves);
    if (ours) index.ours = *data;
    std::set<Lucene::String> configured = {to_lucene(fields.contents_field), to_lucene(fields.id_field),
                                           to_lucene(fields.text_field)};
    for (const WeightedField& field : searched) configured.insert(to_lucene(field.name));
    models = std::make_unique<bm25::FieldModels>(std::move(index), std::move(configured), settings);
    contents_model = model(contents);
    if (first_stage.rm3) expansion.emplace(reader, first_stage, fields, folder);
    if (!ours && has_boosts(contents)) {
      ignored_boosts = fmt::format(
          "the norms of the field \"{}\" hold index-time boosts, or lengths by another Similarity; BM25 ignores them "
          "and uses only a document's length",
          to_utf8(contents));
      log.warning(fmt::format("{}: {} (logged once)", folder, ignored_boosts));
    }
  }

  void say_that_similarities_do_not_count() {
    std::call_once(said_that_similarities_do_not_count, [&] {
      log.warning("the Similarity set by this program has no effect: [first_stage] scoring decides (logged once)");
    });
  }

  /// Whether the norms of another program's index hold index-time boosts.
  bool has_boosts(const Lucene::String& field) const {
    return std::ranges::any_of(leaves, [&](const auto& leaf) {
      const std::uint8_t* const lengths = contents_model->lengths(leaf.get());
      if (lengths == nullptr || !leaf->hasNorms(field)) return false;
      const auto documents = static_cast<std::size_t>(leaf->maxDoc());
      const auto norms = Lucene::ByteArray::newInstance(leaf->maxDoc());
      leaf->norms(field, norms, 0);
      return bm25::norms_have_boosts({norms.get(), documents}, {lengths, documents});
    });
  }

  std::shared_ptr<const FieldModel> model(const Lucene::String& field) { return models->model(field); }

  /// Logs once that a term which the index does not have comes from another analyzer than the index's.
  void look_for_another_analyzer(const Lucene::TermPtr& term, bm25::OtherAnalyzer& analyzer) {
    if (said_that_analyzers_differ || term->field() != contents) return;
    const std::string missing = to_utf8(term->text());
    const auto found = analyzer.index_term(missing);
    if (!found || reader->docFreq(Lucene::newLucene<Lucene::Term>(contents, to_lucene(*found))) == 0) return;
    if (said_that_analyzers_differ.exchange(true)) return;
    log.warning(fmt::format(
        "{}: the query has the term \"{}\", but the index's analyzer (\"{}\") makes \"{}\" of that word, so it is not "
        "found; parse queries with the analyzer of make_analyzer(config) (logged once)",
        folder, missing, to_string(*recorded_analyzer), *found));
  }

  bm25::QueryCompiler::Statistics own_statistics(const Lucene::QueryPtr& query) {
    std::shared_ptr<bm25::OtherAnalyzer> analyzer;
    if (recorded_analyzer && !said_that_analyzers_differ) {
      const auto typed = boost::dynamic_pointer_cast<RescoreQuery>(query);
      analyzer = std::make_shared<bm25::OtherAnalyzer>(*recorded_analyzer, typed ? typed->text() : std::string());
    }
    return {[this](const Lucene::String& field) { return models->model(field); },
            [this, analyzer](const Lucene::TermPtr& term) {
              const std::int64_t frequency = reader->docFreq(term);
              if (frequency == 0 && analyzer) look_for_another_analyzer(term, *analyzer);
              return frequency;
            },
            [this](const Lucene::TermPtr& term) { return totals.of(term); }};
  }

  /// This index's, adding to `recorded` what is asked for.
  bm25::QueryCompiler::Statistics recorded_statistics(CollectionStatistics& recorded) {
    return {[this, &recorded](const Lucene::String& field) {
              auto found = models->model(field);
              recorded.fields[to_utf8(field)].totals = found->statistics();
              return found;
            },
            [this, &recorded](const Lucene::TermPtr& term) {
              const std::int64_t frequency = reader->docFreq(term);
              recorded.fields[to_utf8(term->field())].document_frequencies[to_utf8(term->text())] = frequency;
              return frequency;
            }};
  }

  /// Other collections' statistics do not have what likelihoods and RM3 need.
  void require_own_statistics_suffice() const {
    if (settings.scoring == FirstStageScoring::bm25 && !expansion) return;
    throw Error(ErrorKind::usage, folder,
                fmt::format("[first_stage] {} needs the whole collection in one index",
                            expansion ? "rm3" : fmt::format("scoring = \"{}\"", to_string(settings.scoring))),
                "let shards score with bm25 and without rm3");
  }

  bm25::QueryCompiler::Statistics statistics_of(const CollectionStatistics& collection) {
    return {[this, &collection](const Lucene::String& field) {
              return models->model(field, field_of(collection, field).totals);
            },
            [&collection](const Lucene::TermPtr& term) {
              const auto& frequencies = field_of(collection, term->field()).document_frequencies;
              const std::string text = to_utf8(term->text());
              const auto found = frequencies.find(text);
              if (found == frequencies.end()) lacks(fmt::format("term \"{}\"", text));
              return found->second;
            }};
  }

  static const CollectionStatistics::Field& field_of(const CollectionStatistics& collection,
                                                     const Lucene::String& field) {
    const auto found = collection.fields.find(to_utf8(field));
    if (found == collection.fields.end()) lacks(fmt::format("field \"{}\"", to_utf8(field)));
    return found->second;
  }

  [[noreturn]] static void lacks(const std::string& what) {
    throw Error(ErrorKind::usage, "the collection's statistics", fmt::format("lack the query's {}", what),
                "take those that BM25Searcher::statistics_of() returns for the same query");
  }

  Lucene::TopDocsPtr search_flat(const std::vector<bm25::TermWeightPtr>& terms, const Lucene::FilterPtr& filter,
                                 std::int32_t n) const {
    bm25::TopHits top(std::min(n, reader->maxDoc()));
    const std::int64_t counted = count == kExactCount ? bm25::kCountAll : std::max(count, n);
    bm25::TermAtATime scoring(terms, filter, counted, top);
    std::int32_t matches = 0, first = 0;
    for (const auto& leaf : leaves) {
      const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf);
      matches += scoring.search(segment, first);
      first += leaf->maxDoc();
    }
    const auto hits = top.take();
    auto documents = Lucene::Collection<Lucene::ScoreDocPtr>::newInstance(static_cast<std::int32_t>(hits.size()));
    for (std::size_t i = 0; i < hits.size(); ++i) {
      documents[static_cast<std::int32_t>(i)] =
          Lucene::newLucene<Lucene::ScoreDoc>(hits[i].document, static_cast<double>(hits[i].score));
    }
    const double best = hits.empty() ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(hits[0].score);
    if (scoring.counted_all()) return Lucene::newLucene<Lucene::TopDocs>(matches, documents, best);
    return Lucene::newLucene<AtLeastTopDocs>(std::max(count, n), documents, best);
  }

  Log log;
  std::once_flag said_that_similarities_do_not_count;
  std::atomic<bool> said_that_analyzers_differ = false;
  Lucene::IndexReaderPtr reader;
  std::vector<Lucene::IndexReaderPtr> leaves;
  std::string folder;
  Lucene::String contents;                        ///< the field that is searched, of several the contents
  std::optional<AnalyzerKind> recorded_analyzer;  ///< the index's, if recorded
  bm25::ScoringSettings settings;
  std::int32_t count;
  std::int32_t feedback_documents;
  bm25::TotalFrequencies totals;
  bool only_segments = std::ranges::all_of(leaves, [](const auto& leaf) {
    return static_cast<bool>(boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf));
  });
  std::unique_ptr<bm25::FieldModels> models;
  std::optional<bm25::QueryExpansion> expansion;
  std::once_flag said_that_operators_are_not_expanded;
  std::string ignored_boosts;  ///< the warning about them; empty if there are none
  std::shared_ptr<const FieldModel> contents_model;
};

AtLeastTopDocs::~AtLeastTopDocs() = default;

BM25Searcher::BM25Searcher(const Lucene::IndexReaderPtr& index, const FirstStageConfig& first_stage,
                           const IndexConfig& fields, const LogConfig& log)
    : IndexSearcher(index) {
  similarity = Lucene::newLucene<bm25::BM25Similarity>();
  with_errors(folder_of_index(index), "reading the index's statistics",
              [&] { implementation_ = std::make_unique<Implementation>(index, first_stage, fields, log); });
}

BM25Searcher::~BM25Searcher() = default;

const FieldStatistics& BM25Searcher::statistics() const noexcept {
  return implementation_->contents_model->statistics();
}

void BM25Searcher::setSimilarity(const Lucene::SimilarityPtr&) {
  implementation_->say_that_similarities_do_not_count();
}

std::string BM25Searcher::notice() const { return implementation_->ignored_boosts; }

Lucene::WeightPtr BM25Searcher::createWeight(const Lucene::QueryPtr& query) {
  return BM25Searcher::makeWeight(query, nullptr);
}

Lucene::WeightPtr BM25Searcher::makeWeight(const Lucene::QueryPtr& query, const CollectionStatistics* collection) {
  if (collection == nullptr) {
    collection = CollectionStatisticsScope::current();
  } else {
    collection->check();
  }
  return with_errors(implementation_->folder, "preparing the query", [&] {
    if (collection != nullptr) implementation_->require_own_statistics_suffice();
    bm25::QueryCompiler compiler(
        shared_from_this(), reader,
        collection != nullptr ? implementation_->statistics_of(*collection) : implementation_->own_statistics(query));
    const Lucene::WeightPtr weight = compiler.compile(query);
    return implementation_->expansion ? expanded(weight, compiler) : weight;
  });
}

Lucene::WeightPtr BM25Searcher::expanded(const Lucene::WeightPtr& weight, bm25::QueryCompiler& compiler) {
  const auto words = boost::dynamic_pointer_cast<bm25::DisjunctionWeight>(weight);
  if (!words || !implementation_->expansion->can_expand(*words)) {
    std::call_once(implementation_->said_that_operators_are_not_expanded, [&] {
      implementation_->log.warning(
          "[first_stage] rm3 expands only queries of plain words; those with operators, phrases or other fields are "
          "searched as they are (logged once)");
    });
    return weight;
  }
  if (words->terms().empty() || reader->maxDoc() == 0) return weight;
  const auto hits = BM25Searcher::search(weight, Lucene::FilterPtr(), implementation_->feedback_documents);
  return compiler.compile(implementation_->expansion->expanded(*words, hits));
}

CollectionStatistics BM25Searcher::statistics_of(const Lucene::QueryPtr& query) {
  return with_errors(implementation_->folder, "collecting the query's statistics", [&] {
    implementation_->require_own_statistics_suffice();
    CollectionStatistics recorded;
    bm25::QueryCompiler(shared_from_this(), reader, implementation_->recorded_statistics(recorded)).compile(query);
    return recorded;
  });
}

Lucene::TopDocsPtr BM25Searcher::search(const Lucene::WeightPtr& weight, const Lucene::FilterPtr& filter,
                                        std::int32_t n) {
  return with_errors(implementation_->folder, "searching", [&] {
    if (n <= 0) throw Error(ErrorKind::usage, "search", fmt::format("the number of hits must be positive, not {}", n));
    if (reader->maxDoc() == 0) return implementation_->search_flat({}, filter, n);
    const auto flat = boost::dynamic_pointer_cast<bm25::DisjunctionWeight>(weight);
    if (flat && implementation_->only_segments && bm25::can_go_term_at_a_time(flat->terms())) {
      return implementation_->search_flat(flat->terms(), filter, n);
    }
    return IndexSearcher::search(weight, filter, n);
  });
}

}  // namespace relucent
