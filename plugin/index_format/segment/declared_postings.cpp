#include "plugin/index_format/segment/declared_postings.h"

#include <algorithm>

#include "base/checksum.h"
#include "plugin/index_format/fields/number_terms.h"
#include "plugin/index_format/segment/sort_by_text.h"

namespace relucent::segment {

DeclaredPostings::DeclaredPostings(std::span<const fields::DeclaredField> declared, const DocumentRange& documents)
    : fields_(declared.size()) {
  documents.each_value([&](std::uint32_t document, std::uint32_t i, std::string_view bytes) {
    if (i >= fields_.size()) return;
    switch (declared[i].kind) {
      case fields::Kind::keyword: return add(fields_[i], bytes, document);
      case fields::Kind::number:
        return fields::each_term(bytes, [&](std::string_view term) { add(fields_[i], term, document); });
      case fields::Kind::text: return;
    }
  });
}

void DeclaredPostings::add(Field& field, std::string_view term, std::uint32_t document) {
  field.postings.emplace_back(field.terms.number_of(term, checksum(term)), static_cast<std::int32_t>(document));
}

void DeclaredPostings::write(std::size_t i, std::uint32_t field, PostingsWriter& postings,
                             TermDictionaryWriter& dictionary) {
  Field& declared = fields_[i];
  std::ranges::sort(declared.postings);
  // A document may have a term twice, by equal values or by numbers that share a prefix.
  declared.postings.erase(std::unique(declared.postings.begin(), declared.postings.end()), declared.postings.end());
  std::vector<std::size_t> ends(declared.terms.size());
  for (std::size_t at = 0; at < declared.postings.size(); ++at) ends[declared.postings[at].first] = at + 1;
  const auto order =
      sorted_by_text(declared.terms.size(), [&](std::uint32_t number) { return declared.terms.text(number); });
  for (const std::uint32_t number : order) {
    postings.start_term(false);
    for (std::size_t at = number == 0 ? 0 : ends[number - 1]; at < ends[number]; ++at) {
      postings.add_document(declared.postings[at].second, 1);
    }
    dictionary.add(field, declared.terms.text(number), postings.finish_term());
  }
  declared = {};
}

}  // namespace relucent::segment
