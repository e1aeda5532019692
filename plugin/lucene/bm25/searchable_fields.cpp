#include "plugin/lucene/bm25/searchable_fields.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {

void require_searchable(const std::vector<WeightedField>& fields, const Lucene::IndexReaderPtr& reader,
                        const std::optional<CommitData>& ours, const std::string& place) {
  if (!ours && reader->maxDoc() == 0) return;
  std::set<std::string> known;
  for (const auto& name : reader->getFieldNames(Lucene::IndexReader::FIELD_OPTION_INDEXED)) {
    known.insert(to_utf8(name));
  }
  if (ours) {  // without documents, no field is indexed yet
    known.insert(ours->fields.contents_field);
    known.insert(ours->fields.analyzed_fields.begin(), ours->fields.analyzed_fields.end());
    known.erase(ours->fields.id_field);
    for (const std::string& name : ours->fields.keyword_fields) known.erase(name);
    for (const std::string& name : ours->fields.number_fields) known.erase(name);
  }
  for (const WeightedField& field : fields) {
    if (known.contains(field.name)) continue;
    throw Error(ErrorKind::usage, place,
                fmt::format("the field \"{}\" has no words to search; fields that have: {}", field.name, join(known)),
                "name one of these, or declare the key with `relucent index --text KEY` and index again");
  }
}

}  // namespace relucent::bm25
