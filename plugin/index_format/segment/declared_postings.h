#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/index_format/fields/declared_fields.h"
#include "plugin/index_format/segment/document_range.h"
#include "plugin/index_format/segment/postings_writer.h"
#include "plugin/index_format/segment/term_dictionary.h"
#include "plugin/index_format/segment/term_table.h"

namespace relucent::segment {

/// The keywords and numbers of the declared fields in a range of documents, as postings without frequencies.
class DeclaredPostings {
 public:
  DeclaredPostings(std::span<const fields::DeclaredField> declared, const DocumentRange& documents);

  /// Writes the terms of the declared field `i`, whose number in the segment is `field`.
  void write(std::size_t i, std::uint32_t field, PostingsWriter& postings, TermDictionaryWriter& dictionary);

 private:
  struct Field {
    TermTable terms;
    std::vector<std::pair<std::uint32_t, std::int32_t>> postings;  ///< the number of a term, and a document
  };
  static void add(Field& field, std::string_view term, std::uint32_t document);

  std::vector<Field> fields_;
};

}  // namespace relucent::segment
