#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// TREC's SGML: records from <DOC> to </DOC> at the start of a line, with a <DOCNO> or, as in NTCIR, <DOC
/// id="...">. The text is all text outside DOCNO, with entities resolved and white space collapsed. UTF-8.
std::unique_ptr<DocumentReader> read_trec(const CorpusPart& part);

/// Disks 4 and 5: headlines, a space, and the contents (TEXT, HL, HEAD, TTL, DD, DATE, LP, LEADPARA), as
/// ir_datasets reads disks45/nocr.
std::unique_ptr<DocumentReader> read_disks45(const CorpusPart& part);

}  // namespace relucent::index_tools
