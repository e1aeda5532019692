#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// WARC 0.18, 1.0 and 1.1: the `response` records with HTML. The id is WARC-TREC-ID or, if missing,
/// WARC-Record-ID without its angle brackets. The text is that of title and body.
std::unique_ptr<DocumentReader> read_warc(const CorpusPart& part);

/// The same for ClueWeb09 and ClueWeb12, where every response has a WARC-TREC-ID.
std::unique_ptr<DocumentReader> read_clueweb(const CorpusPart& part);

}  // namespace relucent::index_tools
