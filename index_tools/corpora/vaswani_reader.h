#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// Vaswani (NPL) in either of its formats, detected from the first line: TREC's (<DOC>, <DOCNO>, text, </DOC>), or an
/// id line and text lines up to a line "   /". The text keeps its line ends, including the last, as in ir_datasets.
std::unique_ptr<DocumentReader> read_vaswani(LineReader& lines);

}  // namespace relucent::index_tools
