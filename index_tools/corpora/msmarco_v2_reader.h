#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// MS MARCO v2 passages (msmarco_passage_NN.gz): JSON lines, id `pid`, text `passage`.
std::unique_ptr<DocumentReader> read_msmarco_passage_v2(LineReader& lines);

/// MS MARCO v2 documents (msmarco_doc_NN.gz): JSON lines, id `docid`, text `title`, `headings` and `body`,
/// separated by spaces.
std::unique_ptr<DocumentReader> read_msmarco_document_v2(LineReader& lines);

}  // namespace relucent::index_tools
