#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// MS MARCO's documents in either of their formats, detected from the first line: TREC's (msmarco-docs.trec, which
/// ir_datasets reads: <DOC>, <DOCNO>, <TEXT> with the lines url, title, body, </TEXT>, </DOC>) or a table
/// (msmarco-docs.tsv). The text is the title, a space, and the body, which keeps its line ends in TREC's format.
std::unique_ptr<DocumentReader> read_msmarco_document(LineReader& lines);

}  // namespace relucent::index_tools
