#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// Cranfield in SMART's format (.I id, .T title, .A, .B, .W text): title, a space, text, each stripped of white space
/// at both ends. A final .I line without a number is not a document.
std::unique_ptr<DocumentReader> read_cranfield(LineReader& lines);

/// MED in SMART's format (.I id, .W text): the text, stripped of white space at both ends.
std::unique_ptr<DocumentReader> read_med(LineReader& lines);

}  // namespace relucent::index_tools
