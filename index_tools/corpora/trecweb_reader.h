#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// TRECweb, the format of GOV and GOV2: <DOC>, <DOCNO>, <DOCHDR> (the URL, then HTTP headers), an HTML page,
/// </DOC>. The text is that of title and body, as ir_datasets reads gov and gov2.
std::unique_ptr<DocumentReader> read_trecweb(const CorpusPart& part);

}  // namespace relucent::index_tools
