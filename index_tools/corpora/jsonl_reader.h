#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// One JSON object a line: the id is `id`, `docno`, `_id` or `docid` (the first that is there; a string or a whole
/// number), the text is `text` or `contents`. A `title` that is not empty comes before the text, with a space between.
/// Other keys are passed over; so are empty lines. The objects may also be the elements of one array, or stand over
/// several lines each, as Anserini takes them; a place then counts objects.
std::unique_ptr<DocumentReader> read_jsonl(const CorpusPart& part);

/// BEIR's corpora (corpus.jsonl): `_id`, `title` and `text`, the last two always with a space between, as ir_datasets
/// joins them.
std::unique_ptr<DocumentReader> read_beir(const CorpusPart& part);

}  // namespace relucent::index_tools
