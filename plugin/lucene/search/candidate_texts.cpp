#include "plugin/lucene/search/candidate_texts.h"

#include <IndexSearcher.h>

#include <algorithm>
#include <iterator>
#include <typeinfo>

#include "plugin/lucene/index/stored_fields.h"
#include "plugin/second_stage/model_text.h"
#include "relucent/bm25.h"
#include "relucent/rescoring_searcher.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

/// Past a searcher whose doc() is its reader's; another class may override it.
StoredFields stored_fields_of(const Lucene::SearcherPtr& searcher) {
  const Lucene::Searcher& of_any_type = *searcher;
  const std::type_info& type = typeid(of_any_type);
  const bool reads_its_reader =
      type == typeid(Lucene::IndexSearcher) || type == typeid(BM25Searcher) || type == typeid(RescoringSearcher);
  if (!reads_its_reader) return StoredFields(searcher);
  return StoredFields(boost::static_pointer_cast<Lucene::IndexSearcher>(searcher)->getIndexReader());
}

}  // namespace

void fetch_texts(const Lucene::SearcherPtr& searcher, std::span<WantedText> hits, const IndexConfig& fields,
                 std::span<const std::string> stored_fields, const StopSignal& stop) {
  std::vector<WantedText*> by_document;
  for (WantedText& hit : hits) {
    if (!hit.text->fetched || !stored_fields.empty()) by_document.push_back(&hit);
  }
  if (by_document.empty()) return;
  std::ranges::sort(by_document, {}, [](const WantedText* hit) { return hit->document; });

  using Values = WantedField::Values;
  const std::vector<std::string> text_fields = fields.fields_read();
  std::vector<WantedField> stored_alone, wanted = {{to_lucene(fields.id_field), Values::first_text}};
  for (const std::string& name : text_fields) wanted.push_back({to_lucene(name), Values::all_texts});
  for (const std::string& name : stored_fields) stored_alone.push_back({to_lucene(name), Values::first_bytes});
  wanted.insert(wanted.end(), stored_alone.begin(), stored_alone.end());
  const StoredFields documents = stored_fields_of(searcher);
  for (WantedText* const hit : by_document) {
    auto values = documents.read(hit->document, hit->text->fetched ? stored_alone : wanted, stop);
    std::move(values.end() - static_cast<std::ptrdiff_t>(stored_fields.size()), values.end(),
              std::back_inserter(hit->stored));
    if (hit->text->fetched) continue;
    ModelText text = join_fields(std::span(values).subspan(1, text_fields.size()), stop);
    *hit->text = {std::move(values[0]).value_or(""), std::move(text.text), std::move(text.parts), true};
  }
}

}  // namespace relucent
