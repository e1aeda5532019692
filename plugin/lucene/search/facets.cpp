#include "plugin/lucene/search/facets.h"

#include <BitVector.h>
#include <DocIdSet.h>
#include <DocIdSetIterator.h>
#include <Scorer.h>
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "plugin/index_format/fields/filter.h"
#include "plugin/lucene/bm25/boolean_weight.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/document_set.h"
#include "plugin/lucene/index/field_lengths.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

constexpr const char* kPlace = "facets";

template <typename Use>
void each_document(const Lucene::DocIdSetIteratorPtr& iterator, Use&& use) {
  if (!iterator) return;
  for (std::int32_t document = iterator->nextDoc(); document != kNoDocument; document = iterator->nextDoc())
    use(document);
}

DocumentSet matches_of(const Lucene::IndexReaderPtr& leaf, const Lucene::WeightPtr& weight) {
  DocumentSet matches(leaf->maxDoc());
  const auto add = [&](std::int32_t document) { matches.add(document); };
  const auto flat = boost::dynamic_pointer_cast<bm25::DisjunctionWeight>(weight);
  if (!flat) {
    each_document(weight->scorer(leaf, true, false), add);
    return matches;
  }
  TermDocuments documents(leaf);
  for (const auto& term : flat->terms()) {
    documents.of_term(term->term()->field(), term->term()->text(),
                      [&](std::span<const std::int32_t> found) { std::ranges::for_each(found, add); });
  }
  return matches;
}

void keep_what_passes(const Lucene::IndexReaderPtr& leaf, const Lucene::FilterPtr& filter, DocumentSet& matches) {
  if (!filter) return;
  DocumentSet passes(leaf->maxDoc());
  const Lucene::DocIdSetPtr set = filter->getDocIdSet(leaf);
  if (set) each_document(set->iterator(), [&](std::int32_t document) { passes.add(document); });
  matches.keep_those_in(passes);
}

void remove_deleted(const Lucene::IndexReaderPtr& leaf, DocumentSet& matches) {
  if (!leaf->hasDeletions()) return;
  for (std::int32_t document = matches.next(0); document != kNoDocument; document = matches.next(document + 1)) {
    if (leaf->isDeleted(document)) matches.remove(document);
  }
}

using Counts = std::unordered_map<std::string, std::int64_t>;

void count(const Lucene::IndexReaderPtr& leaf, const std::string& key, const DocumentSet& matches, Counts& counts) {
  TermDocuments documents(leaf);
  std::int64_t* current = nullptr;
  std::string value;
  documents.of_terms(
      to_lucene(key), Lucene::String(), std::nullopt,
      [&](const Lucene::String& term) {
        value = to_utf8(term);
        current = nullptr;
      },
      [&](std::span<const std::int32_t> found) {
        const auto matching =
            std::ranges::count_if(found, [&](std::int32_t document) { return matches.has(document); });
        if (matching == 0) return;
        if (current == nullptr) current = &counts[value];
        *current += matching;
      });
}

FacetCounts sorted(const std::string& key, const Counts& counts) {
  FacetCounts facet{key, {}, static_cast<std::int64_t>(counts.size())};
  for (const auto& [value, documents] : counts) facet.values.push_back({value, documents});
  std::ranges::sort(facet.values, [](const FacetCounts::Value& a, const FacetCounts::Value& b) {
    return a.documents != b.documents ? a.documents > b.documents : a.value < b.value;
  });
  if (facet.values.size() > kMaxFacetValues) facet.values.resize(kMaxFacetValues);
  return facet;
}

}  // namespace

void check_facets(const Lucene::IndexReaderPtr& reader, const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  const auto declared = declared_fields(reader);
  std::set<std::string> seen;
  for (const std::string& key : keys) {
    const fields::Kind kind = fields::find_declared(declared, key, kPlace).kind;
    if (kind != fields::Kind::keyword) {
      throw Error(ErrorKind::usage, kPlace,
                  fmt::format("\"{}\" is a {}, and only keywords are counted", key, to_string(kind)),
                  "index it as a keyword, or leave it out");
    }
    if (!seen.insert(key).second) {
      throw Error(ErrorKind::usage, kPlace, fmt::format("\"{}\" is asked for twice", key), "name it once");
    }
  }
}

std::vector<FacetCounts> count_facets(const Lucene::IndexReaderPtr& reader, const Lucene::WeightPtr& weight,
                                      const Lucene::FilterPtr& filter, const std::vector<std::string>& keys,
                                      const StopSignal& stop) {
  std::vector<Counts> counts(keys.size());
  for (const Lucene::IndexReaderPtr& leaf : bm25::leaf_readers(reader)) {
    DocumentSet matches = matches_of(leaf, weight);
    keep_what_passes(leaf, filter, matches);
    remove_deleted(leaf, matches);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      stop.throw_if_due("counting the facets");
      count(leaf, keys[i], matches, counts[i]);
    }
  }
  std::vector<FacetCounts> facets;
  for (std::size_t i = 0; i < keys.size(); ++i) facets.push_back(sorted(keys[i], counts[i]));
  return facets;
}

}  // namespace relucent
