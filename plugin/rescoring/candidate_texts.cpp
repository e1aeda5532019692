#include "rescoring/candidate_texts.h"

#include <FieldSelector.h>

#include <algorithm>
#include <numeric>

#include "relucent/stored_text.h"

namespace relucent {
namespace {

/// Loads two fields and steps over all others.
class TwoFields : public Lucene::FieldSelector {
 public:
  TwoFields(Lucene::String first, Lucene::String second) : first_(std::move(first)), second_(std::move(second)) {}

  FieldSelectorResult accept(const Lucene::String& field) override {
    return field == first_ || field == second_ ? SELECTOR_LOAD : SELECTOR_NO_LOAD;
  }

 private:
  Lucene::String first_, second_;
};

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string::npos; }

}  // namespace

CandidateTexts fetch_texts(const Lucene::SearcherPtr& searcher, std::span<const FirstStageHit> hits,
                           const IndexConfig& fields, const StopSignal& stop) {
  std::vector<std::size_t> by_document(hits.size());
  std::iota(by_document.begin(), by_document.end(), std::size_t{0});
  std::sort(by_document.begin(), by_document.end(),
            [&](std::size_t a, std::size_t b) { return hits[a].document < hits[b].document; });

  const auto selector = Lucene::newLucene<TwoFields>(to_lucene(fields.id_field), to_lucene(fields.text_field));
  CandidateTexts result{std::vector<std::string>(hits.size()), std::vector<std::string>(hits.size())};
  for (const std::size_t i : by_document) {
    stop.throw_if_due("reading the stored texts");
    const Lucene::DocumentPtr document = searcher->doc(hits[i].document, selector);
    result.ids[i] = stored_text(document, fields.id_field).value_or("");
    result.texts[i] = stored_text(document, fields.text_field).value_or("");
    if (is_blank(result.texts[i])) result.texts[i].clear();
  }
  return result;
}

}  // namespace relucent
