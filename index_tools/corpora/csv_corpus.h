#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// A table in CSV (RFC 4180) whose first line names its columns, in any order and case: the id is the first column
/// named `id`, `docno`, `_id` or `docid`, the text is `text` or `contents`; a non-empty `title` precedes the text,
/// separated by a space. Other columns are ignored. Throws Error `invalid_data` for a first line without an id or a
/// text. A record with more or fewer fields than the first line is malformed.
std::unique_ptr<DocumentReader> read_csv(LineReader& lines);

}  // namespace relucent::index_tools
