#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// One document per file; the id is the file's path below the input, with white space and '%' percent-encoded.
/// The text of HTML is the title, a space, and the rest of the page, or the page alone if it has no title. A byte order
/// mark or the page determines the charset, else it is UTF-8. *.txt files are read like read_text().
std::unique_ptr<DocumentReader> read_html(const CorpusPart& part);
/// The file as it is, in UTF-8.
std::unique_ptr<DocumentReader> read_text(const CorpusPart& part);

}  // namespace relucent::index_tools
