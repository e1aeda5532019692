#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Filter.h>
#include <IndexReader.h>

#include <string_view>

#include "relucent/export.h"

namespace relucent {

/// A filter on the declared fields of an index, for the search() of any searcher of it: an object in JSON such as
///
///     {"lang": "de", "year": {"gte": 2020, "lt": 2024}, "source": ["a", "b"]}
///
/// whose members a document must all meet: a value that it must have, an array of values of which it must have one, or
/// the bounds of a number (gt, gte, lt, lte). Null for {}, which every document passes. Thread-safe. Throws Error
/// `usage`, naming the key, for what is not such an object and for fields that the index does not declare.
///
/// `reader` is one index's: a reader of several has no declared fields. Their terms are those of Lucene++: a keyword is
/// one term of the field of its name, a number those of a NumericField of doubles with the default precision step, so
/// TermQuery and NumericRangeFilter serve as well.
RELUCENT_API Lucene::FilterPtr makeFieldFilter(const Lucene::IndexReaderPtr& reader, std::string_view json);

}  // namespace relucent
