#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// One JSON object per line: the id is the first of `id`, `docno`, `_id` and `docid` that is present (a string or a
/// whole number), the text is `text` or `contents`. A non-empty `title` precedes the text, separated by a space. Other
/// keys and empty lines are skipped. The objects may also be the elements of one array, or span several lines each, as
/// Anserini accepts them; error locations then count objects.
std::unique_ptr<DocumentReader> read_jsonl(const CorpusPart& part);

/// BEIR's corpora (corpus.jsonl): `_id`, `title` and `text`, the last two always separated by a space, as ir_datasets
/// joins them.
std::unique_ptr<DocumentReader> read_beir(const CorpusPart& part);

}  // namespace relucent::index_tools
