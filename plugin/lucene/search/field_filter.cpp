#include "relucent/field_filter.h"

#include <memory>
#include <utility>
#include <vector>

#include "plugin/index_format/fields/filter.h"
#include "plugin/index_format/fields/number_terms.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/document_set.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

class FieldFilter : public Lucene::Filter {
 public:
  explicit FieldFilter(std::vector<fields::Condition> conditions) : conditions_(std::move(conditions)) {}

  Lucene::DocIdSetPtr getDocIdSet(const Lucene::IndexReaderPtr& leaf) override {
    std::shared_ptr<DocumentSet> all;
    TermDocuments documents(leaf);
    for (const fields::Condition& condition : conditions_) {
      auto met = std::make_shared<DocumentSet>(leaf->maxDoc());
      find(condition, documents, *met);
      if (all) {
        all->keep_those_in(*met);
      } else {
        all = std::move(met);
      }
    }
    return to_lucene_set(all);
  }

 private:
  static void find(const fields::Condition& condition, TermDocuments& documents, DocumentSet& met) {
    const auto add = [&](std::span<const std::int32_t> found) {
      for (const std::int32_t document : found) met.add(document);
    };
    const Lucene::String field = to_lucene(condition.field);
    for (const std::string& keyword : condition.keywords) documents.of_term(field, to_lucene(keyword), add);
    for (const auto& [low, high] : condition.runs) {
      fields::each_run(low, high, [&](const std::string& first, const std::string& last) {
        const auto ignore_term = [](const Lucene::String&) {};
        documents.of_terms(field, to_lucene(first), to_lucene(last), ignore_term, add);
      });
    }
  }

  std::vector<fields::Condition> conditions_;
};

}  // namespace

Lucene::FilterPtr makeFieldFilter(const Lucene::IndexReaderPtr& reader, std::string_view json) {
  return with_errors("filter", "reading the declared fields", [&]() -> Lucene::FilterPtr {
    std::vector<fields::Condition> conditions = fields::parse_filter(json, declared_fields(reader));
    if (conditions.empty()) return {};
    return Lucene::newLucene<FieldFilter>(std::move(conditions));
  });
}

}  // namespace relucent
