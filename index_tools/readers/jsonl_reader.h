#pragma once

#include "index_tools/readers/document_reader.h"

namespace relucent::index_tools {

/// One JSON object a line: the id is `id`, `docno`, `_id` or `docid` (the first that is there; a string or a whole number),
/// the text is `text` or `contents`. A `title` that is not empty comes before the text, with a space between, as BEIR's
/// collections are read. Other keys are passed over; so are empty lines.
std::unique_ptr<DocumentReader> read_jsonl(LineReader& lines);

}  // namespace relucent::index_tools
